"""Whose dimensions are measured: one layer of each mechanism, and whole stacks, all from data/models.

No torch here: formulas, tables and tests name the same subjects.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from lib.cost.flops import decode
from lib.cost.memory import read, stored
from lib.data import Model, model
from lib.data.mechanisms import Dsa, GatedDelta, Kda
from lib.data.model import Precision
from lib.data.variants import all_full, all_sparse

HYBRID = "kimi-linear-48b-a3b"
SPARSE = "deepseek-v3.2"
PLAIN = Precision(
    weights="bf16", experts="bf16", kv="bf16", latent="bf16", entry="bf16", rope="bf16", index="bf16", state="fp32", conv="bf16"
)  # fmt: skip


class Layer(NamedTuple):
    """A mechanism of a model: what one layer's measurement runs."""

    model: str
    spec: object


@cache
def twins() -> dict[str, Model]:
    """The hybrid's hypothetical twins: every layer MLA, and every layer MLA with V3.2's indexer."""
    base = model(HYBRID)
    dsa = all_sparse(base, next(iter(model(SPARSE).mechanisms.values())))
    return {m.name: m for m in (all_full(base), dsa)}


def named(name: str) -> Model:
    return twins()[name] if name in twins() else model(name)


@cache
def layers() -> dict[str, Layer]:
    """One layer of each mechanism. DSA has the hybrid's latents and heads, so that the indexer is all that differs."""
    sparse = next(m for m in twins().values() if "D" in m.mechanisms)
    chosen = {
        "softmax": ("llama-3.1-70b", "softmax"), "window": ("gpt-oss-120b", "window"), "mla": (HYBRID, "mla"),
        "gated_delta": ("qwen3-next-80b-a3b", "gated_delta"), "kda": (HYBRID, "kda"), "dsa": (sparse.name, "dsa"),
        "csa": ("deepseek-v4-flash", "csa"), "hca": ("deepseek-v4-flash", "hca"),
    }  # fmt: skip
    return {name: Layer(source, _of_type(named(source), kind)) for name, (source, kind) in chosen.items()}


def _of_type(m: Model, kind: str):
    return next(spec for spec in m.mechanisms.values() if spec.type == kind)


STACKS = (HYBRID, f"{HYBRID}-all-mla", f"{HYBRID}-all-dsa", "glm-5.3-flash", "deepseek-v4-flash")


def step_bytes(spec, context: int) -> float:
    """Bytes that one step of one layer must move, in bfloat16: the cache that it reads; a recurrent state is also written.

    As `lib.cost.memory.read`, but for the convolution's and the compressor's tails, which the mechanism alone does not touch.
    """
    kv, index, _, window = read(spec, context, PLAIN)
    state = 8.0 * _state(spec)
    return float(kv + index + state + window)


def _state(spec) -> int:
    """Numbers in a delta rule's state."""
    if isinstance(spec, Kda):
        return spec.heads * spec.key_dim * spec.value_dim
    return spec.value_heads * spec.key_dim * spec.value_dim if isinstance(spec, GatedDelta) else 0


def step_flops(spec, context: int) -> float:
    return float(sum(decode(spec, context)))


def core_flops(spec: Dsa, context: int) -> float:
    """Of a sparse layer's step: what the attention over the selected tokens does."""
    return float(decode(spec, context)[0])


def index_bytes(spec: Dsa, context: int) -> float:
    """Of a sparse layer's step: the index keys, all of which are read."""
    return float(read(spec, context, PLAIN)[1])


def kept_bytes(spec, context: int) -> int:
    """Memory that one sequence of one layer takes while it is measured: a sparse layer keeps more than it reads."""
    kv, index, _, window = stored(spec, context, PLAIN)
    return int(kv + index + window + 4 * _state(spec))


def layers_in_words(m: Model) -> str:
    return " + ".join(f"{count} {spec.type}" for spec, count in m.mixer_counts)
