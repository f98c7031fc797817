"""Tasks made by code: sequences, targets where a prediction is asked for, and answers that another code can check.

A batch is `tokens [B, T]` and `targets [B, T]`, -100 where nothing is asked. Token 0 is filler. Every task draws from a
generator, so that a seed is a data set; held-out batches have other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

SILENT = -100
FILLER = 0


@dataclass(frozen=True)
class Task:
    """`make(size, generator, batch)` draws a batch of size `size` (pairs, symbols, gap, ...), which `describe` names."""

    name: str
    vocab: int
    answers: int  # equally likely answers: chance is 1 / answers
    describe: str
    make: Callable[[int, Generator, int], tuple[Tensor, Tensor]]

    @property
    def chance(self) -> float:
        return 1 / self.answers


def _distinct(high: int, count: int, batch: int, generator: Generator) -> Tensor:
    """`[batch, count]` of 0 … high - 1, no number twice in a row of the result."""
    if count > high:
        raise ValueError(f"count={count}: wanted at most {high} distinct symbols")
    return torch.rand(batch, high, generator=generator).argsort(1)[:, :count]


KEYS, VALUES = 64, 32


def mqar(pairs: int, generator: Generator, batch: int) -> tuple[Tensor, Tensor]:
    """Multi-query associative recall: `k1 v1 … kP vP`, then every key once more in another order, asked for its value.

    Keys are distinct; tokens 1 … 64 are keys, 65 … 96 values. (Zoology, arXiv 2312.04927, without its filler.)"""
    keys = 1 + _distinct(KEYS, pairs, batch, generator)
    values = 1 + KEYS + torch.randint(VALUES, (batch, pairs), generator=generator)
    order = torch.rand(batch, pairs, generator=generator).argsort(1)
    told = torch.stack((keys, values), 2).flatten(1)
    asked, wanted = keys.gather(1, order), values.gather(1, order)
    tokens = torch.cat((told, asked), 1)
    return tokens, torch.cat((torch.full_like(told, SILENT), wanted), 1)


SYMBOLS = 32


def needle(gap: int, generator: Generator, batch: int) -> tuple[Tensor, Tensor]:
    """`mark x`, then `gap` tokens of noise, then `mark` again: what followed the first mark?

    Token 1 is the mark, 2 … 33 the answers, 34 … 65 noise."""
    answer = 2 + torch.randint(SYMBOLS, (batch, 1), generator=generator)
    noise = 2 + SYMBOLS + torch.randint(SYMBOLS, (batch, gap), generator=generator)
    before = torch.randint(0, gap + 1, (batch,), generator=generator)  # noise that comes before the needle
    mark = torch.ones(batch, 1, dtype=torch.int64)
    rows = [torch.cat((noise[b, :n], mark[b], answer[b], noise[b, n:], mark[b])) for b, n in enumerate(before.tolist())]
    tokens = torch.stack(rows)
    targets = torch.full_like(tokens, SILENT)
    targets[:, -1] = answer[:, 0]
    return tokens, targets


def palindrome(symbols: int, generator: Generator, batch: int) -> tuple[Tensor, Tensor]:
    """A random word, a mark, and the word backwards, every letter of which is asked for (Kimi Linear, section 5.1)."""
    word = 2 + torch.randint(SYMBOLS, (batch, symbols), generator=generator)
    mark = torch.ones(batch, 1, dtype=torch.int64)
    back = word.flip(1)
    tokens = torch.cat((word, mark, back[:, :-1]), 1)
    targets = torch.full_like(tokens, SILENT)
    targets[:, symbols:] = back
    return tokens, targets


STACKS = 8


def stacks(moves: int, generator: Generator, batch: int) -> tuple[Tensor, Tensor]:
    """Pushes and pops on 8 stacks: a pop names the stack and is asked for its top (Kimi Linear, section 5.1).

    A push is `1 + stack, symbol`; a pop `1 + 8 + stack, filler`, the answer asked for at the pop. A pop of an empty stack
    becomes a push. Tokens 17 … 48 are symbols."""
    which = torch.randint(STACKS, (batch, moves), generator=generator).tolist()
    pops = (torch.rand(batch, moves, generator=generator) < 0.5).tolist()
    symbols = (1 + 2 * STACKS + torch.randint(SYMBOLS, (batch, moves), generator=generator)).tolist()
    tokens, targets = torch.zeros(2, batch, 2 * moves, dtype=torch.int64).unbind(0)
    targets.fill_(SILENT)
    for b in range(batch):
        held: list[list[int]] = [[] for _ in range(STACKS)]
        for m in range(moves):
            stack = which[b][m]
            if pops[b][m] and held[stack]:
                tokens[b, 2 * m] = 1 + STACKS + stack
                targets[b, 2 * m] = held[stack].pop()
            else:
                tokens[b, 2 * m], tokens[b, 2 * m + 1] = 1 + stack, symbols[b][m]
                held[stack].append(symbols[b][m])
    return tokens, targets


def copying(symbols: int, generator: Generator, batch: int) -> tuple[Tensor, Tensor]:
    """Selective copying: symbols scattered in filler, then as many marks, asked for the symbols in order (Mamba, section 4.1)."""
    length = 4 * symbols
    word = 2 + torch.randint(SYMBOLS, (batch, symbols), generator=generator)
    places = _distinct(length, symbols, batch, generator).sort(1).values
    text = torch.zeros(batch, length, dtype=torch.int64).scatter_(1, places, word)
    tokens = torch.cat((text, torch.ones(batch, symbols, dtype=torch.int64)), 1)
    return tokens, torch.cat((torch.full_like(text, SILENT), word), 1)


TASKS = {
    task.name: task
    for task in (
        Task("mqar", 1 + KEYS + VALUES, VALUES, "pairs", mqar),
        Task("needle", 2 + 2 * SYMBOLS, SYMBOLS, "tokens of noise", needle),
        Task("palindrome", 2 + SYMBOLS, SYMBOLS, "letters", palindrome),
        Task("stacks", 1 + 2 * STACKS + SYMBOLS, SYMBOLS, "moves", stacks),
        Task("copying", 2 + SYMBOLS, SYMBOLS, "symbols", copying),
    )
}
