"""The model: embedding, layers of mixer and SwiGLU with RMSNorm before each, head. Residuals plain, or attention over depth.

Letters: B batch, T time, D hidden, L sources (the embedding and what each sublayer added).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu

from lib.attention import gates
from lib.attention.layers.weights import Weights
from lib.stack.patterns import Sizes, checked, mixer


class SwiGlu(nn.Module):
    """`W3 (silu(W1 x) * W2 x)`."""

    def __init__(self, hidden: int, width: int, seed: int):
        super().__init__()
        make = Weights(seed=seed)
        self.w_in, self.w_out = make.matrix(2 * width, hidden), make.matrix(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = linear(x, self.w_in).chunk(2, -1)
        return linear(silu(gate) * up, self.w_out)


class Model(nn.Module):
    """`tokens [B, T]` -> logits `[B, T, vocab]`. `residual`: "plain" sums what the layers add; "attention" weighs the earlier
    outputs by a softmax over depth, one learned query a sublayer (Attention Residuals, arXiv 2603.15031, with blocks of one)."""

    def __init__(
        self,
        pattern: str,
        vocab: int,
        *,
        width: int,
        sizes: Sizes | None = None,
        residual: str = "plain",
        seed: int = 0,
    ):
        super().__init__()
        if residual not in ("plain", "attention"):
            raise ValueError(f"residual={residual!r}: wanted plain or attention")
        sizes = sizes or Sizes()
        self.pattern, self.sizes, self.residual = checked(pattern), sizes, residual
        make = Weights(seed=seed)
        self.embed, self.head = make.matrix(vocab, sizes.hidden), make.matrix(vocab, sizes.hidden)
        self.mixers = nn.ModuleList(mixer(letter, pattern, sizes, 100 * seed + i) for i, letter in enumerate(pattern))
        self.ffns = nn.ModuleList(SwiGlu(sizes.hidden, width, 100 * seed + 50 + i) for i in range(len(pattern)))
        self.norms = nn.ParameterList(make.ones(sizes.hidden) for _ in range(2 * len(pattern) + 1))
        # zeros: at first every source weighs the same
        self.queries = (
            nn.ParameterList(make.zeros(sizes.hidden) for _ in range(2 * len(pattern) + 1))
            if residual == "attention"
            else None
        )

    def forward(self, tokens: Tensor, caches: list | None = None) -> tuple[Tensor, list]:
        return self._run(tokens, caches or [None] * len(self.pattern), step=False)

    def step(self, tokens: Tensor, caches: list) -> tuple[Tensor, list]:
        """One token a sequence `[B]` -> logits `[B, vocab]` and the next caches."""
        return self._run(tokens, caches, step=True)

    def empty(self, batch: int) -> list:
        return [layer.empty(batch) for layer in self.mixers]

    def _run(self, tokens: Tensor, caches: list, *, step: bool) -> tuple[Tensor, list]:
        sources, after = [self.embed[tokens]], []
        for i, (layer, ffn, cache) in enumerate(zip(self.mixers, self.ffns, caches, strict=True)):
            x = self._normed(2 * i, sources)
            y, cache = layer.step(x, cache) if step else layer(x, cache)
            after.append(cache)
            sources = self._with(sources, y)
            sources = self._with(sources, ffn(self._normed(2 * i + 1, sources)))
        return linear(self._normed(2 * len(self.pattern), sources), self.head), after

    def _with(self, sources: list[Tensor], new: Tensor) -> list[Tensor]:
        """What later layers may look at: one sum, or every output by itself."""
        return [sources[0] + new] if self.queries is None else [*sources, new]

    def _normed(self, place: int, sources: list[Tensor]) -> Tensor:
        if self.queries is None:
            (x,) = sources
        else:
            stacked = torch.stack(sources)  # [L, B, T, D]
            keys = gates.rms_norm(stacked, torch.ones_like(self.norms[place]))
            shares = torch.softmax(linear(keys, self.queries[place][None]), 0)  # [L, B, T, 1]
            x = (shares * stacked).sum(0)
        return gates.rms_norm(x, self.norms[place])


def parameters(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


def equal_width(pattern: str, vocab: int, target: int, sizes: Sizes | None = None, residual: str = "plain") -> int:
    """The SwiGLU width that brings a pattern's parameters nearest to `target`: one more costs 3 x hidden a layer."""
    sizes = sizes or Sizes()
    least = parameters(Model(pattern, vocab, width=1, sizes=sizes, residual=residual))
    each = 3 * sizes.hidden * len(pattern)
    width = 1 + round((target - least) / each)
    if width < 1:
        raise ValueError(f"target={target}: wanted at least {least} parameters for pattern {pattern}")
    return width
