"""Where the rows of a cache lie: in memory, or in a file that is read past the page cache.

Letters: T rows, X numbers a row. A file has no name once it is open, so that it is gone however the program ends.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

MOST = 8 << 30  # bytes of disk, at the most
SPARE = 1 << 30  # that stay free on the disk
ALIGNED = 4096  # offsets, lengths and addresses that O_DIRECT takes everywhere
QUEUE = 16  # reads in flight


class DiskTooSmall(OSError):
    """The file would not fit, or would leave others no room."""


class Memory:
    """Rows in memory, `[T, X]`."""

    medium, method = "memory", ""

    def __init__(self, rows: Tensor):
        self.table, self.moved = rows, 0

    def gather(self, rows: np.ndarray, out: Tensor) -> None:
        torch.index_select(self.table, 0, torch.from_numpy(rows), out=out)
        self.moved += out.nbytes

    def blocks(self, size: int) -> Iterator[Tensor]:
        for part in self.table.split(size):
            self.moved += part.nbytes
            yield part

    def close(self) -> None:
        pass


class File:
    """The same rows in a file; `moved` counts what was asked of the file, pages that hold the rows in whole.

    `method`: direct (O_DIRECT), dropped (the page cache is told to forget before each use), or cached where neither works.
    """

    def __init__(self, rows: Tensor, folder: Path | None = None):
        self.shape, self.row = tuple(rows.shape), rows[:1].nbytes
        self.size = -(-rows.nbytes // ALIGNED) * ALIGNED
        folder = Path(folder or tempfile.gettempdir())
        room(folder, self.size)
        self.fd, self.method = _filled(rows, folder, self.size)
        self.medium = "file" if self.method != "cached" else "file (cached)"
        self.moved, self.threads = 0, ThreadPoolExecutor(QUEUE, thread_name_prefix="file")

    def forget(self) -> None:
        if self.method == "dropped":
            os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def gather(self, rows: np.ndarray, out: Tensor) -> None:
        """The rows, in rising order, into `out [n, X]`, many reads at once."""
        self.forget()
        parts = [part for part in np.array_split(np.arange(len(rows)), QUEUE) if len(part)]
        into = out.view(torch.uint8).numpy()
        self.moved += sum(self.threads.map(lambda part: self._some(rows[part], into[part[0] : part[-1] + 1]), parts))

    def _some(self, rows: np.ndarray, into: np.ndarray) -> int:
        buffer, moved = mmap.mmap(-1, self.row // ALIGNED * ALIGNED + 2 * ALIGNED), 0
        for place, row in enumerate(rows):
            start = int(row) * self.row
            low = start // ALIGNED * ALIGNED
            length = -(-(start + self.row - low) // ALIGNED) * ALIGNED
            self._read(buffer, low, length)
            into[place] = np.frombuffer(buffer, np.uint8, self.row, start - low)
            moved += length
        return moved

    def _read(self, buffer: mmap.mmap, low: int, length: int) -> None:
        view = memoryview(buffer)[:length]
        got = os.preadv(self.fd, [view], low)
        if got != length:
            raise OSError(f"read at {low:,}: got {got:,} bytes, wanted {length:,}")

    def blocks(self, size: int) -> Iterator[Tensor]:
        """All rows in order, `size` at a time: the next block is read while one is used."""
        self.forget()
        count = max(1, ALIGNED // np.gcd(ALIGNED, self.row))  # rows after which a page begins anew
        size = -(-size // count) * count
        buffers = [mmap.mmap(-1, -(-size * self.row // ALIGNED) * ALIGNED) for _ in range(2)]
        starts = list(range(0, self.shape[0], size))

        def load(place: int) -> Tensor:
            rows = min(size, self.shape[0] - starts[place])
            length = -(-rows * self.row // ALIGNED) * ALIGNED
            self._read(buffers[place % 2], starts[place] * self.row, length)
            self.moved += length
            return torch.frombuffer(buffers[place % 2], dtype=torch.bfloat16, count=rows * self.shape[1]).view(rows, -1)

        coming = self.threads.submit(load, 0)
        for place in range(len(starts)):
            block = coming.result()
            if place + 1 < len(starts):
                coming = self.threads.submit(load, place + 1)
            yield block

    def save(self, data: np.ndarray) -> None:
        """Write bytes over the file's beginning and wait until they are on the disk."""
        os.pwritev(self.fd, [memoryview(data)], 0)
        os.fdatasync(self.fd)

    def load(self, data: np.ndarray) -> None:
        self.forget()
        os.preadv(self.fd, [memoryview(data)], 0)
        self.moved += data.nbytes

    def close(self) -> None:
        self.threads.shutdown()
        with suppress(OSError):
            os.close(self.fd)


def room(folder: Path, size: int) -> None:
    """Refuse a file that is larger than the suite may write, or that the disk has no room for."""
    free = shutil.disk_usage(folder).free
    if size > MOST:
        raise DiskTooSmall(f"file of {size / 2**30:.2f} GiB: wanted at most {MOST / 2**30:.0f} GiB")
    if size + SPARE > free:
        raise DiskTooSmall(
            f"file of {size / 2**30:.2f} GiB: the disk of the temporary folder has {free / 2**30:.2f} GiB free, wanted {SPARE / 2**30:.0f} GiB more than the file (set TMPDIR to another disk)"
        )


def _filled(rows: Tensor, folder: Path, size: int) -> tuple[int, str]:
    """A file without a name that holds the rows, and how it can be read."""
    fd, name = tempfile.mkstemp(prefix="tiers-", dir=folder)
    try:
        direct = _direct(name)
    finally:
        os.unlink(name)
    try:
        flat = rows.reshape(-1).view(torch.uint8).numpy()
        for low in range(0, len(flat), 1 << 26):
            part = memoryview(flat[low : low + (1 << 26)])
            while len(part):
                part = part[os.write(fd, part) :]
        os.ftruncate(fd, size)
        os.fsync(fd)
    except OSError:
        os.close(fd)
        if direct is not None:
            os.close(direct)
        raise
    if direct is not None and _reads(direct):
        os.close(fd)
        return direct, "direct"
    dropped = hasattr(os, "posix_fadvise") and direct is None and _drops(fd)
    return fd, "dropped" if dropped else "cached"


def _direct(name: str) -> int | None:
    """The file open a second time, past the page cache; None where the file system does not do that."""
    try:
        return os.open(name, os.O_RDWR | os.O_DIRECT)
    except (OSError, AttributeError):
        return None


def _reads(fd: int) -> bool:
    try:
        return os.preadv(fd, [mmap.mmap(-1, ALIGNED)], 0) >= 0
    except OSError:
        return False


def _drops(fd: int) -> bool:
    """Whether dropped pages are really read again: the system's count of bytes from disks must move."""
    before = read_bytes()
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, ALIGNED, 0)
    after = read_bytes()
    return before is not None and after is not None and after > before


def read_bytes() -> int | None:
    """Bytes that this process has made the system fetch from disks; None where it does not say."""
    path = Path("/proc/self/io")
    try:
        lines = dict(line.split(": ") for line in path.read_text().splitlines())
        return int(lines["read_bytes"])
    except (OSError, KeyError, ValueError):
        return None
