"""One training run: a pattern, a task, a seed. Deterministic on one device, and continued bit for bit after a kill.

AdamW, linear warm-up and cosine decay, gradients clipped at 1; sizes of the task grow from `shortest` to `size` over the first
half (a curriculum, the same for every pattern). DSA layers spend the first half dense while their indexer learns.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from lib.stack.model import Model, equal_width, parameters
from lib.stack.patterns import Sizes
from lib.stack.sparse import TrainedDsa
from lib.stack.tasks import SILENT, TASKS

EVALUATED = 512  # held-out sequences
HELD_OUT = 10**6  # added to a seed for data that training never draws
SAVED_EVERY = 100


@dataclass(frozen=True)
class Run:
    """All that decides a result."""

    task: str
    size: int
    pattern: str
    seed: int
    steps: int
    batch: int = 32
    rate: float = 3e-3
    shortest: int = 4
    target: int = 130_000  # parameters
    residual: str = "plain"
    tested: tuple[int, ...] = ()  # further sizes at which the trained model is tested
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def name(self) -> str:
        return f"{self.task}-{self.size}:{self.pattern}:{self.seed}" + (
            ":attnres" if self.residual == "attention" else ""
        )

    def key(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


class State:
    """A run half way: model, optimiser, generator, step."""

    def __init__(self, run: Run):
        task = TASKS[run.task]
        torch.manual_seed(run.seed)
        width = equal_width(run.pattern, task.vocab, run.target, run.sizes, run.residual)
        self.run, self.task, self.step = run, task, 0
        self.model = Model(run.pattern, task.vocab, width=width, sizes=run.sizes, residual=run.residual, seed=run.seed)
        self.optimiser = torch.optim.AdamW(_groups(self.model), lr=run.rate, betas=(0.9, 0.95))
        self.generator = torch.Generator().manual_seed(run.seed)

    def size(self) -> int:
        """The curriculum: from the shortest to the full size over the first half."""
        share = min(1.0, 2 * self.step / self.run.steps)
        return round(self.run.shortest + share * (self.run.size - self.run.shortest))

    def advance(self) -> float:
        """One optimiser step; returns the language loss."""
        run = self.run
        for group in self.optimiser.param_groups:
            group["lr"] = run.rate * _schedule(self.step, run.steps)
        for layer in sparse_layers(self.model):
            layer.dense = 2 * self.step < run.steps
        loss, indexer = losses(self.model, *self.task.make(self.size(), self.generator, run.batch))
        self.optimiser.zero_grad()
        (loss + indexer).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        return float(loss.detach())

    def save(self, path: Path) -> None:
        """To a temporary file first, so that a kill leaves the last good one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        torch.save({"step": self.step, "model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
                    "generator": self.generator.get_state()}, part)  # fmt: skip
        os.replace(part, path)

    def load(self, path: Path) -> None:
        kept = torch.load(path, weights_only=True)
        self.step = kept["step"]
        self.model.load_state_dict(kept["model"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.generator.set_state(kept["generator"])


def _groups(model: Model) -> list[dict]:
    """Weight decay on matrices only."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


def _schedule(step: int, steps: int) -> float:
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def sparse_layers(model: Model) -> list[TrainedDsa]:
    return [layer for layer in model.modules() if isinstance(layer, TrainedDsa)]


def losses(model: Model, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(language loss over what is asked, sum of the indexers' divergences)."""
    logits, _ = model(tokens)
    indexer = sum((layer.seen.loss for layer in sparse_layers(model)), torch.zeros(()))
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=SILENT), indexer


@torch.no_grad()
def accuracy(model: Model, task: str, size: int, seed: int, sequences: int = EVALUATED) -> tuple[float, float | None]:
    """(share of right answers on held-out data, mean recall of the indexers or None)."""
    generator = torch.Generator().manual_seed(HELD_OUT + seed)
    right, asked, recalls = 0, 0, []
    for layer in sparse_layers(model):
        layer.dense = False
    for _ in range(0, sequences, 64):
        tokens, targets = TASKS[task].make(size, generator, 64)
        logits, _ = model(tokens)
        wanted = targets != SILENT
        right += int((logits.argmax(-1) == targets)[wanted].sum())
        asked += int(wanted.sum())
        recalls += [float(layer.seen.recall) for layer in sparse_layers(model)]
    return right / asked, sum(recalls) / len(recalls) if recalls else None


@dataclass(frozen=True)
class Result:
    """A finished run: one accuracy for each tested size."""

    run: Run
    parameters: int
    loss: float
    accuracies: dict[int, float]
    recalls: dict[int, float | None]


def train(
    run: Run, *, checkpoint: Path | None = None, progress: Callable[[int, float], None] | None = None
) -> tuple[State, Result]:
    """Run to the end, from the checkpoint if there is one of this very run. The checkpoint is kept until the end."""
    state = State(run)
    if checkpoint and checkpoint.exists():
        state.load(checkpoint)
    loss = float("nan")
    while state.step < run.steps:
        loss = state.advance()
        if progress and (state.step % 50 == 0 or state.step == run.steps):
            progress(state.step, loss)
        if checkpoint and state.step % SAVED_EVERY == 0:
            state.save(checkpoint)
    found = {size: accuracy(state.model, run.task, size, run.seed) for size in sorted({run.size, *run.tested})}
    result = Result(
        run, parameters(state.model), loss, {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}
    )
    return state, result
