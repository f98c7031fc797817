"""Steps, capacities and prices against arithmetic on paper. Each test names a change of the code that breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.cost import decode_flops, prefill_flops, read_bytes, stored_bytes
from lib.cost.capacity import LONGEST, ceiling, dollars_per_million, free_bytes, max_batch, throughput
from lib.cost.links import dispatch_bytes, partial_bytes, prefill_links, sum_bytes
from lib.cost.parameters import mixer_parameters, parameters
from lib.cost.step import cache_held, cache_read, decode_step, prefill_time
from lib.cost.system import System, cache_share, rate
from lib.cost.weights import distinct_experts, weight_bytes, weights_held, weights_read
from lib.data import chip, model, models
from lib.data.variants import all_full, replace_mixers
from tests.toys import BF16, DSA, GDN, KDA, LIGHTNING, MLA, MOE, SOFTMAX, WIDE, toy, toy_chip

ONE = System(toy_chip())
DENSE_TOY = toy("AA", {"A": SOFTMAX})
# a layer: q 64, k and v 64, output 64, feed-forward 3 x 8 x 16 = 384, two norms 16; then head 128, final norm 8
DENSE_ACTIVE = 2 * (64 + 64 + 64 + 384 + 16) + 128 + 8
# a layer: 192 as above, router 8 x 8 = 64, two norms 16; an expert is 3 x 8 x 4 = 96
MOE_TOY = toy("AA", {"A": SOFTMAX}, MOE)
MOE_ALWAYS = 2 * (192 + 64 + 16) + 128 + 8


def test_dense_step_on_one_chip_by_hand():
    """Breaks if the embedding is read, if an entry misses its values, or if a MAC is one FLOP."""
    step = decode_step(DENSE_TOY, ONE, context=10, batch=3)
    cache = 3 * 2 * 10 * (4 + 4) * 2  # sequences, layers, tokens, key and value, bf16
    assert DENSE_ACTIVE == 1320 and parameters(DENSE_TOY).active == DENSE_ACTIVE
    assert step.parts["weights"] == 1320 * 2
    assert step.parts["cache"] == cache == 960
    assert step.bytes == 2640 + 960
    flops = 3 * (2 * 1320 + 2 * 2 * 2 * (4 + 4) * 10)  # 3 x (2 x active + layers x 2 x heads x (K + V) x tokens)
    assert step.flops == flops == 9840
    assert step.parts["memory"] == pytest.approx(3600 / 1e10, rel=1e-12)
    assert step.parts["compute"] == pytest.approx(9840 / 1e12, rel=1e-12)
    assert step.time_lower == pytest.approx(3.6e-7, rel=1e-12)
    assert step.time_upper == pytest.approx(3.6e-7 + 9.84e-9, rel=1e-12)
    assert step.bound == "memory" and step.parts["link"] == 0


def test_a_large_batch_of_short_sequences_is_bound_by_compute():
    """Breaks if weights are read once a sequence, or if `bound` names the smallest time."""
    assert decode_step(DENSE_TOY, ONE, context=0, batch=100_000).bound == "compute"


def test_prefill_by_hand():
    """Breaks if the output head runs for each token, if pairs are L^2, or if weights are read for each token."""
    step = prefill_time(DENSE_TOY, ONE, context=10, batch=2)
    linear = 2 * (1320 - 128) * 10 + 2 * 128
    pairs = 2 * 2 * 2 * (4 + 4) * 55
    assert step.flops == 2 * (linear + pairs)
    assert step.parts["weights"] == 2640 and step.parts["cache"] == 2 * 2 * 10 * 8 * 2


def test_rates_follow_the_formats():
    """Breaks if fp8 weights count at the bf16 rate, or if the attention core follows the weights' format."""
    fp8 = DENSE_TOY.precision.model_copy(update={"weights": "fp8"})
    step = decode_step(DENSE_TOY, ONE, context=10, batch=1, precision=fp8)
    assert step.parts["compute"] == pytest.approx(2640 / 2e12 + 640 / 1e12, rel=1e-12)
    assert step.parts["weights"] == 1320
    assert rate(toy_chip(), "mxfp4") == 2e12 and rate(toy_chip(), "fp32") == 1e12
    assert rate(toy_chip(flops={"bf16": 1e12, "fp8": None, "fp4": 8e12}), "fp8_s128") == 1e12
    assert rate(toy_chip(flops={"bf16": 1e12, "fp8": None, "fp4": 8e12}), "nvfp4") == 8e12


def test_block_scales_of_weights_are_read_and_kept():
    """Breaks if only experts pay for their scales: mxfp4 takes 17/32 byte a number, not 1/2."""
    packed = MOE_TOY.model_copy(
        update={"precision": MOE_TOY.precision.model_copy(update={"weights": "mxfp4", "experts": "mxfp4"})}
    )
    assert weight_bytes(packed) == pytest.approx(parameters(MOE_TOY).total * 17 / 32, rel=1e-12)


def test_state_is_read_and_written():
    """Breaks if a recurrent state is only read, or if convolution rows are left out."""
    hybrid = toy("K", {"K": KDA})
    state = 8 * 4 * 4 * 2 + 3 * 8 * (4 + 4 + 4) * 2
    assert cache_held(hybrid, ONE, 5) == state == 832
    assert cache_read(hybrid, ONE, 5) == 2 * state


def test_lightning_by_hand():
    """Breaks if lightning attention gets a convolution, a delta rule, or a cache that grows."""
    m = toy("L", {"L": LIGHTNING})
    assert stored_bytes(m, 10).total == stored_bytes(m, 10**6).total == 4 * 4 * 8 * 2
    assert decode_flops(m, 10).state == 5 * 4 * 4 * 8
    assert prefill_flops(m, 100).state == 100 * 4 * (4 * 4 * 8 + 64 * (4 + 8))
    assert mixer_parameters(LIGHTNING, 8) == 8 * (16 + 16 + 32 + 32 + 32) + 32
    assert cache_read(m, ONE, 10) == 2 * cache_held(m, ONE, 10)


# experts


@pytest.mark.parametrize("batch", [1, 2, 7, 40])
def test_distinct_experts_against_a_simulation(batch):
    """Breaks if the closed form uses b k experts, or draws with replacement within a token."""
    draw = np.random.default_rng(0)
    seen = [len({e for _ in range(batch) for e in draw.choice(32, 4, replace=False)}) for _ in range(1000)]
    error = 5 * np.std(seen) / np.sqrt(len(seen))  # five standard errors
    assert abs(np.mean(seen) - distinct_experts(32, 4, batch)) <= max(error, 1e-12)


def test_expert_weights_by_hand():
    """Breaks if a batch of one reads all experts, or if experts miss a layer."""
    always, expert = MOE_ALWAYS * 2, 3 * 8 * 4 * 2
    assert weights_read(MOE_TOY, ONE, 1) == pytest.approx(always + 2 * 2 * expert, rel=1e-12)
    assert weights_read(MOE_TOY, ONE, 2) == pytest.approx(always + 2 * (8 * (1 - 0.75**2)) * expert, rel=1e-12)
    assert weights_read(MOE_TOY, ONE, 10_000) == pytest.approx(always + 2 * 8 * expert, rel=1e-12)


def test_prefill_reads_the_experts_of_all_its_tokens():
    """Breaks if a prefill reads experts as a decode step of the same batch does."""
    distinct = distinct_experts(8, 2, 2 * 3)  # two sequences of three tokens
    read = MOE_ALWAYS * 2 + 2 * distinct * 192
    assert prefill_time(MOE_TOY, ONE, context=3, batch=2).parts["weights"] == pytest.approx(read, rel=1e-12)


def test_zero_experts_cost_nothing():
    """Breaks if the mean number of real experts is ignored."""
    zero = MOE.model_copy(update={"zero_experts": 8, "active_real": 1.0})
    m = toy("AA", {"A": SOFTMAX}, zero)
    router = 2 * 8 * 8 * 2  # zero experts have a router row too
    assert weights_read(m, ONE, 1) == pytest.approx(MOE_ALWAYS * 2 + router + 2 * 1 * 192, rel=1e-12)


def test_two_kinds_of_mixtures_are_both_read():
    """Breaks if only the first mixture of a model is counted."""
    other = MOE.model_copy(update={"width": 8})
    m = toy("AA", {"A": SOFTMAX}).model_dump() | {
        "ffns": {"f": MOE.model_dump(), "g": other.model_dump()},
        "feed_forward": [{"layers": 1, "ffns": ["f"]}, {"layers": 1, "ffns": ["g"]}],
    }
    both = MOE_TOY.model_validate(m)
    assert weights_read(both, ONE, 1) == pytest.approx(MOE_ALWAYS * 2 + 2 * 192 + 2 * 384, rel=1e-12)


# splits


def test_tensor_parallel_by_hand():
    """Breaks if shared heads' caches are cut by tensor parallel, or head-wise ones are not."""
    two = System(toy_chip(), tensor=2)
    wide = toy("A", {"A": WIDE})
    assert cache_held(wide, two, 10) == 4 * 8 * 10 * 2  # four of eight heads
    assert cache_held(DENSE_TOY, two, 10) == cache_held(DENSE_TOY, ONE, 10)  # one head cannot be cut
    assert cache_held(toy("M", {"M": MLA}), two, 10) == 10 * 20 * 2
    assert weights_read(DENSE_TOY, two, 1) == 1320
    step = decode_step(DENSE_TOY, two, context=10, batch=3)
    assert step.flops == 9840 / 2
    # a ring all-reduce sends 2 (T - 1) / T of 8 numbers in bf16, twice a layer, in 2 layers, for 3 tokens
    assert step.parts["links"] == 3 * 2 * 2 * 16 and step.parts["link"] == pytest.approx(192 / 1e9, rel=1e-12)


@pytest.mark.parametrize(
    ("mixer", "tensor", "context", "share"),
    [
        (WIDE, 8, 1, 1 / 8),
        (WIDE, 16, 1, 1 / 8),  # heads run out: two chips hold each
        (WIDE, 8, 4, 1 / 8),  # tokens over 4, heads over 2
        (WIDE, 3, 1, 3 / 8),  # whole heads
        (MLA, 8, 1, 1),
        (DSA, 8, 4, 1 / 4),
        (KDA, 4, 1, 1 / 4),
        (KDA, 16, 1, 1 / 8),
        (GDN, 4, 2, 1 / 4),
        (LIGHTNING, 2, 1, 1 / 2),
    ],
)
def test_cache_share(mixer, tensor, context, share):
    """Breaks if context parallel leaves latents whole, or a state is cut finer than its heads."""
    assert cache_share(mixer, tensor, context) == pytest.approx(share, rel=1e-12)


def test_data_parallel_gives_whole_sequences_to_replicas():
    """Breaks if five sequences over four replicas are 1.25 each: one of them has two."""
    four = System(toy_chip(), data=4)
    assert decode_step(DENSE_TOY, four, context=10, batch=5).parts["cache"] == 2 * 320
    assert (
        decode_step(DENSE_TOY, four, context=10, batch=8).time_lower
        == decode_step(DENSE_TOY, ONE, context=10, batch=2).time_lower
    )
    assert decode_step(DENSE_TOY, four, context=10, batch=8).parts["links"] == 0


def test_expert_parallel_by_hand():
    """Breaks if each replica keeps all experts, or reads them for its own tokens only."""
    spread = System(toy_chip(), data=4, expert=4)
    expert = 192
    assert weights_held(MOE_TOY, spread) == pytest.approx(
        (parameters(MOE_TOY).total - 16 * 96) * 2 + 16 * expert / 4, rel=1e-12
    )
    read = MOE_ALWAYS * 2 + 2 * distinct_experts(8, 2, 12) * expert / 4
    assert weights_read(MOE_TOY, spread, 12) == pytest.approx(read, rel=1e-12)
    reached = 3 * (1 - (1 - 1 / 4) ** 2)  # of the three other chips, those with one of a token's two experts
    assert dispatch_bytes(MOE_TOY, spread) == pytest.approx(2 * 2 * reached * 16, rel=1e-12)
    step = decode_step(MOE_TOY, spread, context=10, batch=12)
    assert step.parts["links"] == pytest.approx(3 * dispatch_bytes(MOE_TOY, spread), rel=1e-12)
    assert step.parts["linear"] == pytest.approx(3 * (2 * MOE_ALWAYS) + 2 * 4 * 96 * 12 / 4, rel=1e-12)


def test_experts_of_one_replica_are_cut_not_sent():
    """Breaks if tokens are dispatched inside a replica, whose chips all have them after the sum."""
    assert dispatch_bytes(MOE_TOY, System(toy_chip(), tensor=4, expert=4)) == 0
    assert dispatch_bytes(MOE_TOY, System(toy_chip(), tensor=2, data=2)) == 0


def test_latent_experts_are_dispatched_in_their_own_width():
    """Breaks if LatentMoE sends the hidden size."""
    narrow = toy("AA", {"A": SOFTMAX}, MOE.model_copy(update={"latent": 4}))
    spread = System(toy_chip(), data=4, expert=4)
    assert dispatch_bytes(narrow, spread) == dispatch_bytes(MOE_TOY, spread) / 2


def test_two_attentions_a_layer_sum_four_times():
    """Breaks if LongCat's second attention or dense feed-forward is not summed over the replica."""
    pair = toy("AAAA", {"A": SOFTMAX}).model_dump() | {
        "num_layers": 2, "mixers_per_layer": 2, "feed_forward": [{"layers": 2, "ffns": ["f", "f", "m"]}],
    }  # fmt: skip
    pair["ffns"] |= {"m": MOE.model_dump()}
    assert sum_bytes(DENSE_TOY.model_validate(pair), System(toy_chip(), tensor=2)) == 2 * 0.5 * 16 * 4 * 2


def test_context_parallel_by_hand():
    """Breaks if partial outputs are sent for linear layers, or queries stay at home."""
    split = System(toy_chip(), tensor=4, context=4)
    m = toy("MK", {"M": MLA, "K": KDA})
    assert partial_bytes(m, split) == 3 / 4 * 4 * ((20 + 16) * 2 + 4)
    assert partial_bytes(m, System(toy_chip(), tensor=4)) == 0
    # prefill: each chip passes 3 slices of a quarter of the latents on, and sums over the replica as decode does
    ring = 3 * (40 / 4) * 20 * 2
    assert prefill_links(m, split, 40, 1) == pytest.approx(ring + 40 * sum_bytes(m, split), rel=1e-12)


def test_index_runs_on_every_chip_of_a_replica():
    """Breaks if the indexer's work is divided by tensor parallel."""
    m = toy("D", {"D": DSA})
    tensor, context = System(toy_chip(), tensor=2), System(toy_chip(), tensor=2, context=2)
    whole = decode_flops(m, 100).index
    assert decode_step(m, tensor, context=100, batch=1).parts["index"] == whole
    assert decode_step(m, context, context=100, batch=1).parts["index"] == whole / 2


def test_a_chip_without_links_cannot_talk():
    """Breaks if an unknown link costs nothing; replicas that never talk need none."""
    alone = toy_chip(link_bandwidth=None)
    assert decode_step(DENSE_TOY, System(alone, data=2), context=1, batch=2).parts["link"] == 0
    with pytest.raises(ValueError, match="link_bandwidth is unknown"):
        decode_step(DENSE_TOY, System(alone, tensor=2), context=1, batch=1)


@pytest.mark.parametrize(
    ("split", "named"),
    [
        ({"tensor": 0}, "system.tensor=0"),
        ({"tensor": True}, "system.tensor=True"),
        ({"tensor": 4, "context": 3}, "system.context=3"),
        ({"tensor": 4, "expert": 3}, "system.expert=3"),
        ({"tensor": 4, "data": 3, "expert": 8}, "system.expert=8"),
    ],
)
def test_bad_systems(split, named):
    """Breaks if a split that does not divide is rounded."""
    with pytest.raises(ValueError, match=named):
        System(toy_chip(), **split)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"context": -1, "batch": 1}, "context=-1"),
        ({"context": 1, "batch": 0}, "batch=0"),
        ({"context": 1, "batch": 1, "efficiency": 1.2}, "efficiency=1.2"),
    ],
)
def test_bad_steps(arguments, named):
    """Breaks if a check is dropped."""
    for verb in (decode_step, prefill_time):
        with pytest.raises(ValueError, match=named):
            verb(DENSE_TOY, ONE, **arguments)


# properties over all models

NODES = [
    {"tensor": 1}, {"tensor": 8}, {"tensor": 8, "expert": 8}, {"tensor": 8, "context": 8},
    {"data": 8, "expert": 8}, {"tensor": 4, "context": 2, "data": 4, "expert": 16},
]  # fmt: skip
GRID = {"context": np.array([0, 1, 1000, 2**17, 2**20])[:, None], "batch": np.array([1, 3, 64, 512])}


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize("split", NODES, ids=str)
def test_parts_bounds_and_order(name, split):
    """Breaks if a part is dropped from a total, if a bound leaves out a resource, or if a cost falls with context or batch."""
    system = System(chip("h200"), **split)
    for step in (decode_step(model(name), system, **GRID), prefill_time(model(name), system, **GRID)):
        assert step.flops == pytest.approx(
            sum(step.parts[p] for p in ("linear", "attention", "index", "state")), rel=1e-12
        )
        assert step.bytes == pytest.approx(step.parts["weights"] + step.parts["cache"], rel=1e-12)
        assert step.time_upper == pytest.approx(sum(step.parts[p] for p in ("compute", "memory", "link")), rel=1e-12)
        assert (step.time_lower <= step.time_upper).all() and (
            step.time_upper <= 3 * step.time_lower * (1 + 1e-12)
        ).all()
        assert all(part.shape == (5, 4) for part in step.parts.values())
        for values in (step.flops, step.bytes, step.time_lower, step.time_upper):
            assert (np.diff(values, axis=0) >= -1e-12 * values[1:]).all()
            assert (np.diff(values, axis=1) >= -1e-12 * values[:, 1:]).all()


@pytest.mark.parametrize("name", list(models()))
def test_one_chip_sums_are_the_models_own(name):
    """Breaks if a split of one changes a cost: a chip alone does all the work that the model has."""
    m, system = model(name), System(chip("h200"))
    step = decode_step(m, system, context=2**17, batch=4)
    assert step.flops == pytest.approx(4 * decode_flops(m, 2**17).total, rel=1e-12)
    assert cache_held(m, system, 2**17) == pytest.approx(stored_bytes(m, 2**17).total, rel=1e-12)
    assert cache_read(m, system, 2**17) >= read_bytes(m, 2**17).total
    full = decode_step(m, system, context=2**17, batch=8)
    assert full.parts["cache"] == 2 * step.parts["cache"]


def test_limits_of_a_hybrid():
    """Breaks if linear layers grow with context, or the twin keeps some of them."""
    hybrid = model("kimi-linear-48b-a3b")
    full, linear = all_full(hybrid), replace_mixers(hybrid, {"M": "K"}, name="all-linear")
    system = System(chip("h200"))
    assert cache_held(linear, system, 2**20) == cache_held(linear, system, 1)
    assert cache_held(full, system, 2**20) == 27 * 1152 * 2**20
    between = cache_held(hybrid, system, 2**20)
    assert cache_held(linear, system, 2**20) < between < cache_held(full, system, 2**20)


def test_grid_equals_its_points():
    """Breaks if broadcasting mixes the axes of context and batch."""
    system = System(chip("h200"), tensor=4, data=2, expert=8)
    grid = decode_step(model("deepseek-v3.2"), system, **GRID)
    for i, context in enumerate(GRID["context"][:, 0]):
        for j, batch in enumerate(GRID["batch"]):
            point = decode_step(model("deepseek-v3.2"), system, context=int(context), batch=int(batch))
            assert point.time_lower == pytest.approx(grid.time_lower[i, j], rel=1e-12)
            assert point.bound == grid.bound[i, j]


def test_efficiency_divides_every_rate():
    """Breaks if efficiency touches one resource only."""
    system = System(toy_chip(), tensor=2)
    best, half = (decode_step(DENSE_TOY, system, context=10, batch=3, efficiency=e) for e in (1.0, 0.5))
    assert all(half.parts[p] == pytest.approx(2 * best.parts[p], rel=1e-12) for p in ("compute", "memory", "link"))
    assert half.bytes == best.bytes


# capacity and price


def test_max_batch_by_hand():
    """Breaks if a sequence may be cut, if embeddings take no room, or if replicas are not counted."""
    held = (1320 + 128) * 2  # the input embedding is kept, though a step does not read it
    assert free_bytes(DENSE_TOY, ONE) == 1e9 - held
    reserve = 1e9 - held - 1000  # leaves 1000 bytes: three sequences of ten tokens at 320
    assert max_batch(DENSE_TOY, ONE, context=10, reserve=reserve) == 3
    assert max_batch(DENSE_TOY, System(toy_chip(), data=4), context=10, reserve=reserve) == 12
    assert max_batch(DENSE_TOY, ONE, context=10, reserve=1e9) == 0
    assert max_batch(DENSE_TOY, ONE, context=np.array([10, 31, 32]), reserve=reserve).tolist() == [3, 1, 0]
    half = DENSE_TOY.precision.model_copy(update={"kv": "fp8"})
    assert max_batch(DENSE_TOY, ONE, context=10, reserve=reserve, precision=half) == 6


def test_precision_of_weights_changes_what_is_left():
    """Breaks if `precision` reaches caches only."""
    fp8 = DENSE_TOY.precision.model_copy(update={"weights": "fp8", "experts": "fp8"})
    assert free_bytes(DENSE_TOY, ONE, precision=fp8) == 1e9 - 1448


def test_dollars_by_hand():
    """Breaks if one chip is paid of two, or if the bounds are swapped."""
    system = System(toy_chip(), data=2)
    step = decode_step(DENSE_TOY, system, context=10, batch=6)
    least, most = dollars_per_million(DENSE_TOY, system, context=10, batch=6, dollars_per_hour=3.6)
    assert least == pytest.approx(2 * 3.6 / 3600 * 3.6e-7 / 6 * 1e6, rel=1e-12)
    assert most == pytest.approx(least * float(step.time_upper / step.time_lower), rel=1e-12)
    slow, fast = throughput(DENSE_TOY, system, context=10, batch=6)
    assert slow < fast and fast == pytest.approx(6 / 3.6e-7, rel=1e-12)
    with pytest.raises(ValueError, match="dollars_per_hour=0"):
        dollars_per_million(DENSE_TOY, system, context=10, batch=6, dollars_per_hour=0)


def _brute(passes) -> int:
    """The last of the contexts that pass, all of them tried at once."""
    contexts = np.arange(1, 4000)
    return int(contexts[passes(contexts)].max(initial=0))


@pytest.mark.parametrize("pattern", ["AA", "KM", "D"])
@pytest.mark.parametrize("batch", [1, 3])
def test_ceiling_against_brute_force(pattern, batch):
    """Breaks if bisection is off by one, or a condition is left out."""
    m = toy(pattern, {k: v for k, v in {"A": SOFTMAX, "K": KDA, "M": MLA, "D": DSA}.items() if k in pattern})
    reserve = free_bytes(m, ONE) - 100_000
    tpot = float(decode_step(m, ONE, context=1234, batch=batch).time_lower)
    price = float(dollars_per_million(m, ONE, context=777, batch=batch, dollars_per_hour=2.0)[0])

    def fits(contexts):
        return max_batch(m, ONE, context=contexts, reserve=reserve) >= batch

    def fast(contexts):
        return decode_step(m, ONE, context=contexts, batch=batch).time_lower <= tpot

    def cheap(contexts):
        return dollars_per_million(m, ONE, context=contexts, batch=batch, dollars_per_hour=2.0)[0] <= price

    assert ceiling(m, ONE, batch=batch, reserve=reserve) == _brute(fits) > 0
    assert ceiling(m, ONE, batch=batch, memory=False, tpot=tpot) == _brute(fast) == 1234
    assert ceiling(m, ONE, batch=batch, memory=False, price=price, dollars_per_hour=2.0) == _brute(cheap) == 777
    assert ceiling(m, ONE, batch=batch, reserve=reserve, tpot=tpot) == _brute(lambda c: fits(c) & fast(c))


def test_ceilings_at_the_ends():
    """Breaks if the search starts at zero passes, or stops short of its end."""
    assert ceiling(DENSE_TOY, ONE, tpot=1e-12) == 0
    assert ceiling(toy("K", {"K": KDA}), ONE) == LONGEST
    with pytest.raises(ValueError, match="dollars_per_hour is None"):
        ceiling(DENSE_TOY, ONE, price=1.0)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(list(models())),
    context=st.integers(1, 2**20),
    batch=st.integers(1, 256),
    split=st.sampled_from(NODES),
)
def test_a_ceiling_is_the_last_context_that_meets_its_target(name, context, batch, split):
    """Breaks if a step's time falls somewhere along the context, or a bisection ends beside the edge."""
    m, system = model(name), System(chip("h200"), **split)
    tpot = float(decode_step(m, system, context=context, batch=batch).time_lower)
    found = ceiling(m, system, batch=batch, memory=False, tpot=tpot)
    assert found >= context
    if found < LONGEST:
        assert decode_step(m, system, context=found, batch=batch).time_lower <= tpot
        assert decode_step(m, system, context=found + 1, batch=batch).time_lower > tpot


def test_toys_agree_on_their_precision():
    assert DENSE_TOY.precision.model_dump() == BF16
