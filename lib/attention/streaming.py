"""One softmax over keys that pass by in blocks, and the split of a long row of keys over the CPU's threads.

The running softmax keeps, per query row, the largest score so far, the sum of exponentials under it and the
weighted sum of values (the online softmax of FlashAttention). Letters: M query rows, n keys of a block, V value dim.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import torch
from torch import Tensor

LOWEST = torch.finfo(torch.float32).min  # stands for "no key yet": finite, so that differences never become NaN


class Softmax:
    """The running softmax of query rows `[..., M]` over blocks of keys.

    With `inplace` the buffers are overwritten block by block; without it every step is a new tensor, which is what
    autograd needs.
    """

    def __init__(self, rows: tuple[int, ...], width: int, like: Tensor, *, inplace: bool):
        self.peak = like.new_full((*rows, 1), LOWEST)
        self.total = like.new_zeros((*rows, 1))
        self.sum = like.new_zeros((*rows, width))
        self.inplace = inplace

    def fold(self, scores: Tensor, values: Tensor) -> None:
        """Take in `scores [..., M, n]` (overwritten when in place) and `values [..., n, V]`; -inf is no key."""
        # the peak is only a shift: the result does not depend on it, so no gradient flows through it
        peak = torch.maximum(self.peak, scores.detach().amax(-1, keepdim=True))
        shrink = torch.exp(self.peak - peak)
        if self.inplace:
            weights = scores.sub_(peak).exp_()
            self.total.mul_(shrink).add_(weights.sum(-1, keepdim=True))
            self.sum.mul_(shrink)
            multiply = torch.baddbmm if scores.dim() == 3 else torch.addmm
            multiply(self.sum, weights, values, out=self.sum)
        else:
            weights = torch.exp(scores - peak)
            self.total = self.total * shrink + weights.sum(-1, keepdim=True)
            self.sum = self.sum * shrink + weights @ values
        self.peak = peak

    def fold_seen(self, scores: Tensor, values: Tensor, seen: Tensor) -> None:
        """`fold` where `seen [M, n]` is false for some pairs: what a row does not see must not reach it.

        A weight of zero is not enough, since 0 * NaN is NaN: values that are not finite are taken out of the
        product and given back to the rows that see them.
        """
        bad = ~torch.isfinite(values.detach())
        if not bad.any():
            return self.fold(scores, values)
        self.fold(scores, values.masked_fill(bad, 0))
        reached = seen.to(values.dtype) @ bad.to(values.dtype) > 0
        self.sum = self.sum.masked_fill(reached, torch.nan)
        return None

    def finish(self) -> tuple[Tensor, Tensor]:
        """`(out [..., M, V], lse [..., M])`; a row that met no key gives zeros and -inf."""
        empty = self.total == 0
        total = self.total.masked_fill(empty, 1)
        lse = (self.peak + torch.log(total)).masked_fill(empty, -torch.inf)
        return self.sum / total, lse[..., 0]


class Widen:
    """Rows of a cache in the dtype that sums are kept in: a view where it is that already, else one reused block."""

    def __init__(self, cache: Tensor, dtype: torch.dtype, rows: int, inplace: bool):
        self.cache, self.dtype = cache, dtype
        self.room = None
        if inplace and cache.dtype != dtype:
            self.room = torch.empty((rows, *cache.shape[1:]), dtype=dtype, device=cache.device)

    def __call__(self, low: int, high: int) -> Tensor:
        rows = self.cache[low:high]
        return rows.to(self.dtype) if self.room is None else self.room[: high - low].copy_(rows)


def blocks(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `size` that cover `start … stop`."""
    for low in range(start, stop, size):
        yield low, min(low + size, stop)


def differentiable(*tensors: Tensor | None) -> bool:
    """Whether autograd will want to go back through what is computed from these."""
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def in_parts(start: int, stop: int, work: Callable[[int, int], object], *, smallest: int) -> list:
    """`[work(low, high), …]` over equal parts of `start … stop`, one a CPU thread, none shorter than `smallest`.

    Long parts that never wait for each other do better than a barrier after every small product: a thread that
    another process pushes aside then delays its own part only. Each part computes with one thread.
    """
    threads = torch.get_num_threads()
    parts = max(1, min(threads, (stop - start) // smallest))
    edges = [start + (stop - start) * i // parts for i in range(parts + 1)]
    if parts == 1:
        return [work(start, stop)]
    inference = torch.is_inference_mode_enabled()

    def run(i: int) -> object:
        torch.set_num_threads(1)
        with torch.inference_mode(inference), torch.set_grad_enabled(False):
            return work(edges[i], edges[i + 1])

    with _BUSY, _restored(threads):
        waiting = [_helpers(parts - 1).submit(run, i) for i in range(1, parts)]
        try:
            first = run(0)
        finally:
            wait(waiting)
    return [first, *(future.result() for future in waiting)]


# Threads are kept: a new one costs milliseconds, since the matrix library sets up its buffers for each.
_BUSY = threading.Lock()  # the number of threads is a setting of the whole process
_pool: list[ThreadPoolExecutor] = []


def _helpers(count: int) -> ThreadPoolExecutor:
    if not _pool or _pool[0]._max_workers < count:
        _pool[:] = [ThreadPoolExecutor(count, thread_name_prefix="attention")]
    return _pool[0]


def _forget() -> None:
    """A forked child has none of its parent's threads, and a lock that nobody would open."""
    global _BUSY
    _BUSY = threading.Lock()
    _pool.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def _restored(threads: int) -> Iterator[None]:
    try:
        yield
    finally:
        torch.set_num_threads(threads)
