"""How a call is timed: by a clock that the harness is given, or by CUDA events around replayed graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

Run = Callable[[], object]


class Wall:
    """A clock around the calls; right where a call returns when its work is done."""

    mode = "clock"

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        self.clock = clock

    def prepare(self, runs: Sequence[Run]) -> Sequence[Run]:
        return runs

    def seconds(self, runs: Sequence[Run]) -> float:
        start = self.clock()
        for run in runs:
            run()
        return self.clock() - start


class Events:
    """CUDA events around the calls, each call a replayed graph where it can be captured: launches then cost no host time.

    A call that waits for the device (a check of indices, say) cannot be captured; it is timed as it is, and `mode` says so.
    """

    def __init__(self) -> None:
        self.mode = "events"
        self.clock = time.perf_counter

    def prepare(self, runs: Sequence[Run]) -> Sequence[Run]:
        import torch

        for run in runs:  # compiles kernels and fills allocator pools before anything is captured
            run()
        torch.cuda.synchronize()
        try:
            graphs = [_captured(run) for run in runs]
        except RuntimeError:
            torch.cuda.synchronize()
            self.mode = "events"
            return runs
        self.mode = "graph"
        return [graph.replay for graph in graphs]

    def seconds(self, runs: Sequence[Run]) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for run in runs:
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3


def _captured(run: Run):
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def of(device: str) -> Wall | Events:
    return Events() if device == "cuda" else Wall()
