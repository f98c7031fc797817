"""KDA over a sequence: chunks against token by token, against a chunk form that builds the whole decay tensor, and flatness.

    python -m benchmarks.prefill [--tokens 4096] [--rounds 3] [--only forms,flat,step]

The limit of a prefill is its FLOPs, 6 d^2 + 3 C d + C^2 a token and head (Kimi Linear, section 6.3), over the rate of a
4096 cube in float32; that of a step is its state, read and written, over the bandwidth of a large sum and of a large
copy. All are measured in the same run, in turn. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import statistics

import torch
from torch import Tensor
from torch.nn.functional import normalize

from benchmarks.decode import SUM_BYTES, bandwidth, rate, seconds
from lib.attention import kda

HEADS, DIM, CHUNK, CUBE = 32, 128, 64, 4096
SLICE = 8  # heads that the form with the whole tensor takes at a time: 8 x 64 x 64 x 64 x 128 float32 are 1 GiB


def inputs(tokens: int) -> tuple[Tensor, ...]:
    """q, k, v, log_decay, beta of one sequence, as a layer makes them."""
    torch.manual_seed(0)
    shape = (1, tokens, HEADS, DIM)
    q, k = (normalize(torch.randn(shape), dim=-1) for _ in range(2))
    return q, k, torch.randn(shape), -0.1 * torch.rand(shape), torch.rand(shape[:3])


def whole_tensor(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor) -> Tensor:
    """The chunk form as it is first written down: all chunks at once, decays between tokens as a tensor C x C x K."""
    outs = []
    for h in range(0, q.shape[2], SLICE):
        parts = (x[0, :, h : h + SLICE].unflatten(0, (-1, CHUNK)).transpose(1, 2) for x in (q, k, v, log_decay))
        q_c, k_c, v_c, g_c = parts  # [n, h, C, K]
        b_c = beta[0, :, h : h + SLICE].unflatten(0, (-1, CHUNK)).transpose(1, 2)[..., None]
        total = torch.cumsum(g_c, 2)
        outs.append(_chunks(q_c, k_c, v_c, total, b_c))
    return torch.cat(outs, 1)


def _chunks(q: Tensor, k: Tensor, v: Tensor, total: Tensor, beta: Tensor) -> Tensor:
    with_keys, with_queries = [], []
    for i in range(0, len(q), 16):  # sixteen chunks at a time, or the tensor would not fit in memory
        part = slice(i, i + 16)
        between = torch.exp((total[part, :, :, None] - total[part, :, None]).clamp_max(0))  # [n, h, C, C, K]
        with_keys.append(torch.einsum("nhik,nhjk,nhijk->nhij", k[part], k[part], between).tril(-1))
        with_queries.append(torch.einsum("nhik,nhjk,nhijk->nhij", q[part], k[part], between).tril())
    lower, mixed = torch.cat(with_keys) * beta, torch.cat(with_queries)
    eye = torch.eye(q.shape[2])
    inverse = torch.linalg.solve_triangular(lower + eye, eye.expand_as(lower), upper=False, unitriangular=True)
    decayed, state, outs = torch.exp(total), q.new_zeros(q.shape[1], DIM, DIM), []
    for n in range(len(q)):
        written = inverse[n] @ (beta[n] * (v[n] - (k[n] * decayed[n]) @ state))
        outs.append(DIM**-0.5 * ((q[n] * decayed[n]) @ state + mixed[n] @ written))
        ends = k[n] * torch.exp(total[n, :, -1:] - total[n])
        state = state * decayed[n, :, -1, :, None] + ends.transpose(1, 2) @ written
    return torch.stack(outs).transpose(1, 2).flatten(0, 1)


def forms(tokens: int, rounds: int) -> None:
    """Times of the three forms, and how much of the matrix rate the chunks reach."""
    tensors = inputs(tokens)
    flop = tokens * HEADS * (6 * DIM**2 + 3 * CHUNK * DIM + CHUNK**2)
    away = (whole_tensor(*tensors) - kda.chunked(*tensors)[0][0]).abs().max()
    print(f"KDA, {tokens:,} tokens, {HEADS} heads x {DIM}, float32; the two chunk forms differ by at most {away:.1e}")
    times: dict[str, list[float]] = {"chunked": [], "recurrent": [], "whole tensor": [], "limit": []}
    for _ in range(rounds):
        times["chunked"].append(min(seconds(lambda: kda.chunked(*tensors)) for _ in range(2)))
        times["recurrent"].append(seconds(lambda: kda.recurrent(*tensors)))
        times["whole tensor"].append(seconds(lambda: whole_tensor(*tensors)))
        times["limit"].append(flop / rate(CUBE, torch.float32))
    base = times["chunked"]
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, base, strict=True))
        print(f"{name:14s} {1e3 * statistics.median(found):9.1f} ms   {ratio:6.2f} x chunked", flush=True)


def flat(rounds: int, longest: int) -> None:
    """Time for a token from 4K tokens on: a linear layer's must not grow."""
    lengths = [4096 << i for i in range(5) if 4096 << i <= longest]
    cases = {n: inputs(n) for n in lengths}
    found: dict[int, list[float]] = {n: [] for n in lengths}
    for _ in range(rounds):
        for n, tensors in cases.items():
            found[n].append(seconds(lambda t=tensors: kda.chunked(*t)) / n)
    first = statistics.median(found[lengths[0]])
    for n, times in found.items():
        print(
            f"{n:7,} tokens  {1e6 * statistics.median(times):7.1f} µs a token   {statistics.median(times) / first:5.2f}",
            flush=True,
        )


def step(rounds: int) -> None:
    """A decode step of one layer, its state too large for the caches that sixteen layers share."""
    states = [torch.randn(1, HEADS, DIM, DIM) for _ in range(64)]
    token = [x[:, 0].contiguous() for x in inputs(1)]
    buffer, size = torch.ones(SUM_BYTES // 4), states[0].numel() * 4

    def decode() -> None:
        for i, state in enumerate(states):
            states[i] = kda.step(state, *token)[1]

    decode()
    shares, copies = [], []
    for _ in range(rounds):
        took = min(seconds(decode) for _ in range(3)) / len(states)
        shares.append(2 * size / bandwidth(buffer) / took)
        half = buffer.numel() // 2
        copies.append(2 * size / (2 * half * 4 / seconds(lambda h=half: buffer[:h].copy_(buffer[h:]))) / took)
    print(f"KDA step, {HEADS} x {DIM} x {DIM} float32: {1e6 * took:.0f} µs a layer; state read and written at "
          f"{statistics.median(shares):.0%} of the bandwidth of a sum, {statistics.median(copies):.0%} of that of a copy")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--longest", type=int, default=65536)
    parser.add_argument("--only", default="forms,flat,step")
    options = parser.parse_args()
    names = options.only.split(",")
    with torch.inference_mode():
        if "forms" in names:
            forms(options.tokens, options.rounds)
        if "flat" in names:
            flat(options.rounds, options.longest)
        if "step" in names:
            step(options.rounds)


if __name__ == "__main__":
    main()
