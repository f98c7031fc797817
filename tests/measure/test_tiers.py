"""The hot buffer against twenty lines of plain Python, the selection process, and files that leave nothing behind."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.measure import memory
from lib.measure.suites import tiers
from lib.measure.tiers import store
from lib.measure.tiers.hot import Lru
from lib.measure.tiers.selection import overlap, selections


def plain_lru(uses: list[list[int]], capacity: int) -> list[set[int]]:
    """Hits of each use: a use's hits are touched first, then its misses come in, oldest out, nothing of this use out."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = []
    for rows in uses:
        found = {row for row in rows if row in held}
        hits.append(found)
        for row in rows:
            if row in found:
                held.move_to_end(row)
        for row in [row for row in rows if row not in found][: capacity - len(found)]:
            if len(held) == capacity:
                held.popitem(last=False)
            held[row] = None
    return hits


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True), max_size=30), st.integers(0, 20))
def test_the_hot_buffer_is_lru(uses, capacity):
    """Within one use all rows are equally recent, so that the plain form can only be compared in how many it keeps.

    Mutation: the newest rows evicted; a hit pushed out by a miss of the same use; a slot that still names a row that is gone."""
    lru = Lru(31, capacity)
    for rows in uses:
        hit, missed, slots = lru.use(np.array(rows))
        assert set(np.array(rows)[hit]) | set(missed) == set(rows) and len(slots) == len(missed)
        held = {row for row in range(31) if lru.slot[row] >= 0}
        assert held == set(lru.holds[lru.holds >= 0]) and len(held) <= capacity
        assert all(lru.holds[lru.slot[row]] == row for row in held)
        assert len(held & set(rows)) == min(len(rows), capacity) or len(rows) > capacity


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 20))
def test_single_uses_are_plain_lru(rows, capacity):
    """One row a use: the order is total, and hits must be the plain form's. Mutation: any other order of eviction."""
    lru = Lru(31, capacity)
    hits = [bool(lru.use(np.array([row]))[0][0]) for row in rows]
    assert hits == [bool(found) for found in plain_lru([[row] for row in rows], capacity)]


@pytest.mark.parametrize(("cycle", "rate"), [(4, 1.0), (5, 0.0)])
def test_a_cycle_one_larger_than_the_buffer_never_hits(cycle, rate):
    lru = Lru(10, 4)
    hits = [lru.use(np.array([i % cycle]))[0][0] for i in range(40)][cycle:]
    assert np.mean(hits) == rate


@pytest.mark.parametrize("locality", [0.0, 0.4, 1.0])
def test_selections_keep_the_stated_share(locality):
    """Mutation: the share that is drawn anew instead of the one that is kept; a token selected twice."""
    found = list(islice(selections(100_000, 1000, locality), 20))
    assert all(len(np.unique(x)) == 1000 and (np.diff(x) > 0).all() for x in found)
    shared = np.mean([overlap(a, b) for a, b in pairwise(found)])
    assert shared == pytest.approx(locality + (1 - locality) * 0.01, abs=0.02)
    again = list(islice(selections(100_000, 1000, locality), 20))
    assert all((a == b).all() for a, b in zip(found, again, strict=True))


def test_selections_refuse_nonsense():
    with pytest.raises(ValueError, match=r"locality: got 1\.5"):
        next(selections(10, 5, 1.5))
    with pytest.raises(ValueError, match="count: got 11"):
        next(selections(10, 11, 0.5))


def rows(count: int = 3000, width: int = 576) -> torch.Tensor:
    return torch.randn(count, width).to(torch.bfloat16)


def test_a_file_gives_the_rows_that_memory_gives(tmp_path):
    """Rows lie across pages: 1152 B each. Mutation: an offset rounded up, a last page cut short."""
    table, chosen = rows(), np.array([0, 1, 3, 4, 1777, 2998, 2999])
    file, ram = store.File(table, tmp_path), store.Memory(table)
    try:
        for where in (file, ram):
            out = torch.empty(len(chosen), 576, dtype=torch.bfloat16)
            where.gather(chosen, out)
            assert torch.equal(out, table[chosen])
        assert file.moved % store.ALIGNED == 0 and file.moved >= ram.moved == 7 * 1152
        streamed = [block.clone() for block in file.blocks(512)]
        assert torch.equal(torch.cat(streamed), table) and len(streamed) > 1
    finally:
        file.close()


def test_a_file_has_no_name_while_it_is_used(tmp_path):
    """So that a killed run leaves nothing. Mutation: the file unlinked at the end."""
    file = store.File(rows(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    file.close()


def test_a_state_comes_back(tmp_path):
    file = store.File(rows(8, 2048), tmp_path)
    import mmap

    data = np.frombuffer(mmap.mmap(-1, 8 * 4096), np.uint8)
    data[:] = np.arange(len(data)) % 251
    file.save(data)
    kept = data.copy()
    data[:] = 0
    file.load(data)
    assert (data == kept).all()
    file.close()


def test_a_disk_that_is_too_small_is_refused(tmp_path, monkeypatch):
    """Mutation: the disk filled to the last byte, or the file begun before the look."""
    monkeypatch.setattr(store.shutil, "disk_usage", lambda folder: type("Use", (), {"free": 2**30})())
    with pytest.raises(store.DiskTooSmall, match=r"has 1\.00 GiB free"):
        store.File(rows(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(store.DiskTooSmall, match="wanted at most 8 GiB"):
        store.room(tmp_path, 9 << 30)


def test_without_direct_reads_a_label_says_so(tmp_path, monkeypatch):
    """Mutation: cached reads called file."""
    monkeypatch.setattr(store, "_direct", lambda name: None)
    monkeypatch.setattr(store, "_drops", lambda fd: False)
    file = store.File(rows(16), tmp_path)
    assert (file.medium, file.method) == ("file (cached)", "cached")
    file.close()


def test_a_sparse_step_from_a_file_reads_less_with_a_hot_buffer(tmp_path, monkeypatch):
    """Bytes and hit rate, no times. Mutation: hits fetched all the same; the buffer never filled."""
    monkeypatch.setattr(store.tempfile, "gettempdir", lambda: str(tmp_path))
    pool, read, hits = memory.Pool(48 << 20), {}, {}
    for buffer in (0.0, 0.2):
        plan = tiers._plan("dsa", 2**14, "file", 0.9, buffer, "cpu")
        case = plan.make(pool)
        try:
            with torch.inference_mode():
                for run in case.runs * 3:
                    run()
            told = case.extra()
        finally:
            case.finish()
        read[buffer], hits[buffer] = told["bytes_read"][-1], told["hit_rate"][-1]
        assert case.counted == plan.work.bytes
    assert hits[0.0] == 0 and hits[0.2] > 0.7 and read[0.2] < read[0.0] / 2
