"""The sliding window, defined once: the kernels mask with it and the cost model counts with it.

A window of W keeps exactly W keys, the token itself included. Letters: T queries, S keys.
Nothing here needs torch until a mask is asked for.
"""

from __future__ import annotations


def first_key(position: int, window: int | None) -> int:
    """The first key that the query at `position` (counted from 0) sees."""
    return 0 if window is None else max(0, position + 1 - window)


def keys_seen(position, window=None):
    """How many keys a causal query at `position` (from 0) attends to: the token itself counts.

    `min(position + 1, window)`. Takes whole numbers or NumPy arrays, which broadcast.
    """
    seen = position + 1
    if window is None:
        return seen
    return min(seen, window) if isinstance(seen, int) and isinstance(window, int) else _least(seen, window)


def mask(queries: int, keys: int, window: int | None = None, *, causal: bool = True, start: int = 0, device=None):
    """Which key each query sees, as a boolean tensor [queries, keys].

    Query row i stands at position `start + i`, key column j at position j. Not causal: the window then reaches
    W - 1 keys to either side.
    """
    import torch

    t = torch.arange(start, start + queries, device=device)[:, None]
    s = torch.arange(keys, device=device)[None, :]
    seen = s <= t if causal else torch.ones(queries, keys, dtype=torch.bool, device=device)
    if window is not None:
        seen = seen & (s > t - window)
        if not causal:
            seen = seen & (s < t + window)
    return seen


def _least(seen, window):
    import numpy as np

    return np.minimum(seen, window)
