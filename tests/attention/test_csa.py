import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.attention import csa, softmax
from tests.attention.agreement import DTYPES, agree, agree_all, normal, widened


def pool_inputs(b, t, v, ratio, streams, dtype=torch.float64):
    width = v * streams
    return (normal(b, t, width, dtype=dtype), normal(b, t, width, dtype=dtype, seed=1),
            normal(ratio, width, dtype=dtype, seed=2))  # fmt: skip


def decode_inputs(b, h, v, w, m, n, dtype=torch.float64):
    indices = torch.stack([torch.randperm(m)[:n] for _ in range(b)]) if n is not None else None
    return (normal(b, h, v, dtype=dtype), normal(b, w, v, dtype=dtype, seed=1), normal(b, m, v, dtype=dtype, seed=2),
            indices)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("ratio", "streams"), [(4, 2), (128, 1), (3, 1), (1, 1)])
@pytest.mark.parametrize("tokens", [0, 1, 3, 4, 13, 300])
def test_compressor_is_the_definition(tokens, ratio, streams, dtype):
    """Breaks when the streams are swapped, the first entry's missing run counts as zeros with weight, the bias is
    not by place in the run, or an unfinished run becomes an entry."""
    args = pool_inputs(2, tokens, 5, ratio, streams, dtype)
    got = csa.compress(*args, ratio=ratio)
    agree(got, csa.definition_compress(*widened(*args), ratio=ratio))
    assert got.shape == (2, tokens // ratio, 5) and got.dtype == dtype


def test_equal_logits_are_means():
    """Breaks when weights do not sum to 1, or the field is not 2 ratio tokens wide."""
    values = normal(1, 12, 6)
    zero, bias = torch.zeros(1, 12, 6).double(), torch.zeros(4, 6).double()
    agree(csa.compress(values, zero, bias, ratio=4, overlap=False), values.unflatten(1, (3, 4)).mean(2))
    a, b = values[..., :3], values[..., 3:]
    wanted = torch.stack([a[:, :4].mean(1), (a[:, 4:8].sum(1) + b[:, :4].sum(1)) / 8,
                          (a[:, 8:].sum(1) + b[:, 4:8].sum(1)) / 8], 1)  # fmt: skip
    agree(csa.compress(values, zero, bias, ratio=4), wanted)


@pytest.mark.parametrize(("ratio", "streams"), [(4, 2), (128, 1)])
def test_later_tokens_do_not_change_entries(ratio, streams):
    """Bit-equal past, NaN in the future; breaks when an entry looks one run ahead."""
    values, logits, bias = pool_inputs(1, 5 * ratio, 4, ratio, streams)
    before = csa.compress(values, logits, bias, ratio=ratio)
    values[:, 3 * ratio :] = logits[:, 3 * ratio :] = torch.nan
    assert torch.equal(csa.compress(values, logits, bias, ratio=ratio)[:, :3], before[:, :3])


def test_the_last_two_runs_give_the_last_entry():
    """What a server keeps between steps; breaks when an entry reaches further back than its field."""
    values, logits, bias = pool_inputs(2, 40, 4, 4, 2)
    whole = csa.compress(values, logits, bias, ratio=4)
    agree(csa.compress(values[:, 32:], logits[:, 32:], bias, ratio=4)[:, -1], whole[:, -1])


@given(st.integers(0, 2000), st.sampled_from([4, 128]))
def test_an_entry_is_seen_when_its_last_token_is_there(position, ratio):
    """4j + 3 <= t and 128j + 127 <= t; breaks for t // ratio, which hides an entry one token too long."""
    assert csa.visible(position, ratio) == sum(ratio * j + ratio - 1 <= position for j in range(position + 1))


def test_selection_keeps_to_what_is_seen():
    """Breaks when entries that are not complete compete; NaN would win."""
    scores = normal(2, 10)
    scores[:, 3:] = torch.nan
    chosen = csa.select(scores, 5, position=14, ratio=4)
    assert [sorted(row) for row in chosen.tolist()] == [[-1, -1, 0, 1, 2]] * 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 4, 1, 1, 1), (2, 3, 8, 7, 30, 9), (5, 2, 6, 4, 12, None), (2, 3, 8, 7, 30, 0)]
)
def test_two_branches_are_one_softmax(sizes, sinks, dtype):
    """The definition lays window, entries and sink side by side. Breaks when each branch has its own softmax or sink,
    or a partial result is rounded."""
    args = decode_inputs(*sizes, dtype=dtype)
    sinks = normal(sizes[1], seed=4) if sinks else None
    got = csa.decode(*args, sinks=sinks)
    agree_all(got, csa.definition(*widened(*args), sinks=sinks))
    assert got[0].dtype == dtype


def test_no_window_or_no_entries():
    """Breaks when an empty branch makes NaN."""
    q, window, entries, _ = decode_inputs(2, 3, 8, 5, 6, None)
    for a, b in [(window[:, :0], entries), (window, entries[:, :0]), (window[:, :0], entries[:, :0])]:
        agree_all(csa.decode(q, a, b), csa.definition(q, a, b))


def test_runs_of_one_are_plain_attention():
    """Ratio 1, no overlap, any logits: every token is its own entry, so that all entries are MQA over the tokens.
    Another path: softmax.decode. Breaks when a lone weight is not 1, or keys and values differ."""
    values, logits, bias = pool_inputs(2, 20, 8, 1, 1)
    entries = csa.compress(values, logits, bias, ratio=1)
    q = normal(2, 3, 8)
    agree_all(csa.decode(q, values[:, :0], entries), softmax.decode(q, values[:, :, None], values[:, :, None]))


def test_equal_weights_are_attention_over_means():
    """Window and heavily compressed entries against softmax.decode over tokens and means put together."""
    values = normal(2, 24, 8)
    zero = torch.zeros_like(values)
    entries = csa.compress(values, zero, torch.zeros(8, 8).double(), ratio=8)
    q, sinks = normal(2, 3, 8), normal(3)
    kv = torch.cat((values[:, -5:], values.unflatten(1, (3, 8)).mean(2)), 1)[:, :, None]
    agree_all(csa.decode(q, values[:, -5:], entries, sinks=sinks), softmax.decode(q, kv, kv, sinks=sinks))


def test_a_sink_of_minus_infinity_is_none():
    """Breaks when the sink enters with the wrong sign."""
    args = decode_inputs(2, 3, 8, 5, 12, 6)
    sinks = torch.full((3,), -torch.inf, dtype=torch.float64)
    agree_all(csa.decode(*args, sinks=sinks), csa.decode(*args))


def test_unselected_entries_are_not_read():
    """NaN in every entry that is not listed; breaks when -1 reads entry 0."""
    q, window, entries, _ = decode_inputs(2, 3, 8, 5, 12, None)
    indices = torch.tensor([[3, -1, 5], [7, 2, -1]])
    wanted = csa.decode(q, window, entries, indices)
    entries[torch.ones(2, 12).bool().scatter(1, torch.tensor([[3, 5], [7, 2]]), False)] = torch.nan
    agree_all(csa.decode(q, window, entries, indices), wanted)


def test_outputs_turned_back_depend_on_distances():
    """Keys and values turned at their positions, the output turned back at the query's: shifting everything changes
    nothing. Breaks without the inverse, or with the wrong position."""
    q, kv = normal(1, 2, 12), normal(1, 6, 12)

    def at(shift):
        t = torch.tensor(shift + 5)
        keys = csa.rotate(kv, torch.arange(6) + shift, 8)
        out, lse = csa.decode(csa.rotate(q, t, 8), keys[:, 3:], keys[:, :3])
        return csa.rotate(out, t, 8, inverse=True), lse

    agree_all(at(1000), at(0), 1e-9)


def test_finished_entries():
    """RMS norm of one, then turned at the run's first token; breaks when entry j stands at j, or at its last token."""
    entries, weight = 7 * normal(2, 5, 12), torch.ones(12).double()
    got = csa.finish(entries, weight, ratio=4, rotary=8, eps=0.0)
    agree(got.square().mean(-1), torch.ones(2, 5).double())
    plain = entries / entries.square().mean(-1, keepdim=True).sqrt()
    agree(got, csa.rotate(plain, torch.arange(5) * 4, 8))


def test_gradients():
    """Breaks when a branch works in place, or the padding of the first entry makes NaN on the way back."""
    for ratio, streams in ((4, 2), (2, 1)):
        args = [x.requires_grad_() for x in pool_inputs(1, 9, 2, ratio, streams)]
        for verb in (csa.compress, csa.definition_compress):
            assert torch.autograd.gradcheck(lambda *a, verb=verb, r=ratio: verb(*a, ratio=r), args)
    q, window, entries, _ = (x if x is None else x.requires_grad_() for x in decode_inputs(1, 2, 3, 2, 4, None))
    sinks = normal(2).requires_grad_()
    for indices in (None, torch.tensor([[2, -1, 0]])):
        for verb in (csa.decode, csa.definition):
            run = lambda q, w, e, s, verb=verb, i=indices: verb(q, w, e, i, sinks=s)  # noqa: E731
            assert torch.autograd.gradcheck(run, (q, window, entries, sinks))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_shape(data):
    """Any ratio, length and overlap: fast = definition."""
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    ratio, overlap = draw(1, 6), data.draw(st.booleans())
    args = pool_inputs(draw(1, 3), draw(0, 20), draw(1, 4), ratio, 1 + overlap)
    agree(
        csa.compress(*args, ratio=ratio, overlap=overlap), csa.definition_compress(*args, ratio=ratio, overlap=overlap)
    )


def test_arguments_stay_and_twins_share_a_signature():
    """Breaks when bias is added in place, or an option is added to one twin."""
    args = pool_inputs(2, 12, 4, 4, 2)
    copies = [x.clone() for x in args]
    csa.compress(*args, ratio=4)
    assert all(torch.equal(a, b) for a, b in zip(args, copies, strict=True))
    args = decode_inputs(2, 3, 8, 5, 12, 4)
    copies = [x.clone() for x in args]
    csa.decode(*args)
    assert all(torch.equal(a, b) for a, b in zip(args, copies, strict=True))
    assert inspect.signature(csa.decode) == inspect.signature(csa.definition)
    assert inspect.signature(csa.compress) == inspect.signature(csa.definition_compress)


def test_bad_arguments():
    """Breaks when a check is removed."""
    values, logits, bias = pool_inputs(1, 8, 3, 4, 2)
    for change, message in [
        ({"bias": bias[:3]}, r"bias: got shape \(3, 6\), wanted \[4, V\]"),
        ({"logits": logits[:, :7]}, "logits: got shape"),
        ({"ratio": 0}, "ratio: got 0"),
        ({"values": values[..., :5], "logits": logits[..., :5], "bias": bias[..., :5]}, "values: got 5"),
    ]:
        with pytest.raises(ValueError, match=message):
            csa.compress(**{"values": values, "logits": logits, "bias": bias, "ratio": 4, **change})
    q, window, entries, indices = decode_inputs(2, 3, 8, 5, 12, 4)
    for change, message in [
        ({"indices": indices + 12}, "indices: got indices from"),
        ({"sinks": torch.zeros(2)}, "sinks: got shape"),
        ({"window": window[..., :7]}, "window: got shape .* V=8"),
        ({"entries": entries.float()}, "entries: got torch.float32"),
    ]:
        with pytest.raises(ValueError, match=message):
            csa.decode(**{"q": q, "window": window, "entries": entries, "indices": indices, **change})
