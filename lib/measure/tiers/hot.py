"""A hot buffer: the rows used last, under LRU, beside a cache that lies further away. The bookkeeping alone, in NumPy."""

from __future__ import annotations

import numpy as np


class Lru:
    """Which of `tokens` rows lie in which of `capacity` slots. A whole selection is used at once."""

    def __init__(self, tokens: int, capacity: int):
        if capacity < 0:
            raise ValueError(f"capacity: got {capacity}, wanted 0 or more rows")
        self.slot = np.full(tokens, -1, dtype=np.int64)
        self.holds = np.full(capacity, -1, dtype=np.int64)
        self.used = np.zeros(capacity, dtype=np.int64)
        self.time = 0

    def use(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Use different rows: `(hit, missed, slots)`, a mask of rows that were there, the others, and where those now go.

        The rows used longest ago make place; hits of this very use are not pushed out by its misses. Rows that find no place
        (a selection larger than the buffer) get slot -1.
        """
        self.time += 1
        hit = self.slot[rows] >= 0
        self.used[self.slot[rows[hit]]] = self.time
        missed = rows[~hit]
        free = np.flatnonzero(self.used < self.time)
        count = min(len(missed), len(free))
        places = free[np.argsort(self.used[free], kind="stable")[:count]]
        gone = self.holds[places]
        self.slot[gone[gone >= 0]] = -1
        self.holds[places], self.used[places], self.slot[missed[:count]] = missed[:count], self.time, places
        return hit, missed, np.concatenate([places, np.full(len(missed) - count, -1, dtype=np.int64)])
