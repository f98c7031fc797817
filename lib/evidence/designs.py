"""Whole designs side by side at real scale: those released, and Kimi-Linear with its all-token layers replaced."""

from __future__ import annotations

from typing import NamedTuple

from lib.cost import decode_flops, decode_step, stored_bytes, tier_step
from lib.cost.capacity import ceiling
from lib.data import Model, chip, model, tiers
from lib.data.mechanisms import Dsa
from lib.data.variants import with_mechanism
from lib.evidence import geometry as g
from lib.evidence.ceilings import MILLION, TPOT, smallest_node

RELEASED = (
    "kimi-linear-48b-a3b",
    "kimi-k3",
    "deepseek-v3.2",
    "deepseek-v4-flash",
    "deepseek-v4-pro",
    "glm-5.2",
    "glm-5.3-flash",
)


def kimi_with_dsa() -> Model:
    """Its seven MLA layers' heads and latents under V3.2's indexer."""
    m = g.kimi_linear()
    latent, indexer = m.mechanisms["M"], g.latent_attention(g.v32())
    shared = {name: getattr(latent, name) for name in ("heads", "latent", "rope", "nope", "value", "output_gate")}
    return with_mechanism(
        m, "M", Dsa(**indexer.model_dump() | shared), name="kimi-linear-dsa", title="Kimi-Linear-48B with DSA for MLA"
    )


def kimi_with_csa() -> Model:
    """V4-Flash's compressed sparse layers, as they are, in the place of the seven MLA layers."""
    cached = g.v4_flash().precision
    m = with_mechanism(
        g.kimi_linear(),
        "M",
        g.v4_flash().mechanisms["C"],
        name="kimi-linear-csa",
        title="Kimi-Linear-48B with CSA for MLA",
    )
    return m.model_copy(
        update={
            "precision": m.precision.model_copy(
                update={"entry": cached.entry, "rope": cached.rope, "index": cached.index}
            )
        }
    )


def all_designs() -> list[Model]:
    return [model(name) for name in RELEASED] + [kimi_with_dsa(), kimi_with_csa()]


class Design(NamedTuple):
    """One design at a million tokens on the smallest node of H200 that holds its weights, one sequence."""

    model: Model
    chips: int
    per_token: float
    stored: float
    work: float
    lower: float
    upper: float
    dollars: float
    ceiling: int
    movable: float
    from_host: float


def of(m: Model) -> Design:
    """Bytes, FLOPs, seconds, dollars for a million tokens at the lower bound, the ceiling within memory and 50 ms, the share
    of the cache that may leave HBM, and the step's lower bound with it in host memory."""
    system = smallest_node(m)
    step = decode_step(m, system, context=MILLION, batch=1)
    rent = next(rent.value for rent in chip("h200").dollars_per_hour if rent.kind == "neocloud cost")
    (moved,) = tier_step(m, system, [tiers()["ddr5"]], context=MILLION)
    return Design(
        m, system.count, g.bytes_per_token(m), float(stored_bytes(m, MILLION).total), float(decode_flops(m, MILLION).total),
        float(step.time_lower), float(step.time_upper), rent * system.count / 3600 * float(step.time_lower) * 1e6,
        ceiling(m, system, tpot=TPOT), float(moved.parked / (moved.parked + moved.resident)), float(moved.time_lower),
    )  # fmt: skip


class Keeps(NamedTuple):
    """The three advantages that the post wants kept, for the one released model that joins linear and sparse layers."""

    title: str
    from_host: float  # seconds of a step with the movable cache in host memory
    per_token: float  # bytes
    dense_per_token: float  # bytes that the same stack would keep with latents in every layer
    linear_share: float


def keeps() -> Keeps:
    m = model("glm-5.3-flash")
    found, latent = of(m), g.latent_attention(m)
    linear, other = g.linear_share(m)
    from lib.cost.memory import latent_bytes

    return Keeps(
        m.title,
        found.from_host,
        found.per_token,
        (linear + other) * latent_bytes(latent, m.precision),
        linear / (linear + other),
    )
