"""How long one decode step and one prefill take at best, on a system, and which resource says so.

Three times of the busiest chip: compute (each part's FLOPs at the rate of its format), memory (bytes over bandwidth), link
(bytes over the scale-up link). The lower bound is their maximum, everything overlapping; the upper bound is their sum,
nothing overlapping, and at most three times the lower. No efficiency is assumed: `efficiency` (default 1) multiplies every
rate and is the caller's to state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.cost.flops import Flops, decode_flops, prefill_flops
from lib.cost.links import decode_links, prefill_links
from lib.cost.memory import read, stored
from lib.cost.parameters import parameters
from lib.cost.system import System, cache_share, rate
from lib.cost.weights import dense_bytes, distinct_experts, weight_bytes, weights_held, weights_read
from lib.data.mechanisms import Linear
from lib.data.model import Model, Precision

BOUNDS = np.array(["compute", "memory", "link"])


class Step(NamedTuple):
    """One pass. `flops` and `bytes` are those of the busiest chip; `bound` names the largest of the three times.

    `parts`, all of one shape: seconds of "compute", "memory" and "link"; bytes of "weights" and "cache", whose sum is
    `bytes`, and "links"; FLOPs of "linear", "attention", "index" and "state", whose sum is `flops`."""

    flops: np.ndarray
    bytes: np.ndarray
    time_lower: np.ndarray
    time_upper: np.ndarray
    bound: np.ndarray
    parts: dict[str, np.ndarray]


def stored_as(model: Model, precision: Precision | None) -> Model:
    """`model` with another precision of weights and caches; itself for None."""
    return model if precision is None else model.model_copy(update={"precision": precision})


def cache_read(model: Model, system: System, context, *, precision: Precision | None = None) -> np.ndarray:
    """Cache bytes that one chip moves in a step for one sequence of its replica: what it reads, and the recurrent states
    once more, as they are written back. The one token that a growing cache gains is left out."""
    tokens, p = np.asarray(context), precision or model.precision
    total = np.zeros(tokens.shape)
    for mixer, count in model.mixer_counts:
        moved = sum(read(mixer, tokens, p)) * (2 if isinstance(mixer, Linear) else 1)
        total = total + count * cache_share(mixer, system.tensor, system.context) * moved
    return total


def cache_held(model: Model, system: System, context, *, precision: Precision | None = None) -> np.ndarray:
    """Cache bytes that one chip keeps for one sequence of its replica."""
    tokens, p = np.asarray(context), precision or model.precision
    total = np.zeros(tokens.shape)
    for mixer, count in model.mixer_counts:
        total = total + count * cache_share(mixer, system.tensor, system.context) * sum(stored(mixer, tokens, p))
    return total


def _chip_flops(model: Model, system: System, flops: Flops, sequences, tokens, group_tokens) -> dict[str, np.ndarray]:
    """The busiest chip's FLOPs by part, from one sequence's `flops`: its replica has `sequences` sequences with `tokens` new
    tokens, its expert group `group_tokens`. "routed" is the experts' part, at another rate than the rest of "linear"."""
    token_experts = 2.0 * parameters(model).routed_active
    return {
        "linear": (flops.linear * sequences - token_experts * tokens) / system.tensor,
        "routed": token_experts * group_tokens / system.expert_span,
        "attention": flops.attention * sequences / system.tensor,
        "index": flops.index * sequences / system.context,  # the published indexers run whole on each chip of a replica
        "state": flops.state * sequences / system.tensor,
    }


def _compute_seconds(model: Model, system: System, work: dict[str, np.ndarray]) -> np.ndarray:
    """Attention and state work count at the bf16 rate: caches in a narrower format are widened before they are multiplied."""
    p, attention = model.precision, work["attention"] + work["state"]
    rates = {"linear": p.weights, "routed": p.experts, "index": p.index}
    return attention / rate(system.chip, "bf16") + sum(
        work[part] / rate(system.chip, fmt) for part, fmt in rates.items()
    )


def _link_seconds(system: System, links) -> np.ndarray:
    if not np.any(links):
        return np.asarray(links, dtype=float)
    if system.chip.link_bandwidth is None:
        raise ValueError(
            f"chip {system.chip.name}: link_bandwidth is unknown, wanted it for {system.count} chips that talk"
        )
    return links / system.chip.link_bandwidth


def _assemble(model: Model, system: System, work, weights, cache, links, efficiency: float) -> Step:
    compute = _compute_seconds(model, system, work) / efficiency
    memory = (weights + cache) / system.chip.memory_bandwidth / efficiency
    link = _link_seconds(system, links) / efficiency
    linear = work.pop("routed") + work["linear"]
    parts = {"compute": compute, "memory": memory, "link": link, "weights": weights, "cache": cache, "links": links}
    parts |= work | {"linear": linear}
    parts = dict(zip(parts, np.broadcast_arrays(*parts.values()), strict=True))
    times = np.stack([parts[name] for name in BOUNDS])
    flops = sum(parts[name] for name in ("linear", "attention", "index", "state"))
    moved = parts["weights"] + parts["cache"]
    return Step(flops, moved, times.max(axis=0), times.sum(axis=0), BOUNDS[times.argmax(axis=0)], parts)


def _check(context, batch, efficiency: float) -> None:
    if np.any(np.asarray(context) < 0):
        raise ValueError(f"context={context!r}: wanted tokens >= 0")
    if np.any(np.asarray(batch) <= 0):
        raise ValueError(f"batch={batch!r}: wanted sequences > 0")
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency={efficiency!r}: wanted a number in (0, 1]")


def decode_step(
    model: Model, system: System, *, context, batch, precision: Precision | None = None, efficiency: float = 1.0
) -> Step:
    """One new token for each of `batch` sequences with `context` tokens in the cache, over the whole system. Seconds; arrays
    broadcast. Sequences stay whole: the busiest replica has `batch` / `data` of them, rounded up."""
    _check(context, batch, efficiency)
    model = stored_as(model, precision)
    sequences = system.share(batch, system.tensor)
    cache = cache_read(model, system, context) * sequences
    flops, group = decode_flops(model, context), system.share(batch, system.expert_span)
    work = _chip_flops(model, system, flops, sequences, sequences, group)
    links = decode_links(model, system, sequences)
    return _assemble(model, system, work, weights_read(model, system, batch), cache, links, efficiency)


def prefill_time(
    model: Model, system: System, *, context, batch=1, precision: Precision | None = None, efficiency: float = 1.0
) -> Step:
    """A causal prefill of `batch` sequences of `context` tokens, as `decode_step`. Weights are read once, caches written
    once, activations and re-read keys left out: memory time is a lower bound."""
    _check(context, batch, efficiency)
    model, tokens = stored_as(model, precision), np.asarray(context, dtype=float)
    sequences, group = system.share(batch, system.tensor), system.share(batch, system.expert_span)
    work = _chip_flops(model, system, prefill_flops(model, context), sequences, tokens * sequences, tokens * group)
    weights = weights_read(model, system, tokens * np.asarray(batch))
    cache = cache_held(model, system, context) * sequences
    links = prefill_links(model, system, context, sequences)
    return _assemble(model, system, work, weights, cache, links, efficiency)


__all__ = [
    "Step",
    "cache_held",
    "cache_read",
    "decode_step",
    "dense_bytes",
    "distinct_experts",
    "prefill_time",
    "stored_as",
    "weight_bytes",
    "weights_held",
    "weights_read",
]
