"""Models of every pattern: sizes, gradients, streaming, and the trained indexer."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from lib.attention.layers import DsaLayer
from lib.stack.model import Model, equal_width, parameters
from lib.stack.patterns import LETTERS, Sizes, checked, kept_numbers, mixer
from lib.stack.shifted import Shifted
from lib.stack.training import Run, losses, sparse_layers

PATTERNS = ["K", "H", "G", "M", "D", "W", "KKKM", "KKKD", "KM"]
VOCAB, WIDTH = 20, 24


def tokens(batch=2, time=21, seed=0):
    return torch.randint(VOCAB, (batch, time), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("residual", ["plain", "attention"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_streaming_is_the_sequence(pattern, residual):
    """Token by token with caches, and in two parts, against one pass. Breaks when a cache misses or repeats a token."""
    model = Model(pattern, VOCAB, width=WIDTH, residual=residual).double()
    x = tokens()
    with torch.no_grad():
        whole, _ = model(x)
        caches, outs = model.empty(2), []
        for t in range(x.shape[1]):
            logits, caches = model.step(x[:, t], caches)
            outs.append(logits)
        first, caches = model(x[:, :9])
        second, _ = model(x[:, 9:], caches)
    assert torch.allclose(torch.stack(outs, 1), whole, rtol=1e-5, atol=1e-8)
    assert torch.allclose(torch.cat((first, second), 1), whole, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_gradients_reach_every_parameter(pattern):
    """Breaks when a weight is left out of the pass, or an indexer has no loss of its own."""
    model = Model(pattern, VOCAB, width=WIDTH, residual="attention")
    for query in model.queries:
        torch.nn.init.normal_(query, std=0.1, generator=torch.Generator().manual_seed(1))
    x = tokens(time=40)
    loss, indexer = losses(model, x, x)
    (loss + indexer).backward()
    still = [
        name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.abs().sum() > 0
    ]
    # at the first sublayer there is one source to weigh, which takes all the weight whatever its query
    assert set(still) <= {"queries.0"}


def test_the_indexer_learns_from_its_own_loss_only():
    """Breaks when the language loss reaches the indexer, or the indexer's the rest."""
    model = Model("D", VOCAB, width=WIDTH)
    x = tokens(time=40)
    for which in (0, 1):
        model.zero_grad()
        losses(model, x, x)[which].backward()
        moved = {
            name for name, weight in model.named_parameters() if weight.grad is not None and weight.grad.abs().sum() > 0
        }
        indexer = {name for name in moved if "index" in name}
        assert bool(indexer) == (which == 1) and bool(moved - indexer) == (which == 0)


def test_trained_dsa_is_dsa():
    """In one piece, and as the book's own layer selects, token by token. Breaks when the two choose differently."""
    sizes = Sizes(top_k=5)
    layer = mixer("D", "D", sizes, seed=3).layer.double()
    x = torch.randn(2, 30, sizes.hidden, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(layer(x)[0], DsaLayer.forward(layer, x)[0], rtol=1e-9, atol=1e-12)
    # an untied row is chosen by the library's own selection too
    _, cache = layer(x)
    own, theirs = layer.selection(x, cache), DsaLayer.selection(layer, x, cache)
    scores = layer._scores(x, cache, torch.arange(30))
    for b, t in ((b, t) for b in range(2) for t in range(30)):
        row = scores[b, t, : t + 1].sort().values
        if t < 5 or row[-5] > row[-6]:
            assert set(own[b, t].tolist()) == set(theirs[b, t].tolist())
    counts = layer.seen.chosen.sum(-1)
    assert torch.equal(counts, torch.arange(1, 31).clamp_max(5).expand(2, 30))


def test_dense_warm_up_is_dense_attention():
    """With every token allowed, and with a top-k of all. Breaks when the warm-up is sparse already."""
    sizes = Sizes(top_k=64)
    layer = mixer("D", "D", sizes, seed=3).layer
    x = torch.randn(1, 20, sizes.hidden, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        sparse = layer(x)[0]
        layer.dense = True
        assert torch.allclose(layer(x)[0], sparse, atol=1e-6)
    assert float(layer.seen.recall) == pytest.approx(1)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_parameter_counts_by_formula(pattern):
    """Embedding, head, norms, SwiGLU by hand; mixers as `lib.cost` counts them. Breaks when a weight is shared or doubled."""
    from lib.cost.parameters import mixer_parameters
    from lib.data.mechanisms import GatedDelta, Kda, Mla

    s = Sizes()
    kda = Kda(
        type="kda",
        heads=s.heads,
        key_dim=s.head,
        value_dim=s.head,
        conv=s.conv,
        decay_rank=s.head,
        gate_rank=s.head,
        lower_bound=None,
    )
    latent = {
        "heads": s.heads,
        "latent": s.latent,
        "rope": s.rope,
        "nope": s.head,
        "value": s.head,
        "q_rank": s.latent,
        "output_gate": False,
    }
    mla = mixer_parameters(Mla(type="mla", **latent), s.hidden)
    index = s.latent * s.index_heads * s.index_dim + s.hidden * (s.index_dim + s.index_heads) + 2 * s.index_dim
    each = {
        "K": mixer_parameters(kda, s.hidden), "H": mixer_parameters(kda, s.hidden),
        "G": mixer_parameters(GatedDelta(type="gated_delta", key_heads=s.heads, value_heads=s.heads, key_dim=s.head, value_dim=s.head, conv=s.conv), s.hidden),
        "M": mla + s.conv * s.hidden, "D": mla + index + s.conv * s.hidden,
        "W": 4 * s.heads * s.head * s.hidden + s.heads + s.conv * s.hidden,
    }  # fmt: skip
    by_hand = (
        2 * VOCAB * s.hidden + (2 * len(pattern) + 1) * s.hidden + sum(each[x] + 3 * s.hidden * WIDTH for x in pattern)
    )
    assert parameters(Model(pattern, VOCAB, width=WIDTH)) == by_hand
    extra = parameters(Model(pattern, VOCAB, width=WIDTH, residual="attention")) - by_hand
    assert extra == (2 * len(pattern) + 1) * s.hidden


@pytest.mark.parametrize("pattern", ["KKKM", "DDDD", "GGGG"])
def test_equal_parameters(pattern):
    """Within half a step of the SwiGLU width. Breaks when the width is rounded down."""
    width = equal_width(pattern, 97, Run.target)
    assert abs(parameters(Model(pattern, 97, width=width)) - Run.target) <= 3 * 64 * len(pattern) / 2
    with pytest.raises(ValueError, match="wanted at least"):
        equal_width(pattern, 97, 1000)


@pytest.mark.parametrize("pattern", ["K", "M", "D", "W"])
def test_one_batch_is_learnt_by_heart(pattern):
    """Breaks when a layer cannot be trained. Answers are random, so that nothing but memory helps."""
    torch.manual_seed(0)
    model, x = Model(pattern, VOCAB, width=64), tokens(4, 12)
    wanted = tokens(4, 12, seed=9)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss, indexer = losses(model, x, wanted)
        optimiser.zero_grad()
        (loss + indexer).backward()
        optimiser.step()
    assert float(cross_entropy(model(x)[0].flatten(0, 1), wanted.flatten()).detach()) < 0.05


def test_head_wise_decays_are_the_channels_mean():
    """Breaks when the head-wise twin differs from KDA in more than its decay."""
    sizes = Sizes()
    fine, coarse = (mixer(letter, letter, sizes, seed=1) for letter in "KH")
    x = torch.randn(1, 6, sizes.hidden, generator=torch.Generator().manual_seed(0))
    assert all(torch.equal(a, b) for a, b in zip(fine.parameters(), coarse.parameters(), strict=True))
    logs = coarse.log_decay(x)
    assert torch.equal(logs, logs[..., :1].expand_as(logs))
    assert torch.allclose(logs[..., 0], fine.log_decay(x).mean(-1))


def test_numbers_kept():
    """Counted from the caches after some tokens, convolutions left out. Breaks when a pattern is charged for another's cache."""
    sizes = Sizes()
    for letter in LETTERS:
        model = Model(letter, VOCAB, width=WIDTH, sizes=sizes)
        with torch.no_grad():
            _, (cache,) = model(tokens(1, 40))
        cache = cache.inner if isinstance(model.mixers[0], Shifted) else cache
        parts = [
            getattr(part, "rows", part)
            for name, part in zip(cache._fields, cache, strict=True)
            if name != "conv" and not isinstance(part, int)
        ]
        kept = sum(part.numel() for part in parts)
        # a window keeps W - 1 tokens between steps, and W while a token is at work
        held = kept if letter != "W" else kept * sizes.window // (sizes.window - 1)
        assert held == kept_numbers(letter, sizes, 40)


@pytest.mark.parametrize("pattern", ["", "KX"])
def test_bad_patterns(pattern):
    with pytest.raises(ValueError, match="wanted letters of"):
        checked(pattern)


def test_sparse_layers_are_found_inside():
    assert len(sparse_layers(Model("KD", VOCAB, width=WIDTH))) == 1
