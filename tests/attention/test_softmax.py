import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.attention import softmax
from tests.attention.agreement import DTYPES, agree, agree_all, normal, widened

OPTIONS = [{}, {"causal": False}, {"window": 1}, {"window": 7}, {"window": 7, "causal": False}, {"scale": 0.3}]


def qkv(b, t, h, g, k, v, s=None, dtype=torch.float64):
    s = t if s is None else s
    return (
        normal(b, t, h, k, dtype=dtype),
        normal(b, s, g, k, dtype=dtype, seed=1),
        normal(b, s, g, v, dtype=dtype, seed=2),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 4, 4), (2, 50, 4, 2, 8, 5), (5, 9, 3, 3, 4, 6), (1, 40, 6, 1, 8, 8)])
def test_tiles_are_the_definition(sizes, options, dtype):
    """Breaks when the running sum is not rescaled by a new peak, when a head reads h % G, or when lse is base 2."""
    args = qkv(*sizes, dtype=dtype)
    got = softmax.forward(*args, **options)
    agree_all(got, softmax.definition(*widened(*args), **options))
    assert got[0].dtype == dtype
    assert got[1].dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("tiles", [(1, 1), (3, 5), (7, 2), (16, 16)])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_tile_sizes_do_not_matter(tiles, options, monkeypatch):
    """Breaks when a tile's first or last key is off by one: `start + queries - 1`, `first_key(start + 1)`."""
    monkeypatch.setattr(softmax, "QUERIES", tiles[0])
    monkeypatch.setattr(softmax, "KEYS", tiles[1])
    args = qkv(2, 23, 4, 2, 4, 3, s=31)
    agree_all(softmax.forward(*args, **options), softmax.definition(*args, **options))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"window": 5}, {"window": 5000}, {"sinks": True}], ids=str)
def test_decode_is_the_last_query_of_the_definition(options, dtype):
    """Breaks when the window keeps W + 1 keys, or when one thread's part is dropped."""
    q, k, v = qkv(2, 1, 6, 2, 8, 5, s=4100, dtype=dtype)
    options = {**options, **({"sinks": normal(6)} if "sinks" in options else {})}
    got = softmax.decode(q[:, 0], k, v, **options)
    out, lse = softmax.definition(*widened(q, k, v), **options)
    agree_all(got, (out[:, 0], lse[:, 0]))
    assert got[0].dtype == dtype


def test_a_window_of_everything_is_no_window():
    """A window takes the masked path, none does not; breaks when W counts the keys before the token."""
    args = qkv(2, 30, 4, 2, 4, 4)
    agree_all(softmax.forward(*args, window=30), softmax.forward(*args))


def test_a_window_of_one_returns_the_value():
    """Breaks when the token itself is not one of the W keys."""
    q, k, v = qkv(2, 20, 4, 2, 4, 4)
    agree(softmax.forward(q, k, v, window=1)[0], v.repeat_interleave(2, 2))


def test_a_sink_is_a_key_whose_value_is_zero():
    """Another path: the sink as one more key. Breaks when the sink joins the sum of every part or is scaled."""
    q, k, v = qkv(2, 1, 3, 3, 4, 4, s=9)
    sinks = normal(3, seed=5)
    q2 = torch.cat((q, sinks[None, None, :, None].expand(2, 1, 3, 1)), -1)
    k2 = torch.cat((torch.cat((k, torch.zeros(2, 9, 3, 1).double()), -1), torch.zeros(2, 1, 3, 5).double()), 1)
    k2[:, -1, :, -1] = 1 / 0.5
    wanted, _ = softmax.definition(q2, k2, torch.cat((v, torch.zeros_like(v[:, :1])), 1), scale=0.5, causal=False)
    for got in (softmax.forward(q, k, v, sinks=sinks, scale=0.5), softmax.definition(q, k, v, sinks=sinks, scale=0.5)):
        agree(got[0], wanted)


def test_a_sink_of_minus_infinity_is_none():
    """Breaks when the sink is put into the exponent with the wrong sign."""
    args = qkv(2, 12, 4, 2, 4, 4)
    sinks = torch.full((4,), -torch.inf, dtype=torch.float64)
    agree_all(softmax.forward(*args, sinks=sinks), softmax.forward(*args))


def test_the_future_does_not_reach_the_past():
    """Bit-equal outputs, and NaN in the future stays there; breaks when masking is by a weight of zero."""
    q, k, v = qkv(2, 50, 4, 2, 4, 4)
    out, lse = softmax.forward(q, k, v)
    k2, v2 = k.clone(), v.clone()
    k2[:, 30:], v2[:, 30:] = normal(2, 20, 2, 4, seed=9), normal(2, 20, 2, 4, seed=8)
    assert torch.equal(softmax.forward(q, k2, v2)[0][:, :30], out[:, :30])
    k2[:, 30:] = v2[:, 30:] = torch.nan
    for verb in (softmax.forward, softmax.definition):
        poisoned = verb(q, k2, v2)
        agree_all((poisoned[0][:, :30], poisoned[1][:, :30]), (out[:, :30], lse[:, :30]))
        assert poisoned[0][:, 30:].isnan().all()


def test_what_left_the_window_does_not_reach():
    """Breaks when keys before the window are masked by a weight of zero."""
    q, k, v = qkv(1, 40, 2, 2, 4, 4)
    wanted = softmax.forward(q, k, v, window=6)[0][:, 30:]
    k[:, :25] = v[:, :25] = torch.nan
    agree(softmax.forward(q, k, v, window=6)[0][:, 30:], wanted)
    agree(softmax.decode(q[:, -1], k, v, window=6)[0], wanted[:, -1])


def test_rows_past_the_length_are_not_read():
    """Breaks when lengths are ignored, or when padding is masked instead of left out."""
    q, k, v = qkv(3, 1, 4, 2, 4, 4, s=20)
    lengths = torch.tensor([20, 7, 0])
    for b, t in enumerate(lengths):
        k[b, t:] = v[b, t:] = torch.nan
    out, lse = softmax.decode(q[:, 0], k, v, lengths=lengths)
    wanted = softmax.definition(q[1:2], k[1:2, :7], v[1:2, :7])
    agree_all((out[1:2], lse[1:2]), (wanted[0][:, 0], wanted[1][:, 0]))
    assert (out[2] == 0).all() and (lse[2] == -torch.inf).all()


@pytest.mark.parametrize("verb", [softmax.forward, softmax.definition])
def test_empty_sizes(verb):
    """Breaks when a loop that never runs leaves nothing to join."""
    out, lse = verb(*qkv(2, 0, 4, 2, 4, 3))
    assert out.shape == (2, 0, 4, 3) and lse.shape == (2, 0, 4)
    out, lse = verb(*qkv(2, 3, 4, 2, 4, 3, s=0))
    assert (out == 0).all() and (lse == -torch.inf).all()


@pytest.mark.parametrize("verb", [softmax.forward, softmax.definition])
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"causal": False}, {"sinks": True}], ids=str)
def test_gradients(verb, options, monkeypatch):
    """Breaks when a buffer is overwritten that the way back still needs, or lse is detached."""
    monkeypatch.setattr(softmax, "QUERIES", 2)
    monkeypatch.setattr(softmax, "KEYS", 2)
    args = [x.requires_grad_() for x in (*qkv(1, 3, 2, 1, 2, 2, s=4), normal(2, seed=3))]
    run = lambda q, k, v, s: verb(q, k, v, **{**options, **({"sinks": s} if "sinks" in options else {})})  # noqa: E731
    used = args if "sinks" in options else args[:3]
    assert torch.autograd.gradcheck(lambda *x: run(*x, *args[len(x) :]), used)


def test_decode_gradients():
    """Breaks when the path for gradients works in place."""
    q, k, v = (x.requires_grad_() for x in qkv(2, 1, 4, 2, 3, 2, s=5))
    assert torch.autograd.gradcheck(lambda q, k, v: softmax.decode(q[:, 0], k, v, window=4), (q, k, v))


def test_arguments_stay_and_layout_does_not_matter():
    """Breaks when q is scaled in place, or when a stride is assumed."""
    q, k, v = qkv(2, 9, 4, 2, 6, 5)
    strided = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    copies = [x.clone() for x in strided]
    agree_all(softmax.forward(*strided), softmax.forward(q, k, v))
    agree_all(softmax.decode(strided[0][:, -1], *strided[1:]), softmax.decode(q[:, -1], k, v))
    assert all(torch.equal(a, b) for a, b in zip(strided, copies, strict=True))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_shape(data):
    """Any sizes, options and tiles: fast = definition. Breaks on an off-by-one that the fixed sizes do not meet."""
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    b, t, g, m, k, v = draw(1, 3), draw(0, 12), draw(1, 3), draw(1, 3), draw(1, 5), draw(1, 5)
    s = draw(0, 14)
    options = {"causal": data.draw(st.booleans()), "window": data.draw(st.none() | st.integers(1, 15))}
    args = qkv(b, t, g * m, g, k, v, s=s)
    agree_all(softmax.forward(*args, **options), softmax.definition(*args, **options))


def test_twins_share_a_signature():
    """Breaks when an option is added to one of them only."""
    assert inspect.signature(softmax.forward) == inspect.signature(softmax.definition)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, k, v: (q[0], k, v), r"q: got shape \(3, 4, 4\), wanted \[B, T, H, K\]"),
        (lambda q, k, v: (q, k[..., :3], v), r"k: got shape \(2, 3, 2, 3\), wanted .* K=4"),
        (lambda q, k, v: (q, k, v[:, :2]), r"v: got shape .* S=3"),
        (lambda q, k, v: (q[:, :, :3], k, v), r"H: got 3, wanted a multiple of G=2"),
        (lambda q, k, v: (q, k.float(), v), r"k: got torch.float32, wanted torch.float64"),
        (lambda q, k, v: (q.long(), k, v), r"q: got torch.int64, wanted one of"),
    ],
)
def test_bad_arguments(change, message):
    """Breaks when a check is removed: a broadcast or a backend's own error would follow."""
    with pytest.raises(ValueError, match=message):
        softmax.forward(*change(*qkv(2, 3, 4, 2, 4, 4)))


@pytest.mark.parametrize("options", [{"window": 0}, {"window": 2.5}, {"sinks": torch.zeros(3)}], ids=str)
def test_bad_options(options):
    """Breaks when a window of nothing or a sink for another number of heads is taken."""
    with pytest.raises(ValueError, match=next(iter(options))):
        softmax.forward(*qkv(2, 3, 4, 2, 4, 4), **options)


@pytest.mark.parametrize("lengths", [torch.tensor([1, 4]), torch.tensor([1]), torch.tensor([-1, 1])], ids=str)
def test_bad_lengths(lengths):
    """Breaks when a length may reach past the cache."""
    q, k, v = qkv(2, 3, 4, 2, 4, 4)
    with pytest.raises(ValueError, match="lengths"):
        softmax.decode(q[:, 0], k, v, lengths=lengths)
