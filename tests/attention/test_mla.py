import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.attention import mla, softmax, streaming
from tests.attention.agreement import DTYPES, agree, agree_all, normal, widened


def inputs(b, t, h, c, r, dtype=torch.float64):
    return normal(b, h, c + r, dtype=dtype), normal(b, t, c + r, dtype=dtype, seed=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 4, 2), (2, 600, 4, 16, 8), (5, 33, 3, 8, 0), (1, 9000, 2, 8, 4)])
def test_streaming_is_the_definition(sizes, dtype):
    """Breaks when the rotary part joins the values, a block is skipped, or a thread's part is not merged."""
    args = inputs(*sizes, dtype=dtype)
    got = mla.decode(*args, latent_dim=sizes[3])
    agree_all(got, mla.definition(*widened(*args), latent_dim=sizes[3]))
    assert got[0].dtype == dtype
    assert got[1].dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("block", [1, 3, 64])
def test_block_size_does_not_matter(block, monkeypatch):
    """Breaks when the last, shorter block reads stale rows of the workspace."""
    monkeypatch.setattr(mla, "BLOCK", block)
    args = inputs(2, 100, 3, 8, 4)
    agree_all(mla.decode(*args, latent_dim=8), mla.definition(*args, latent_dim=8))
    low = inputs(2, 100, 3, 8, 4, dtype=torch.bfloat16)
    agree_all(mla.decode(*low, latent_dim=8), mla.definition(*widened(*low), latent_dim=8))


@pytest.mark.parametrize("rotary", [0, 4])
def test_absorbed_is_expanded(rotary):
    """Two algebras: keys and values of every head against scores on the latent. Breaks when W_UK and W_UV are swapped
    or transposed, when the rotary key is not shared by the heads, or when scale is taken from C + R."""
    b, t, h, k, v, c = 2, 21, 3, 6, 5, 8
    latent, w_uk, w_uv = normal(b, t, c + rotary), normal(h, k, c), normal(h, v, c, seed=2)
    q = normal(b, t, h, k + rotary, seed=3)
    out, lse = mla.forward(q, latent, w_uk, w_uv)
    for i in (0, 7, t - 1):
        got = mla.decode(mla.absorb(q[:, i], w_uk), latent[:, : i + 1], latent_dim=c, scale=(k + rotary) ** -0.5)
        agree_all((mla.lift(got[0], w_uv), got[1]), (out[:, i], lse[:, i]))


def test_forward_is_softmax_over_expanded_heads():
    """By hand for one head; breaks when a rotary dim is left out of the keys or of the scale."""
    latent, w_uk, w_uv, q = normal(1, 7, 6), normal(1, 3, 4), normal(1, 2, 4, seed=1), normal(1, 7, 1, 5)
    k = torch.cat((latent[0, :, :4] @ w_uk[0].T, latent[0, :, 4:]), -1)
    s = (q[0, :, 0] @ k.T * 5**-0.5).masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)
    agree(mla.forward(q, latent, w_uk, w_uv)[0][0, :, 0], s.softmax(-1) @ (latent[0, :, :4] @ w_uv[0].T))
    agree_all(mla.forward(q, latent, w_uk, w_uv, causal=False),
              softmax.definition(q, *mla.expand(latent, w_uk, w_uv), causal=False))  # fmt: skip


def test_rows_past_the_length_are_not_read():
    """Breaks when lengths are ignored or off by one."""
    q, cache = inputs(3, 20, 2, 8, 4)
    for b, t in enumerate((20, 6, 0)):
        cache[b, t:] = torch.nan
    out, lse = mla.decode(q, cache, latent_dim=8, lengths=torch.tensor([20, 6, 0]))
    agree_all((out[1:2], lse[1:2]), mla.definition(q[1:2], cache[1:2, :6], latent_dim=8))
    assert (out[2] == 0).all() and (lse[2] == -torch.inf).all()


def test_large_scores():
    """Breaks when exponentials are taken without the running peak, or it starts at 0."""
    q, cache = inputs(1, 50, 2, 8, 0)
    for shift in (-1e4, 1e4):
        args = (torch.ones_like(q), torch.full_like(cache, shift) + cache)
        agree_all(mla.decode(*args, latent_dim=8), mla.definition(*args, latent_dim=8))


def test_gradients():
    """Breaks when the workspace is reused while autograd needs it, or the peak carries a gradient by half."""
    q, cache = (x.requires_grad_() for x in inputs(2, 5, 2, 3, 2))
    for verb in (mla.decode, mla.definition):
        assert torch.autograd.gradcheck(lambda q, c, verb=verb: verb(q, c, latent_dim=3), (q, cache))
    w = [x.requires_grad_() for x in (normal(1, 3, 2, 4), normal(1, 3, 5), normal(2, 2, 3), normal(2, 2, 3, seed=1))]
    assert torch.autograd.gradcheck(lambda q, *a: mla.forward(q, *a), w)


def test_gradient_path_is_the_same_function(monkeypatch):
    """Breaks when the in-place and the differentiable path drift apart."""
    monkeypatch.setattr(mla, "BLOCK", 4)
    q, cache = inputs(2, 50, 2, 3, 2)
    agree_all(mla.decode(q.clone().requires_grad_(), cache, latent_dim=3), mla.decode(q, cache, latent_dim=3))


def test_arguments_stay_and_layout_does_not_matter():
    """Breaks when scale is applied to q in place or the cache must be contiguous."""
    q, cache = inputs(2, 40, 4, 8, 4)
    strided = normal(2, 12, 40).transpose(1, 2)
    cache = strided.contiguous()
    copies = q.clone(), strided.clone()
    agree_all(mla.decode(q, strided, latent_dim=8), mla.decode(q, cache, latent_dim=8))
    assert torch.equal(q, copies[0]) and torch.equal(strided, copies[1])


@pytest.mark.parametrize("sizes", [(0, 5, 2, 4, 2), (2, 0, 2, 4, 2)])
def test_empty_sizes(sizes):
    """Breaks when nothing is stacked."""
    out, lse = mla.decode(*inputs(*sizes), latent_dim=4)
    assert out.shape == (sizes[0], 2, 4) and lse.shape == (sizes[0], 2) and (lse == -torch.inf).all()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3), st.integers(0, 40), st.integers(1, 4), st.integers(1, 6), st.integers(0, 4), st.integers(1, 9)
)
def test_any_shape(b, t, h, c, r, block):
    """Breaks on an off-by-one at sizes that the list above does not meet."""
    before, mla.BLOCK = mla.BLOCK, block
    try:
        args = inputs(b, t, h, c, r)
        agree_all(mla.decode(*args, latent_dim=c), mla.definition(*args, latent_dim=c))
    finally:
        mla.BLOCK = before


def test_twins_share_a_signature():
    """Breaks when an option is added to one of them only."""
    assert inspect.signature(mla.decode) == inspect.signature(mla.definition)


def test_bad_arguments():
    """Breaks when a check is removed."""
    q, cache = inputs(2, 5, 3, 4, 2)
    for change, message in [
        ({"q": q[0]}, r"q: got shape \(3, 6\), wanted \[B, H, C\+R\]"),
        ({"cache": cache[..., :5]}, r"cache: got shape .* C\+R=6"),
        ({"cache": cache.float()}, "cache: got torch.float32"),
        ({"latent_dim": 7}, "latent_dim: got 7"),
        ({"lengths": torch.tensor([1, 6])}, "lengths: got indices from 1 to 6"),
    ]:
        with pytest.raises(ValueError, match=message):
            mla.decode(**{"q": q, "cache": cache, "latent_dim": 4, **change})
    with pytest.raises(ValueError, match="w_uv"):
        mla.expand(cache, normal(3, 2, 4), normal(3, 2, 5))
    with pytest.raises(ValueError, match="latent"):
        mla.expand(cache[..., :3], normal(3, 2, 4), normal(3, 2, 4))
    with pytest.raises(ValueError, match="q: got shape"):
        mla.absorb(q, normal(3, 7, 4))


@pytest.mark.parametrize("tokens", [1 << 14, pytest.param(1 << 20, marks=pytest.mark.long)])
def test_long_cache_streams(tokens):
    """A cache of equal rows has a known answer: that row, and lse = score + log T. Breaks when a block is counted
    twice or sums are kept in bfloat16; the workspace is asked for its size, so that it cannot grow with T."""
    row = normal(1, 1, 24, dtype=torch.bfloat16)
    q = normal(1, 4, 24, dtype=torch.bfloat16)
    out, lse = mla.decode(q, row.expand(1, tokens, 24).contiguous(), latent_dim=16)
    agree(out, row[..., :16].double().expand(1, 4, 16))
    agree(lse, (q.double() @ row[0, 0].double()) * 24**-0.5 + torch.tensor(tokens).double().log(), 1e-6)
    assert streaming.Widen(row[0], torch.float32, mla.BLOCK, True).room.shape[0] == mla.BLOCK
