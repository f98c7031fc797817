import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.attention import dsa, mla
from tests.attention.agreement import DTYPES, agree, agree_all, normal, widened


def index_inputs(b, t, h, d, dtype=torch.float64):
    return normal(b, h, d, dtype=dtype), normal(b, h, dtype=dtype, seed=1), normal(b, t, d, dtype=dtype, seed=2)


def sparse_inputs(b, t, h, c, r, n, dtype=torch.float64):
    q, cache = normal(b, h, c + r, dtype=dtype), normal(b, t, c + r, dtype=dtype, seed=1)
    return q, cache, torch.stack([torch.randperm(t)[:n] for _ in range(b)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 4), (2, 700, 4, 8), (5, 20, 1, 6), (1, 9000, 3, 8), (2, 0, 3, 4)])
def test_streamed_scores_are_the_definition(sizes, dtype, monkeypatch):
    """Breaks when ReLU comes after the head sum, weights are left out, or a block is written to the wrong place."""
    monkeypatch.setattr(dsa, "BLOCK", 256)
    args = index_inputs(*sizes, dtype=dtype)
    got = dsa.index_scores(*args)
    agree(got, dsa.definition_scores(*widened(*args)))
    assert got.dtype == dtype


def test_scores_by_hand():
    """Two heads, three tokens, counted on paper: head 0 weighs 2, head 1 weighs -1, negative products count 0."""
    q = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    keys = torch.tensor([[[3.0, -5.0], [-3.0, 5.0], [1.0, 1.0]]])
    for verb in (dsa.index_scores, dsa.definition_scores):
        assert verb(q, torch.tensor([[2.0, -1.0]]), keys).tolist() == [[6.0, -5.0, 1.0]]


def test_selection_is_a_sort():
    """Another path: sort everything. Breaks when the smallest are kept, or the order is not best first."""
    scores = normal(3, 50)
    assert torch.equal(dsa.select(scores, 7), scores.argsort(-1, descending=True)[:, :7])


def test_selection_pads_with_minus_one():
    """Breaks when the padding is a token, or fewer columns come back."""
    scores = normal(2, 5)
    valid = torch.tensor([[True, False, True, False, True], [False] * 5])
    scores[~valid] = torch.nan
    chosen = dsa.select(scores, 8, valid=valid)
    assert chosen.shape == (2, 8) and chosen.dtype == torch.int64
    assert sorted(chosen[0].tolist()) == [-1, -1, -1, -1, -1, 0, 2, 4] and (chosen[0, 3:] == -1).all()
    assert (chosen[1] == -1).all()
    assert dsa.select(scores[:, :0], 3).tolist() == [[-1] * 3] * 2
    assert dsa.select(scores, 0).shape == (2, 0)


def test_a_valid_minus_infinity_beats_an_invalid_token():
    """Breaks when validity is read off the masked score."""
    scores = torch.full((1, 6), -torch.inf)
    valid = torch.tensor([[False, False, False, True, False, False]])
    assert dsa.select(scores, 6, valid=valid).tolist() == [[3, -1, -1, -1, -1, -1]]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_selection_properties(data):
    """No token twice, none invalid, none left out that scores higher; breaks when ties or padding lose a token."""
    t, n = data.draw(st.integers(1, 20)), data.draw(st.integers(0, 25))
    scores = torch.tensor([data.draw(st.lists(st.integers(-3, 3), min_size=t, max_size=t))]).double()
    valid = torch.tensor([data.draw(st.lists(st.booleans(), min_size=t, max_size=t))])
    chosen = dsa.select(scores, n, valid=valid)[0]
    kept = chosen[chosen >= 0].tolist()
    assert len(set(kept)) == len(kept) == min(n, int(valid.sum())) and valid[0, kept].all()
    rest = [i for i in range(t) if valid[0, i] and i not in kept]
    assert not kept or not rest or scores[0, kept].min() >= scores[0, rest].max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 4, 2, 1), (2, 90, 4, 16, 8, 30), (5, 33, 3, 8, 0, 33), (1, 3000, 2, 8, 4, 1500)]
)
def test_sparse_is_the_definition(sizes, dtype):
    """Breaks when rows of another sequence are read, or the rotary part joins the values."""
    args = sparse_inputs(*sizes, dtype=dtype)
    got = dsa.decode(*args, latent_dim=sizes[3])
    agree_all(got, dsa.definition(*widened(*args), latent_dim=sizes[3]))
    assert got[0].dtype == dtype


def test_all_tokens_are_dense_attention():
    """n >= T: a gather of everything against a stream over everything. Breaks when selection loses a token."""
    q, cache, _ = sparse_inputs(2, 60, 3, 8, 4, 1)
    for n in (60, 75):
        chosen = dsa.select(normal(2, 60), n)
        agree_all(dsa.decode(q, cache, chosen, latent_dim=8), mla.decode(q, cache, latent_dim=8))


def test_order_and_padding_do_not_matter():
    """Breaks when -1 is read as the last row, or as row 0."""
    q, cache, indices = sparse_inputs(2, 40, 3, 8, 4, 10)
    wanted = dsa.decode(q, cache, indices, latent_dim=8)
    padded = torch.cat((torch.full((2, 3), -1), indices.flip(1), torch.full((2, 2), -1)), 1)
    agree_all(dsa.decode(q, cache, padded.to(torch.int32), latent_dim=8), wanted)


def test_unselected_rows_are_not_read():
    """NaN everywhere else; breaks when -1 is clamped to row 0, which then counts 0 x NaN."""
    q, cache, indices = sparse_inputs(2, 40, 3, 8, 4, 10)
    wanted = dsa.decode(q, cache, indices, latent_dim=8)
    unread = torch.ones(2, 40, dtype=torch.bool).scatter(1, indices, False)
    cache[unread] = torch.nan
    padded = torch.cat((indices, torch.full((2, 3), -1)), 1)
    agree_all(dsa.decode(q, cache, padded, latent_dim=8), wanted)
    agree_all(dsa.definition(q, cache, padded, latent_dim=8), wanted)


def test_a_token_listed_twice_counts_twice():
    """Documented, as in the published kernels; breaks when duplicates are dropped: then lse loses log 2."""
    q, cache, _ = sparse_inputs(1, 5, 2, 4, 2, 1)
    once, twice = (dsa.decode(q, cache, torch.tensor([[3] * n]), latent_dim=4) for n in (1, 2))
    agree_all((twice[0], twice[1]), (once[0], once[1] + torch.tensor(2.0).double().log()))


@pytest.mark.parametrize("indices", [torch.full((2, 3), -1), torch.zeros(2, 0, dtype=torch.int64)], ids=["-1", "none"])
def test_no_token(indices):
    """Breaks when the empty softmax becomes NaN."""
    q, cache, _ = sparse_inputs(2, 5, 2, 4, 2, 1)
    for verb in (dsa.decode, dsa.definition):
        out, lse = verb(q, cache, indices, latent_dim=4)
        assert (out == 0).all() and (lse == -torch.inf).all()


def test_gradients():
    """Breaks when the gather or the scores are made in place."""
    q, cache, _ = sparse_inputs(2, 6, 2, 3, 2, 1)
    indices = torch.tensor([[4, 1, -1], [0, 5, 2]])
    args = q.requires_grad_(), cache.requires_grad_()
    for verb in (dsa.decode, dsa.definition):
        assert torch.autograd.gradcheck(lambda q, c, verb=verb: verb(q, c, indices, latent_dim=3), args)
    args = [x.requires_grad_() for x in index_inputs(2, 5, 3, 4)]
    for verb in (dsa.index_scores, dsa.definition_scores):
        assert torch.autograd.gradcheck(verb, args)


def test_arguments_stay_and_layout_does_not_matter():
    """Breaks when ReLU works on an argument in place, or strides are assumed."""
    q, w, keys = index_inputs(2, 30, 4, 8)
    strided = keys.transpose(1, 2).contiguous().transpose(1, 2)
    copies = [x.clone() for x in (q, w, keys)]
    assert torch.equal(dsa.index_scores(q, w, strided), dsa.index_scores(q, w, keys))
    assert all(torch.equal(a, b) for a, b in zip(copies, (q, w, keys), strict=True))
    q, cache, indices = sparse_inputs(2, 40, 3, 8, 4, 10)
    strided = cache.transpose(1, 2).contiguous().transpose(1, 2)
    agree_all(dsa.decode(q, strided, indices, latent_dim=8), dsa.decode(q, cache, indices, latent_dim=8))


def test_twins_share_a_signature():
    """Breaks when an option is added to one of them only."""
    assert inspect.signature(dsa.decode) == inspect.signature(dsa.definition)
    assert inspect.signature(dsa.index_scores) == inspect.signature(dsa.definition_scores)


def test_bad_arguments():
    """Breaks when a check is removed: -2 would read from the end, T would read past it."""
    q, cache, indices = sparse_inputs(2, 9, 3, 4, 2, 5)
    for change, message in [
        ({"indices": torch.full((2, 1), 9)}, "indices: got indices from 9 to 9, wanted -1 <= index < 9"),
        ({"indices": torch.full((2, 1), -2)}, "indices: got indices from -2"),
        ({"indices": indices[0]}, r"indices: got shape \(5,\), wanted \[B, N\]"),
        ({"indices": indices.double()}, "indices: got torch.float64"),
        ({"latent_dim": 0}, "latent_dim: got 0"),
        ({"cache": cache[:1]}, "cache: got shape .* B=2"),
    ]:
        with pytest.raises(ValueError, match=message):
            dsa.decode(**{"q": q, "cache": cache, "indices": indices, "latent_dim": 4, **change})
    q, w, keys = index_inputs(2, 5, 3, 4)
    for args, message in [((q, w[:, :2], keys), "weights: got shape"), ((q, w, keys[..., :3]), "keys: got shape .* D=4"),
                          ((q, w.float(), keys), "weights: got torch.float32")]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            dsa.index_scores(*args)
    with pytest.raises(ValueError, match="valid: got"):
        dsa.select(normal(2, 5), 2, valid=torch.ones(2, 5).long())
    with pytest.raises(ValueError, match="n: got -1"):
        dsa.select(normal(2, 5), -1)


@pytest.mark.parametrize("tokens", [1 << 15, pytest.param(1 << 20, marks=pytest.mark.long)])
def test_a_needle_in_a_long_cache(tokens):
    """The whole path: the one token like the query is scored highest, selected, and its latent comes out. Breaks when
    blocks of scores land in the wrong place."""
    needle = tokens * 5 // 7
    keys = 0.1 * normal(1, tokens, 16, dtype=torch.bfloat16)
    q = normal(1, 4, 16, dtype=torch.bfloat16).abs()
    keys[0, needle] = 3 * q[0].mean(0)
    chosen = dsa.select(dsa.index_scores(q, torch.ones(1, 4, dtype=torch.bfloat16), keys), 1)
    assert chosen.tolist() == [[needle]]
    cache = keys.repeat(1, 1, 2)
    agree(dsa.decode(normal(1, 2, 32, dtype=torch.bfloat16), cache, chosen, latent_dim=16)[0],
          cache[:, needle, None, :16].double().expand(1, 2, 16))  # fmt: skip
