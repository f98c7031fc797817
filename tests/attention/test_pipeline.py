"""What stands before and behind the delta rule: short convolution, gates, norms."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from lib.attention import gates, short_conv
from tests.attention.agreement import DTYPES, agree, normal, widened


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("time", "width"), [(0, 4), (1, 4), (3, 4), (20, 4), (20, 1), (20, 7)])
def test_short_convolution(time, width, dtype):
    """= a depthwise convolution of the padded sequence. Breaks when taps are reversed, or the padding is on both sides."""
    x, weight = normal(2, time, 5, dtype=dtype), normal(5, width, dtype=dtype)
    out, cache = short_conv.forward(x, weight)
    padded = functional.pad(x.double().transpose(1, 2), (width - 1, 0))
    wanted = functional.conv1d(padded, weight.double()[:, None], groups=5) if time else padded[..., :0]
    agree(out, wanted.transpose(1, 2))
    assert torch.equal(cache, padded.transpose(1, 2)[:, time:].to(dtype))


@pytest.mark.parametrize("cut", [0, 1, 2, 9])
def test_convolution_in_pieces(cut):
    """Breaks when the cache is one input short, or a step reads it in the wrong order."""
    x, weight = normal(2, 9, 5), normal(5, 4)
    wanted, last = short_conv.forward(x, weight)
    first, cache = short_conv.forward(x[:, :cut], weight)
    outs, kept = [first], cache.clone()
    for t in range(cut, 9):
        old = cache
        out, cache = short_conv.step(x[:, t], weight, cache)
        outs.append(out[:, None])
        assert torch.equal(old, kept)
        kept = cache.clone()
    agree(torch.cat(outs, 1), wanted)
    assert torch.equal(cache, last)


def test_convolution_looks_back_only():
    """NaN in the future. Breaks when a tap looks ahead."""
    x, weight = normal(1, 9, 5), normal(5, 4)
    wanted = short_conv.forward(x, weight)[0]
    x[:, 6:] = torch.nan
    assert torch.equal(short_conv.forward(x, weight)[0][:, :6], wanted[:, :6])


def test_convolution_gradient():
    """Breaks when a tap is detached."""
    leaves = [x.requires_grad_() for x in (normal(2, 6, 3), normal(3, 4), normal(2, 3, 3))]
    assert torch.autograd.gradcheck(lambda x, w, c: short_conv.forward(x, w, cache=c), leaves)


def test_the_door_of_the_convolution():
    """Breaks when a kernel for other channels, or a cache of another width, is broadcast."""
    x = normal(2, 6, 3)
    with pytest.raises(ValueError, match="weight: got shape"):
        short_conv.forward(x, normal(1, 4))
    with pytest.raises(ValueError, match="cache: got shape"):
        short_conv.forward(x, normal(3, 4), cache=normal(2, 4, 3))
    with pytest.raises(ValueError, match="cache: got shape"):
        short_conv.step(x[:, 0], normal(3, 4), normal(2, 2, 3))
    with pytest.raises(ValueError, match=r"weight: got torch\.float32"):
        short_conv.forward(x, normal(3, 4).float())


@pytest.mark.parametrize("dtype", DTYPES)
def test_decay_formulas(dtype):
    """Breaks when the rate is not exponentiated, the bias is added outside softplus, or a rate serves the wrong head."""
    logits, a_log, bias = normal(2, 7, 3, 4, dtype=dtype), normal(3, 1, dtype=dtype), normal(3, 4, dtype=dtype)
    z, a, b = widened(logits, a_log, bias)
    agree(gates.decay(logits, a_log, bias), -torch.exp(a) * torch.log(1 + torch.exp(z + b)))
    agree(gates.bounded_decay(logits, a_log, bias, lower_bound=-5.0), -5 / (1 + torch.exp(-torch.exp(a) * (z + b))))


def test_ranges_of_the_decays():
    """The one is unbounded, the other ends at its bound; neither is positive. Breaks when one is a clamp of the other."""
    logits = torch.linspace(-80, 80, 33, dtype=torch.float64)[:, None]
    zero = torch.zeros(1, dtype=torch.float64)
    free, bounded = gates.decay(logits, zero, zero), gates.bounded_decay(logits, zero, zero, lower_bound=-5.0)
    assert free.min() == -80 and free.max() <= 0
    assert bounded.min() >= -5 and bounded.max() <= 0 and bounded[16] == -2.5
    assert not torch.allclose(bounded, free.clamp_min(-5))
    for bound in (0.0, 5.0, float("nan")):
        with pytest.raises(ValueError, match="lower_bound: got"):
            gates.bounded_decay(logits, zero, zero, lower_bound=bound)


def test_norms():
    """Breaks when a norm runs over the heads, a mean is a sum, or zeros become NaN."""
    x, weight = normal(2, 5, 3, 8), normal(8)
    agree(gates.unit(x, eps=0), functional.normalize(x, dim=-1))
    agree(gates.rms_norm(x, weight, eps=1e-5), functional.rms_norm(x, (8,), weight, 1e-5))
    zeros = torch.zeros(2, 8, dtype=torch.float64)
    assert (gates.unit(zeros) == 0).all() and (gates.rms_norm(zeros, weight) == 0).all()
