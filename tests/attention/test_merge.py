import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.attention import merge, softmax, streaming
from tests.attention.agreement import DTYPES, agree, agree_all, normal


@settings(max_examples=25, deadline=None)
@given(edges=st.lists(st.integers(0, 20), max_size=4))
def test_any_split_of_the_keys_is_one_softmax(edges):
    """Cuts anywhere, empty parts too. Breaks when weights are not exp(lse_p - lse), or an empty part makes NaN."""
    q, k, v = normal(2, 4, 5), normal(2, 20, 2, 5), normal(2, 20, 2, 3)
    cuts = [0, *sorted(edges), 20]
    parts = [softmax.decode(q, k[:, i:j], v[:, i:j]) for i, j in itertools.pairwise(cuts)]
    agree_all(merge([out for out, _ in parts], [lse for _, lse in parts]), softmax.decode(q, k, v))


def test_stacked_parts_and_their_order():
    """Breaks when the parts must be a list, or the first part sets the scale."""
    out, lse = normal(3, 2, 4), 300 * normal(3, 2)
    agree_all(merge(out, lse), merge([out[i] for i in (2, 0, 1)], [lse[i] for i in (2, 0, 1)]))


def test_a_part_without_keys_may_hold_anything():
    """Breaks when 0 x NaN is summed."""
    out, lse = normal(2, 3, 4), normal(2, 3)
    out[1], lse[1] = torch.nan, -torch.inf
    agree_all(merge(out, lse), (out[0], lse[0]))


def test_no_part_has_keys():
    """Breaks when exp(-inf - -inf) is taken."""
    out, lse = merge(torch.ones(2, 3, 4), torch.full((2, 3), -torch.inf))
    assert (out == 0).all() and (lse == -torch.inf).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    """Outputs in their dtype, summed in float32; breaks when weights are rounded to bfloat16."""
    out, lse = normal(5, 3, 4, dtype=dtype), normal(5, 3).float()
    got = merge(out, lse)
    assert got[0].dtype == dtype and got[1].dtype == torch.float32
    agree(got[0], merge(out.double(), lse.double())[0], 1e-6)


def test_gradients():
    """Breaks when the weights are detached."""
    assert torch.autograd.gradcheck(merge, (normal(3, 2, 4).requires_grad_(), normal(3, 2).requires_grad_()))


@pytest.mark.parametrize(
    ("outs", "lses"), [([], []), ([torch.ones(2, 3)], []), ([torch.ones(2, 3)], [torch.ones(3)]),
                       ([torch.ones(2, 3), torch.ones(2, 4)], [torch.ones(2), torch.ones(2)])]
)  # fmt: skip
def test_bad_parts(outs, lses):
    """Breaks when shapes that broadcast are taken."""
    with pytest.raises(ValueError, match="outs"):
        merge(outs, lses)


def test_merge_stays_the_function_whatever_is_imported():
    """Breaks when a module of the same name takes its place."""
    import lib.attention.mla

    assert callable(lib.attention.merge)


def test_parts_of_a_stream_keep_order_and_restore_threads():
    """Breaks when results come in the order of completion, or the caller's thread count stays 1."""
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert streaming.in_parts(2, 11, lambda i, j: (i, j), smallest=2) == [(2, 5), (5, 8), (8, 11)]
        assert torch.get_num_threads() == 3
        assert streaming.in_parts(0, 3, lambda i, j: (i, j), smallest=2) == [(0, 3)]
        with pytest.raises(ZeroDivisionError):
            streaming.in_parts(0, 9, lambda i, j: 1 // i, smallest=3)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
