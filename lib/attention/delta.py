"""What the two delta rules share, which differ in the shape of the decay only: the arguments' checks and one step.

Letters: B batch, T time, H heads, K key dim, V value dim; D is K or 1, the decays of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks


def sequence(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, state: Tensor | None, *, decay: str, check: bool
) -> Tensor:
    """Check the arguments of `recurrent` and `chunked`; return the state to begin with, zeros by default."""
    sizes = checks.shapes(
        q=(q, "B T H K"), k=(k, "B T H K"), v=(v, "B T H V"), log_decay=(log_decay, decay), beta=(beta, "B T H")
    )
    checks.alike(q=q, k=k, v=v, log_decay=log_decay, beta=beta)
    if check:
        not_positive(log_decay)
    wide = checks.accumulating(q.dtype)
    if state is None:
        return q.new_zeros(*(sizes[letter] for letter in "BHKV"), dtype=wide)
    _check_state(state, q, (sizes["B"], sizes["H"], sizes["K"], sizes["V"]), wide)
    return state


def token(
    state: Tensor, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *, decay: str, check: bool
) -> None:
    """Check the arguments of `step`."""
    sizes = checks.shapes(
        q=(q, "B H K"), k=(k, "B H K"), v=(v, "B H V"), log_decay=(log_decay, decay), beta=(beta, "B H")
    )
    checks.alike(q=q, k=k, v=v, log_decay=log_decay, beta=beta)
    _check_state(state, q, (sizes["B"], sizes["H"], sizes["K"], sizes["V"]), checks.accumulating(q.dtype))
    if check:
        not_positive(log_decay)


def step(
    state: Tensor, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """One token, `log_decay [B, H, D]`: decay, delta rule on the decayed state, read after the write (Kimi Linear, eq. 1).

    What the decayed state gives for k and q is read together, and what is written then reaches the output through q . k:
    the state is read once before it is rewritten.
    """
    q, k, v_t, log_decay, beta = (x.to(state.dtype) for x in (q, k, v, log_decay, beta))
    decay = torch.exp(log_decay)
    read = torch.matmul(torch.stack((k, q), 2) * decay[:, :, None], state)  # [B, H, 2, V]
    new = beta[..., None] * (v_t - read[:, :, 0])  # [B, H, V]
    out = scale * torch.addcmul(read[:, :, 1], (q * k).sum(-1, keepdim=True), new)
    # the decayed state is a tensor of its own: what is written is added where it lies, not to another copy of it
    return out.to(v.dtype), (state * decay[..., None]).addcmul_(k[..., None], new[..., None, :])


def not_positive(log_decay: Tensor) -> None:
    """A log decay above 0 would make the state grow. NaN passes: it harms its own token and later ones only."""
    if log_decay.numel() and bool((log_decay > 0).any()):
        raise ValueError(f"log_decay: got a largest element of {float(log_decay.nan_to_num(0).max())}, wanted all <= 0")


def _check_state(state: Tensor, q: Tensor, shape: tuple[int, ...], wide: torch.dtype) -> None:
    if not isinstance(state, Tensor) or tuple(state.shape) != shape:
        got = tuple(state.shape) if isinstance(state, Tensor) else type(state).__name__
        raise ValueError(f"state: got {got}, wanted a tensor [B, H, K, V] = {shape}")
    checks.dtype_is("state", state, wide)
    checks.same_device(q=q, state=state)
