"""What trained layers do over distance: how long KDA's channels remember, how far back DSA's selections reach."""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention.layers import KdaLayer
from lib.stack.model import Model
from lib.stack.tasks import TASKS
from lib.stack.training import HELD_OUT, sparse_layers

DISTANCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # upper edges of the histogram's bins, in tokens


@torch.no_grad()
def inputs(model: Model, tokens: Tensor) -> list[Tensor]:
    """What each mixer is given, `[B, T, D]` a layer."""
    found: list[Tensor] = []
    hooks = [layer.register_forward_pre_hook(lambda _, args: found.append(args[0])) for layer in model.mixers]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return found


@torch.no_grad()
def decay_lengths(model: Model, task: str, size: int, seed: int) -> list[tuple[int, int, int, float]]:
    """(layer, head, channel, tokens after which a channel has forgotten all but 1/e, on average over held-out tokens)."""
    tokens, _ = TASKS[task].make(size, torch.Generator().manual_seed(HELD_OUT + seed), 64)
    rows = []
    for i, (layer, x) in enumerate(zip(model.mixers, inputs(model, tokens), strict=True)):
        if isinstance(layer, KdaLayer):
            mean = layer.log_decay(x).double().mean((0, 1))  # [H, K]
            rows += [(i, h, c, float(-1 / mean[h, c])) for h in range(mean.shape[0]) for c in range(mean.shape[1])]
    return rows


@torch.no_grad()
def selected_distances(model: Model, task: str, size: int, seed: int) -> list[tuple[int, int, float, float]]:
    """(layer, upper edge of the bin, share of the selected tokens in it, share of all earlier tokens in it)."""
    tokens, _ = TASKS[task].make(size, torch.Generator().manual_seed(HELD_OUT + seed), 64)
    model(tokens)
    rows, length = [], tokens.shape[1]
    back = torch.arange(length)[:, None] - torch.arange(length)[None]  # [T, S] tokens between query and key
    for i, layer in enumerate(sparse_layers(model)):
        chosen = layer.seen.chosen.double().mean(0)  # [T, S] how often
        lower = 0
        for edge in DISTANCES:
            inside = (back >= lower) & (back < edge)
            share = float(chosen[inside].sum() / chosen.sum())
            rows.append((i, edge, share, float(inside.sum() / (back >= 0).sum())))
            lower = edge
    return rows


__all__ = ["DISTANCES", "decay_lengths", "inputs", "selected_distances"]
