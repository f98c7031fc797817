"""Whole layers: a sequence at once = token by token, with what each keeps; parameters; the door."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from lib.attention import dsa, layers, mla
from lib.attention.layers.growing import Rows
from lib.cost.parameters import mixer_parameters
from lib.data.mechanisms import Dsa, GatedDelta, Kda, Mla
from tests.attention.agreement import agree, agree_all, normal

HIDDEN = 20
KDA = {"type": "kda", "heads": 3, "key_dim": 8, "value_dim": 6, "conv": 4, "decay_rank": 5}
LATENT = {"heads": 3, "latent": 16, "rope": 4, "nope": 8, "value": 6}
INDEX = {"index_heads": 2, "index_dim": 8, "index_pool": 1, "top_k": 7}
MECHANISMS = {
    "kimi-linear": Kda(**KDA, gate_rank=4, lower_bound=None),
    "k3": Kda(**KDA, gate_rank=None, lower_bound=-5.0),
    "gated-deltanet": GatedDelta(type="gated_delta", key_heads=2, value_heads=4, key_dim=8, value_dim=6, conv=4),
    "mla": Mla(type="mla", **LATENT, q_rank=None, output_gate=False),
    "gated-mla": Mla(type="mla", **LATENT, q_rank=10, output_gate=True),
    "dsa": Dsa(type="dsa", **LATENT, q_rank=10, output_gate=False, indexer="own", **INDEX),
}
EACH = pytest.mark.parametrize("name", MECHANISMS)


def layer(name: str, **options) -> nn.Module:
    return layers.build(MECHANISMS[name], HIDDEN, **{"dtype": torch.float64, **options})


def kept(cache) -> list[torch.Tensor]:
    return [x.rows if isinstance(x, Rows) else x for x in cache]


def streamed(module: nn.Module, x: torch.Tensor, cache=None):
    cache, outs = module.empty(x.shape[0]) if cache is None else cache, []
    for t in range(x.shape[1]):
        out, cache = module.step(x[:, t], cache)
        outs.append(out)
    return torch.stack(outs, 1), cache


@EACH
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@torch.no_grad()
def test_a_sequence_is_its_tokens(name, dtype):
    """Output and cache, over tiles, chunks and more tokens than DSA selects. Breaks when the convolution is off by one, a
    position starts elsewhere, absorption differs from expansion, or a selection sees the next token."""
    module, x = layer(name, dtype=dtype), normal(2, 70, HIDDEN, dtype=dtype)
    out, cache = module(x)
    agree(out, streamed(module, x)[0])
    agree_all(kept(cache), kept(streamed(module, x)[1]))


@EACH
@pytest.mark.parametrize("cut", [0, 1, 2, 33])
@torch.no_grad()
def test_a_prefix_then_the_rest(name, cut):
    """Prefill, then decode, then prefill again = one pass. Breaks when a cache forgets the convolution's inputs."""
    module, x = layer(name), normal(2, 40, HIDDEN)
    wanted, last = module(x)
    first, cache = module(x[:, :cut])
    second, cache = streamed(module, x[:, cut : cut + 4], cache)
    third, cache = module(x[:, cut + 4 :], cache)
    agree(torch.cat((first, second, third), 1), wanted)
    agree_all(kept(cache), kept(last))


@EACH
@torch.no_grad()
def test_two_continuations_of_one_prefix(name):
    """Caches are values: what one continuation appends does not show in the other. Breaks when a step writes over rows
    or a state that another cache shows."""
    module, x = layer(name), normal(2, 12, HIDDEN)
    _, prefix = module(x[:, :6])
    before = [y.clone() for y in kept(prefix)]
    left, _ = streamed(module, x[:, 6:], prefix)
    right, _ = streamed(module, -x[:, 6:], prefix)
    again, _ = streamed(module, x[:, 6:], prefix)
    assert torch.equal(left, again) and not torch.equal(left, right)
    agree_all(kept(prefix), before)
    agree(right, module(torch.cat((x[:, :6], -x[:, 6:]), 1))[0][:, 6:])


@EACH
@torch.no_grad()
def test_the_future_does_not_reach_the_past(name):
    """Breaks when a convolution, a mask or a selection looks ahead."""
    module, x = layer(name), normal(1, 40, HIDDEN)
    later = torch.cat((x[:, :25], 100 * x[:, 25:]), 1)
    agree(module(later)[0][:, :25], module(x)[0][:, :25], 1e-13)


@EACH
def test_parameters_are_those_of_the_formula(name):
    """The cost model's count. Breaks when a layer has a bias too many, or the formula forgets a norm."""
    mechanism = MECHANISMS[name]
    counted = sum(p.numel() for p in layer(name).parameters())
    assert counted == mixer_parameters(mechanism, HIDDEN)


def by_hand(m, d: int) -> int:
    """The counts once more, written out from the papers."""
    if m.type == "kda":
        keys, values = m.heads * m.key_dim, m.heads * m.value_dim
        gate = d * values if m.gate_rank is None else m.gate_rank * (d + values)
        decay = m.decay_rank * (d + keys) + keys + m.heads
        return (2 * keys + values) * (d + m.conv) + m.heads * d + decay + gate + m.value_dim + values * d
    if m.type == "gated_delta":
        keys, values = m.key_heads * m.key_dim, m.value_heads * m.value_dim
        return (2 * keys + values) * (d + m.conv) + 2 * values * d + 2 * m.value_heads * (d + 1) + m.value_dim
    key = m.nope + m.rope
    q = d * m.heads * key if m.q_rank is None else m.q_rank * (d + 1 + m.heads * key)
    core = q + d * (m.latent + m.rope) + m.latent + m.latent * m.heads * (m.nope + m.value)
    index = (
        m.q_rank * m.index_heads * m.index_dim + d * (m.index_dim + m.index_heads) + 2 * m.index_dim
        if m.type == "dsa"
        else 0
    )
    return core + (1 + m.output_gate) * m.heads * m.value * d + index


@EACH
@pytest.mark.parametrize("hidden", [HIDDEN, 64])
def test_parameters_by_hand(name, hidden):
    """Breaks when layer and cost model agree on a wrong count."""
    module = layers.build(MECHANISMS[name], hidden, device="meta")
    assert sum(p.numel() for p in module.parameters()) == by_hand(MECHANISMS[name], hidden)


REAL = {
    "Kimi Linear KDA": (
        2304,
        Kda(
            **{**KDA, "heads": 32, "key_dim": 128, "value_dim": 128, "decay_rank": 128}, gate_rank=128, lower_bound=None
        ),
    ),
    "Kimi Linear MLA": (
        2304,
        Mla(type="mla", heads=32, latent=512, rope=64, nope=128, value=128, q_rank=None, output_gate=False),
    ),
    "Qwen3-Next Gated DeltaNet": (
        2048,
        GatedDelta(type="gated_delta", key_heads=16, value_heads=32, key_dim=128, value_dim=128, conv=4),
    ),
}


@pytest.mark.parametrize("name", REAL)
@torch.no_grad()
def test_real_dimensions(name):
    """A layer as large as the models', float32. Breaks when a dimension is taken for another of the same small size."""
    hidden, mechanism = REAL[name]
    module = layers.build(mechanism, hidden, **({"rotary": False} if mechanism.type == "mla" else {}))
    x = normal(1, 20, hidden, dtype=torch.float32)
    out, cache = module(x)
    second, last = streamed(module, x)
    # one token and twenty go through other matrix kernels: sums of up to 4096 terms in another order, four in a row
    tolerance = 4 * 4096**0.5 * torch.finfo(torch.float32).eps
    agree(out, second, tolerance=tolerance)
    agree_all(kept(cache), kept(last), tolerance=tolerance)
    assert sum(p.numel() for p in module.parameters()) == by_hand(mechanism, hidden)


@EACH
@torch.no_grad()
def test_bfloat16(name):
    """Runs in bfloat16 and keeps it, the state in float32; within a few percent of float64. Breaks when a dtype is fixed."""
    x = normal(2, 24, HIDDEN, dtype=torch.bfloat16)
    module = layer(name, dtype=torch.bfloat16)
    wide = copy.deepcopy(module).double()
    out, cache = module(x)
    assert out.dtype == torch.bfloat16
    if name != "dsa":  # a rounded index score may select another token
        # every projection rounds to half an eps of 2^-7 a number: some ten roundings in a row, and room for bad luck
        agree(out.float(), wide(x.double())[0].float(), 20 * torch.finfo(torch.bfloat16).eps)
    one, _ = module.step(x[:, 0], cache)
    assert one.dtype == torch.bfloat16
    if hasattr(cache, "state"):
        assert cache.state.dtype == torch.float32


@EACH
def test_gradients_reach_every_parameter(name):
    """Breaks when a projection is cut off, or used nowhere. A selection is not differentiable: the indexer learns by a loss
    of its own."""
    module, x = layer(name), normal(1, 18, HIDDEN)
    module(x)[0].square().sum().backward()
    for parameter, p in module.named_parameters():
        if "index" not in parameter:
            assert p.grad is not None and p.grad.abs().max() > 0, parameter


@EACH
@torch.no_grad()
def test_no_tokens(name):
    """Breaks when an empty sequence has no shape."""
    module = layer(name)
    out, cache = module(normal(2, 0, HIDDEN))
    assert out.shape == (2, 0, HIDDEN)
    agree(module.step(normal(2, HIDDEN), cache)[0], module(normal(2, HIDDEN)[:, None])[0][:, 0])


@torch.no_grad()
def test_selecting_all_is_mla():
    """top_k >= T: the sparse layer with the dense layer's weights is dense. Breaks when a mask drops a selected token."""
    dense = layer("gated-mla")
    sparse = layers.build(
        MECHANISMS["dsa"].model_copy(update={"top_k": 50, "output_gate": True}), HIDDEN, dtype=torch.float64
    )
    sparse.load_state_dict(dense.state_dict(), strict=False)
    x = normal(2, 30, HIDDEN)
    agree(sparse(x)[0], dense(x)[0])


@torch.no_grad()
def test_few_are_selected():
    """With 7 of 40 the result is another, each query has what it may have, and its best index score is among it."""
    module, x = layer("dsa"), normal(1, 40, HIDDEN)
    _, cache = module(x)
    chosen = module.selection(x, cache)
    for t in range(40):
        mine = [i for i in chosen[0, t].tolist() if i >= 0]
        assert len(mine) == len(set(mine)) == min(t + 1, 7) and max(mine) <= t
    dense = layers.build(MECHANISMS["dsa"].model_copy(update={"top_k": 50}), HIDDEN, dtype=torch.float64)
    dense.load_state_dict(module.state_dict())
    assert not torch.allclose(module(x)[0][:, 20:], dense(x)[0][:, 20:])


@torch.no_grad()
def test_a_shared_selection():
    """IndexShare: a layer without an indexer takes another's indices, in both forms. Breaks when it selects by itself."""
    own = layer("dsa")
    shared = layers.build(MECHANISMS["dsa"].model_copy(update={"indexer": "shared"}), HIDDEN, dtype=torch.float64)
    shared.load_state_dict(own.state_dict(), strict=False)
    assert sum(p.numel() for p in shared.parameters()) == mixer_parameters(
        MECHANISMS["dsa"].model_copy(update={"indexer": "shared"}), HIDDEN
    )
    x = normal(2, 30, HIDDEN)
    wanted, cache = own(x)
    indices = own.selection(x, cache)
    out, mine = shared(x, indices=indices)
    agree(out, wanted)
    assert mine.keys is None
    token = normal(2, HIDDEN, seed=1)
    wanted, after = own.step(token, cache)
    got, _ = shared.step(token, mine, indices=own.selection(token[:, None], after)[:, 0])
    agree(got, wanted)
    for module, given in ((shared, None), (own, indices)):
        with pytest.raises(ValueError, match="indices: got"):
            module(x, indices=given)


@torch.no_grad()
def test_the_two_rotary_layouts_of_a_sparse_layer():
    """Cache rows are rotated interleaved in their last dims, index keys half against half in their first. Breaks when one
    layout serves both."""
    module, still = layer("dsa"), layer("dsa", rotary=False)
    x, positions = normal(1, 9, HIDDEN), torch.arange(9)
    turned, plain = module(x)[1], still(x)[1]
    agree(turned.latent.rows, mla.rotate(plain.latent.rows, positions, 4), 1e-13)
    agree(turned.keys.rows, dsa.rotate(plain.keys.rows, positions, 4), 1e-13)
    assert not torch.allclose(turned.keys.rows, plain.keys.rows)


@torch.no_grad()
def test_unrotated_mla_does_not_know_positions():
    """NoPE: the last query sees a set. Breaks when rotary=False still rotates."""
    x = normal(1, 12, HIDDEN)
    mixed = torch.cat((x[:, torch.randperm(11)], x[:, 11:]), 1)
    agree(layer("mla", rotary=False)(mixed)[0][:, -1], layer("mla", rotary=False)(x)[0][:, -1])
    assert not torch.allclose(layer("mla")(mixed)[0][:, -1], layer("mla")(x)[0][:, -1])


@torch.no_grad()
def test_key_heads_serve_their_value_heads():
    """Grouped keys = the same keys given to each value head. Breaks when heads are repeated in turn (0 1 0 1)."""
    few = layer("gated-deltanet")
    many = layers.build(MECHANISMS["gated-deltanet"].model_copy(update={"key_heads": 4}), HIDDEN, dtype=torch.float64)
    weights = few.state_dict()
    order = torch.cat([torch.arange(8) + 8 * g for g in (0, 0, 1, 1)])
    rows = torch.cat((order, order + 16, torch.arange(32, 32 + 24)))
    weights["w_qkv"], weights["conv"] = weights["w_qkv"][rows], weights["conv"][rows]
    many.load_state_dict(weights)
    x = normal(2, 20, HIDDEN)
    agree(many(x)[0], few(x)[0])


def test_the_same_seed_the_same_layer():
    """Breaks when a layer draws from the global generator."""
    a, b, c = layer("k3"), layer("k3"), layer("k3", seed=1)
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a.w_qkv, c.w_qkv)


def test_attributes_are_enough():
    """`build` asks for names, not for a class. Breaks when an adapter tests isinstance."""
    plain = SimpleNamespace(**MECHANISMS["k3"].model_dump())
    assert isinstance(layers.build(plain, HIDDEN), layers.KdaLayer)


def test_the_door():
    """Breaks when an unknown mechanism is guessed at, or a pooled indexer run as if it were not pooled."""
    with pytest.raises(ValueError, match="mechanism: got window"):
        layers.build(SimpleNamespace(type="window"), HIDDEN)
    with pytest.raises(ValueError, match="index_pool: got 4"):
        layers.build(MECHANISMS["dsa"].model_copy(update={"index_pool": 4}), HIDDEN)
    with pytest.raises(ValueError, match="q_rank: got None"):
        layers.DsaLayer(HIDDEN, **LATENT, q_rank=None, output_gate=False, index_heads=1, index_dim=4, top_k=2)
    with pytest.raises(ValueError, match="value_heads: got 3"):
        layers.GatedDeltaLayer(HIDDEN, key_heads=2, value_heads=3, key_dim=4, value_dim=4, conv=4)


@torch.no_grad()
def test_rows_grow_without_copying_each_time():
    """Breaks when every step copies the whole cache."""
    rows, rooms = Rows.empty(1, 3, normal(1)), set()
    for i in range(1000):
        rows = rows.append(torch.full((1, 1, 3), float(i), dtype=torch.float64))
        rooms.add(rows.rows.data_ptr())
    assert len(rooms) < 8
    assert torch.equal(rows.rows[0, :, 0], torch.arange(1000, dtype=torch.float64))
