"""What the mechanisms share: arguments refused in the same words, memory that does not grow, imports that wait."""

import subprocess
import sys

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lib.attention import checks, dsa, mla, softmax
from tests.attention.agreement import normal


class Largest(TorchDispatchMode):
    """The largest storage that any operation returned, in bytes, other than views of what was there."""

    def __init__(self, *given: torch.Tensor):
        super().__init__()
        self.given = {x.untyped_storage().data_ptr() for x in given}
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in self.given:
                self.bytes = max(self.bytes, x.untyped_storage().nbytes())
        return result


def largest(run, *given) -> int:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a dispatch mode sees its own thread only
    try:
        with Largest(*given) as seen:
            run(*given)
    finally:
        torch.set_num_threads(threads)
    return seen.bytes


def test_decode_memory_does_not_grow():
    """The same largest buffer at 4,096 and at 16,384 tokens. Breaks when the whole cache is widened at once, or all
    scores are kept."""
    at = lambda tokens: [  # noqa: E731
        largest(
            lambda q, c: mla.decode(q, c, latent_dim=16), normal(1, 4, 24).bfloat16(), normal(1, tokens, 24).bfloat16()
        ),
        largest(softmax.decode, normal(1, 4, 8).bfloat16(), *[normal(1, tokens, 2, 8).bfloat16()] * 2),
    ]
    assert at(4096) == at(16384)


def test_index_memory_is_its_result():
    """Breaks when the H x T products are kept: then 64 heads take 128 times the result."""
    q, w, keys = normal(1, 64, 8).bfloat16(), normal(1, 64).bfloat16(), normal(1, 65536, 8).bfloat16()
    room = 4 * dsa.BLOCK * 64
    assert largest(dsa.index_scores, q, w, keys) <= max(2 * 65536, room)


def test_forward_memory_is_a_tile():
    """Breaks when T x S scores are kept."""
    q = normal(1, 2048, 2, 4).float()
    assert largest(softmax.forward, q, q, q) <= 4 * max(2 * softmax.QUERIES * softmax.KEYS, q.numel())


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_result_beyond_rounding(threads):
    """Breaks when parts overlap or leave a gap."""
    q, cache = normal(1, 3, 12), normal(1, 30_000, 12)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        out, lse = mla.decode(q, cache, latent_dim=8)
        wanted = mla.definition(q, cache, latent_dim=8)
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(out, wanted[0], rtol=0, atol=1e-13) and torch.allclose(lse, wanted[1], rtol=0, atol=1e-12)


def test_the_cpu_needs_no_triton():
    """Breaks when a verb imports its kernels before it sees a CUDA tensor."""
    code = (
        "import sys, torch; from lib.attention import mla, softmax, dsa, csa, merge; "
        "mla.decode(torch.ones(1, 2, 6), torch.ones(1, 9, 6), latent_dim=4); "
        "sys.exit(any(name.startswith('lib.attention.triton') for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checks.shapes(q=([1], "B H")), r"q: got list, wanted a tensor \[B, H\]"),
        (lambda: checks.shapes(q=(torch.ones(2, 3), "B H"), k=(torch.ones(3, 3), "B *")),
         r"k: got shape \(3, 3\), wanted \[B, \*\] with B=2"),
        (lambda: checks.shapes(q=(torch.ones(2, 3), "B 4")), r"q: got shape \(2, 3\), wanted \[B, 4\]$"),
        (lambda: checks.alike(q=torch.ones(1), k=torch.ones(1).double()), "k: got torch.float64, wanted torch.float32"),
        (lambda: checks.alike(q=torch.ones(1), k=torch.ones(1, device="meta")), "k: got meta, wanted cpu"),
        (lambda: checks.same_dtype(q=torch.ones(1).half()), "q: got torch.float16, wanted one of"),
        (lambda: checks.dtype_is("s", torch.ones(1), torch.bool), "s: got torch.float32, wanted torch.bool"),
        (lambda: checks.at_least("n", True, 0), "n: got True"),
        (lambda: checks.multiple("H", 5, "G", 2), "H: got 5, wanted a multiple of G=2"),
        (lambda: checks.index_range("i", torch.tensor([0, 7]), 0, 7), "i: got indices from 0 to 7, wanted 0 <= index < 7"),
        (lambda: checks.not_above("log_decay", torch.tensor([-1.0, 0.5]), 0), "log_decay: got a largest element of 0.5"),
        (lambda: checks.not_above("log_decay", torch.tensor([torch.nan]), 0), "log_decay: got"),
    ],
)  # fmt: skip
def test_refusals_name_the_argument(call, message):
    """Breaks when a check lets its case pass, or says less than name, got and wanted."""
    with pytest.raises(ValueError, match=message):
        call()


def test_letters_are_returned():
    """Breaks when `None` is refused or a letter's size is lost."""
    assert checks.shapes(q=(torch.ones(2, 3, 1), "B T 1"), k=(torch.ones(3), "T")) == {"B": 2, "T": 3}
    assert checks.alike(q=torch.ones(1), k=None) == torch.float32
    checks.index_range("i", torch.zeros(0, dtype=torch.int64), 0, 0)
    checks.not_above("g", torch.zeros(0), 0)
