"""The Triton kernels in Triton's interpreter, small, against the definitions. On a CUDA device they run there."""

import os

import pytest
import torch

CUDA = torch.cuda.is_available()
if not CUDA:
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are decorated, at the import below
pytest.importorskip("triton", reason="triton is not installed: these kernels cannot run, not even interpreted")

from lib.attention import dsa, mla, softmax  # noqa: E402
from lib.attention.triton import dsa as dsa_kernel  # noqa: E402
from lib.attention.triton import mla as mla_kernel  # noqa: E402
from lib.attention.triton import softmax as softmax_kernel  # noqa: E402
from tests.attention.agreement import agree_all, normal, widened  # noqa: E402

DEVICE = "cuda" if CUDA else "cpu"
# the kernels round the weights to bfloat16 before they meet the values: one more half eps, averaged
ROUNDED = 1.5 * torch.finfo(torch.bfloat16).eps
DTYPES = [torch.float64, torch.float32, torch.bfloat16] if not CUDA else [torch.float32, torch.bfloat16]


def near(got, wanted):
    """float64 and float32 as everywhere; bfloat16 within its own rounding and that of the weights."""
    if got[0].dtype == torch.bfloat16:
        got = (got[0].float(), got[1])
        agree_all(got, wanted, ROUNDED)
    else:
        agree_all(got, wanted)


def placed(*tensors):
    return [x.to(DEVICE) for x in tensors]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "groups", "k", "v"), [(4, 2, 8, 5), (3, 3, 16, 16), (20, 1, 24, 8)])
@pytest.mark.parametrize("window", [None, 70])
def test_grouped_decode(heads, groups, k, v, window, dtype):
    """Breaks when a part's last key, a head's group, or the window's first key is off by one."""
    q, keys = normal(2, heads, k, dtype=dtype), normal(2, 300, groups, k, dtype=dtype)
    values = normal(2, 300, groups, v, dtype=dtype, seed=1)
    lengths = [300, 131]
    args = placed(q, keys, values)
    out, lse = softmax_kernel.decode(*args, scale=k**-0.5, window=window, lengths=lengths)
    near((out.to(dtype).cpu(), lse.cpu()),
         softmax.decode(*widened(q, keys, values), window=window, lengths=torch.tensor(lengths)))  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "c", "r"), [(4, 16, 8), (3, 24, 0), (70, 32, 4)])
def test_latent_decode(heads, c, r, dtype):
    """Breaks when the rotary dims join the values, a tile of heads is left out, or a short sequence reads on."""
    q, cache = normal(2, heads, c + r, dtype=dtype), normal(2, 260, c + r, dtype=dtype)
    cache[1, 97:] = torch.nan
    args = placed(q, cache)
    got = mla_kernel.decode(*args, latent_dim=c, scale=(c + r) ** -0.5, lengths=[260, 97])
    wanted = mla.definition(*widened(q, cache), latent_dim=c, lengths=torch.tensor([260, 97]))
    near([x.cpu() for x in got], wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_selected_rows(dtype):
    """NaN in every row that is not listed; breaks when -1 reads a row, or weights of zero meet NaN."""
    q, cache = normal(2, 5, 24, dtype=dtype), normal(2, 200, 24, dtype=dtype)
    indices = torch.stack([torch.randperm(200)[:90] for _ in range(2)])
    indices[0, 3], indices[1, 40:] = -1, -1
    for b in range(2):
        listed = indices[b][indices[b] >= 0]
        cache[b, [i for i in range(200) if i not in set(listed.tolist())]] = torch.nan
    got = dsa_kernel.decode(*placed(q, cache, indices), latent_dim=16, scale=24**-0.5)
    near([x.cpu() for x in got], dsa.definition(*widened(q, cache), indices, latent_dim=16))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "d", "tokens"), [(4, 8, 300), (17, 24, 1), (64, 16, 129)])
def test_index_scores(heads, d, tokens, dtype):
    """Breaks when ReLU follows the head sum, or padded heads weigh something."""
    args = normal(2, heads, d, dtype=dtype), normal(2, heads, dtype=dtype), normal(2, tokens, d, dtype=dtype)
    got = dsa_kernel.index_scores(*placed(*args)).cpu()
    assert got.dtype == dtype
    wanted = dsa.definition_scores(*widened(*args))
    # the interpreter cuts float32 to bfloat16 where a GPU rounds: one whole eps of the element
    bound = (
        torch.finfo(dtype).eps * wanted.abs() + {torch.float64: 1e-10}.get(dtype, 1e-5) * wanted.square().mean().sqrt()
    )
    assert ((got.double() - wanted).abs() <= bound).all()


def test_no_keys():
    """Breaks when an empty part leaves what was in memory, or NaN."""
    q, cache = placed(normal(2, 3, 8).float(), normal(2, 0, 8).float())
    out, lse = mla_kernel.decode(q, cache, latent_dim=4, scale=1.0, lengths=[0, 0])
    assert (out == 0).all() and (lse == -torch.inf).all()


def test_strides():
    """Breaks when a layout is assumed."""
    q, cache = placed(normal(2, 8, 3).float().transpose(1, 2), normal(2, 8, 40).float().transpose(1, 2))
    got = mla_kernel.decode(q, cache, latent_dim=4, scale=0.3, lengths=[40, 40])
    near([x.cpu() for x in got], mla.definition(*widened(q.cpu(), cache.cpu()), latent_dim=4, scale=0.3))


@pytest.mark.skipif(not CUDA, reason="no CUDA device: the verbs choose these kernels by the tensors' device")
def test_verbs_choose_the_kernels():
    """Breaks when CUDA tensors take the CPU path, or the other way round."""
    q, cache = placed(normal(2, 16, 576).bfloat16(), normal(2, 4096, 576).bfloat16())
    near([x.cpu() for x in mla.decode(q, cache, latent_dim=512)],
         mla.definition(*widened(q.cpu(), cache.cpu()), latent_dim=512))  # fmt: skip
