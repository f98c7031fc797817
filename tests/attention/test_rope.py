import math

import pytest
import torch

from lib.attention import csa, dsa, mla, rope
from tests.attention.agreement import agree, normal


def turned_by_hand(x, position, pairs, base=10000.0):
    """The definition: a 2 x 2 rotation for each pair of dims named."""
    out = x.clone()
    for i, (a, b) in enumerate(pairs):
        angle = position * base ** (-2 * i / (2 * len(pairs)))
        c, s = math.cos(angle), math.sin(angle)
        out[a], out[b] = c * x[a] - s * x[b], s * x[a] + c * x[b]
    return out


INTERLEAVED = [(2 * i, 2 * i + 1) for i in range(4)]
HALVES = [(i, i + 4) for i in range(4)]


def test_layouts():
    """Breaks when the two layouts are swapped."""
    x, position = normal(8), torch.tensor(13)
    agree(rope.rotate(x, position, interleaved=True), turned_by_hand(x, 13, INTERLEAVED))
    agree(rope.rotate(x, position, interleaved=False), turned_by_hand(x, 13, HALVES))


def test_the_indexer_and_the_latent_do_not_share_a_layout():
    """The trap of 17 November 2025: fails if the indexer turns pairs (2i, 2i+1), MLA pairs (i, i + R/2), or if
    either turns the wrong end of the vector."""
    x, position = normal(12), torch.tensor(7)
    wanted = turned_by_hand(x, 7, HALVES)
    agree(dsa.rotate(x, position, 8), wanted)
    assert not torch.allclose(turned_by_hand(x, 7, INTERLEAVED), wanted)
    last = [(a + 4, b + 4) for a, b in INTERLEAVED]
    agree(mla.rotate(x, position, 8), turned_by_hand(x, 7, last))
    agree(csa.rotate(x, position, 8, base=500.0), turned_by_hand(x, 7, last, 500.0))


@pytest.mark.parametrize("interleaved", [True, False])
def test_scores_depend_on_distances_only(interleaved):
    """Breaks when sine and cosine mix, or an angle does not grow in proportion to the position."""
    q, k = normal(8), normal(8, seed=1)
    turn = lambda x, t: rope.rotate(x, torch.tensor(t), interleaved=interleaved)  # noqa: E731
    agree(turn(q, 900_000) @ turn(k, 899_990), turn(q, 10) @ turn(k, 0), 1e-8)


@pytest.mark.parametrize("interleaved", [True, False])
def test_inverse_turns_back(interleaved):
    """Breaks when `inverse` is ignored."""
    x, positions = normal(2, 5, 3, 8), torch.arange(5)[:, None] * 1000
    y = rope.rotate(x, positions, interleaved=interleaved)
    agree(rope.rotate(y, positions, interleaved=interleaved, inverse=True), x)
    assert not torch.allclose(x, y)


def test_a_million_tokens_in_float32():
    """Breaks when angles are computed in float32: then they are off by 0.03 radians at the far end."""
    x, position = normal(64), torch.tensor(1_048_575)
    agree(rope.rotate(x.float(), position, interleaved=True), rope.rotate(x, position, interleaved=True), 1e-6)


def test_what_is_not_rotary_stays():
    """Breaks when the split is at the wrong end."""
    x = normal(3, 12)
    assert torch.equal(rope.rotate_last(x, torch.arange(3), 8, interleaved=True)[:, :4], x[:, :4])
    assert torch.equal(rope.rotate_first(x, torch.arange(3), 8, interleaved=True)[:, 8:], x[:, 8:])


def test_gradients():
    """Breaks when the turn is done in place."""
    x = normal(2, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rope.rotate_last(x, torch.arange(2), 4, interleaved=False), (x,))


def test_bad_sizes():
    """Breaks when an odd number of dims is cut silently."""
    with pytest.raises(ValueError, match="x: got 5"):
        rope.rotate(normal(5), torch.tensor(1), interleaved=True)
    with pytest.raises(ValueError, match="rotary: got 9"):
        rope.rotate_last(normal(8), torch.tensor(1), 9, interleaved=True)
    with pytest.raises(TypeError):
        rope.rotate(normal(4), torch.tensor(1))
