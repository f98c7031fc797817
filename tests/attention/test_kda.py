"""KDA's own: its limits, each through other code, its tiles, and what its chunks cost."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lib.attention import chunkwise, gated_delta, kda
from lib.cost import flops
from tests.attention.agreement import agree, agree_all, normal, widened
from tests.attention.rules import inputs, linear_attention

VERBS = pytest.mark.parametrize("verb", ["recurrent", "chunked"])


def by_hand(q, k, v, log_decay, beta, state):
    """One head and one token at a time, the matrices of eq. 1 written out."""
    S, outs = state, []
    for t in range(len(q)):
        forget = torch.eye(len(k[t]), dtype=q.dtype) - beta[t] * torch.outer(k[t], k[t])
        S = forget @ torch.diag(log_decay[t].exp()) @ S + beta[t] * torch.outer(k[t], v[t])
        outs.append(S.T @ q[t] * len(q[t]) ** -0.5)
    return torch.stack(outs), S


@VERBS
def test_equation_one(verb):
    """Breaks when the delta comes before the decay, S^T is taken for S, or heads mix."""
    tensors, state = inputs(kda, batch=2, time=37, heads=2), normal(2, 2, 8, 6)
    out, last = getattr(kda, verb)(*tensors, state=state)
    for b in range(2):
        for h in range(2):
            agree_all((out[b, :, h], last[b, h]), by_hand(*(x[b, :, h] for x in tensors), state[b, h]))


@pytest.mark.parametrize(
    ("verb", "other"), [("recurrent", "chunked"), ("chunked", "recurrent"), ("chunked", "chunked")]
)
@pytest.mark.parametrize("strength", [1.0, 80.0])
def test_equal_gates_are_gated_deltanet(verb, other, strength):
    """Breaks when one of the two rules decays after its delta, or reads before its write."""
    q, k, v, log_decay, beta = inputs(gated_delta, time=90, strength=strength)
    channels = log_decay[..., None].expand(*k.shape)
    agree_all(getattr(kda, verb)(q, k, v, channels, beta),
              getattr(gated_delta, other)(q, k, v, log_decay, beta))  # fmt: skip


@VERBS
def test_keys_that_never_meet_are_linear_attention(verb):
    """Each key has a channel of its own, so that the delta rule finds nothing to take out: gated linear attention, a
    sum over earlier tokens. Breaks when the decay between two tokens counts a step too many or too few."""
    q, _, v, log_decay, beta = inputs(kda, time=40, keys=40)
    channels = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    k = torch.eye(40, dtype=torch.float64)[channels][None, :, None] * (1 + normal(2, 40, 3, 1).abs())
    agree_all(getattr(kda, verb)(q, k, v, log_decay, beta, scale=0.5), linear_attention(q, k, v, log_decay, beta, 0.5))


@pytest.mark.parametrize("weak", [0, 7, 15])
def test_weak_decay_after_strong_ones(weak):
    """float32: -80 a step, then 0.5 from one token to the next. Breaks when the decay between two tokens is the
    difference of two sums of a thousand, which is right to 1e-4 only."""
    tensors = list(inputs(kda, time=64, dtype=torch.float32))
    tensors[3] = torch.full_like(tensors[3], -80.0)
    tensors[3][:, weak::16] = -0.5
    tensors[3][:, (weak + 1) % 16 :: 16] = -0.25
    tensors[1][:] = tensors[1][:, :1]  # one key throughout: every pair of tokens counts
    agree_all(kda.chunked(*tensors), kda.recurrent(*widened(*tensors)))


@pytest.mark.parametrize("strength", [0.1, 1.0, 4.0])
def test_two_ways_to_a_tile(strength):
    """The dense product of a tile = its exact rows. Breaks when the reference row or the mask is off by one."""
    both, log_decay = normal(3, 2, 2, 16, 8), -strength * normal(3, 2, 16, 8).abs()
    seen = torch.ones(2, 16, 16).tril().bool()
    seen[0] = seen[0].tril(-1)
    dense = kda._diagonal(both, log_decay, torch.cumsum(log_decay, 2))
    agree(dense, torch.where(seen, kda._exact(both, log_decay), 0))


def test_mild_decays_do_not_pay_for_strong_ones(monkeypatch):
    """K3's least decay of -5 stays on the dense product. Breaks when the limit of a tile is above -75."""
    monkeypatch.setattr(kda, "_exact", lambda *_: pytest.fail("an exact tile"))
    tensors = list(inputs(kda, time=64, dtype=torch.float32))
    tensors[3] = torch.full_like(tensors[3], -5.0)
    kda.chunked(*tensors)


def test_large_keys_in_decayed_tiles():
    """Keys of 1e6 under e^-75, beta small enough for a stable rule. Breaks when a factor of a tile leaves float32."""
    tensors = list(inputs(kda, time=64, dtype=torch.float32))
    tensors[1], tensors[4] = 1e6 * tensors[1], 1e-12 * tensors[4]
    tensors[3] = torch.full_like(tensors[3], -5.0)
    agree_all(kda.chunked(*tensors), kda.recurrent(*widened(*tensors)))


def test_one_key_over_and_over():
    """The hardest triangular system: the same key at beta 1. Breaks when tiles are inverted by powers of the matrix."""
    tensors = list(inputs(kda, time=128, dtype=torch.float32))
    tensors[1][:] = tensors[1][:, :1]
    tensors[3], tensors[4] = torch.zeros_like(tensors[3]), torch.ones_like(tensors[4])
    agree_all(kda.chunked(*tensors), kda.recurrent(*widened(*tensors)))


def counted(rule, d: int, chunk: int, chunks: int) -> int:
    """FLOPs of the matrix products that the chunk form runs, for one head."""
    tensors = inputs(rule, batch=1, time=chunk * chunks, heads=1, keys=d, values=d, dtype=torch.float32)
    with FlopCounterMode(display=False) as counter:
        rule.chunked(*tensors, chunk=chunk)
    return counter.get_total_flops()


@pytest.mark.parametrize(("d", "chunk", "chunks"), [(128, 64, 4), (64, 64, 1), (32, 16, 3), (32, 128, 2)])
def test_flops_of_a_chunk(d, chunk, chunks):
    """What runs, counted from the products, against 6 d^2 + 3 C d + C^2 a token and head (Kimi Linear, section 6.3).

    The products with the state are the paper's 6 d^2. The paper counts lower triangles as half of a square; here
    tiles before the diagonal are computed once, and the rest as squares. In d a token, with L = 16 tokens of a tile:
    4 L sums of log decays as a product (the paper: additions, not counted), 4 L + 2 (C - L) products of keys and queries
    with keys (2 C), 2 C queries' weights times values (C), (C - L) + 2 L the triangular solve by tiles, in place of
    C d of W and U and C^2 of M. The inverses of the tiles, L^2 / 3 a token, are not products and not counted.
    At C = 64, d = 128 that is 1.21 times the paper's figure.
    Breaks when a product grows, or is done twice.
    """
    tile = chunkwise.TILE
    terms = 4 * tile + (4 * tile + 2 * (chunk - tile)) + 2 * chunk + (chunk - tile + 2 * tile)
    assert counted(kda, d, chunk, chunks) == chunk * chunks * (6 * d * d + terms * d)
    if (d, chunk) == (128, 64):
        ratio = counted(kda, d, chunk, chunks) / (chunk * chunks * flops.chunk_flops(d, d, chunk))
        assert ratio == pytest.approx(1.21, abs=0.005)


def test_flops_grow_with_tokens():
    """Breaks when a chunk looks at earlier chunks."""
    assert counted(kda, 32, 64, 8) == 8 * counted(kda, 32, 64, 1)
