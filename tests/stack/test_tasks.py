"""Every task's answers, found again by another code, token by token."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.stack.tasks import FILLER, KEYS, SILENT, STACKS, SYMBOLS, TASKS

SIZES = {
    "mqar": st.integers(1, KEYS),
    "needle": st.integers(0, 60),
    "palindrome": st.integers(1, 40),
    "stacks": st.integers(1, 40),
    "copying": st.integers(1, 20),
}


def recall(tokens: list[int]) -> list[int]:
    """The value that followed a key when it was told; asked when a key comes again."""
    told, wanted = {}, []
    for i, token in enumerate(tokens):
        if token in told:
            wanted.append(told[token])
        else:
            wanted.append(SILENT)
            if 1 <= token <= KEYS and i + 1 < len(tokens):
                told[token] = tokens[i + 1]
    return wanted


def after_the_mark(tokens: list[int]) -> list[int]:
    first = tokens.index(1)
    return [SILENT] * (len(tokens) - 1) + [tokens[first + 1]]


def backwards(tokens: list[int]) -> list[int]:
    word = tokens[: tokens.index(1)]
    return [SILENT] * len(word) + word[::-1]


def tops(tokens: list[int]) -> list[int]:
    held: dict[int, list[int]] = {}
    wanted = []
    for move, symbol in zip(tokens[::2], tokens[1::2], strict=True):
        if move <= STACKS:
            held.setdefault(move, []).append(symbol)
            wanted += [SILENT, SILENT]
        else:
            assert symbol == FILLER
            wanted += [held[move - STACKS].pop(), SILENT]
    return wanted


def in_order(tokens: list[int]) -> list[int]:
    word = [token for token in tokens if token > 1]
    return [SILENT] * (len(tokens) - len(word)) + word


SOLVERS = {"mqar": recall, "needle": after_the_mark, "palindrome": backwards, "stacks": tops, "copying": in_order}


@pytest.mark.parametrize("name", TASKS)
@given(data=st.data())
def test_answers(name, data):
    """Breaks when an answer belongs to another key, stack or place, or a symbol leaves the vocabulary."""
    size, seed = data.draw(SIZES[name]), data.draw(st.integers(0, 1000))
    tokens, targets = TASKS[name].make(size, torch.Generator().manual_seed(seed), 3)
    assert tokens.shape == targets.shape and int(tokens.min()) >= 0 and int(tokens.max()) < TASKS[name].vocab
    for row, wanted in zip(tokens.tolist(), targets.tolist(), strict=True):
        assert SOLVERS[name](row) == wanted


@pytest.mark.parametrize("name", TASKS)
def test_a_seed_is_a_data_set(name):
    """Breaks when a draw goes to the global generator."""
    first, second, other = (TASKS[name].make(8, torch.Generator().manual_seed(seed), 4)[0] for seed in (1, 1, 2))
    assert torch.equal(first, second) and not torch.equal(first, other)


@pytest.mark.parametrize("name", TASKS)
def test_chance(name):
    """Guessing one answer is right about once in `answers` times. Breaks when answers are not equally likely."""
    size = {"mqar": 16, "needle": 4}.get(name, 16)
    _, targets = TASKS[name].make(size, torch.Generator().manual_seed(0), 2000)
    asked = targets[targets != SILENT]
    counts = torch.bincount(asked)[int(asked.min()) :]
    assert len(counts[counts > 0]) == TASKS[name].answers == (32 if name == "mqar" else SYMBOLS)
    assert float(counts.max() / len(asked)) < 1.6 * TASKS[name].chance


def test_too_many_keys():
    with pytest.raises(ValueError, match=r"count=65: wanted at most 64 distinct"):
        TASKS["mqar"].make(65, torch.Generator(), 1)
