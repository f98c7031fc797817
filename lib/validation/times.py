"""Published times beside the bounds of `lib.cost`: one layer on one H200, and whole models end to end.

A layer's step has a compute and a memory time; the lower bound is the larger, the upper their sum. An implementation is granted
half of every rate, so a published time should lie in [lower, upper / 0.5]. Small shapes are dominated by a fixed time (launches,
synchronisation), which no byte count contains: a row is then explained by its own curve's smallest point, and says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.cost.flops import decode
from lib.cost.memory import read
from lib.cost.parameters import mixer_parameters
from lib.cost.step import decode_step
from lib.cost.system import System, rate
from lib.data import Model, chip, model
from lib.data.mechanisms import Mla
from lib.evidence import geometry as g
from lib.validation.capacity import bf16

GRANTED = 0.5  # of every rate: the share of the bound that an implementation may need


class Bounds(NamedTuple):
    """Seconds: everything overlapping, and nothing overlapping at half of every rate."""

    low: float
    high: float


def module(m: Model, mixer, context, batch: int, chip_name: str = "h200") -> Bounds:
    """One attention module, projections in fp8 included, one new token for each of `batch` sequences."""
    device, p = chip(chip_name), m.precision
    weights = mixer_parameters(mixer, m.hidden)
    moved = weights + batch * float(sum(np.asarray(part, dtype=float) for part in read(mixer, np.asarray(context), p)))
    attention, index, state = (batch * float(part) for part in decode(mixer, np.asarray(context)))
    compute = (
        2 * weights * batch / rate(device, "fp8")
        + (attention + state) / rate(device, "bf16")
        + index / rate(device, p.index)
    )
    memory = moved / device.memory_bandwidth
    return Bounds(max(compute, memory), (compute + memory) / GRANTED)


def mla_of_v32() -> tuple[Model, Mla]:
    """V3.2 without its indexer, in bf16: the MLA module that the tables time beside DSA."""
    m = bf16(g.v32())
    dsa = g.latent_attention(m)
    return m, Mla(
        type="mla",
        heads=dsa.heads,
        latent=dsa.latent,
        rope=dsa.rope,
        nope=dsa.nope,
        value=dsa.value,
        q_rank=dsa.q_rank,
        output_gate=False,
    )


def dsa_of_v32() -> tuple[Model, object]:
    """V3.2's own module, latents in bf16 and index keys in fp8 rows of 132 bytes, as the tables say."""
    m = g.v32().model_copy(update={"precision": g.v32().precision.model_copy(update={"latent": "bf16"})})
    return m, g.latent_attention(m)


def state_step(m: Model, batch: float, chip_name: str = "h200") -> Bounds:
    """The recurrent kernel alone: every number of the state read and written in float32."""
    mixer = next(x for x in m.mechanisms.values() if x.type in ("kda", "gated_delta"))
    heads = getattr(mixer, "heads", None) or mixer.value_heads
    moved = 2 * batch * heads * mixer.key_dim * mixer.value_dim * 4
    seconds = moved / chip(chip_name).memory_bandwidth
    return Bounds(seconds, seconds / GRANTED)


def whole_model(name: str, chip_name: str, count: int, context: int, batch: int = 1) -> Bounds:
    """A decode step of the whole model on `count` chips at tensor parallel."""
    system = System(chip(chip_name), tensor=count, expert=count)
    step = decode_step(model(name), system, context=context, batch=batch)
    return Bounds(float(step.time_lower), float(step.time_upper) / GRANTED)


def slopes(which: str) -> Bounds:
    """Seconds for one more cached token and request in one module, at large batch: the slope of its bounds."""
    m, mixer = mla_of_v32() if which == "mla" else dsa_of_v32()
    low, high = (module(m, mixer, context, 128) for context in (2**16, 2**17))
    return Bounds((high.low - low.low) / 128 / 2**16, (high.high - low.high) / 128 / 2**16)


def crossover(batch: int, later: float = 0.0) -> Bounds:
    """The context from which DSA's module may beat MLA's, and from which it must: where MLA's upper bound passes DSA's lower,
    and its lower DSA's upper. `later` is what DSA's fixed time exceeds MLA's by, in seconds."""
    mla, dsa = mla_of_v32(), dsa_of_v32()
    contexts = 2.0 ** np.arange(8, 21, 0.125)
    at = [(module(*mla, int(c), batch), module(*dsa, int(c), batch)) for c in contexts]
    possible = next((c for c, (a, b) in zip(contexts, at, strict=True) if a.high > b.low + later), contexts[-1])
    certain = next((c for c, (a, b) in zip(contexts, at, strict=True) if a.low > b.high + later), contexts[-1])
    return Bounds(float(possible), float(certain))
