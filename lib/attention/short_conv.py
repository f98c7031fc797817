"""The short convolution of linear layers: each channel mixes its last W values, its own included, and nothing later.

Letters: B batch, T time, D channels, W kernel width. A cache holds the last W - 1 inputs, zeros before the first token.
Kimi Linear, section 4 ("ShortConv"): depthwise, causal, W = 4, no bias.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks


def forward(x: Tensor, weight: Tensor, *, cache: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """`y_t = sum over w of weight[:, w] x_{t - W + 1 + w}`: `x [B, T, D]`, `weight [D, W]` -> `y [B, T, D]`, the new cache.

    `cache [B, W - 1, D]`: the inputs before the first of `x`; zeros where there were none.
    """
    checks.alike(x=x, weight=weight, cache=cache)
    sizes = checks.shapes(x=(x, "B T D"), weight=(weight, "D W"))
    before = sizes["W"] - 1
    cache = empty(x[:, 0] if sizes["T"] else x.new_empty(sizes["B"], sizes["D"]), weight) if cache is None else cache
    checks.shapes(x=(x, "B T D"), cache=(cache, f"B {before} D"))
    seen = torch.cat((cache, x), 1)  # [B, W - 1 + T, D]
    taps = weight.to(checks.accumulating(x.dtype)).unbind(1)
    y = sum(tap * seen[:, w : w + sizes["T"]] for w, tap in enumerate(taps))
    return y.to(x.dtype), seen[:, sizes["T"] :].clone()  # a view would keep the whole sequence in memory


def step(x: Tensor, weight: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
    """One token: `x [B, D]`, `cache [B, W - 1, D]` -> `y [B, D]`, the new cache; the old one stays as it is."""
    checks.alike(x=x, weight=weight, cache=cache)
    sizes = checks.shapes(x=(x, "B D"), weight=(weight, "D W"))
    checks.shapes(x=(x, "B D"), cache=(cache, f"B {sizes['W'] - 1} D"))
    seen = torch.cat((cache, x[:, None]), 1)  # [B, W, D]
    wide = checks.accumulating(x.dtype)
    return torch.einsum("bwd,dw->bd", seen.to(wide), weight.to(wide)).to(x.dtype), seen[:, 1:]


def empty(x: Tensor, weight: Tensor) -> Tensor:
    """The cache before the first token, for `x [B, D]`: zeros `[B, W - 1, D]`."""
    return x.new_zeros(x.shape[0], weight.shape[1] - 1, weight.shape[0])
