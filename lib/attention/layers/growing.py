"""A cache that grows by a row a token, in room that doubles, without ever changing a row that another cache shows.

Letters: B batch, T tokens so far, X numbers a token.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import streaming

LEAST = 64  # rows of the first room


class Rows:
    """Rows `[B, T, X]` of the past. `append` returns another `Rows`; both may be appended to again (a shared prefix).

    Only the one that shows the room to its end writes into what is free; any other takes new room. Copies cost, in all,
    twice the rows that are written, and T steps O(T), not O(T^2).
    """

    def __init__(self, room: Tensor, length: int, filled: list[int]):
        self._room, self._length, self._filled = room, length, filled

    @classmethod
    def empty(cls, batch: int, width: int, like: Tensor) -> Rows:
        return cls(like.new_empty(batch, 0, width), 0, [0])

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> Tensor:
        """`[B, T, X]`, a view."""
        return self._room[:, : self._length]

    def append(self, new: Tensor) -> Rows:
        """With `new [B, t, X]` behind. Where a gradient is wanted, everything is copied."""
        length = self._length + new.shape[1]
        if streaming.differentiable(new, self._room):
            return Rows(torch.cat((self.rows, new), 1), length, [length])
        room, filled = self._room, self._filled
        if length > room.shape[1] or filled[0] != self._length:
            # a sequence that comes at once gets room of its length, single rows get room for as many again
            size = length if new.shape[1] > 1 else max(LEAST, 2 * self._length)
            room, filled = new.new_empty(new.shape[0], size, new.shape[2]), [self._length]
            room[:, : self._length] = self.rows
        room[:, self._length : length] = new
        filled[0] = length
        return Rows(room, length, filled)
