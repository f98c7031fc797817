"""Two and four processes against one, in float64 at 1e-10: each process checks what it got and raises if it differs."""

from __future__ import annotations

import multiprocessing
from functools import partial

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F

from lib.attention import dsa, gated_delta, kda, mla, parallel, softmax
from tests.attention.agreement import agree_all, normal


def check_softmax() -> None:
    """Breaks when a rank's part is left out or counted twice, or each rank adds the sink."""
    q, k, v = normal(2, 6, 8), normal(2, 101, 2, 8), normal(2, 101, 2, 5)
    part, sinks = parallel.span(101), normal(6)
    agree_all(
        parallel.decode(softmax.decode, q, k[:, part], v[:, part], sinks=sinks), softmax.decode(q, k, v, sinks=sinks)
    )


def check_empty_shares() -> None:
    """Fewer tokens than ranks; breaks when a rank without keys makes NaN."""
    q, cache = normal(2, 6, 12), normal(2, 1, 12)
    share = cache[:, parallel.span(1)]
    agree_all(parallel.decode(mla.decode, q, share, latent_dim=8), mla.decode(q, cache, latent_dim=8))


def check_latent() -> None:
    """Dense and selected; breaks when lse is not gathered in the order of the outputs."""
    q, cache = normal(2, 6, 12), normal(2, 101, 12)
    part = parallel.span(101)
    agree_all(parallel.decode(mla.decode, q, cache[:, part], latent_dim=8), mla.decode(q, cache, latent_dim=8))
    chosen = torch.tensor([[3, 50, 99, -1], [0, 100, 7, 8]])
    mine = torch.where((chosen >= part.start) & (chosen < part.stop), chosen - part.start, -1)
    agree_all(
        parallel.decode(dsa.decode, q, cache[:, part], mine, latent_dim=8), dsa.decode(q, cache, chosen, latent_dim=8)
    )


def check_prefill(verb, gates: tuple[int, ...], state: torch.Tensor | None) -> None:
    """Breaks when a rank's `reach` meets the wrong state, A and b compose in the wrong order, or A is transposed."""
    q, k, v = normal(2, 45, 3, 4), F.normalize(normal(2, 45, 3, 4, seed=1), dim=-1), normal(2, 45, 3, 5)
    log_decay, beta = -normal(2, 45, 3, *gates).abs(), torch.sigmoid(normal(2, 45, 3))
    part = parallel.span(45)
    out, after = parallel.prefill(verb, *(x[:, part] for x in (q, k, v, log_decay, beta)), state=state)
    wanted = verb(q, k, v, log_decay, beta, state=state)
    agree_all((out, after), (wanted[0][:, part], wanted[1]))


def check_refusals() -> None:
    """Breaks when a window is passed on, and each rank then keeps W keys of its own."""
    with pytest.raises(ValueError, match="window"):
        parallel.decode(softmax.decode, normal(1, 2, 4), normal(1, 5, 2, 4), normal(1, 5, 2, 4), window=3)


def work(rank: int, ranks: int, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    try:
        for check in (check_softmax, check_empty_shares, check_latent, check_refusals):
            check()
        for state in (None, normal(2, 3, 4, 5, seed=7)):
            check_prefill(kda.recurrent, (4,), state)
            check_prefill(partial(kda.chunked, chunk=16), (4,), state)
            check_prefill(gated_delta.recurrent, (), state)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.filterwarnings("ignore")  # of the children's start, not of what is tested
def test_ranks_agree_with_one_process(ranks, tmp_path):
    """The checks above on gloo, meeting through a file: no port is needed. All ranks fork from one server, which has
    imported torch once and started no thread yet."""
    multiprocessing.set_forkserver_preload([__name__])
    mp.start_processes(work, args=(ranks, str(tmp_path / "meeting")), nprocs=ranks, start_method="forkserver")
