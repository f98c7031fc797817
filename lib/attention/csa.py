"""DeepSeek-V4's compressed attention: CSA (ratio 4, overlapping, sparse) and HCA (ratio 128, dense).

A learned softmax pools each run of `ratio` tokens into one entry, which is key and value at once (shared-KV MQA).
A query reads the entries that are complete, all (HCA) or the indexer's best N (CSA), together with the last W
tokens uncompressed, in one softmax with one sink logit a head.
Letters: B batch, T time, H heads, V entry dim (keys and values), M entries, N selected entries, W window.
Equations: DeepSeek-V4 section 2.3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks, dsa, mla, rope
from lib.attention.partial import merge, sink


def visible(position, ratio: int):
    """How many entries a query at `position` (from 0) sees: entry j is complete once its last token is there.

    `j < (position + 1) // ratio`. Takes whole numbers, arrays or tensors.
    """
    return (position + 1) // ratio


def definition_compress(
    values: Tensor, logits: Tensor, bias: Tensor, *, ratio: int, overlap: bool | None = None
) -> Tensor:
    """Entry by entry, channel by channel: softmax over the tokens of its field, then the sum. As `compress`."""
    overlap, width = _check_compress(values, logits, bias, ratio, overlap)
    wide = checks.accumulating(values.dtype)
    z = logits.to(wide) + bias.to(wide).repeat(values.shape[1] // ratio + 1, 1)[: values.shape[1]]
    entries = []
    for i in range(values.shape[1] // ratio):
        here, before = slice(i * ratio, (i + 1) * ratio), slice((i - 1) * ratio, i * ratio)
        c, w = values[:, here, :width], z[:, here, :width]  # the a-stream: this run
        if overlap and i:
            c, w = torch.cat((values[:, before, width:], c), 1), torch.cat((z[:, before, width:], w), 1)  # b: the last
        entries.append((torch.softmax(w, 1) * c).sum(1).to(values.dtype))
    return torch.stack(entries, 1) if entries else values.new_zeros(len(values), 0, width)


def compress(values: Tensor, logits: Tensor, bias: Tensor, *, ratio: int, overlap: bool | None = None) -> Tensor:
    """Pool each run of `ratio` tokens into one entry by a softmax over tokens, channel by channel.

    `values`, `logits [B, T, V]` and `bias [ratio, V]` -> `[B, T // ratio, V]`; tokens of an unfinished run wait.
    With `overlap` (default: at ratio 4) the last dim holds two streams `[a | b]`, `2 V` wide: entry i pools the
    a-stream of its own run with the b-stream of the run before, 2 ratio tokens at stride ratio; the first entry has
    no run before it. DeepSeek-V4 section 2.3.
    """
    overlap, width = _check_compress(values, logits, bias, ratio, overlap)
    wide, count = checks.accumulating(values.dtype), values.shape[1] // ratio
    c, z = (x[:, : count * ratio].to(wide).unflatten(1, (count, ratio)) for x in (values, logits))  # [B, M, ratio, ·]
    z = z + bias.to(wide)
    if overlap:
        c = torch.cat((_run_before(c[..., width:], 0), c[..., :width]), 2)  # [B, M, 2 ratio, V]
        z = torch.cat((_run_before(z[..., width:], -torch.inf), z[..., :width]), 2)
    return (torch.softmax(z, 2) * c).sum(2).to(values.dtype)


def finish(
    entries: Tensor, weight: Tensor, *, ratio: int, rotary: int = 64, base: float = 160000.0, eps: float = 1e-6
) -> Tensor:
    """What a pooled entry goes through before it is cached: RMS norm, then rotary on its last `rotary` dims.

    `entries [B, M, V]`, `weight [V]`. Entry j stands at position `j * ratio`, its run's first token.
    """
    checks.alike(entries=entries, weight=weight)
    checks.shapes(entries=(entries, "B M V"), weight=(weight, "V"))
    x = entries.to(checks.accumulating(entries.dtype))
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight
    positions = torch.arange(entries.shape[1], device=entries.device) * ratio
    return rotate(x, positions, rotary, base=base).to(entries.dtype)


def rotate(x: Tensor, positions: Tensor, rotary: int = 64, *, base: float = 160000.0, inverse: bool = False) -> Tensor:
    """V4's rotary layout: the last `rotary` dims, pairs (2i, 2i+1), base 160000 in compressed layers.

    Entries are values too, so an output is a mixture of turned vectors: with `inverse` and the query's position its
    last dims are turned back, and what is left depends on distances only.
    """
    return rope.rotate_last(x, positions, rotary, interleaved=True, base=base, inverse=inverse)


def select(scores: Tensor, n: int, *, position: int, ratio: int = 4) -> Tensor:
    """The best n of the entries that the query at `position` sees: `scores [B, M]` -> `[B, n]`, padded with -1."""
    checks.at_least("position", position, 0)
    seen = torch.arange(scores.shape[1], device=scores.device) < visible(position, ratio)
    return dsa.select(scores, n, valid=seen.expand(scores.shape))


def definition(
    q: Tensor,
    window: Tensor,
    entries: Tensor,
    indices: Tensor | None = None,
    *,
    sinks: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Everything that a query reads laid side by side, one softmax with the sink as one more key. As `decode`."""
    scale = _check(q, window, entries, indices, sinks, scale)
    wide = checks.accumulating(q.dtype)
    out, lse = torch.zeros_like(q), torch.full_like(q[..., 0], -torch.inf, dtype=wide)
    for b in range(len(q)):
        chosen = entries[b] if indices is None else entries[b, indices[b][indices[b] >= 0]]
        kv = torch.cat((window[b], chosen)).to(wide)  # [W + N, V]
        z = scale * q[b].to(wide) @ kv.T  # [H, W + N]
        lse[b] = torch.logsumexp(z, -1)
        extra = z if sinks is None else torch.cat((z, sinks.to(wide)[:, None]), -1)
        if len(kv):
            out[b] = (torch.softmax(extra, -1)[:, : len(kv)] @ kv).to(q.dtype)
    return out, lse


def decode(
    q: Tensor,
    window: Tensor,
    entries: Tensor,
    indices: Tensor | None = None,
    *,
    sinks: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """One query a sequence against its window and its compressed entries in one softmax.

    `q [B, H, V]`, `window [B, W, V]` the last tokens uncompressed, `entries [B, M, V]`: those of `indices [B, N]`
    (CSA; -1 is no entry, an entry listed twice counts twice) or, without indices, all (HCA: give the first
    `visible(...)`). `sinks [H]` join the denominator. -> `out [B, H, V]`, `lse [B, H]` of the keys, without the sink.
    `scale` defaults to `V ** -0.5`. DeepSeek-V4 section 2.3.
    """
    scale = _check(q, window, entries, indices, sinks, scale)
    # keys are values, so that each branch is latent attention with no rotary rest; the two join by their lse
    if q.is_cuda:
        parts = _branches(q, window, entries, indices, scale)
    else:
        rows = [_branches_row(q[b], window[b], entries[b], None if indices is None else indices[b], scale)
                for b in range(len(q))]  # fmt: skip
        if not rows:
            return torch.zeros_like(q), q.new_zeros(q.shape[:2], dtype=checks.accumulating(q.dtype))
        parts = [[torch.stack(x) for x in zip(*branch, strict=True)] for branch in zip(*rows, strict=True)]
    out, lse = merge([out for out, _ in parts], [lse for _, lse in parts])
    return (out if sinks is None else sink(out, lse, sinks)).to(q.dtype), lse


def _branches(q: Tensor, window: Tensor, entries: Tensor, indices: Tensor | None, scale: float) -> list:
    """The window's and the entries' `(out, lse)`, by the verbs of the latent kernels."""
    near = mla.decode(q, window, latent_dim=q.shape[-1], scale=scale)
    if indices is None:
        return [near, mla.decode(q, entries, latent_dim=q.shape[-1], scale=scale)]
    return [near, dsa.decode(q, entries, indices, latent_dim=q.shape[-1], scale=scale)]


def _branches_row(q: Tensor, window: Tensor, entries: Tensor, indices: Tensor | None, scale: float) -> list:
    """The same for one sequence, `q [H, V]`, not yet rounded to the inputs' dtype."""
    near = mla.attend_row(q, window, q.shape[-1], scale)
    if indices is None:
        return [near, mla.attend_row(q, entries, q.shape[-1], scale)]
    return [near, dsa.attend_row(q, entries, indices, q.shape[-1], scale)]


def _run_before(runs: Tensor, empty: float) -> Tensor:
    """`[B, M, ratio, V]` shifted by one run, the first filled with `empty`."""
    first = torch.full_like(runs[:, :1], empty)
    return torch.cat((first, runs[:, :-1]), 1)


def _check_compress(values: Tensor, logits: Tensor, bias: Tensor, ratio: int, overlap: bool | None) -> tuple[bool, int]:
    checks.at_least("ratio", ratio, 1)
    checks.alike(values=values, logits=logits, bias=bias)
    checks.shapes(values=(values, "B T V"), logits=(logits, "B T V"), bias=(bias, f"{ratio} V"))
    overlap = ratio == 4 if overlap is None else overlap
    if overlap:
        checks.multiple("values", values.shape[-1], "its streams", 2)
    return overlap, values.shape[-1] // (2 if overlap else 1)


def _check(
    q: Tensor, window: Tensor, entries: Tensor, indices: Tensor | None, sinks: Tensor | None, scale: float | None
) -> float:
    checks.alike(q=q, window=window, entries=entries)
    sizes = checks.shapes(q=(q, "B H V"), window=(window, "B W V"), entries=(entries, "B M V"))
    if indices is not None:
        checks.shapes(q=(q, "B * *"), indices=(indices, "B N"))
        checks.same_device(q=q, indices=indices)
        checks.index_range("indices", indices, -1, sizes["M"])
    if sinks is not None:
        checks.shapes(q=(q, "* H *"), sinks=(sinks, "H"))
        checks.same_device(q=q, sinks=sinks)
    return sizes["V"] ** -0.5 if scale is None else scale
