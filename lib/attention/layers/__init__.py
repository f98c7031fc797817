"""Whole token mixers at a model's real dimensions: projections, mechanism, gate and output, from `[B, T, hidden]` to it.

Each layer is a `torch.nn.Module` with `forward(x, cache=None) -> (y, cache)` over a sequence and `step(x, cache) ->
(y, cache)` for one token `[B, hidden]`; both give the same. A cache is never changed: a step returns the next one.
Weights are random (a layer is run for its cost and its algebra, not for its words), `seed` makes them the same again.
"""

from __future__ import annotations

from torch import nn

from lib.attention.layers.latent import DsaLayer, MlaLayer
from lib.attention.layers.linear import GatedDeltaLayer, KdaLayer

__all__ = ["DsaLayer", "GatedDeltaLayer", "KdaLayer", "MlaLayer", "build"]


def build(mechanism, hidden: int, **options) -> nn.Module:
    """The layer of a mechanism of `lib.data.mechanisms` (or anything with its attributes), for a residual width `hidden`.

    `options` go to the layer: `seed`, `dtype`, `device`; `rotary=False` for MLA whose rotary dims are not rotated (Kimi).
    """
    kind = getattr(mechanism, "type", type(mechanism).__name__)
    makers = {"kda": _kda, "gated_delta": _gated_delta, "mla": _mla, "dsa": _dsa}
    key = {"Kda": "kda", "GatedDelta": "gated_delta", "Mla": "mla", "Dsa": "dsa"}.get(kind, kind)
    if key not in makers:
        raise ValueError(f"mechanism: got {kind}, wanted one of {', '.join(makers)}")
    return makers[key](mechanism, hidden, options)


def _kda(m, hidden: int, options: dict) -> KdaLayer:
    return KdaLayer(hidden, heads=m.heads, key_dim=m.key_dim, value_dim=m.value_dim, conv=m.conv,
                    decay_rank=m.decay_rank, gate_rank=m.gate_rank, lower_bound=m.lower_bound, **options)  # fmt: skip


def _gated_delta(m, hidden: int, options: dict) -> GatedDeltaLayer:
    return GatedDeltaLayer(hidden, key_heads=m.key_heads, value_heads=m.value_heads, key_dim=m.key_dim,
                           value_dim=m.value_dim, conv=m.conv, **options)  # fmt: skip


def _mla(m, hidden: int, options: dict) -> MlaLayer:
    return MlaLayer(hidden, heads=m.heads, latent=m.latent, rope=m.rope, nope=m.nope, value=m.value, q_rank=m.q_rank,
                    output_gate=m.output_gate, **options)  # fmt: skip


def _dsa(m, hidden: int, options: dict) -> DsaLayer:
    if getattr(m, "index_pool", 1) != 1:
        raise ValueError(f"index_pool: got {m.index_pool}, wanted 1: pooled index keys are counted, not run")
    return DsaLayer(hidden, heads=m.heads, latent=m.latent, rope=m.rope, nope=m.nope, value=m.value, q_rank=m.q_rank,
                    output_gate=getattr(m, "output_gate", False), index_heads=m.index_heads, index_dim=m.index_dim,
                    top_k=m.top_k, own_indexer=getattr(m, "indexer", "own") == "own", **options)  # fmt: skip
