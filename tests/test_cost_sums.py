"""Closed forms of the cost model against plain enumeration: a cache that grows token by token, a query that lists its keys.

What is enumerated shares no formula with `lib.cost`: sets of keys are built, entries appended, weights allocated.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.attention import layers
from lib.cost import decode_flops, parameters, prefill_flops, read_bytes, stored_bytes
from lib.cost.flops import capped_grouped_pairs, capped_pairs, causal_pairs, decode, grouped_pairs, prefill
from lib.cost.memory import read, stored
from lib.cost.parameters import layer_parameters, mixer_parameters
from lib.data import model, models
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Lightning, Mla, Softmax, Window

TOKENS = st.integers(0, 90)
SMALL = st.integers(1, 12)


def csa(ratio: int, top_k: int, window: int) -> Csa:
    return Csa(
        type="csa", heads=2, head_dim=8, rope=4, q_rank=8, window=window, ratio=ratio, index_heads=2, index_dim=4,
        top_k=top_k, out_groups=1, out_rank=4,
    )  # fmt: skip


def hca(ratio: int, window: int) -> Hca:
    return Hca(
        type="hca", heads=2, head_dim=8, rope=4, q_rank=8, window=window, ratio=ratio, out_groups=1, out_rank=4
    )  # fmt: skip


def dsa(top_k: int, pool: int, indexer: str = "own") -> Dsa:
    return Dsa(
        type="dsa", heads=3, latent=16, rope=4, nope=8, value=8, q_rank=8, output_gate=False, indexer=indexer,
        index_heads=2, index_dim=8, index_pool=pool, top_k=top_k,
    )  # fmt: skip


@given(TOKENS, SMALL, SMALL)
def test_pairs_against_lists_of_keys(tokens, group, cap):
    """Breaks if a sum starts at 0 instead of 1, or a group counts before its last token has come."""
    seen = [list(range(t)) for t in range(1, tokens + 1)]
    groups = [[g for g in range(t) if (g + 1) * group <= t] for t in range(1, tokens + 1)]
    assert causal_pairs(tokens) == sum(map(len, seen))
    assert capped_pairs(tokens, cap) == sum(len(keys[-cap:]) for keys in seen)
    assert grouped_pairs(tokens, group) == sum(map(len, groups))
    assert capped_grouped_pairs(tokens, group, cap) == sum(len(entries[:cap]) for entries in groups)


@given(TOKENS, SMALL, SMALL, SMALL)
def test_a_prefill_is_its_decodes(tokens, ratio, top_k, window):
    """Sparse, compressed and windowed prefills do, token by token, what a decode step does. Breaks if one of the two caps
    differs, or an indexer sees the selected keys only."""
    for mixer in (dsa(top_k, ratio), dsa(top_k, 1, "shared"), csa(ratio, top_k, window), hca(ratio, window)):
        one_by_one = np.sum([decode(mixer, t) for t in range(1, tokens + 1)], axis=0) if tokens else np.zeros(3)
        assert np.allclose(prefill(mixer, tokens), one_by_one, rtol=1e-12, atol=0)


@given(TOKENS, SMALL)
def test_dense_prefill_by_listing_products(tokens, window):
    """Two FLOPs for each number of a key and of a value. Breaks if L^2 stands for the causal half, or MLA's expanded prefill
    uses the latent's width."""
    mla = Mla(type="mla", heads=3, latent=16, rope=4, nope=8, value=6, q_rank=None, output_gate=False)
    full = Softmax(type="softmax", heads=4, kv_heads=2, key_dim=8, value_dim=6, output_gate=False)
    near = Window(
        type="window", heads=4, kv_heads=2, key_dim=8, value_dim=6, window=window, sinks=True, shared_kv=False, rope=0,
        q_rank=None, out_groups=None, out_rank=None,
    )  # fmt: skip
    for mixer, heads, numbers, cap in ((mla, 3, 8 + 4 + 6, None), (full, 4, 8 + 6, None), (near, 4, 8 + 6, window)):
        products = sum(2 * heads * numbers * len(range(t)[-cap if cap else None :]) for t in range(1, tokens + 1))
        assert prefill(mixer, tokens)[0] == products


class Cache:
    """Entries of one layer, appended as its tokens come."""

    def __init__(self, mixer):
        self.mixer, self.tokens, self.kv, self.index, self.window = mixer, 0, [], [], []

    def append(self) -> None:
        self.tokens += 1
        m, complete = self.mixer, lambda group: self.tokens % group == 0
        if isinstance(m, Dsa):
            self.kv.append(self.tokens)
            if m.indexer == "own" and complete(m.index_pool):
                self.index.append(self.tokens)
        else:
            self.window = [*self.window, self.tokens][-m.window :]
            if complete(m.ratio):
                self.kv.append(self.tokens)
                if isinstance(m, Csa):
                    self.index.append(self.tokens)

    def bytes(self, p) -> tuple[int, int, int]:
        m = self.mixer
        if isinstance(m, Dsa):
            one = p.of("latent").bytes_for(m.latent) + p.of("rope").bytes_for(m.rope)
        else:
            one = p.of("entry").bytes_for(m.head_dim - m.rope) + p.of("rope").bytes_for(m.rope)
        key = p.of("index").bytes_for(m.index_dim) if self.index else 0
        return len(self.kv) * one, len(self.index) * key, len(self.window) * one

    def selected(self) -> int:
        return len(self.kv[: getattr(self.mixer, "top_k", None)])


@given(TOKENS, SMALL, SMALL, SMALL)
def test_caches_grown_token_by_token(tokens, ratio, top_k, window):
    """Breaks if an unfinished group is stored as an entry, a shared indexer keeps keys, or a read exceeds the top-k."""
    p = model("deepseek-v4-flash").precision
    for mixer in (dsa(top_k, ratio), dsa(top_k, 1, "shared"), csa(ratio, top_k, window), hca(ratio, window)):
        cache = Cache(mixer)
        for _ in range(tokens):
            cache.append()
        kv, index, _, last = stored(mixer, tokens, p)
        assert (kv, index, last) == cache.bytes(p)
        read_kv, read_index, _, _ = read(mixer, tokens, p)
        assert read_index == index and read_kv * len(cache.kv) == kv * cache.selected()


RUN = (Kda, GatedDelta, Mla, Dsa)


@pytest.mark.parametrize("name", models())
def test_weights_that_are_allocated(name):
    """The book's own layers, allocated without numbers at the real dimensions, have the weights that the model counts.

    Breaks if a projection, norm, bias, gate or indexer is counted that no layer multiplies by, or the other way round."""
    m = model(name)
    mixers = [mixer for mixer, _ in m.mixer_counts if isinstance(mixer, RUN) and getattr(mixer, "index_pool", 1) == 1]
    for mixer in mixers:
        built = layers.build(mixer, m.hidden, device="meta")
        assert sum(weight.numel() for weight in built.parameters()) == mixer_parameters(mixer, m.hidden)


@pytest.mark.parametrize("name", models())
def test_model_sums_are_those_of_its_layers(name):
    """`parameters` sums over kinds of layers; here over all layers, one after the other. Breaks if a kind is counted with
    another's number, or the norms of LongCat's two attentions are counted once."""
    m = model(name)
    layer_sums = np.sum([layer_parameters(layer, m.hidden) for layer in m.layers], axis=0)
    counted, head = parameters(m), m.vocab * m.hidden
    extra = sum(x.count for x in m.extra)
    embeddings = head * (1 if m.tied_embeddings else 2)
    assert counted.total == pytest.approx(layer_sums[0] + embeddings + m.hidden + extra, rel=1e-12)
    assert (counted.routed, counted.routed_active) == pytest.approx(tuple(layer_sums[2:]), rel=1e-12)
    assert counted.active == pytest.approx(
        layer_sums[1] + head + m.hidden + sum(x.count for x in m.extra if x.active), rel=1e-12
    )


DRAFTS = [name for name in models() if model(name).mtp]


@pytest.mark.parametrize("name", DRAFTS)
def test_drafts_add_their_layers(name):
    """With `mtp` a step has the caches and work of so many layers more. Breaks if the drafts' own mixer is not the one
    counted, or `mtp` is ignored by one of the four functions."""
    m, tokens = model(name), 100_000
    mixer, layers_more = m.mechanisms[m.mtp.mixer], m.mtp.layers
    for function, one_layer in ((stored_bytes, stored), (read_bytes, read)):
        more = function(m, tokens, mtp=True).total - function(m, tokens).total
        assert more == pytest.approx(layers_more * sum(one_layer(mixer, tokens, m.precision)), rel=1e-9)
    for function, one_layer, times in ((decode_flops, decode, 1), (prefill_flops, prefill, tokens)):
        with_drafts, plain = function(m, tokens, mtp=True), function(m, tokens)
        for part, more in zip(("attention", "index", "state"), one_layer(mixer, tokens), strict=True):
            assert getattr(with_drafts, part) - getattr(plain, part) == pytest.approx(layers_more * more, rel=1e-9)
        weights = parameters(m, mtp=True).active - parameters(m).active
        assert with_drafts.linear - plain.linear == pytest.approx(2 * weights * times, rel=1e-6)


@given(st.lists(st.integers(0, 2**24), min_size=1, max_size=5))
def test_linear_layers_do_not_grow(contexts):
    """Breaks if a state is multiplied by the context anywhere."""
    for mixer in (m for name in ("kimi-k3", "qwen3-next-80b-a3b") for m, _ in model(name).mixer_counts):
        if isinstance(mixer, Kda | GatedDelta | Lightning):
            p = model("kimi-k3").precision
            assert len({(sum(stored(mixer, c, p)), sum(decode(mixer, c))) for c in contexts}) == 1
