"""The delta rule's Triton kernels, in Triton's interpreter unless there is a GPU, against the definition."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed: these kernels cannot run, not even interpreted")

from lib.attention import gated_delta, kda
from lib.attention.triton import kda as kernel
from tests.attention.agreement import agree, agree_all, normal, widened
from tests.attention.rules import inputs

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPES = [torch.float32, torch.bfloat16] if CUDA else [torch.float64, torch.float32, torch.bfloat16]
# bfloat16 tensors meet the state in TF32 on a GPU: three products of relative error 2^-11 in a row
TF32 = 6 * 2**-11


def near(got, wanted):
    out, last = (x.cpu() for x in got)
    if out.dtype != torch.bfloat16:
        return agree_all((out, last), wanted)
    # the interpreter cuts float32 to bfloat16 where a GPU rounds: one whole eps of the element
    size = wanted[0].square().mean().sqrt()
    bound = torch.finfo(torch.bfloat16).eps * wanted[0].abs() + (TF32 if CUDA else 1e-5) * size
    assert ((out.double() - wanted[0]).abs() <= bound).all()
    return agree(last, wanted[1], TF32 if CUDA else None)


def placed(*tensors):
    return [x.to(DEVICE) for x in tensors]


def state_for(tensors, seed: int = 5):
    q, v = tensors[0], tensors[2]
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return normal(q.shape[0], q.shape[2], q.shape[3], v.shape[3], dtype=wide, seed=seed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("time", "keys", "values"), [(37, 8, 6), (16, 16, 40), (1, 24, 16)])
def test_sequence(time, keys, values, dtype):
    """Breaks when a tile's last token, a column beyond the block, or the state that is given is lost."""
    tensors = inputs(kda, time=time, keys=keys, values=values, dtype=dtype)
    state = state_for(tensors)
    got = kernel.chunked(*placed(*tensors), state=placed(state)[0], scale=0.3)
    near(got, kda.recurrent(*widened(*tensors), state=state.double(), scale=0.3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_strong_decay(dtype):
    """31 steps at -80, then weak ones. Breaks when a decay is a difference of sums, or overflows."""
    tensors = list(inputs(kda, time=50, dtype=dtype))
    tensors[3] = tensors[3].clone()
    tensors[3][:, :31], tensors[3][:, 31:] = -80.0, -0.01
    got = kernel.chunked(*placed(*tensors), state=placed(0 * state_for(tensors))[0], scale=1.0)
    near(got, kda.recurrent(*widened(*tensors), scale=1.0))


def test_gated_delta_net_is_broadcast():
    """One decay a head, expanded without a copy. Breaks when strides of zero are taken for dense ones."""
    tensors = inputs(gated_delta, time=20, dtype=torch.float32)
    q, k, v, log_decay, beta = placed(*tensors)
    got = kernel.chunked(
        q, k, v, log_decay[..., None].expand_as(k), beta, state=placed(0 * state_for(tensors))[0], scale=1.0
    )
    near(got, gated_delta.recurrent(*widened(*tensors), scale=1.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("keys", "values"), [(8, 6), (24, 40)])
def test_step(keys, values, dtype):
    """Breaks when the error is measured before the decay, or the read comes before the write."""
    tensors = inputs(kda, time=1, keys=keys, values=values, dtype=dtype)
    state = state_for(tensors)
    token = [x[:, 0] for x in tensors]
    got = kernel.step(*placed(state, *token), scale=0.4)
    near(got, kda.step(state.double(), *widened(*token), scale=0.4))


def test_a_state_that_is_not_dense():
    """Breaks when the state's layout is assumed."""
    tensors = inputs(kda, time=18, keys=8, values=8, dtype=torch.float32)
    state = state_for(tensors).transpose(2, 3)
    near(kernel.chunked(*placed(*tensors), state=placed(state)[0], scale=1.0),
         kda.recurrent(*widened(*tensors), state=state.double(), scale=1.0))  # fmt: skip
    token = [x[:, 0] for x in tensors]
    near(kernel.step(*placed(state, *token), scale=1.0), kda.step(state.double(), *widened(*token), scale=1.0))


def test_later_nan_leaves_the_past_alone():
    """Breaks when a product carries a NaN to earlier tokens of its tile."""
    tensors = [x.clone() for x in inputs(kda, time=12, dtype=torch.float32)]
    clean = kda.recurrent(*widened(*tensors), scale=1.0)[0]
    tensors[1][:, 7:], tensors[2][:, 7:] = torch.nan, torch.nan
    out, _ = kernel.chunked(*placed(*tensors), state=placed(0 * state_for(tensors))[0], scale=1.0)
    agree(out[:, :7].cpu(), clean[:, :7])
    assert out[:, 7:].isnan().all()


@pytest.mark.parametrize("time", [0, 5])
def test_nothing_to_do(time):
    """No tokens leave the state, no sequences leave nothing. Breaks when a grid of zero programs is launched."""
    tensors = inputs(kda, time=5, dtype=torch.float32)
    tensors = [x[:, :time] for x in tensors] if time == 0 else [x[:0] for x in tensors]
    state = state_for(tensors)
    out, last = kernel.chunked(*placed(*tensors), state=placed(state)[0], scale=1.0)
    assert out.shape == tensors[2].shape and torch.equal(last.cpu(), state)


@pytest.mark.skipif(not CUDA, reason="no CUDA device: the verbs choose these kernels by the tensors' device")
@pytest.mark.parametrize("rule", [kda, gated_delta], ids=["kda", "gated_delta"])
def test_verbs_choose_the_kernels(rule, monkeypatch):
    """Breaks when CUDA tensors take the CPU path."""
    called = []
    monkeypatch.setattr(kernel, "chunked", lambda *a, **kw: called.append("chunked"))
    monkeypatch.setattr(kernel, "step", lambda *a, **kw: called.append("step"))
    tensors = placed(*inputs(rule, time=5, dtype=torch.float32))
    rule.chunked(*tensors)
    rule.step(placed(state_for(tensors))[0], *[x[:, 0] for x in tensors])
    assert called == ["chunked", "step"]
