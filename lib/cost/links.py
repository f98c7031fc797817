"""Bytes that one chip of a system sends to others in a pass: sums over a replica, tokens to their experts, split caches.

Activations cross the links as bf16. Collectives are rings; a token is sent once to each chip that it has experts on.
"""

from __future__ import annotations

import numpy as np

from lib.cost.memory import stored
from lib.cost.system import System, cache_share
from lib.cost.weights import mixtures
from lib.data.mechanisms import Csa, Hca, Linear, Softmax, Window
from lib.data.model import Model

ACTIVATION = 2  # bytes of a bf16 activation
LOG_SUM_EXP = 4  # bytes of the float32 that joins partial attentions


def sum_bytes(model: Model, system: System) -> float:
    """Ring all-reduces of a token's hidden vector over the replica: one after each mixer, one after what follows it.

    A chip sends 2 (T - 1) / T of the vector each time; LongCat's mixture is summed with the dense feed-forward beside it."""
    sums = 2 * model.num_layers * model.mixers_per_layer
    return 2 * (system.tensor - 1) / system.tensor * model.hidden * ACTIVATION * sums


def dispatch_bytes(model: Model, system: System) -> float:
    """A token's way to its experts on chips of other replicas, and back. The replica's chips share the sending."""
    outside = system.expert_span - system.tensor  # chips of the expert group that do not have the token yet
    sent = 0.0
    for ffn, layers, _ in mixtures(model):
        reached = outside * (1 - (1 - 1 / system.expert_span) ** ffn.mean_active)
        sent += 2 * layers * reached * (ffn.latent or model.hidden) * ACTIVATION
    return sent / system.tensor


def partial_bytes(model: Model, system: System) -> float:
    """A token's decode over caches that are split by tokens: queries gathered, partial outputs reduced, in each layer."""
    split = system.context
    values = sum(
        count * mixer.heads * _head_bytes(mixer) for mixer, count in model.mixer_counts if not isinstance(mixer, Linear)
    )
    return (split - 1) / split * values / (system.tensor // split)


def _head_bytes(mixer) -> int:
    """Bytes of one head's query and of its partial output with a log-sum-exp; MLA in its absorbed form."""
    if isinstance(mixer, Softmax | Window):
        query, output = mixer.key_dim, mixer.value_dim
    elif isinstance(mixer, Csa | Hca):
        query, output = mixer.head_dim, mixer.head_dim
    else:
        query, output = mixer.latent + mixer.rope, mixer.latent
    return (query + output) * ACTIVATION + LOG_SUM_EXP


def decode_links(model: Model, system: System, tokens) -> np.ndarray:
    """Bytes that one chip sends in a decode step of `tokens` tokens of its replica."""
    each = sum_bytes(model, system) + dispatch_bytes(model, system) + partial_bytes(model, system)
    return np.asarray(tokens) * each


def prefill_links(model: Model, system: System, context, sequences) -> np.ndarray:
    """Bytes that one chip sends in a prefill of `sequences` sequences of `context` tokens of its replica.

    Chips that split a context pass their slices of the cache round a ring, each sending `context` - 1 of them."""
    tokens = np.asarray(context, dtype=float)
    ring = np.zeros(tokens.shape)
    for mixer, count in model.mixer_counts:
        if not isinstance(mixer, Linear):
            slices = sum(stored(mixer, tokens, model.precision)) * cache_share(mixer, system.tensor, system.context)
            ring = ring + (system.context - 1) * count * slices
    each = sum_bytes(model, system) + dispatch_bytes(model, system)
    return np.asarray(sequences) * (tokens * each + ring)
