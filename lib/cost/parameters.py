"""Parameters of a model from its geometry: matrices, norms and biases, counted as the public configurations define them.

`parameters(model)` is checked against every total that a vendor prints (table `A-parameters`). Per-expert router biases and
V4's hyper-connection weights are left out: together under 0.1 % of any model here.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from lib.data.mechanisms import Csa, Dense, Dsa, GatedDelta, Hca, Kda, Lightning, Mla, Moe, Softmax, Window
from lib.data.model import Layer, Model


class Parameters(NamedTuple):
    """Counts of numbers. `active` is what a token multiplies by: active experts and the output head, not the input
    embedding, which is a lookup. `head` is the output head's part of `active`: vendors differ in counting it."""

    total: float
    active: float
    head: float
    routed: float
    routed_active: float


@singledispatch
def mixer_parameters(mechanism, hidden: int) -> int:
    """Numbers in one token mixer's weights, for a residual width of `hidden`."""
    raise TypeError(f"mixer {type(mechanism).__name__}: wanted a mechanism of lib.data.mechanisms")


@mixer_parameters.register
def _(m: Softmax, hidden: int) -> int:
    queries = hidden * m.heads * m.key_dim
    keys_values = hidden * m.kv_heads * (m.key_dim + m.value_dim)
    output = m.heads * m.value_dim * hidden
    return queries + keys_values + output * (2 if m.output_gate else 1)


@mixer_parameters.register
def _(m: Window, hidden: int) -> int:
    if m.shared_kv:
        return _v4_core(m.heads, m.key_dim, m.q_rank, m.out_groups, m.out_rank, hidden)
    queries = hidden * m.heads * m.key_dim
    return (
        queries + hidden * m.kv_heads * (m.key_dim + m.value_dim) + m.heads * m.value_dim * hidden + m.heads * m.sinks
    )


@mixer_parameters.register
def _(m: Mla, hidden: int) -> int:
    return _latent_core(m, hidden)


@mixer_parameters.register
def _(m: Dsa, hidden: int) -> int:
    return _latent_core(m, hidden) + (indexer_parameters(m, hidden) if m.indexer == "own" else 0)


def _latent_core(m: Mla | Dsa, hidden: int) -> int:
    key = m.nope + m.rope
    queries = hidden * m.heads * key if m.q_rank is None else hidden * m.q_rank + m.q_rank + m.q_rank * m.heads * key
    down = hidden * (m.latent + m.rope) + m.latent
    up = m.latent * m.heads * (m.nope + m.value)
    output = m.heads * m.value * hidden
    return queries + down + up + output * (2 if m.output_gate else 1)


def indexer_parameters(m: Dsa, hidden: int) -> int:
    """Query from the compressed query, one key with LayerNorm, one weight a head (DeepSeek-V3.2, inference code)."""
    return m.q_rank * m.index_heads * m.index_dim + hidden * m.index_dim + 2 * m.index_dim + hidden * m.index_heads


@mixer_parameters.register
def _(m: GatedDelta, hidden: int) -> int:
    keys, values = m.key_heads * m.key_dim, m.value_heads * m.value_dim
    projections = hidden * (2 * keys + 2 * values + 2 * m.value_heads)  # q, k, v, output gate; beta and decay logit
    return projections + m.conv * (2 * keys + values) + 2 * m.value_heads + m.value_dim + values * hidden


@mixer_parameters.register
def _(m: Kda, hidden: int) -> int:
    keys, values = m.heads * m.key_dim, m.heads * m.value_dim
    decay = hidden * m.decay_rank + m.decay_rank * keys + keys + m.heads  # low rank, dt bias, A_log
    gate = hidden * values if m.gate_rank is None else hidden * m.gate_rank + m.gate_rank * values
    projections = hidden * (2 * keys + values + m.heads)  # q, k, v, beta
    return projections + m.conv * (2 * keys + values) + decay + gate + m.value_dim + values * hidden


@mixer_parameters.register
def _(m: Lightning, hidden: int) -> int:
    keys, values = m.heads * m.key_dim, m.heads * m.value_dim
    return hidden * (2 * keys + 3 * values) + values  # q, k, v, output gate, output, and the norm before the gate


@mixer_parameters.register
def _(m: Csa, hidden: int) -> int:
    core = _v4_core(m.heads, m.head_dim, m.q_rank, m.out_groups, m.out_rank, hidden)
    indexer = m.q_rank * m.index_heads * m.index_dim + hidden * m.index_heads
    streams = 2  # CSA's entries overlap: a stream for the current tokens, one for the previous
    return (
        core
        + indexer
        + _compressor(m.head_dim, m.ratio, streams, hidden)
        + _compressor(m.index_dim, m.ratio, streams, hidden)
    )


@mixer_parameters.register
def _(m: Hca, hidden: int) -> int:
    core = _v4_core(m.heads, m.head_dim, m.q_rank, m.out_groups, m.out_rank, hidden)
    return core + _compressor(m.head_dim, m.ratio, 1, hidden)


def _v4_core(heads: int, dim: int, q_rank: int, groups: int, rank: int, hidden: int) -> int:
    """Compressed query, one shared key-value head, grouped output projection, norms and sinks (V4 report, section 2.3)."""
    queries = hidden * q_rank + q_rank + q_rank * heads * dim
    output = heads * dim * rank + groups * rank * hidden
    return queries + hidden * dim + dim + output + heads


def _compressor(dim: int, ratio: int, streams: int, hidden: int) -> int:
    return 2 * hidden * streams * dim + ratio * streams * dim + dim  # values and weights, position biases, norm


def ffn_parameters(ffn: Dense | Moe, hidden: int) -> tuple[float, float, float, float]:
    """(total, active, routed, routed active) numbers in a feed-forward."""
    if isinstance(ffn, Dense):
        return (3 * hidden * ffn.width,) * 2 + (0, 0)
    inner = ffn.latent or hidden
    expert = 3 * inner * ffn.width
    always = 3 * hidden * ffn.shared * (ffn.shared_width or 0) + hidden * (ffn.experts + ffn.zero_experts)
    always += hidden * ffn.shared_gate + (2 * hidden * ffn.latent if ffn.latent else 0)
    routed, used = ffn.experts * expert, ffn.mean_active * expert
    return always + routed, always + used, routed, used


def layer_parameters(layer: Layer, hidden: int) -> tuple[float, float, float, float]:
    """(total, active, routed, routed active) of one layer, a norm before each mixer and feed-forward included."""
    fixed = sum(mixer_parameters(mixer, hidden) for mixer in layer.mixers) + hidden * (
        len(layer.mixers) + len(layer.ffns)
    )
    parts = [ffn_parameters(ffn, hidden) for ffn in layer.ffns]
    total, active, routed, used = (sum(column) for column in zip(*parts, strict=True))
    return fixed + total, fixed + active, routed, used


def parameters(model: Model, *, mtp: bool = False) -> Parameters:
    """Total and active parameters of `model`, the multi-token-prediction layers included when `mtp`."""
    total = active = routed = used = 0.0
    for mixer, count in model.mixer_counts:
        total, active = (
            value + count * (mixer_parameters(mixer, model.hidden) + model.hidden) for value in (total, active)
        )
    for ffn, count in model.ffn_counts:
        parts = ffn_parameters(ffn, model.hidden)
        total, active = total + count * (parts[0] + model.hidden), active + count * (parts[1] + model.hidden)
        routed, used = routed + count * parts[2], used + count * parts[3]
    head = model.vocab * model.hidden
    total += head * (1 if model.tied_embeddings else 2) + model.hidden
    active += head + model.hidden
    total += sum(extra.count for extra in model.extra)
    active += sum(extra.count for extra in model.extra if extra.active)
    for layer in model.mtp_layers if mtp else ():
        # an MTP layer joins the embedding and the hidden state by one more matrix and shares embedding and head
        parts = layer_parameters(layer, model.hidden)
        total, active = total + parts[0] + 2 * model.hidden**2, active + parts[1] + 2 * model.hidden**2
        routed, used = routed + parts[2], used + parts[3]
    return Parameters(total, active, head, routed, used)
