"""How long one decode step and one prefill take at best, on a system, and which resource says so.

Three times: compute (each part's FLOPs at the rate of its format), memory (bytes over bandwidth), link (bytes over the scale-up
link). The lower bound is their maximum, everything overlapping; the upper bound is their sum, nothing overlapping. Between the
two lies a factor of three at most. No efficiency is assumed: `efficiency` (default 1) divides every rate and is the caller's to
state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.cost.flops import decode_flops, prefill_flops
from lib.cost.memory import read, stored
from lib.cost.parameters import mixer_parameters, parameters
from lib.cost.system import System, rate
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Mla, Moe, Softmax, Window
from lib.data.model import Model, Precision

ACTIVATION_BYTES = 2  # bf16 activations cross the links
BOUNDS = np.array(["compute", "memory", "link"])


class Step(NamedTuple):
    """One step. `flops` and `bytes` are those of the busiest chip; `bound` names the largest of `parts`' three times;
    `parts` maps part -> seconds for "compute", "memory", "link" and bytes for "weights", "cache", "links"."""

    flops: np.ndarray
    bytes: np.ndarray
    time_lower: np.ndarray
    time_upper: np.ndarray
    bound: np.ndarray
    parts: dict[str, np.ndarray]


def distinct_experts(experts: int, active: float, tokens):
    """Expected number of distinct experts that `tokens` tokens use, each choosing `active` of `experts` uniformly:
    E (1 - (1 - k / E)^b). A router that favours some experts reads fewer, so a measured step can lie below a bound that
    experts dominate."""
    return experts * (1 - (1 - active / experts) ** np.asarray(tokens, dtype=float))


def dense_bytes(model: Model) -> float:
    """All weights but routed experts, the input embedding (a lookup) and tables beside the matrices."""
    counted = parameters(model)
    return (counted.active - counted.routed_active) * model.precision.of("weights").bits / 8


def weight_bytes(model: Model, *, mtp: bool = False) -> float:
    """All weights as stored, scales of block formats included."""
    counted = parameters(model, mtp=mtp)
    fmt = model.precision.of("experts")
    scales = fmt.scale_bytes / fmt.block if fmt.block else 0.0
    return (
        counted.routed * (fmt.bits / 8 + scales)
        + (counted.total - counted.routed) * model.precision.of("weights").bits / 8
    )


def expert_layer_bytes(model: Model) -> tuple[Moe | None, int, float]:
    """(mixture, number of layers, bytes of one expert), (None, 0, 0) for a dense model."""
    for ffn, count in model.ffn_counts:
        if isinstance(ffn, Moe):
            values = 3 * (ffn.latent or model.hidden) * ffn.width
            fmt = model.precision.of("experts")
            return ffn, count, values * (fmt.bits / 8 + (fmt.scale_bytes / fmt.block if fmt.block else 0.0))
    return None, 0, 0.0


def weights_read(model: Model, system: System, batch) -> np.ndarray:
    """Bytes of weights that one chip reads in a step of `batch` sequences: its slice of the dense weights once, and its share
    of the distinct experts that the tokens of an expert group choose."""
    ffn, layers, expert = expert_layer_bytes(model)
    dense = dense_bytes(model) / system.tensor
    if ffn is None:
        return dense + np.zeros(np.shape(batch))
    group_tokens = np.asarray(batch) * system.expert_span / system.count
    return dense + layers * distinct_experts(ffn.experts, ffn.mean_active, group_tokens) * expert / system.expert_span


def _copies(mixer, system: System) -> float:
    """The share of a layer's cache that one chip of a replica holds and reads.

    Latents, compressed entries and index keys serve all heads, so tensor parallel replicates them and only context parallel
    splits them; key-value heads split up to their number; recurrent states split by heads."""
    if isinstance(mixer, Mla | Dsa | Csa | Hca):
        return 1 / system.context
    if isinstance(mixer, Softmax | Window):
        return 1 / (min(system.tensor // system.context, mixer.kv_heads) * system.context)
    return 1 / system.tensor


def _cache(model: Model, system: System, context, precision: Precision | None, one_layer, write: bool) -> np.ndarray:
    tokens, p = np.asarray(context), precision or model.precision
    total = np.zeros(tokens.shape)
    for mixer, count in model.mixer_counts:
        kv, index, state, window = one_layer(mixer, tokens, p)
        state = state * 2 if write and isinstance(mixer, Kda | GatedDelta) else state  # a step writes its state back
        total = total + count * _copies(mixer, system) * (kv + index + state + window)
    return total


def cache_read(model: Model, system: System, context, *, precision: Precision | None = None) -> np.ndarray:
    """Cache bytes that one chip moves in a step for one sequence of its replica, states written back included."""
    return _cache(model, system, context, precision, read, True)


def cache_held(model: Model, system: System, context, *, precision: Precision | None = None) -> np.ndarray:
    """Cache bytes that one chip keeps for one sequence of its replica."""
    return _cache(model, system, context, precision, stored, False)


def _link_bytes(model: Model, system: System, tokens) -> np.ndarray:
    """Bytes that one chip sends in a pass over `tokens` tokens of its replica: two ring all-reduces a layer (tensor parallel),
    dispatch and combine to experts on other chips, and partial outputs of split caches."""
    hidden = model.hidden * ACTIVATION_BYTES
    sent = 2 * (system.tensor - 1) / system.tensor * hidden * sum(len(layer.mixers) + 1 for layer in model.layers)
    ffn, layers, _ = expert_layer_bytes(model)
    if ffn is not None and system.expert_span > system.tensor:
        sent += 2 * ffn.mean_active * layers * hidden * (1 - system.tensor / system.expert_span) / system.tensor
    if system.context > 1:
        sent += (system.context - 1) / system.context * _partial_outputs(model) / (system.tensor // system.context)
    return np.asarray(tokens) * sent


def _partial_outputs(model: Model) -> float:
    """Values of all attention layers' outputs, one token, in bf16, with a log-sum-exp in float32 for each head."""
    total = 0.0
    for mixer, count in model.mixer_counts:
        if isinstance(mixer, Kda | GatedDelta):
            continue
        width = getattr(mixer, "latent", None) or getattr(mixer, "head_dim", None) or getattr(mixer, "value_dim", None)
        total += count * mixer.heads * (width * ACTIVATION_BYTES + 4)
    return total


def _compute_time(model: Model, system: System, flops, tokens, sequences, efficiency: float) -> tuple:
    """(seconds, FLOPs) of one chip: `flops` are one sequence's, `tokens` a replica's new tokens, `sequences` its sequences."""
    chip, p, counted = system.chip, model.precision, parameters(model)
    routed = 2.0 * counted.routed_active * np.asarray(tokens) * system.data / system.count
    dense = (flops.linear * sequences - 2.0 * counted.routed_active * np.asarray(tokens)) / system.tensor
    attention, state = (part * sequences / system.tensor for part in (flops.attention, flops.state))
    index = flops.index * sequences / system.context  # the published indexers run whole on every chip of a replica
    seconds = (
        dense / rate(chip, p.weights)
        + routed / rate(chip, p.experts)
        + (attention + state) / rate(chip, "bf16")
        + index / rate(chip, p.index)
    ) / efficiency
    return seconds, dense + routed + attention + state + index


def _bounds(compute, memory, link, flops, moved, parts) -> Step:
    compute, memory, link, flops, moved = np.broadcast_arrays(compute, memory, link, flops, moved)
    times = np.stack([compute, memory, link])
    return Step(
        flops,
        moved,
        times.max(axis=0),
        times.sum(axis=0),
        BOUNDS[times.argmax(axis=0)],
        {"compute": compute, "memory": memory, "link": link} | parts,
    )


def _check(batch, efficiency: float) -> None:
    if np.any(np.asarray(batch) <= 0):
        raise ValueError(f"batch={batch!r}: wanted sequences > 0")
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency={efficiency!r}: wanted a number in (0, 1]")


def decode_step(
    model: Model, system: System, *, context, batch, precision: Precision | None = None, efficiency: float = 1.0
) -> Step:
    """One new token for each of `batch` sequences with `context` tokens in the cache, over the whole system. Seconds; arrays
    broadcast. `batch` is spread evenly over the replicas."""
    _check(batch, efficiency)
    sequences = np.asarray(batch, dtype=float) / system.data
    weights = weights_read(model, system, batch)
    cache = cache_read(model, system, context, precision=precision) * sequences
    links = _link_bytes(model, system, sequences)
    compute, flops = _compute_time(model, system, decode_flops(model, context), sequences, sequences, efficiency)
    memory = (weights + cache) / system.chip.memory_bandwidth / efficiency
    link = links / system.chip.link_bandwidth / efficiency if np.any(links) else links
    return _bounds(compute, memory, link, flops, weights + cache, {"weights": weights, "cache": cache, "links": links})


def prefill_time(model: Model, system: System, *, context, batch=1, efficiency: float = 1.0) -> Step:
    """A causal prefill of `batch` sequences of `context` tokens, as `decode_step`; weights are read once, caches written once."""
    _check(batch, efficiency)
    sequences = np.asarray(batch, dtype=float) / system.data
    tokens = np.asarray(context, dtype=float) * sequences
    weights = weights_read(model, system, np.asarray(context, dtype=float) * np.asarray(batch))
    cache = cache_held(model, system, context) * sequences
    links = _link_bytes(model, system, tokens)
    compute, flops = _compute_time(model, system, prefill_flops(model, context), tokens, sequences, efficiency)
    memory = (weights + cache) / system.chip.memory_bandwidth / efficiency
    link = links / system.chip.link_bandwidth / efficiency if np.any(links) else links
    return _bounds(compute, memory, link, flops, weights + cache, {"weights": weights, "cache": cache, "links": links})


__all__ = [
    "Step",
    "cache_held",
    "cache_read",
    "decode_step",
    "dense_bytes",
    "distinct_experts",
    "mixer_parameters",
    "prefill_time",
    "weight_bytes",
    "weights_read",
]
