"""Rotary positions, in the two layouts that one model mixes.

Interleaved rotates the pairs (2i, 2i+1): MLA, and V4's keys. Non-interleaved rotates (i, i + R/2): the indexer of
DSA. DeepSeek's own first indexer code took the wrong one, hence `interleaved` has no default.
Letters: R rotary dims.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks


def rotate(x: Tensor, positions: Tensor, *, interleaved: bool, base: float = 10000.0, inverse: bool = False) -> Tensor:
    """Turn each pair i of `x [..., R]` by the angle `position * base ** (-2 i / R)` radians.

    `positions` broadcasts against `x.shape[:-1]`: for `x [B, T, H, R]` give `[T, 1]` or `[B, T, 1]`.
    `inverse` turns back: V4 keys are values too, so that its outputs are turned by -t. Angles are computed in
    float64: at position 1,048,575 a float32 angle is off by up to 0.03 radians. RoFormer, section 3.2.
    """
    checks.same_dtype(x=x)
    size = x.shape[-1]
    checks.multiple("x", size, "a pair", 2)
    frequency = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device=x.device) / size)
    angle = positions.to(torch.float64)[..., None] * frequency * (-1 if inverse else 1)
    cos, sin = (f(angle).to(checks.accumulating(x.dtype)) for f in (torch.cos, torch.sin))
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else x.unflatten(-1, (2, -1)).transpose(-1, -2)
    a, b = pairs.to(cos.dtype).unbind(-1)  # [..., R/2] each
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), -1)
    return (turned if interleaved else turned.transpose(-1, -2)).flatten(-2).to(x.dtype)


def rotate_last(x: Tensor, positions: Tensor, rotary: int, **layout) -> Tensor:
    """`rotate` on the last `rotary` dims of `x [..., K]`, the rest unchanged."""
    _within(x, rotary)
    kept, turned = x.split((x.shape[-1] - rotary, rotary), -1)
    return torch.cat((kept, rotate(turned, positions, **layout)), -1)


def rotate_first(x: Tensor, positions: Tensor, rotary: int, **layout) -> Tensor:
    """`rotate` on the first `rotary` dims of `x [..., K]`, the rest unchanged."""
    _within(x, rotary)
    turned, kept = x.split((rotary, x.shape[-1] - rotary), -1)
    return torch.cat((rotate(turned, positions, **layout), kept), -1)


def _within(x: Tensor, rotary: int) -> None:
    if not 0 <= rotary <= x.shape[-1]:
        raise ValueError(f"rotary: got {rotary}, wanted 0 <= rotary <= {x.shape[-1]}, the last dim of x")
