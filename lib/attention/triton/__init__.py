"""The decode verbs as Triton kernels for CUDA tensors; `TRITON_INTERPRET=1` runs them on the CPU for the tests.

Each module holds one mechanism's kernels. The verbs of `lib.attention` check arguments and call them; nothing else
should. A decode splits the keys over programs, each of which leaves a partial attention that `merge` joins.
"""

from __future__ import annotations

import torch
from torch import Tensor


def padded(size: int, least: int = 16) -> int:
    """The power of two that a tile of `size` takes; matrix units want at least 16."""
    return max(least, 1 << max(size - 1, 0).bit_length())


def splits(programs: int, keys: int, block: int, device: torch.device) -> int:
    """Into how many parts to cut the keys, so that every processor has work and no part is shorter than a few blocks."""
    processors = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
    return max(1, min(-(-2 * processors // max(programs, 1)), -(-keys // (2 * block))))


def language(q: Tensor):
    """`(WIDE, DOT)` for inputs like q: the dtype that sums are kept in, and that products are taken in.

    Triton's interpreter multiplies the bits of bfloat16 as whole numbers, so that on the CPU products are in float32.
    """
    import triton.language as tl

    if q.dtype == torch.float64:
        return tl.float64, tl.float64
    return tl.float32, tl.bfloat16 if q.dtype == torch.bfloat16 and q.is_cuda else tl.float32


def scaled(q: Tensor, scale: float) -> tuple[Tensor, float]:
    """A kernel's scalars are float32: in float64 the scale goes into q beforehand."""
    return (q * scale, 1.0) if q.dtype == torch.float64 else (q, scale)
