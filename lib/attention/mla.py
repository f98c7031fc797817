"""Multi-head latent attention: the cache holds one latent and one rotary key a token, whatever the number of heads.

Letters: B batch, T time, H heads, K unrotated key dim a head, V value dim, C latent dim, R rotary dim.
Weights as in the checkpoints: `w_uk [H, K, C]`, `w_uv [H, V, C]`. A cache row is `[latent C | rotary key R]`.
Equations: DeepSeek-V2 section 2.1 (latent compression, absorption), DeepSeek-V3.2 section 2 (MQA mode).
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks, rope, softmax, streaming
from lib.attention.partial import merge

BLOCK = 512  # keys a block: 512 x 576 float32 (1.2 MB) stays in a core's caches while it is used twice


def expand(latent: Tensor, w_uk: Tensor, w_uv: Tensor) -> tuple[Tensor, Tensor]:
    """Each head's keys and values from the latent: `k = W_UK c`, joined with the rotary key that all heads share.

    `latent [B, T, C + R]` (R may be 0) -> `k [B, T, H, K + R]`, `v [B, T, H, V]`.
    """
    checks.alike(latent=latent, w_uk=w_uk, w_uv=w_uv)
    sizes = checks.shapes(latent=(latent, "B T *"), w_uk=(w_uk, "H K C"), w_uv=(w_uv, "H V C"))
    _at_least_latent("latent", latent, sizes["C"])
    c, rotary = latent.split((sizes["C"], latent.shape[-1] - sizes["C"]), -1)
    k = torch.einsum("btc,hkc->bthk", c, w_uk)
    v = torch.einsum("btc,hvc->bthv", c, w_uv)
    return torch.cat((k, rotary[:, :, None].expand(-1, -1, k.shape[2], -1)), -1), v


def forward(
    q: Tensor, latent: Tensor, w_uk: Tensor, w_uv: Tensor, *, causal: bool = True, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """The expanded definition: ordinary multi-head attention over `expand`ed keys and values.

    `q [B, T, H, K + R]`, `latent [B, S, C + R]` -> `out [B, T, H, V]`, `lse [B, T, H]` (natural log). `scale`
    defaults to `(K + R) ** -0.5`. Query i stands at position `S - T + i`.
    """
    k, v = expand(latent, w_uk, w_uv)
    return softmax.forward(q, k, v, causal=causal, scale=scale)


def absorb(q: Tensor, w_uk: Tensor) -> Tensor:
    """Move `W_UK` from the keys to the query: `q [..., H, K + R]` -> `[..., H, C + R]`, for `decode`.

    `q . (W_UK c) = (W_UK^T q) . c`, so that scores are taken against the cache itself.
    """
    checks.alike(q=q, w_uk=w_uk)
    heads, keys, _ = w_uk.shape
    if q.shape[-2] != heads or q.shape[-1] < keys:
        raise ValueError(f"q: got shape {tuple(q.shape)}, wanted [..., H={heads}, K={keys} + R]")
    plain, rotary = q.split((keys, q.shape[-1] - keys), -1)
    return torch.cat((torch.einsum("...hk,hkc->...hc", plain, w_uk), rotary), -1)


def lift(out: Tensor, w_uv: Tensor) -> Tensor:
    """Attention over latents `[..., H, C]` -> each head's value `[..., H, V]`: `W_UV` applied once, after the sum."""
    checks.alike(out=out, w_uv=w_uv)
    return torch.einsum("...hc,hvc->...hv", out, w_uv)


def rotate(x: Tensor, positions: Tensor, rotary: int, *, base: float = 10000.0) -> Tensor:
    """MLA's rotary layout: the last `rotary` dims, pairs (2i, 2i+1)."""
    return rope.rotate_last(x, positions, rotary, interleaved=True, base=base)


def definition(
    q: Tensor, cache: Tensor, *, latent_dim: int, scale: float | None = None, lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Absorbed attention of one query a sequence, all keys at once: what `decode` streams. Same arguments."""
    scale, lengths = check(q, cache, latent_dim, scale, lengths)
    wide = checks.accumulating(q.dtype)
    out, lse = q.new_zeros(*q.shape[:2], latent_dim), q.new_full(q.shape[:2], -torch.inf, dtype=wide)
    for b, t in enumerate(lengths):
        c = cache[b, :t].to(wide)  # [t, C + R]
        s = scale * q[b].to(wide) @ c.T  # [H, t]
        if t:
            out[b], lse[b] = (torch.softmax(s, -1) @ c[:, :latent_dim]).to(q.dtype), torch.logsumexp(s, -1)
    return out, lse


def decode(
    q: Tensor, cache: Tensor, *, latent_dim: int, scale: float | None = None, lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One query a sequence against the cache as it is stored (absorbed, "MQA mode"), streaming.

    `q [B, H, C + R]` (see `absorb`), `cache [B, T, C + R]`, `latent_dim` = C -> `out [B, H, C]` (see `lift`) in the
    dtype of q, `lse [B, H]`, natural log, in float32 (float64 for float64). `lengths [B]`: how many rows of each
    cache are filled; the rest is not read. `scale` defaults to `(C + R) ** -0.5`: a model gives its own
    `(K + R) ** -0.5`. Extra memory does not grow with T. No key: zeros and -inf.
    """
    scale, lengths = check(q, cache, latent_dim, scale, lengths)
    if q.is_cuda:
        from lib.attention.triton import mla as kernel

        return kernel.decode(q, cache, latent_dim=latent_dim, scale=scale, lengths=lengths)
    rows = [attend_row(q[b], cache[b, :t], latent_dim, scale) for b, t in enumerate(lengths)]
    if not rows:
        return q[..., :latent_dim].clone(), q.new_zeros(q.shape[:2], dtype=checks.accumulating(q.dtype))
    return torch.stack([out for out, _ in rows]).to(q.dtype), torch.stack([lse for _, lse in rows])


def attend_row(q: Tensor, cache: Tensor, latent_dim: int, scale: float) -> tuple[Tensor, Tensor]:
    """One sequence: `q [H, C + R]`, `cache [T, C + R]` -> `out [H, C]` not yet rounded, `lse [H]`."""
    wide = checks.accumulating(q.dtype)
    inplace = not streaming.differentiable(q, cache)
    query = (q.to(wide) * scale).T.contiguous()  # [C + R, H]

    def work(low: int, high: int) -> tuple[Tensor, Tensor]:
        running = streaming.Softmax((len(q),), latent_dim, query, inplace=inplace)
        rows = streaming.Widen(cache, wide, min(BLOCK, high - low), inplace)
        room = query.new_empty(min(BLOCK, high - low), len(q)) if inplace else None
        for i, j in streaming.blocks(low, high, BLOCK):
            c = rows(i, j)  # [n, C + R]
            scores = torch.mm(c, query, out=None if room is None else room[: j - i])  # [n, H]
            running.fold(scores.T, c[:, :latent_dim])
        return running.finish()

    parts = streaming.in_parts(0, len(cache), work, smallest=8 * BLOCK) if inplace else [work(0, len(cache))]
    return merge([out for out, _ in parts], [lse for _, lse in parts])


def check(
    q: Tensor, cache: Tensor, latent_dim: int, scale: float | None, lengths: Tensor | None
) -> tuple[float, list[int]]:
    """What every decode over a latent cache asks; returns the scale and the rows in use of each sequence."""
    checks.alike(q=q, cache=cache)
    sizes = checks.shapes(q=(q, "B H C+R"), cache=(cache, "B T C+R"))
    if not 1 <= latent_dim <= q.shape[-1]:
        raise ValueError(f"latent_dim: got {latent_dim}, wanted 1 <= latent_dim <= {q.shape[-1]}, the last dim of q")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return scale, checks.filled("lengths", lengths, sizes["B"], sizes["T"])


def _at_least_latent(name: str, tensor: Tensor, latent_dim: int) -> None:
    if tensor.shape[-1] < latent_dim:
        raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, wanted [B, T, C + R] with C={latent_dim}")
