"""Each suite covers each mechanism, and what a step is given holds the bytes that the formula says."""

from __future__ import annotations

import pytest
import torch

from lib.data import model
from lib.measure import memory, subjects, work
from lib.measure.suites import NAMES, decode, prefill, stack, suite, tiers

POOL = memory.Pool(96 << 20)
MECHANISMS = {"softmax", "window", "mla", "gated_delta", "kda", "dsa", "csa", "hca"}


def test_decode_covers_every_mechanism_at_every_context():
    """Mutation: a mechanism or 1M dropped from the suite."""
    found = {(p.point.name, p.point.context) for p in decode.plans("cpu") if p.point.batch == 1 and not p.point.variant}
    assert found == {(name, 2**p) for name in MECHANISMS for p in range(12, 21)}
    assert {p.point.variant for p in decode.plans("cpu") if p.point.name == "hybrid"} == {"3 KDA + 1 MLA"}
    assert {p.point.batch for p in decode.plans("cpu")} == {1, 4, 16}
    assert max(p.point.context for p in decode.plans("cuda") if p.point.batch == 16) == 2**20


def test_other_suites_cover_what_they_compare():
    assert {p.point.name for p in prefill.plans("cpu")} == {"kda", "mla", "dsa"}
    assert {(p.point.name, p.point.context) for p in stack.plans("cpu")} == {
        (n, c) for n in subjects.STACKS for c in (2**17, 2**20)
    }
    assert {(p.point.name, p.point.context) for p in tiers.plans("cpu")} >= {("mla", 2**20), ("dsa", 2**20), ("kda", 0)}
    assert {p.point.name for p in suite("limits").plans("cpu")} == {"read", "product"}
    with pytest.raises(ValueError, match="'speed', wanted one of limits"):
        suite("speed")


def test_stacks_have_the_real_counts_of_layers():
    """Mutation: a twin with 26 layers; V4-Flash without its window layers."""
    words = {name: subjects.layers_in_words(subjects.named(name)) for name in subjects.STACKS}
    assert words["kimi-linear-48b-a3b"] == "20 kda + 7 mla" and words["kimi-linear-48b-a3b-all-dsa"] == "27 dsa"
    assert words["kimi-linear-48b-a3b-all-mla"] == "27 mla" and words["glm-5.3-flash"] == "34 kda + 11 dsa"
    assert words["deepseek-v4-flash"] == "2 window + 21 csa + 20 hca"


@pytest.mark.parametrize("name", sorted(MECHANISMS))
@pytest.mark.parametrize(("context", "batch"), [(4096, 1), (512, 4)])
def test_tensors_hold_the_bytes_of_the_formula(name, context, batch):
    """Exactly. Mutation: a latent without its rotary part, a state that is not written back, index keys of half the tokens."""
    plan = decode.one_layer(name, context, batch)
    with torch.inference_mode():
        case = plan.make(POOL)
        case.runs[0]()
    assert case.counted == plan.work.bytes
    assert case.buffers > 1  # small inputs take turns


def test_bytes_by_hand():
    """1152 B a latent; a KDA state of 32 x 128 x 128 float32, read and written; 256 B an index key and 2048 latents."""
    known = subjects.layers()
    assert subjects.step_bytes(known["mla"].spec, 1000) == 1000 * 1152
    assert (
        subjects.step_bytes(known["kda"].spec, 1000)
        == subjects.step_bytes(known["kda"].spec, 2**20)
        == 2 * 32 * 128 * 128 * 4
    )
    assert subjects.step_bytes(known["dsa"].spec, 2**20) == 2**20 * 256 + 2048 * 1152
    assert subjects.step_bytes(known["softmax"].spec, 10) == 10 * 2 * 8 * 128 * 2
    assert subjects.step_flops(known["mla"].spec, 1) == 2 * 32 * (512 + 64 + 512)


def test_the_parts_of_a_sparse_step_add_up():
    """Mutation: the index counted in the core."""
    whole = decode.one_layer("dsa", 4096, 1)
    score, attend = (decode.part(name, 4096) for name in ("score", "attend"))
    assert score.work.bytes + attend.work.bytes == whole.work.bytes
    assert score.work.flops + attend.work.flops == whole.work.flops
    with torch.inference_mode():
        for name in work.PARTS:
            plan = decode.part(name, 4096)
            case = plan.make(POOL)
            case.runs[0]()
            assert case.counted == plan.work.bytes


def test_pooled_index_keys_select_all_their_tokens():
    """GLM-5.3-Flash: one key stands for four tokens. Mutation: the first token of each group only."""
    from lib.measure.steps import Sparse

    spec = next(m for m in model("glm-5.3-flash").mechanisms.values() if m.type == "dsa")
    sparse = Sparse(spec, POOL.window(0), 16384, 1)
    scores = torch.zeros(1, 4096)
    scores[0, :512] = 1
    assert sorted(sparse.select(scores)[0].tolist()) == list(range(2048))


@pytest.mark.parametrize("name", ["kda", "mla", "dsa"])
def test_prefill_runs_the_shapes_that_it_counts(name):
    plan = next(p for p in prefill.plans("cpu") if p.point.name == name)
    with torch.inference_mode():
        small = prefill._plan(name, 32).make(POOL)
        small.runs[0]()
    assert small.counted == work.prompt(name, 32).bytes and plan.point.context == prefill.FIRST


def test_a_stack_takes_turns_on_what_fits():
    """Mutation: one cache for all layers, or more than the room holds."""
    counts = subjects.named("kimi-linear-48b-a3b").mixer_counts
    sizes = [stack._size(spec, 4096) for spec, _ in counts]
    for room in (sum(sizes), 10 * sum(sizes), 10**10):
        given = stack.shares(counts, 4096, room)
        assert sum(g * s for g, s in zip(given, sizes, strict=True)) <= room
        assert all(1 <= g <= n for g, (_, n) in zip(given, counts, strict=True))
    assert stack.shares(counts, 4096, 10**10) == [20, 7]
    plan = stack._plan("kimi-linear-48b-a3b", 1024)
    with torch.inference_mode():
        case = plan.make(POOL)
        case.runs[0]()
    assert case.counted == plan.work.bytes and case.buffers == 27


def test_the_pool_repeats_no_rows_and_refuses_to_overrun():
    """Mutation: blocks copied unshifted: equal keys would be equal scores."""
    pool = memory.Pool(2 * (2 * memory.BLOCK))
    rows = pool.window(0).tensor(2 * memory.BLOCK // 128, 128)
    assert not torch.equal(rows[0], rows[memory.BLOCK // 128])
    assert torch.isfinite(pool.window(0).tensor(1 << 20, dtype=torch.float32)).all()
    with pytest.raises(MemoryError, match="into a pool of"):
        pool.window(pool.size - 8).tensor(8)
    assert {w.start for w in memory.windows(POOL, 1 << 20)} == {i << 20 for i in range(96)}


def test_free_memory_respects_the_group(tmp_path):
    """Mutation: the machine's memory where a control group allows less."""
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert memory._group(tmp_path) == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._group(tmp_path) is None
    assert memory.allowance("cpu", 1000.0) == 1000


def test_every_suite_names_itself():
    assert all({p.point.suite for p in suite(name).plans("cpu")} == {name} for name in NAMES)
