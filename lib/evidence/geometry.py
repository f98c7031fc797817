"""What follows from the models' geometry alone: sparsity, compression, and where a fixed state pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.cost import parameters, stored_bytes
from lib.cost.memory import latent_bytes, stored
from lib.data import Model, model, models
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Mla, Moe, Softmax, Window
from lib.data.variants import all_full

LINEAR = Kda | GatedDelta
SPARSE = Dsa | Csa | Hca


class Sparsity(NamedTuple):
    """Three things that "sparsity" may mean, each a share of the whole that a token uses."""

    experts: float
    routed: float
    everything: float


def moe(m: Model) -> Moe | None:
    """The mixture of experts of a model, None when it is dense."""
    return next((ffn for ffn in m.ffns.values() if isinstance(ffn, Moe)), None)


def moe_models() -> list[Model]:
    return [m for m in models().values() if moe(m)]


def sparsity(m: Model) -> Sparsity:
    ffn, counted = moe(m), parameters(m)
    if ffn is None:
        raise ValueError(f"model {m.name}: wanted a mixture of experts, got dense feed-forwards")
    return Sparsity(
        ffn.active / (ffn.experts + ffn.zero_experts),
        counted.routed_active / counted.routed,
        counted.active / counted.total,
    )


class Compression(NamedTuple):
    """Numbers that multi-head attention would cache for a token and layer, over what MLA caches, counted three ways."""

    without_rotary: float
    rotary_in_latent: float
    rotary_in_both: float


def latent_attention(m: Model) -> Mla | Dsa | None:
    """The model's latent attention, dense or sparse, None when it has none."""
    return next((mixer for mixer in m.mechanisms.values() if isinstance(mixer, Mla | Dsa)), None)


def latent_models() -> list[Model]:
    return [m for m in models().values() if latent_attention(m)]


def compression(m: Model) -> Compression:
    mixer = latent_attention(m)
    if mixer is None:
        raise ValueError(
            f"model {m.name}: wanted latent attention, got {sorted(x.type for x in m.mechanisms.values())}"
        )
    plain, rotary = mixer.heads * (mixer.nope + mixer.value), mixer.heads * (mixer.nope + mixer.rope + mixer.value)
    return Compression(plain / mixer.latent, plain / (mixer.latent + mixer.rope), rotary / (mixer.latent + mixer.rope))


def linear_share(m: Model) -> tuple[int, int]:
    """(linear, other) mixers in the stack."""
    linear = sum(count for mixer, count in m.mixer_counts if isinstance(mixer, LINEAR))
    return linear, len(m.pattern) - linear


def cache_saving(m: Model, context) -> np.ndarray:
    """1 - hybrid / twin in stored bytes at `context`, the twin having full attention in every layer. Negative where the
    fixed state outweighs the cache that it replaces."""
    return 1 - stored_bytes(m, context).total / stored_bytes(all_full(m), context).total


def asymptotic_saving(m: Model) -> float:
    """The saving's limit for long contexts: the share of layers that keep no cache."""
    linear, other = linear_share(m)
    return linear / (linear + other)


def _linear_layer(m: Model):
    return next(mixer for mixer in m.mechanisms.values() if isinstance(mixer, LINEAR))


def state_layer_bytes(m: Model) -> float:
    """Recurrent state and convolution of one linear layer, for one sequence."""
    return stored(_linear_layer(m), 0, m.precision)[2]


def break_even(m: Model) -> float:
    """The context, in tokens, at which a linear layer's fixed bytes equal the latents of the layer that it replaces."""
    return state_layer_bytes(m) / latent_bytes(latent_attention(m), m.precision)


def state_bytes(m: Model) -> float:
    return float(stored_bytes(m, 0).state)


def bytes_per_token(m: Model, *, precision=None) -> float:
    """Growth of the cache for one more token, between 512K and 1M: windows are full and group sizes divide both."""
    low, high = 2**19, 2**20
    grown = stored_bytes(m, high, precision=precision).total - stored_bytes(m, low, precision=precision).total
    return float(grown / (high - low))


def window_bytes(m: Model) -> float:
    return float(stored_bytes(m, 2**20).window)


def mixer_words(m: Model) -> str:
    """`20 KDA + 7 MLA`: the stack in words."""
    names = {
        Softmax: "full",
        Window: "window",
        Mla: "MLA",
        Dsa: "DSA",
        GatedDelta: "GDN",
        Kda: "KDA",
        Csa: "CSA",
        Hca: "HCA",
    }
    counted: dict[str, int] = {}
    for mixer, count in m.mixer_counts:
        counted[names[type(mixer)]] = counted.get(names[type(mixer)], 0) + count
    return " + ".join(f"{count} {name}" for name, count in counted.items())


def kimi_linear() -> Model:
    return model("kimi-linear-48b-a3b")


def kimi_k3() -> Model:
    return model("kimi-k3")


def v32() -> Model:
    return model("deepseek-v3.2")


def v4_flash() -> Model:
    return model("deepseek-v4-flash")
