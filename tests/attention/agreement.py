"""How close two results must be, and the inputs that the mechanisms are compared on."""

from __future__ import annotations

import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
DTYPES = [torch.float64, torch.float32, torch.bfloat16]


def normal(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + 7919 * sum((i + 1) * n for i, n in enumerate(shape)))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def agree(got: Tensor, wanted: Tensor, tolerance: float | None = None) -> None:
    """Finite in the same places, and an error below tolerance x root mean square of what is wanted.

    bfloat16 against a wider reference: sums are kept in float32, so the result may be off by its own rounding, half
    an eps of the element, and by float32's tolerance.
    """
    assert got.shape == wanted.shape
    assert torch.equal(torch.isfinite(got), torch.isfinite(wanted))
    assert torch.equal(got[~torch.isfinite(got)].double(), wanted[~torch.isfinite(wanted)].double())
    if got.numel() == 0 or not torch.isfinite(got).any():
        return
    keep = torch.isfinite(got)
    a, b = got[keep].double(), wanted[keep].double()
    size = b.square().mean().sqrt()
    if got.dtype == torch.bfloat16:
        bound = torch.finfo(torch.bfloat16).eps / 2 * b.abs() * (1 + 2**-7) + 1e-5 * size
    else:
        bound = (TOLERANCE[got.dtype] if tolerance is None else tolerance) * size
    excess = (a - b).abs() - bound
    assert (excess <= 0).all(), f"off by {float((a - b).abs().max()):.3g} where {float(size):.3g} is usual"


def agree_all(got, wanted, tolerance: float | None = None) -> None:
    for a, b in zip(got, wanted, strict=True):
        agree(a, b, tolerance)


def widened(*tensors):
    return [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in tensors]
