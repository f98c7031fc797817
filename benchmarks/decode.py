"""Decode one layer at a million tokens, against the limits of this machine measured in the same run.

    python -m benchmarks.decode [--tokens 1048576] [--rounds 5] [--only mla,index,select,sparse,gqa,csa,hca,kda,slopes]

The limit of a step is max(bytes / bandwidth, FLOP / rate): bandwidth from a large float32 sum, rate from a cube of
matrices in the step's dtype. Where a processor has no instructions for bfloat16 its own product in that dtype is
hundreds of times slower than one in float32, and would make a limit that anything beats: the higher of the two rates
is taken. Every round measures limits and steps next to each other, since other work on the machine moves both; the
ratios are the medians over rounds. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from lib.attention import csa, dsa, kda, mla, softmax

HEADS, LATENT, ROTARY = 32, 512, 64  # MLA of Kimi Linear and Kimi K2's proportions
INDEX_HEADS, INDEX_DIM, SELECTED = 64, 128, 2048  # the indexer of DeepSeek-V3.2
QUERY_HEADS, GROUPS, HEAD_DIM = 32, 8, 128  # a common grouped-query layer
CUBE, SUM_BYTES = 4096, 1 << 30


@dataclass(frozen=True)
class Step:
    """A thing to time: what it reads and computes, at the least."""

    name: str
    run: Callable[[], object]
    bytes: float
    flop: float


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def bandwidth(buffer: torch.Tensor) -> float:
    """Bytes a second that a large sum reads; the best of three, since a limit is what the machine can do."""
    return buffer.numel() * buffer.element_size() / min(seconds(buffer.sum) for _ in range(3))


def rate(size: int, dtype: torch.dtype) -> float:
    """FLOP a second of a square matrix product."""
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    return 2 * size**3 / min(seconds(lambda: a @ b) for _ in range(2))


def steps(tokens: int, names: list[str]) -> Iterator[Step]:
    """The steps by name, one at a time, so that only one cache is in memory."""
    torch.manual_seed(0)
    makers = {"mla": mla_step, "index": index_step, "select": select_step, "sparse": sparse_step, "gqa": gqa_step,
              "csa": csa_step, "hca": hca_step, "kda": kda_step}  # fmt: skip
    for name in names:
        yield makers[name](tokens)


def filled(*shape: int) -> torch.Tensor:
    """Normal bfloat16 values, made in slices: a float32 copy of the whole would not fit."""
    out = torch.empty(*shape, dtype=torch.bfloat16)
    for part in out.view(-1).split(1 << 24):
        part.copy_(torch.randn(len(part)))
    return out


def mla_step(tokens: int) -> Step:
    q, cache = filled(1, HEADS, LATENT + ROTARY), filled(1, tokens, LATENT + ROTARY)
    flop = 2 * HEADS * (2 * LATENT + ROTARY) * tokens
    run = lambda: mla.decode(q, cache, latent_dim=LATENT)  # noqa: E731
    return Step(f"MLA absorbed, {HEADS} heads x ({LATENT} + {ROTARY})", run, cache.numel() * 2, flop)


def index_step(tokens: int) -> Step:
    q, w, keys = filled(1, INDEX_HEADS, INDEX_DIM), filled(1, INDEX_HEADS), filled(1, tokens, INDEX_DIM)
    flop = 2 * INDEX_HEADS * INDEX_DIM * tokens
    run = lambda: dsa.index_scores(q, w, keys)  # noqa: E731
    return Step(f"DSA index scores, {INDEX_HEADS} x {INDEX_DIM}", run, keys.numel() * 2, flop)


def select_step(tokens: int) -> Step:
    scores = filled(1, tokens)
    return Step(f"DSA selection of {SELECTED}", lambda: dsa.select(scores, SELECTED), scores.numel() * 2, 0)


def sparse_step(tokens: int) -> Step:
    q, cache = filled(1, HEADS, LATENT + ROTARY), filled(1, tokens, LATENT + ROTARY)
    count = min(SELECTED, tokens)
    indices = torch.randperm(tokens)[None, :count]
    flop = 2 * HEADS * (2 * LATENT + ROTARY) * count
    run = lambda: dsa.decode(q, cache, indices, latent_dim=LATENT)  # noqa: E731
    return Step(f"DSA sparse MLA over {count}", run, count * cache.shape[-1] * 2, flop)


def gqa_step(tokens: int) -> Step:
    q, k, v = filled(1, QUERY_HEADS, HEAD_DIM), filled(1, tokens, GROUPS, HEAD_DIM), filled(1, tokens, GROUPS, HEAD_DIM)
    flop = 4 * QUERY_HEADS * HEAD_DIM * tokens
    run = lambda: softmax.decode(q, k, v)  # noqa: E731
    return Step(f"GQA, {QUERY_HEADS} heads on {GROUPS} x {HEAD_DIM}", run, (k.numel() + v.numel()) * 2, flop)


def csa_step(tokens: int) -> Step:
    """V4-Pro's core: 128 heads of 512 over the window and 1024 of the entries."""
    q, window, entries = filled(1, 128, 512), filled(1, 128, 512), filled(1, tokens // 4, 512)
    indices, sinks = torch.randperm(tokens // 4)[None, :1024], torch.zeros(128)
    run = lambda: csa.decode(q, window, entries, indices, sinks=sinks)  # noqa: E731
    count = 128 + indices.shape[1]
    return Step(f"V4 CSA, 128 heads over {count}", run, count * 512 * 2, 4 * 128 * 512 * count)


def hca_step(tokens: int) -> Step:
    q, window, entries, sinks = (
        filled(1, 128, 512),
        filled(1, 128, 512),
        filled(1, tokens // 128, 512),
        torch.zeros(128),
    )
    count = 128 + tokens // 128
    run = lambda: csa.decode(q, window, entries, sinks=sinks)  # noqa: E731
    return Step(f"V4 HCA, 128 heads over {count}", run, count * 512 * 2, 4 * 128 * 512 * count)


def kda_step(tokens: int) -> Step:
    """The state of Kimi-Linear's layer, whatever the tokens: read and written."""
    shape = (1, 32, HEAD_DIM)
    q, k, v = torch.randn(shape), torch.nn.functional.normalize(torch.randn(shape), dim=-1), torch.randn(shape)
    log_decay, beta, state = -torch.rand(shape), torch.rand(shape[:2]), torch.randn(*shape, HEAD_DIM)
    run = lambda: kda.step(state, q, k, v, log_decay, beta)  # noqa: E731
    return Step("KDA step, 32 x 128 x 128, one state", run, 2 * state.numel() * 4, 7 * state.numel())


def extra_memory(run: Callable[[], object]) -> float:
    """Largest growth of the resident memory while `run` works, in bytes, read every millisecond (Linux only)."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return float("nan")
    read = lambda: int(status.read_text().split()[1]) * 4096  # noqa: E731
    before, peak, done = read(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, read())
            time.sleep(1e-3)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return max(peak - before, 0)


def compare(tokens: int, rounds: int, names: list[str], cube: int = CUBE) -> None:
    """Print, for each step, its time, its limit and the ratio within each round."""
    buffer = torch.ones(SUM_BYTES // 4)
    print(
        f"{tokens:,} tokens, {torch.get_num_threads()} threads, torch {torch.__version__}, medians of {rounds} rounds"
    )
    half = rate(256, torch.bfloat16)
    print(f"bfloat16 product, a 256 cube: {half / 1e9:.2f} GFLOP/s")
    print(f"{'step':40s} {'ms':>9s} {'limit':>9s} {'ratio':>6s} {'best':>6s} {'bound':>6s} {'GB/s':>6s} "
          f"{'GF/s':>6s} {'extra MiB':>9s}")  # fmt: skip
    for step in steps(tokens, names):
        step.run()
        times, ratios, limits, reads, rates = [], [], [], [], []
        for _ in range(rounds):
            read, product = bandwidth(buffer), max(half, rate(cube, torch.float32))
            times.append(min(seconds(step.run) for _ in range(2)))
            limits.append(max(step.bytes / read, step.flop / product))
            ratios.append(limits[-1] / times[-1])
            reads.append(read)
            rates.append(product)
        read, product = statistics.median(reads), statistics.median(rates)
        bound = "bytes" if step.bytes / read > step.flop / product else "FLOP"
        print(f"{step.name:40s} {1e3 * statistics.median(times):9.2f} {1e3 * statistics.median(limits):9.2f} "
              f"{statistics.median(ratios):6.0%} {max(ratios):6.0%} {bound:>6s} {read / 1e9:6.1f} {product / 1e9:6.1f} "
              f"{extra_memory(step.run) / 2**20:9.1f}", flush=True)  # fmt: skip


def slopes(tokens: int, rounds: int, names: list[str]) -> None:
    """Fit log time against log tokens from 2^14 up: 1 is linear, 0 is flat."""
    lengths = [1 << p for p in range(14, tokens.bit_length())]
    print(f"\nslope of log time over {lengths[0]:,} ... {lengths[-1]:,} tokens")
    for name in names:
        points = []
        for length in lengths:
            step = next(steps(length, [name]))
            step.run()
            points.append(statistics.median(seconds(step.run) for _ in range(2 * rounds + 1)))
        x, y = (torch.tensor(z, dtype=torch.float64).log() for z in (lengths, points))
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())
        print(f"{name:8s} {slope:5.2f}   " + "  ".join(f"{1e3 * t:.2f}" for t in points) + " ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cube", type=int, default=CUBE)
    parser.add_argument("--only", default="mla,index,select,sparse,gqa,csa,hca,kda,slopes")
    options = parser.parse_args()
    names = options.only.split(",")
    compare(options.tokens, options.rounds, [n for n in names if n != "slopes"], options.cube)
    if "slopes" in names:
        slopes(options.tokens, options.rounds, [n for n in names if n in ("kda", "mla", "index", "sparse", "gqa")])


if __name__ == "__main__":
    main()
