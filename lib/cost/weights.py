"""Weights in bytes: what a model has, what one chip of a system keeps, and what one chip reads in a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lib.cost.parameters import parameters
from lib.cost.system import System
from lib.data.mechanisms import Moe
from lib.data.model import Model


def distinct_experts(experts: int, active: float, tokens):
    """Expected number of distinct experts that `tokens` tokens use, each choosing `active` of `experts` uniformly:
    E (1 - (1 - k / E)^b). A router that favours some experts reads fewer, so a measured step can lie below a bound that
    experts dominate."""
    return experts * (1 - (1 - active / experts) ** np.asarray(tokens, dtype=float))


def mixtures(model: Model) -> Iterator[tuple[Moe, int, float]]:
    """(mixture, number of layers, bytes of one routed expert) for each kind of mixture; nothing for a dense model."""
    for ffn, layers in model.ffn_counts:
        if isinstance(ffn, Moe):
            yield ffn, layers, 3 * (ffn.latent or model.hidden) * ffn.width * model.precision.of("experts").per_value


def routed_bytes(model: Model, *, mtp: bool = False) -> float:
    """Bytes of all routed experts, scales included."""
    return parameters(model, mtp=mtp).routed * model.precision.of("experts").per_value


def dense_bytes(model: Model) -> float:
    """Bytes that every token reads: all weights but routed experts, the input embedding (a lookup) and idle tables."""
    counted = parameters(model)
    return (counted.active - counted.routed_active) * model.precision.of("weights").per_value


def weight_bytes(model: Model, *, mtp: bool = False) -> float:
    """Bytes of all weights as stored, scales included; with `mtp` those of the multi-token-prediction layers too."""
    counted = parameters(model, mtp=mtp)
    return routed_bytes(model, mtp=mtp) + (counted.total - counted.routed) * model.precision.of("weights").per_value


def weights_held(model: Model, system: System) -> float:
    """Bytes of weights that one chip keeps: routed experts over their span, all else over the replica."""
    routed = routed_bytes(model)
    return routed / system.expert_span + (weight_bytes(model) - routed) / system.tensor


def weights_read(model: Model, system: System, tokens) -> np.ndarray:
    """Bytes of weights that one chip reads in a pass over `tokens` new tokens of the whole system.

    Its slice of the dense weights once, and an even share of the distinct experts that an expert group's tokens choose: with
    few tokens and many chips some chips read more than that share, so that it is a lower bound on the busiest chip."""
    read = dense_bytes(model) / system.tensor + np.zeros(np.shape(tokens))
    group_tokens = system.share(tokens, system.expert_span)
    for ffn, layers, expert in mixtures(model):
        distinct = distinct_experts(ffn.experts, ffn.mean_active, group_tokens)
        read = read + layers * distinct * expert / system.expert_span
    return read
