"""The report's decode figures from closed forms: what a step must read, what it takes besides, and what memory lets it batch.

A step of one sequence takes a fixed time F (weights, launches, whatever does not grow) and the time to read what it keeps:
    t(L) = F + n c L / R,
n latent layers of c bytes a token, at R bytes a second. Two numbers, F and R, are read off the all-MLA twin's curve; the
hybrid's curve, with 7 of 27 such layers, is then a prediction. Letters: L context, W weights, s state, b batch.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from lib.cost import read_bytes
from lib.cost.capacity import max_batch
from lib.cost.crossover import crossovers
from lib.cost.flops import prefill
from lib.cost.step import decode_step
from lib.cost.system import System
from lib.cost.weights import dense_bytes, mixtures
from lib.data import Model, chip, chips, figure
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import reports
from lib.evidence.training import efficiency
from lib.evidence.words import percent
from lib.measure.fit import crossings
from lib.measure.subjects import layers, step_bytes, twins

M1 = 2**20


def hybrid() -> Model:
    return g.kimi_linear()


@cache
def twin() -> Model:
    return all_full(g.kimi_linear())


def moved(m: Model, context) -> np.ndarray:
    """Cache bytes that one step of one sequence moves: what it reads, and its recurrent states written back."""
    found = read_bytes(m, context)
    return found.total + found.state


def weights_of_one_token(m: Model) -> float:
    """Bytes of weights that a step at batch 1 reads: all but routed experts, and the active ones of those."""
    return dense_bytes(m) + sum(layers * ffn.mean_active * expert for ffn, layers, expert in mixtures(m))


def bytes_ratio(context) -> np.ndarray:
    """(W + 27 c L) / (W + 7 c L + s): all-MLA over hybrid if bytes were all, at any bandwidth."""
    return (weights_of_one_token(twin()) + moved(twin(), context)) / (
        weights_of_one_token(hybrid()) + moved(hybrid(), context)
    )


class Line(NamedTuple):
    """t(L) = fixed + bytes(L) / rate."""

    fixed: float
    rate: float

    def seconds(self, moved_bytes):
        return self.fixed + np.asarray(moved_bytes, dtype=float) / self.rate


def line_of(contexts, seconds, m: Model) -> Line:
    """Least squares of a curve on the bytes that its model moves."""
    x, y = np.asarray(moved(m, np.asarray(contexts)), dtype=float), np.asarray(seconds, dtype=float)
    slope, fixed = np.polyfit(x, y, 1)
    return Line(float(fixed), float(1 / slope))


@cache
def batch_one() -> Line:
    """Fig. 7b's all-MLA curve as a line in its bytes."""
    curve = figure("kl-fig7b-mla").points()
    return line_of([int(x) for x in curve], list(curve.values()), twin())


class Both(NamedTuple):
    """t = fixed + n (layer + c L / rate), for both curves at once: `layer` is what a latent layer takes beyond a linear one before
    it reads a cached token."""

    fixed: float
    layer: float
    rate: float

    def seconds(self, m: Model, context):
        return self.fixed + g.linear_share(m)[1] * self.layer + np.asarray(moved(m, context), dtype=float) / self.rate


@cache
def both_curves() -> Both:
    """Least squares over the eighteen points of Fig. 7b's two curves, each relative to its published time."""
    rows, times = [], []
    for m, name in ((twin(), "mla"), (hybrid(), "kl")):
        for context, seconds in figure(f"kl-fig7b-{name}").points().items():
            rows.append([1.0, g.linear_share(m)[1], float(moved(m, int(context)))])
            times.append(seconds)
    weights = 1 / np.array(times)
    fixed, layer, slope = np.linalg.lstsq(np.array(rows) * weights[:, None], np.ones(len(times)), rcond=None)[0]
    return Both(float(fixed), float(layer), float(1 / slope))


def overhead() -> float:
    """Seconds of a step at batch 1 that are neither weights nor cache: the fixed time less the weights of one token."""
    both = both_curves()
    return both.fixed - weights_of_one_token(hybrid()) / both.rate


def sparse_twins() -> dict[str, float]:
    """Cache bytes that a step of one sequence moves at 1M if all 27 layers were DSA, or V4's CSA, or half CSA and half HCA."""
    count, known = hybrid().num_layers, layers()
    dsa = next(m for m in twins().values() if "D" in m.mechanisms)
    csa, hca = (step_bytes(known[name].spec, M1) for name in ("csa", "hca"))
    return {
        "27 DSA": float(moved(dsa, M1)),
        "27 CSA": count * csa,
        "14 CSA + 13 HCA": -(-count // 2) * csa + count // 2 * hca,
    }


class Node(NamedTuple):
    """Chips that serve one model, whole on each group: what its largest batches yield at one context."""

    chip: str
    count: int
    batch_twin: int
    batch_hybrid: int
    ratio: float
    ratio_fixed: float


def per_token(m: Model, system: System, context, fixed: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(largest batch, least seconds a token at it): reciprocal throughput, infinite where no sequence fits."""
    batch = max_batch(m, system, context=context)
    step = decode_step(m, system, context=context, batch=np.maximum(batch, 1)).time_lower + fixed
    return batch, np.where(batch > 0, step / np.maximum(batch, 1), np.inf)


def node(name: str, count: int, context: int = M1) -> Node | None:
    """The gain of the hybrid over its twin on some chips, every sequence's latents on one chip of `count`-fold memory; None
    where the twin does not fit."""
    system = System(chip(name), tensor=count, context=count)
    fixed = overhead()
    (b27, t27), (b7, t7) = (per_token(m, system, context) for m in (twin(), hybrid()))
    if b27 == 0:
        return None
    (_, f27), (_, f7) = (per_token(m, system, context, fixed) for m in (twin(), hybrid()))
    return Node(name, count, int(b27), int(b7), float(t27 / t7), float(f27 / f7))


def nodes(counts=(1, 2, 4, 8)) -> list[Node]:
    """Every chip with known memory and bandwidth, alone and in groups."""
    known = [
        c.name
        for c in chips().values()
        if not c.measured and c.memory_bytes and c.memory_bandwidth and c.link_bandwidth
    ]
    found = [node(name, count) for name in known for count in counts]
    return [one for one in found if one is not None]


def cache_limit() -> float:
    """The ratio's limit when the cache is all that a step reads, at equal batch: layers over full-attention layers."""
    linear, other = g.linear_share(hybrid())
    return (linear + other) / other


def large_rates() -> tuple[float, float]:
    """Bytes of cache a token over its time at 1M in Fig. 1b, twin and hybrid: the bandwidth that each must have had at least."""
    return tuple(
        float(moved(m, M1)) / figure(f"kl-fig1b-{name}").points()[float(M1)]
        for m, name in ((twin(), "mla"), (hybrid(), "kl"))
    )


def rest_of_six() -> float:
    """What the twin must spend for a token besides its cache, as a share of reading it, for Fig. 1b's ratio to exceed 27/7.

    With a hybrid whose batch hides everything but its cache: ratio = (F/b + 27 c L / R) / (7 c L / R), so that
    F/b = (ratio x 7/27 - 1) x 27 c L / R."""
    return reports.large_batch_ratios()[M1].middle / cache_limit() - 1


def prefill_gap(context: int = 4096) -> float:
    """FLOP a second of the KDA core that explain by themselves why the hybrid's prefill is slower at short prompts: its work in
    20 layers over the time by which the hybrid is slower."""
    m = hybrid()
    linear = next(spec for spec in m.mechanisms.values() if spec.type == "kda")
    count = g.linear_share(m)[0]
    late = figure("kl-fig7a-kl").points()[float(context)] - figure("kl-fig7a-mla").points()[float(context)]
    return count * float(sum(prefill(linear, context))) / late


def prefill_flops_equal() -> float:
    """The prompt at which a KDA layer's and an MLA layer's mixing take the same FLOPs: 2 chunk FLOPs / (2 (nope + rope + value))."""
    m = hybrid()
    kda, mla = (next(spec for spec in m.mechanisms.values() if spec.type == kind) for kind in ("kda", "mla"))
    return float(crossovers(lambda c: sum(prefill(mla, c)), lambda c: sum(prefill(kda, c)))[-1])


def published_prefill_crossing() -> float:
    """The prompt from which the hybrid's prefill is the faster one in Fig. 7a."""
    base, new = (figure(f"kl-fig7a-{name}").points() for name in ("mla", "kl"))
    return crossings(list(base), list(base.values()), list(new.values()))[-1]


def two_from_bytes() -> str:
    """The 2x in a sentence: what bytes alone would give, and what the step's fixed time leaves of it."""
    fit, published = both_curves(), reports.single_stream_ratios()[M1].middle
    return (
        f"{published:.2f}x at 1M, where bytes alone would give {float(bytes_ratio(M1)):.2f}x: {percent(overhead() / float(fit.seconds(hybrid(), M1)), 0)} of the "
        "hybrid's step is neither weights nor cache"
    )


def six_from_cache() -> str:
    """The 6x in a sentence: the limit at equal batch, and the best that equal memory gives on any chip of the data."""
    best = max(nodes(), key=lambda one: one.ratio_fixed)
    return (
        f"{reports.large_batch_ratios()[M1].middle:.2f}x, where caches alone give {cache_limit():.2f}x and equal memory at most {best.ratio_fixed:.2f}x "
        f"({best.count} {chip(best.chip).title}); the rest needs a twin that spends {percent(rest_of_six(), 0)} of its cache time on something else"
    )


def training_range() -> str:
    tested = reports.tested_compute()
    low, high = (float(efficiency(*reports.scaling_fits(), c)) for c in (tested.low, tested.high))
    return f"{low:.2f}x falling to {high:.2f}x over the tested compute"
