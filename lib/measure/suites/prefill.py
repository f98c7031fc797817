"""Suite *prefill*: one layer over a whole prompt, KDA in chunks against MLA expanded against DSA (indexer, then sparse).

The mechanism alone, without projections, as in *decode*. Lengths double up to where one call would take too long.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lib.attention import dsa, kda, mla
from lib.data.mechanisms import Dsa, Kda, Mla
from lib.measure import subjects
from lib.measure.memory import Pool, Window
from lib.measure.point import Case, Plan, Point
from lib.measure.work import prompt, prompt_widths

# the largest prompt by device and mechanism: on two CPU cores a call stays under some ten seconds
LARGEST = {"cpu": {"kda": 2**15, "mla": 2**13, "dsa": 2**12}, "cuda": {"kda": 2**20, "mla": 2**17, "dsa": 2**12}}
GROWTH = {"kda": 1.0, "mla": 2.0, "dsa": 1.3}
FIRST = 2**9


def plans(device: str, tokens: int = 2**20) -> Iterator[Plan]:
    for name, most in LARGEST[device].items():
        context = FIRST
        while context <= min(most, tokens):
            yield _plan(name, context)
            context *= 2


def _plan(name: str, context: int) -> Plan:
    layer = subjects.layers()[name]
    widths = prompt_widths(layer.spec)
    size = 2 * context * sum(widths)
    point = Point("prefill", name, layer.model, context, 1, "bfloat16", "")
    return Plan(
        point,
        prompt(name, context),
        size + 64 * len(widths),
        lambda pool: _case(layer.spec, context, pool),
        least=3,
        fast=False,
        growth=GROWTH[name],
    )


def _case(m, context: int, pool: Pool) -> Case:
    room = pool.window(0)
    inputs = [room.tensor(1, context, width) for width in prompt_widths(m)]
    makers = {Kda: _kda, Mla: _mla, Dsa: _dsa}
    return Case([makers[type(m)](m, inputs, room)], float(sum(x.nbytes for x in inputs)))


def _kda(m: Kda, inputs: list, room: Window):
    q, k, v, log_decay = (x.unflatten(-1, (m.heads, -1)) for x in inputs[:4])
    q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
    log_decay, beta = -torch.nn.functional.softplus(log_decay - 3), torch.sigmoid(inputs[4])
    return lambda: kda.chunked(q, k, v, log_decay, beta, check=False)


def _mla(m: Mla, inputs: list, room: Window):
    """Heads meet expanded keys and values, as they are run over a prompt."""
    q, w_uk, w_uv = (
        inputs[0].unflatten(-1, (m.heads, -1)),
        *(room.pool.randn(m.heads, dim, m.latent) * m.latent**-0.5 for dim in (m.nope, m.value)),
    )
    return lambda: mla.forward(q, inputs[1], w_uk, w_uv, scale=(m.nope + m.rope) ** -0.5)


def _dsa(m: Dsa, inputs: list, room: Window):
    """Query by query: score the keys up to it, select, attend in absorbed form."""
    q, cache, index_q, keys, weights = inputs
    q, index_q = q.unflatten(-1, (m.heads, -1)), index_q.unflatten(-1, (m.index_heads, -1))

    def run() -> None:
        for t in range(q.shape[1]):
            scores = dsa.index_scores(index_q[:, t], weights[:, t], keys[:, : t + 1])
            chosen = dsa.select(scores, min(m.top_k, t + 1))
            dsa.decode(q[:, t], cache[:, : t + 1], chosen, latent_dim=m.latent, scale=(m.nope + m.rope) ** -0.5)

    return run
