"""Gated DeltaNet's own: its equation written out, and the decay between two tokens."""

from __future__ import annotations

import pytest
import torch

from lib.attention import gated_delta
from tests.attention.agreement import agree, agree_all, normal, widened
from tests.attention.rules import inputs, linear_attention
from tests.attention.test_kda import VERBS, counted


@VERBS
def test_equation_ten(verb):
    """One head and one token at a time. Breaks when the delta is measured before the decay, or heads mix."""
    q, k, v, log_decay, beta = inputs(gated_delta, time=37)
    out, last = getattr(gated_delta, verb)(q, k, v, log_decay, beta)
    for b in range(2):
        for h in range(3):
            S, one = torch.zeros(8, 6, dtype=torch.float64), torch.eye(8, dtype=torch.float64)
            for t in range(37):
                key, alpha = k[b, t, h], log_decay[b, t, h].exp()
                S = alpha * (one - beta[b, t, h] * torch.outer(key, key)) @ S
                S = S + beta[b, t, h] * torch.outer(key, v[b, t, h])
                agree(out[b, t, h], S.T @ q[b, t, h] * 8**-0.5)
            agree(last[b, h], S)


@VERBS
def test_keys_that_never_meet_are_linear_attention(verb):
    """As for KDA, with a decay a head. Breaks when the decay between two tokens counts a step too many or too few."""
    q, _, v, log_decay, beta = inputs(gated_delta, time=40, keys=40)
    k = torch.linalg.qr(normal(40, 40))[0][None, :, None] * (1 + normal(2, 40, 3, 1).abs())
    channels = log_decay[..., None].expand(*q.shape)
    agree_all(getattr(gated_delta, verb)(q, k, v, log_decay, beta, scale=0.5),
              linear_attention(q, k, v, channels, beta, 0.5))  # fmt: skip


def test_weak_decay_after_strong_ones():
    """float32: 31 steps at -80, then weak ones. Breaks when the decay between two tokens is a difference of sums."""
    tensors = list(inputs(gated_delta, time=64, dtype=torch.float32))
    tensors[3][:, :31], tensors[3][:, 31:] = -80.0, -0.01
    tensors[1][:] = tensors[1][:, :1]
    agree_all(gated_delta.chunked(*tensors), gated_delta.recurrent(*widened(*tensors)))


@pytest.mark.parametrize(("d", "chunk", "chunks"), [(128, 64, 4), (32, 16, 3)])
def test_flops_of_a_chunk(d, chunk, chunks):
    """As KDA's count, without the sums of log decays, and with keys against keys as one square of 4 C d a token."""
    assert counted(gated_delta, d, chunk, chunks) == chunk * chunks * (
        6 * d * d + (4 * chunk + 2 * chunk + chunk + 16) * d
    )
