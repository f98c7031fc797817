"""Memory: how much may be used, and one pool of random numbers from which every input is a view.

One pool, filled once, instead of inputs a point: a million tokens take gigabytes, and making them anew would take longer than
measuring. Its bits are normal bfloat16 numbers, which are also usable as float32.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import torch
from torch import Tensor

SHARE = 0.7  # of the free memory: kernels need room beside their inputs, and other programs live on the machine too
PAGE = 4096
BLOCK = 1 << 25  # numbers drawn; the rest of the pool repeats them, shifted
SHIFT = 4099  # a prime: no two blocks hold the same rows


def free_bytes(device: str) -> int:
    """What can be taken now without pushing anything out: of the GPU, or of this machine or its control group."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    known = [available for available in (_available(), _group()) if available is not None]
    return min(known) if known else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def allowance(device: str, most: float | None = None, held: int = 0) -> int:
    """Bytes that the pool may take: a share of what is free, the pool's own `held` bytes among it, and never more than `most`."""
    return int(min(SHARE * (free_bytes(device) + held), most or float("inf")))


def _available() -> int | None:
    path = Path("/proc/meminfo")
    if not path.exists():
        return None
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:"), None)


def _group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the control group leaves, where one limits memory."""
    try:
        most, used = ((folder / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return None if most == "max" else int(most) - int(used)


MMAP_MAX, TRIM = -4, -1  # mallopt's names for them


def keep_freed(keep: bool) -> None:
    """Let the C library keep what is freed, as torch does on a GPU; nothing where it is another library.

    A step returns a new state, and giving its pages back to the system after each call takes ten times as long as the step.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(MMAP_MAX, 0 if keep else 65536)
    mallopt(TRIM, 1 << 30 if keep else 1 << 17)


class Pool:
    """`size` bytes of random numbers on `device`; a `Window` of it hands out tensors."""

    def __init__(self, size: int, device: str = "cpu", seed: int = 0):
        count = max(1, -(-size // PAGE)) * PAGE // 2
        keep_freed(False)  # the pool itself goes back to the system whole
        self.device, self.room = device, torch.empty(count, dtype=torch.bfloat16, device=device)
        self.generator = torch.Generator(device=device).manual_seed(seed)
        block = torch.randn(min(BLOCK, count), generator=self.generator, device=device).to(torch.bfloat16)
        for i, part in enumerate(self.room.split(len(block))):
            shift = SHIFT * i % len(block)
            for at, piece in ((0, block[shift:]), (len(block) - shift, block[:shift])):
                if at < len(part):
                    part[at : at + len(piece)].copy_(piece[: len(part) - at])
        keep_freed(True)

    @property
    def size(self) -> int:
        return 2 * len(self.room)

    def window(self, start: int) -> Window:
        return Window(self, start)

    def randn(self, *shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        """Small inputs of their own: queries, weights, gates."""
        return torch.randn(*shape, generator=self.generator, device=self.device).to(dtype)


class Window:
    """Tensors one after the other from a place in the pool on; `used` counts their bytes."""

    def __init__(self, pool: Pool, start: int):
        self.pool, self.start, self.used = pool, start, 0

    def tensor(self, *shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        count = 1
        for size in shape:
            count *= size
        wide = torch.empty(0, dtype=dtype).element_size()
        low = self.start + self.used
        self.used += -(-count * wide // 16) * 16  # the next tensor starts where any dtype may
        if low + count * wide > self.pool.size:
            raise MemoryError(f"tensor {shape}: ends {low + count * wide:,} bytes into a pool of {self.pool.size:,}")
        return self.pool.room[low // 2 : (low + count * wide) // 2].view(dtype).view(shape)


ROTATED = 1 << 28  # bytes that a round through all sets of inputs touches at least: eight times a large cache


def windows(pool: Pool, need: int, most: int = 128) -> list[Window]:
    """As many disjoint windows of `need` bytes as it takes to outlast a cache, and as fit."""
    need = max(PAGE, -(-need // PAGE) * PAGE)
    count = max(1, min(most, -(-ROTATED // need), pool.size // need))
    return [pool.window(i * need) for i in range(count)]
