"""What holds for both delta rules: every verb against the definition, splits, limits, gradients, causality, the door."""

from __future__ import annotations

from inspect import signature

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lib.attention import chunkwise, gated_delta, kda
from tests.attention.agreement import DTYPES, agree, agree_all, normal, widened
from tests.attention.rules import RULES, inputs, span

BOTH = pytest.mark.parametrize("rule", RULES, ids=["kda", "gated_delta"])
# B, T, H, K, V: one token, fewer than a tile, a tile, one more, a chunk, one more, several; one head, five sequences, K != V
SIZES = [(1, 1, 1, 4, 4), (5, 3, 2, 8, 4), (1, 16, 1, 4, 12), (2, 17, 3, 8, 8), (1, 64, 2, 16, 4), (5, 65, 1, 4, 8),
         (2, 200, 3, 8, 6)]  # fmt: skip


@BOTH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_chunks_are_the_definition(rule, size, dtype):
    """Output and state. Breaks when a tile's first row, a chunk's last token or the padding is off by one, when the
    delta rule measures the state before its decay, or when q reads before the write."""
    tensors = inputs(rule, *size, dtype=dtype)
    state = normal(size[0], *size[2:]).to(torch.float64 if dtype == torch.float64 else torch.float32)
    wanted = rule.recurrent(*widened(*tensors), state=state.double())
    for verb in (rule.recurrent, rule.chunked):
        out, last = verb(*tensors, state=state)
        assert (out.dtype, last.dtype) == (dtype, state.dtype)
        agree_all((out, last), wanted)


@BOTH
@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_are_the_definition(rule, dtype):
    """Breaks when a step drops q . k (the read after the write), beta, or the decay of what q reads."""
    tensors = inputs(rule, time=9, dtype=dtype)
    state = torch.zeros(2, 3, 8, 6, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    outs = []
    for t in range(9):
        out, state = rule.step(state, *(x[:, t] for x in tensors))
        outs.append(out)
    agree_all((torch.stack(outs, 1), state), rule.recurrent(*widened(*tensors)))


@BOTH
@pytest.mark.parametrize("chunk", [1, 5, 16, 48, 64, 100, 128])
def test_any_chunk(rule, chunk):
    """Breaks when C is taken for 64, or for a multiple of 16."""
    tensors = inputs(rule, time=131)
    agree_all(rule.chunked(*tensors, chunk=chunk), rule.recurrent(*tensors))


@BOTH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("strength", [0.0, 5.0, 20.0, 80.0, 1e4, torch.inf])
def test_strong_decay(rule, strength, dtype):
    """Down to -80 a step and below, over whole chunks. Breaks when 1 / decay of a chunk is formed (overflow), when a
    strong tile is clamped and not redone, or when long sums of log decays are subtracted (float32 loses the weak ones)."""
    tensors = list(inputs(rule, time=140, dtype=dtype))
    uniform = (normal(*tensors[3].shape, seed=9).abs() / 3).clamp_max(1)
    # a third of the steps do not decay, so that strong and weak decays stand next to each other
    tensors[3] = torch.where(uniform < 0.15, 0, -(strength * uniform)).to(dtype)
    out, last = rule.chunked(*tensors)
    assert out.isfinite().all() and last.isfinite().all()
    agree_all((out, last), rule.recurrent(*widened(*tensors)))


@BOTH
def test_least_decay_of_k3(rule):
    """Every step at -5, where 16 tokens span e^-75. Breaks when tiles are longer, or their range narrower."""
    tensors = list(inputs(rule, time=130, dtype=torch.float32))
    tensors[3] = torch.full_like(tensors[3], -5.0)
    agree_all(rule.chunked(*tensors), rule.recurrent(*widened(*tensors)))


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
@pytest.mark.parametrize("zero", ["k", "beta", "q", "v"])
def test_zeros(rule, verb, zero):
    """Zero keys and zero beta write nothing: pure decay. Breaks when keys are normalised here, or beta is dropped."""
    tensors = list(inputs(rule, time=20))
    place = ["q", "k", "v", "log_decay", "beta"].index(zero)
    tensors[place] = torch.zeros_like(tensors[place])
    state = normal(2, 3, 8, 6)
    out, last = getattr(rule, verb)(*tensors, state=state, scale=0.7)
    total = torch.cumsum(tensors[3], 1).exp()
    total = total if rule is kda else total[..., None].expand(-1, -1, -1, 8)
    if zero in ("k", "beta"):
        agree(last, total[:, -1, ..., None] * state, 1e-12)
        agree(out, torch.einsum("bthk,bhkv->bthv", 0.7 * tensors[0] * total, state), 1e-12)
    elif zero == "q":
        assert (out == 0).all()
    else:
        assert last.isfinite().all() and (last.square().sum() < state.square().sum())


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_no_tokens(rule, verb):
    """Breaks when T = 0 loses the state, its dtype or the output's shape."""
    tensors = inputs(rule, time=0, dtype=torch.bfloat16)
    state = normal(2, 3, 8, 6, dtype=torch.float32)
    out, last = getattr(rule, verb)(*tensors, state=state)
    assert out.shape == (2, 0, 3, 6) and out.dtype == torch.bfloat16
    assert torch.equal(last, state) and last.data_ptr() != 0
    assert getattr(rule, verb)(*tensors)[1].dtype == torch.float32


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
@pytest.mark.parametrize("empty", [{"batch": 0}, {"heads": 0}], ids=["B=0", "H=0"])
def test_nothing_to_do(rule, verb, empty):
    """Breaks when a split over no heads divides by zero."""
    out, last = getattr(rule, verb)(*inputs(rule, **{"time": 5, **empty}))
    assert out.numel() == 0 and last.numel() == 0


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(time=st.integers(0, 150), cut=st.integers(0, 150), strength=st.sampled_from([0.0, 1.0, 90.0]))
def test_split_anywhere(rule, verb, time, cut, strength):
    """One pass = two passes that hand the state over. Breaks when the state is scaled, or read before its decay."""
    tensors, cut, run = inputs(rule, time=time, strength=strength), min(cut, time), getattr(rule, verb)
    whole, last = run(*tensors)
    first, state = run(*span(tensors, 0, cut))
    second, state = run(*span(tensors, cut, time), state=state)
    agree_all((torch.cat((first, second), 1), state), (whole, last))


@BOTH
@settings(max_examples=20, deadline=None)
@given(
    size=st.tuples(st.integers(1, 3), st.integers(0, 140), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
    strength=st.floats(0, 200), chunk=st.integers(12, 80), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_size(rule, size, strength, chunk, seed):
    """Breaks for any shape or decay that the cases above did not think of."""
    tensors = inputs(rule, *size, strength=strength, seed=seed)
    agree_all(rule.chunked(*tensors, chunk=chunk), rule.recurrent(*tensors))


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_the_scale_multiplies_q(rule, verb):
    """Breaks when the scale reaches k or v, or the default is not K ** -0.5."""
    q, *rest = inputs(rule, time=40)
    run = getattr(rule, verb)
    wanted = run(q * 8**-0.5, *rest, scale=1.0)
    agree_all(run(q, *rest), wanted)
    agree(run(2 * q, *rest, scale=0.5)[0], run(q, *rest, scale=1.0)[0])


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_perfect_recall(rule, verb):
    """No decay, beta 1, orthogonal unit keys: every value comes back exactly, and overwriting forgets the first.
    Breaks when the delta rule adds without taking the old value out."""
    k = torch.linalg.qr(normal(8, 8))[0][None, :, None]  # 8 orthonormal keys
    v, again = normal(1, 8, 1, 5), normal(1, 8, 1, 5, seed=1)
    tensors = [torch.cat((k, k), 1), torch.cat((k, k), 1), torch.cat((v, again), 1)]
    zero = torch.zeros(1, 16, 1, 8, dtype=torch.float64)
    decay, beta = (zero if rule is kda else zero[..., 0]), torch.ones(1, 16, 1, dtype=torch.float64)
    out, state = getattr(rule, verb)(*tensors, decay, beta, scale=1.0)
    agree(out, tensors[2], 1e-12)
    agree(torch.einsum("btk,bkv->btv", k[:, :, 0], state[:, 0]), again[:, :, 0], 1e-12)


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_gradients(rule, verb):
    """Breaks when a step of the fast form is not differentiable, or overwrites what its gradient needs. 19 tokens: a full
    tile, a part of one, and the handing over of the state between chunks; one decay strong enough for the exact tile."""
    tensors = list(inputs(rule, batch=1, time=19, heads=2, keys=3, values=2))
    tensors[3][:, 5] = -90.0
    leaves = [x.clone().requires_grad_() for x in (*tensors, normal(1, 2, 3, 2))]
    options = {"chunk": 16} if verb == "chunked" else {}

    def run(*leaves):
        return getattr(rule, verb)(*leaves[:5], state=leaves[5], check=False, **options)

    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)


@BOTH
def test_gradient_of_a_step(rule):
    """Breaks when a step changes the state in place."""
    tensors = [x[:, 0] for x in inputs(rule, batch=1, time=1, heads=2, keys=3, values=2)]
    leaves = [x.clone().requires_grad_() for x in (normal(1, 2, 3, 2), *tensors)]
    assert torch.autograd.gradcheck(lambda *x: rule.step(*x, check=False), leaves)


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
@pytest.mark.parametrize("now", [3, 15, 16, 63, 64, 100])
def test_the_future_does_not_reach_the_past(rule, verb, now):
    """Bit for bit, whatever comes: other values, far larger ones, decays that put the tile on the other path. Breaks when
    the choice of path, a reference decay or a sum depends on a later token."""
    tensors = inputs(rule, time=130, dtype=torch.float32, strength=4.0)
    before = getattr(rule, verb)(*tensors)[0]
    for factor in (-3.0, 1e3):
        later = [x.clone() for x in tensors]
        for i, x in enumerate(later):
            x[:, now + 1 :] *= abs(factor) if i == 3 else factor
        after = getattr(rule, verb)(*later)[0]
        assert torch.equal(after[:, : now + 1], before[:, : now + 1])
        assert not torch.equal(after[:, now + 1 :], before[:, now + 1 :])


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
@pytest.mark.parametrize("poisoned", ["q", "k", "v", "log_decay", "beta"])
@pytest.mark.parametrize("first", [5, 70, 127])
@pytest.mark.parametrize("poison", [torch.nan, torch.inf])
def test_poison_stays_in_the_future(rule, verb, poisoned, first, poison):
    """NaN from one token on: earlier outputs are right, this sequence's later ones are not, the other's all are. Breaks
    when a matrix product meets 0 x NaN, in the chunk that holds the NaN or across sequences."""
    tensors = list(inputs(rule, time=130, dtype=torch.float32))
    wanted, last = rule.recurrent(*tensors)
    place = ["q", "k", "v", "log_decay", "beta"].index(poisoned)
    tensors[place] = tensors[place].clone()
    tensors[place][0, first:] = -poison if poisoned == "log_decay" else poison
    out, state = getattr(rule, verb)(*tensors)
    agree(out[0, :first], wanted[0, :first])
    agree_all((out[1], state[1]), (wanted[1], last[1]))
    if poison != poison:
        assert not out[0, first].isfinite().any()


@BOTH
@pytest.mark.parametrize("verb", ["step", "recurrent", "chunked"])
def test_arguments_stay_as_they_are(rule, verb):
    """Breaks when the state is updated in place, or handed back as the very tensor that came in."""
    tensors, state = inputs(rule, time=20, dtype=torch.float32), normal(2, 3, 8, 6, dtype=torch.float32)
    copies, old = [x.clone() for x in tensors], state.clone()
    if verb == "step":
        _, new = rule.step(state, *(x[:, 0] for x in tensors))
    else:
        _, new = getattr(rule, verb)(*tensors, state=state)
    assert all(torch.equal(a, b) for a, b in zip(tensors, copies, strict=True)) and torch.equal(state, old)
    assert new.data_ptr() != state.data_ptr()


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_strides(rule, verb):
    """Head-first, sliced and expanded inputs. Breaks when a layout is assumed."""
    tensors = inputs(rule, time=70)
    wanted = rule.recurrent(*tensors)
    other = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors]
    other[2] = torch.stack((other[2], other[2]), -1)[..., 0]  # every second number of memory
    state = torch.zeros(1, 1, 1, 1, dtype=torch.float64).expand(2, 3, 8, 6)
    assert not any(x.is_contiguous() for x in other[:3])
    agree_all(getattr(rule, verb)(*other, state=state), wanted)


@BOTH
@pytest.mark.parametrize("verb", ["recurrent", "chunked"])
def test_gradients_do_not_change_the_result(rule, verb):
    """Breaks when inputs that want a gradient take a path of other results."""
    tensors = inputs(rule, time=80)
    wanted = getattr(rule, verb)(*tensors)
    leaves = [x.clone().requires_grad_() for x in tensors]
    got = getattr(rule, verb)(*leaves)
    assert got[0].requires_grad and got[1].requires_grad
    agree_all([x.detach() for x in got], wanted)
    with torch.no_grad():
        assert not getattr(rule, verb)(*leaves)[0].requires_grad


@BOTH
def test_several_threads(rule):
    """Large enough to be split over threads, by heads, in groups. Breaks when a part writes to another's heads."""
    tensors = inputs(rule, batch=1, time=130, heads=37, keys=48, values=40, dtype=torch.float32)
    assert 2 * chunkwise.WORTH < 130 * 48 * 40 * 37
    agree_all(rule.chunked(*tensors), rule.recurrent(*widened(*tensors)))


@BOTH
@pytest.mark.parametrize("verb", ["step", "recurrent", "chunked"])
@pytest.mark.parametrize(
    ("argument", "change", "message"),
    [
        ("q", lambda x: x[..., :-1], "k: got shape"),
        ("k", lambda x: x[..., :-1], "k: got shape"),
        ("v", lambda x: x[:, :-1], "v: got shape"),
        ("log_decay", lambda x: x[..., None], "log_decay: got shape"),
        ("log_decay", lambda x: x[..., :-1], "log_decay: got shape"),
        ("log_decay", lambda x: -x, "log_decay: got a largest element of .*, wanted all <= 0"),
        ("beta", lambda x: x[..., None], "beta: got shape"),
        ("beta", lambda x: x.float(), "beta: got torch.float32, wanted torch.float64"),
        ("q", lambda x: x.half(), "q: got torch.float16"),
        ("q", lambda x: x.tolist(), "q"),
        ("state", lambda x: x.float(), "state: got torch.float32"),
        ("state", lambda x: x[..., :-1], "state: got"),
        ("state", lambda x: x.transpose(-1, -2), "state: got"),
    ],
)
def test_the_door(rule, verb, argument, change, message):
    """Each wrong argument is named. Breaks when a check is left out, or comes after the computation."""
    names = ["q", "k", "v", "log_decay", "beta", "state"]
    given = dict(zip(names, (*inputs(rule, time=5), normal(2, 3, 8, 6)), strict=True))
    if verb == "step":
        given = {n: x if n == "state" else x[:, 0] for n, x in given.items()}
    given[argument] = change(given[argument])
    with pytest.raises(ValueError, match=message):
        getattr(rule, verb)(**given)


@BOTH
def test_chunk_of_nothing(rule):
    """Breaks when a chunk of no tokens loops for ever."""
    for chunk in (0, -1, 2.5):
        with pytest.raises(ValueError, match="chunk: got"):
            rule.chunked(*inputs(rule, time=5), chunk=chunk)


@BOTH
def test_unchecked_growth(rule):
    """`check=False` trusts the caller. Breaks when the keyword does nothing."""
    tensors = list(inputs(rule, time=5))
    tensors[3] = -tensors[3]
    assert rule.recurrent(*tensors, check=False)[0].isfinite().all()


def test_twins_share_signatures():
    """Breaks when one rule, or one form, takes other arguments than its twin."""
    for verb in ("step", "recurrent", "chunked"):
        assert signature(getattr(kda, verb)) == signature(getattr(gated_delta, verb))
    plain, fast = (list(signature(f).parameters) for f in (kda.recurrent, kda.chunked))
    assert [x for x in fast if x != "chunk"] == plain
