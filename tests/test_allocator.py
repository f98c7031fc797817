"""Paged reservations against the lower bound, by property, and against page sizes that servers print."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.cost.allocator import growth, reserved_bytes, reserved_held, unified_block
from lib.cost.memory import stored_bytes
from lib.cost.step import cache_held
from lib.cost.system import System
from lib.data import chip, model, models
from tests.toys import KDA, MLA, SOFTMAX, toy

NAMES = st.sampled_from(list(models()))
CONTEXTS = st.integers(0, 2**21)


@given(NAMES, CONTEXTS, st.integers(1, 1024))
def test_less_than_a_block_a_layer_is_wasted(name, context, block):
    """Breaks if a block is rounded down, if one more is always taken, or if a window grows with the context."""
    m = model(name)
    least, taken = stored_bytes(m, context), reserved_bytes(m, context, block=block)
    room = dict.fromkeys(least._fields, 0.0)
    for mixer, count in m.mixer_counts:
        for thing in growth(mixer, m.precision):
            room[thing.part] += count * thing.block(block) * thing.entry
    for part in ("kv", "index", "window"):
        low, high = getattr(least, part), getattr(taken, part)
        assert low <= high and (high < low + room[part] or room[part] == 0 == high)
    assert taken.state == least.state
    assert taken.total == pytest.approx(taken.kv + taken.index + taken.state + taken.window, rel=1e-12)


@given(NAMES, CONTEXTS)
def test_blocks_of_one_token_waste_nothing(name, context):
    """Breaks if `growth` says otherwise than `stored`: the two are written apart."""
    m = model(name)
    assert tuple(reserved_bytes(m, context, block=1)) == pytest.approx(tuple(stored_bytes(m, context)), rel=1e-12)


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize("split", [{"tensor": 1}, {"tensor": 8}, {"tensor": 8, "context": 4}, {"data": 8}], ids=str)
def test_a_chip_reserves_its_share(name, split):
    """Breaks if tensor parallel cuts a latent in the reservation but not in the bound."""
    system = System(chip("h200"), **split)
    contexts = np.array([0, 1, 5000, 2**20])
    ones = reserved_held(model(name), system, contexts, block=1)
    assert ones == pytest.approx(cache_held(model(name), system, contexts), rel=1e-12)
    assert (reserved_held(model(name), system, contexts, block=256) >= ones).all()


def test_by_hand():
    """Breaks if 17 tokens take 17 or 16 tokens' room in blocks of 16."""
    m = toy("AA", {"A": SOFTMAX})
    assert stored_bytes(m, 17).kv == 2 * 17 * 16
    assert reserved_bytes(m, 17, block=16).kv == reserved_bytes(m, 32, block=16).kv == 2 * 32 * 16
    assert reserved_bytes(m, 0, block=16).total == 0
    assert reserved_bytes(toy("KM", {"K": KDA, "M": MLA}), 1, block=16).kv == 16 * 20 * 2


def test_pages_of_v4():
    """Breaks if a block of 256 tokens does not hold 64 entries of ratio 4 and 2 of ratio 128: the pages that vLLM prints are
    these entries, padded to 576 bytes."""
    m = model("deepseek-v4-pro")
    things = {(mixer.type, thing.part): thing for mixer, _ in m.mixer_counts for thing in growth(mixer, m.precision)}

    def page(kind, part):
        thing = things[kind, part]
        return -(-thing.block(256) * thing.entry // 576) * 576

    assert page("csa", "kv") == 37_440 and page("hca", "kv") == 1_728
    fp8 = growth(m.mechanisms["C"], m.precision.model_copy(update={"index": "fp8_s128"}))[1]
    assert -(-fp8.block(256) * fp8.entry // 576) * 576 == 8_640


def test_kimi_linear_page_of_a_log():
    """Breaks if the state is bf16, if its convolution has four rows, or if it is not halved by tensor parallel: a log of a
    server on two chips says 960 tokens and 1.89 % of padding."""
    page = unified_block(model("kimi-linear-48b-a3b"), tensor=2)
    assert page.block == 960
    assert round(100 * page.waste, 2) == 1.89
    assert page.waste == pytest.approx(960 * 1152 / 1_085_440 - 1, rel=1e-12)


@pytest.mark.parametrize(("tensor", "block"), [(1, 6144), (4, 1536), (8, 1024)])
def test_kimi_k3_pages(tensor, block):
    """Breaks if K3's state is not 6 MiB a layer: its report says 1,024 to 6,144 tokens, aligned to its blocks of 512; a recipe
    prints 1,536."""
    assert unified_block(model("kimi-k3"), tensor=tensor, align=512).block == block


@pytest.mark.parametrize(("tensor", "block"), [(1, 4352), (8, 640)])
def test_glm_flash_pages(tensor, block):
    """Breaks if the NoPE latent has a rotary part: a server's test names blocks of 640 to 4,352 tokens."""
    assert unified_block(model("glm-5.3-flash"), tensor=tensor, align=128).block == block


def test_bad_arguments():
    """Breaks if a check is dropped."""
    with pytest.raises(ValueError, match="block=0"):
        reserved_bytes(model("kimi-k2"), 10, block=0)
    with pytest.raises(ValueError, match="context=-1"):
        reserved_bytes(model("kimi-k2"), -1, block=16)
    with pytest.raises(ValueError, match="wanted linear layers and layers whose cache grows"):
        unified_block(model("kimi-k2"))
