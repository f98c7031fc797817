"""The cost model against the kernels themselves: FLOPs counted from the products that run, bytes from the caches they keep."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lib.attention import csa, dsa, kda, layers, mla, softmax
from lib.cost.flops import absorbed_flops, decode, index_flops, prefill
from lib.cost.memory import read, stored
from lib.data import model
from lib.data.mechanisms import Dsa, GatedDelta, Kda, Mla, Softmax

TOKENS = 1000


def counted(run) -> int:
    """FLOPs of the matrix products that `run` makes."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape)


@pytest.mark.parametrize("name", ["kimi-linear-48b-a3b", "kimi-k3", "kimi-k2"])
def test_absorbed_latent_attention(name):
    """Exact. Breaks when the model forgets that values are summed over the latent, or the kernel multiplies more."""
    m = next(x for x in model(name).mechanisms.values() if isinstance(x, Mla))
    q, cache = zeros(1, m.heads, m.latent + m.rope), zeros(1, TOKENS, m.latent + m.rope)
    assert counted(lambda: mla.decode(q, cache, latent_dim=m.latent)) == decode(m, TOKENS)[0]


@pytest.mark.parametrize("name", ["deepseek-v3.2", "glm-5.2"])
def test_indexer_and_selected_rows(name):
    """The scores by products exactly; the sum over heads is 2 H more, which the model leaves out. Breaks when either side
    counts the tokens that were not selected."""
    m = next(x for x in model(name).mechanisms.values() if isinstance(x, Dsa) and x.indexer == "own")
    q, weights, keys = zeros(1, m.index_heads, m.index_dim), zeros(1, m.index_heads), zeros(1, TOKENS, m.index_dim)
    scored = counted(lambda: dsa.index_scores(q, weights, keys))
    assert scored in (index_flops(m) * TOKENS, index_flops(m) * TOKENS * (1 + 1 / m.index_dim))
    q, cache = zeros(1, m.heads, m.latent + m.rope), zeros(1, TOKENS, m.latent + m.rope)
    chosen = torch.arange(0, TOKENS, 4)[None]
    assert counted(lambda: dsa.decode(q, cache, chosen, latent_dim=m.latent)) == absorbed_flops(m) * chosen.shape[1]


def test_grouped_heads():
    """Exact. Breaks when a key-value head is counted in place of a query head."""
    m = next(x for x in model("llama-3.1-70b").mechanisms.values() if isinstance(x, Softmax))
    q, k, v = (
        zeros(1, m.heads, m.key_dim),
        zeros(1, TOKENS, m.kv_heads, m.key_dim),
        zeros(1, TOKENS, m.kv_heads, m.value_dim),
    )
    assert counted(lambda: softmax.decode(q, k, v)) == decode(m, TOKENS)[0]


@pytest.mark.parametrize("letter", ["C", "H"])
def test_compressed_entries(letter):
    """V4-Flash's core over its window and entries, at 64K tokens. Breaks when the window's part or the top-k is lost."""
    m, tokens = model("deepseek-v4-flash").mechanisms[letter], 2**16
    q, window = zeros(1, m.heads, m.head_dim), zeros(1, m.window, m.head_dim)
    entries = zeros(1, tokens // m.ratio, m.head_dim)
    indices = torch.arange(m.top_k)[None] if letter == "C" else None
    assert counted(lambda: csa.decode(q, window, entries, indices)) == decode(m, tokens)[0]


def test_a_delta_step():
    """Two products with the state for key and query are 4 of the model's 7; decaying (1) and writing (2) are not products."""
    m = next(x for x in model("kimi-k3").mechanisms.values() if isinstance(x, Kda))
    q, state = zeros(1, m.heads, m.key_dim), zeros(1, m.heads, m.key_dim, m.value_dim)
    v, beta = zeros(1, m.heads, m.value_dim), zeros(1, m.heads)
    assert counted(lambda: kda.step(state, q, q, v, q, beta)) == decode(m, TOKENS)[2] * 4 / 7


def test_chunks_beside_the_formula():
    """Our chunk form runs 1.21 times the paper's count: squares where the paper counts triangles (tests/attention counts
    each product). Breaks when either drifts."""
    m = next(x for x in model("kimi-linear-48b-a3b").mechanisms.values() if isinstance(x, Kda))
    shape = (1, 256, 1, m.key_dim)  # one head: products in other threads are not counted
    tensors = (zeros(*shape),) * 4
    runs = counted(lambda: kda.chunked(*tensors, zeros(*shape[:3]))) / 256
    assert runs / (prefill(m, 1)[2] / m.heads) == pytest.approx(1.21, abs=0.005)


def kept_bytes(cache) -> int:
    parts = [getattr(part, "rows", part) for part in cache if part is not None]
    return sum(part.numel() * part.element_size() for part in parts)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("kimi-linear-48b-a3b", Kda), ("kimi-linear-48b-a3b", Mla), ("qwen3-next-80b-a3b", GatedDelta)],
)
def test_bytes_of_a_layers_cache(name, kind):
    """A layer run for some tokens in bf16 keeps, to the byte, what the model says. Breaks when the state is not float32, the
    convolution keeps a token too many, or the rotary key is counted once a head."""
    m = model(name)
    mixer = next(x for x in m.mechanisms.values() if isinstance(x, kind))
    layer = layers.build(mixer, m.hidden, dtype=torch.bfloat16, **({"rotary": False} if kind is Mla else {}))
    with torch.no_grad():
        _, cache = layer(torch.zeros(1, 21, m.hidden, dtype=torch.bfloat16))
    assert kept_bytes(cache) == sum(stored(mixer, 21, m.precision))


def test_bytes_of_a_sparse_layer():
    """Latents and index keys, in bf16; and what a step reads of them. Breaks when index keys are counted once a head."""
    m = model("glm-5")
    mixer = next(x for x in m.mechanisms.values() if isinstance(x, Dsa)).model_copy(
        update={"heads": 2, "index_heads": 2, "top_k": 8}
    )
    layer = layers.build(mixer, m.hidden, dtype=torch.bfloat16)
    with torch.no_grad():
        _, cache = layer(torch.zeros(1, 21, m.hidden, dtype=torch.bfloat16))
    plain = m.precision.model_copy(update=dict.fromkeys(("latent", "rope", "index"), "bf16"))
    assert kept_bytes(cache) == sum(stored(mixer, 21, plain))
    assert read(mixer, 21, plain)[0] == 8 * stored(mixer, 1, plain)[0]
