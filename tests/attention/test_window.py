import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.attention import window


@given(st.integers(1, 12), st.none() | st.integers(1, 14))
def test_the_mask_shows_the_keys_that_are_counted(keys, width):
    """Breaks when the mask keeps W + 1 keys, or when the count leaves out the token itself."""
    mask = window.mask(keys, keys, width)
    assert mask.sum(1).tolist() == [window.keys_seen(t, width) for t in range(keys)]
    assert [int(row.nonzero()[0]) for row in mask] == [window.first_key(t, width) for t in range(keys)]


def test_keys_seen_takes_arrays():
    """The cost model counts over arrays of contexts; breaks when only whole numbers pass."""
    assert window.keys_seen(np.array([0, 3, 9]), 4).tolist() == [1, 4, 4]
    assert window.keys_seen(1 << 20) == (1 << 20) + 1


@pytest.mark.parametrize("width", [1, 3])
def test_both_sides(width):
    """Not causal: the same reach after the token as before it. Breaks when it is W instead of W - 1."""
    mask = window.mask(9, 9, width, causal=False)
    assert torch.equal(mask, mask.T) and int(mask[4].sum()) == 2 * width - 1


def test_counting_needs_no_torch():
    """Breaks when the package imports torch before a tensor is there."""
    code = "import sys; from lib.attention import window; window.keys_seen(5, 3); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
