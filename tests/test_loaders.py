"""Every loader: what it gives for the files as they are, and the one error for each way of spoiling them.

A bad file is the real one with one text replaced, so that nothing else is wrong with it. Each error names the file, the key,
the value and what was wanted.
"""

from __future__ import annotations

import re
from datetime import date
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.claims import evaluate, rule_of
from lib.data import (  # fmt: skip
    DATA,
    DataError,
    chip,
    chips,
    claims,
    figure,
    figures,
    model,
    models,
    price_of,
    prices,
    statements,
    tiers,
    trace,
)
from lib.data.chips import load_chips
from lib.data.claims import load_claims
from lib.data.load import load_models
from lib.data.model import Model
from lib.data.prices import load_prices
from lib.data.published import load_published
from lib.data.strict import parse, read_yaml
from lib.data.traces import load_trace

SMALL, GPT, K3, NEXT, V32, TRACE = "models/kimi-linear-48b-a3b.yml", "models/gpt-oss-120b.yml", "models/kimi-k3.yml", "models/qwen3-next-80b-a3b.yml", "models/deepseek-v3.2.yml", "traces/longcat-2026-07.yml"  # fmt: skip
LOADERS = {
    "models": lambda path: load_models(path.parent),
    "traces": load_trace,
    "chips.yml": load_chips,
    "prices.yml": load_prices,
    "published.yml": load_published,
    "claims.yml": load_claims,
}


def load(folder, name: str, content: str | bytes):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return LOADERS[name.split("/")[0]](path)


def error(folder, name: str, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        load(folder, name, content)
    return str(caught.value)


def spoiled(name: str, old: str, new: str) -> str:
    text = (DATA / name).read_text(encoding="utf-8")
    assert old in text, f"{name} no longer has {old!r}"
    return text.replace(old, new, 1)


# file, text, what replaces it; then what the error must say: key, value, what was wanted
BAD = {
    # models
    "typo in a key": (SMALL, "hidden: 2304", "hiden: 2304", "key hiden", "2304", "wanted a key of Model"),
    "typo in a dimension's key": (SMALL, "latent: 512", "latnet: 512", "key mechanisms.M.latnet", "512", "wanted a key of mechanisms.M"),
    "missing key": (SMALL, "vocab: 163840\n", "", "key vocab", "missing", "wanted a value"),
    "missing dimension": (SMALL, ", conv: 4", "", "key mechanisms.K.conv", "missing", "write null where"),
    "key given twice": (SMALL, "hidden: 2304", "hidden: 2304\nhidden: 2560", "key 'hidden'", "line 7", "wanted it once"),
    "key given twice inside": (SMALL, "heads: 32, key", "heads: 32, heads: 16, key", "key 'heads'", "line 13", "wanted it once"),
    "zero size": (SMALL, "hidden: 2304", "hidden: 0", "key hidden", "value 0", "wanted greater than 0"),
    "negative size": (SMALL, "latent: 512", "latent: -512", "key mechanisms.M.latent", "value -512", "wanted greater than 0"),
    "fraction for a size": (SMALL, "hidden: 2304", "hidden: 2304.5", "key hidden", "value 2304.5", "wanted a valid integer"),
    "whole float for a size": (SMALL, "hidden: 2304", "hidden: 2304.0", "key hidden", "value 2304.0", "wanted a valid integer"),
    "truth for a count": (SMALL, "shared: 1,", "shared: true,", "key ffns.moe.shared", "value True", "wanted a valid integer"),
    "context as a word": (SMALL, "context: 1048576", "context: 1M", "key context", "value '1M'", "wanted a valid integer"),
    "number in quotes": (SMALL, "hidden: 2304", "hidden: '2304'", "key hidden", "value '2304'", "wanted a valid integer"),
    "name of another file": (SMALL, "name: kimi-linear-48b-a3b", "name: kimi-linear", "key name", "'kimi-linear'", "wanted the file's name 'kimi-linear-48b-a3b'"),
    "layer list one short": (SMALL, "pattern: KKM", "pattern: KM", "mixers", "26 letters", "wanted num_layers x mixers_per_layer = 27 x 1 = 27"),
    "layers that the list lacks": (SMALL, "num_layers: 27", "num_layers: 28", "mixers", "27 letters", "= 28"),
    "counts disagree": (SMALL, "counts: {K: 20, M: 7}", "counts: {K: 21, M: 6}", "counts", "'K': 21", "wanted {'K': 20, 'M': 7}"),
    "feed-forwards one short": (SMALL, "layers: 26", "layers: 25", "feed_forward", "26 layers", "wanted num_layers = 27"),
    "letter of no mechanism": (SMALL, "pattern: KKM", "pattern: KKX", "mixers", "'X'", "wanted one of ['K', 'M']"),
    "mechanism of two letters": (SMALL, "  M: {", "  MM: {", "key mechanisms", "'MM'", "wanted one letter"),
    "mechanism in no layer": (GPT, "  F: {", "  Z: {type: mla, heads: 1, latent: 1, rope: 0, nope: 1, value: 1, q_rank: null, output_gate: false}\n  F: {", "mechanisms", "'Z'", "wanted only what layers use"),
    "feed-forward in no layer": (SMALL, "  moe: {", "  idle: {type: dense, width: 1}\n  moe: {", "ffns", "'idle'", "wanted only what layers use"),
    "feed-forward that is not there": (SMALL, "ffns: [moe]", "ffns: [mow]", "feed_forward", "'mow'", "wanted one of ['dense', 'moe']"),
    "draft layer of no mechanism": (V32, "mixer: D,", "mixer: Z,", "mtp.mixer", "'Z'", "wanted one of ['D']"),
    "unknown mechanism": (SMALL, "type: kda", "type: kdb", "key mechanisms.K.type", "'kdb'", "wanted one of 'softmax'"),
    "unknown format": (SMALL, "state: fp32", "state: fp31", "key precision.state", "'fp31'", "wanted one of fp32, bf16"),
    "unknown path": (SMALL, "path: linear", "path: linar", "key path", "'linar'", "wanted 'linear', 'sparse'"),
    "unknown confidence": (SMALL, "confidence: mirror", "confidence: sure", "key sources.geometry.confidence", "'sure'", "wanted 'primary'"),
    "no source": (SMALL, "  context: {source", "  contexts: {source", "key sources.context", "missing", "wanted a value"),
    "date in words": (SMALL, "released: 2025-10-30", "released: autumn", "key released", "'autumn'", "wanted a valid date"),
    "size in words": (SMALL, "total: 48B", "total: plenty", "key sizes.total", "'plenty'", "wanted a number such as"),
    "heads that do not group": (GPT, "kv_heads: 8", "kv_heads: 7", "key mechanisms.W", "heads=64", "wanted a multiple of kv_heads=7"),
    "value heads that do not group": (NEXT, "value_heads: 32", "value_heads: 33", "key mechanisms.G", "value_heads=33", "wanted a multiple of key_heads=16"),
    "more experts active than there are": (SMALL, "active: 8", "active: 300", "key ffns.moe", "active=300", "wanted at most experts + zero_experts = 256"),
    "shared expert without a width": (SMALL, "shared_width: 1024", "shared_width: null", "key ffns.moe", "shared_width=None", "wanted a size"),
    "zero experts without a mean": (SMALL, "zero_experts: 0", "zero_experts: 8", "key ffns.moe", "active_real=None", "wanted a number if and only if"),
    "mean above the routed": ("models/longcat-2.0.yml", "active_real: 7.7", "active_real: 12.7", "key ffns.moe", "active_real=12.7", "wanted at most active=12"),
    "residual over no blocks": (K3, "blocks: 8", "blocks: null", "key residual", "blocks=None", "wanted a size for type attention"),
    "decay bound above zero": (K3, "lower_bound: -5.0", "lower_bound: 5.0", "key mechanisms.K.lower_bound", "value 5.0", "wanted less than 0"),
    # chips and tiers
    "terabytes for bytes": ("chips.yml", "3.35e+12", "3.35", "key memory_bandwidth", "3.35", "wanted bytes a second, as 3.35e+12"),
    "gigabytes for bytes": ("chips.yml", "80.0e+9", "80.0", "key memory_bytes", "80", "wanted bytes, as 80.0e+9"),
    "teraflops for FLOP/s": ("chips.yml", "989.0e+12", "989.0", "key flops.bf16", "989", "wanted FLOP a second, as 989.0e+12"),
    "nanoseconds for seconds": ("chips.yml", "low: 80.0e-9, high: 100.0e-9", "low: 80.0, high: 100.0", "latency", "80", "wanted seconds, as 1.0e-7"),
    "negative bandwidth": ("chips.yml", "link_bandwidth: 450.0e+9", "link_bandwidth: -450.0e+9", "key link_bandwidth", "-450000000000.0", "wanted greater than 0"),
    "number that YAML reads as text": ("chips.yml", "memory_bytes: 80.0e+9", "memory_bytes: 80e9", "key memory_bytes", "'80e9'", "wanted a valid number"),
    "rent in cents": ("chips.yml", "value: 1.69", "value: 169", "key dollars_per_hour.1.value", "169", "wanted less than 100"),
    "rent of an unknown kind": ("chips.yml", "kind: neocloud cost", "kind: spot", "key dollars_per_hour.1.kind", "'spot'", "wanted 'hyperscaler cost'"),
    "two chips of one name": ("chips.yml", "name: h200", "name: h100", "key name", "'h100'", "wanted it once"),
    "chip without bandwidth": ("chips.yml", "memory_bandwidth: 3.35e+12", "memory_bandwidth: null", "chip h100", "memory_bandwidth=None", "wanted figures, or measured: true"),
    "typo in a chip's key": ("chips.yml", "memory_bytes: 80.0e+9", "memory_bites: 80.0e+9", "key memory_bites", "80000000000.0", "wanted a key of Chip"),
    "ends of a range swapped": ("chips.yml", "low: 3.2e+12, high: 8.0e+12", "low: 8.0e+12, high: 3.2e+12", "key bandwidth", "low=8000000000000.0", "low <= high"),
    "one end of a range": ("chips.yml", "low: 3.2e+12, high: 8.0e+12", "low: null, high: 8.0e+12", "key bandwidth", "low=None", "wanted both or neither"),
    "typo in a section": ("chips.yml", "\ntiers:", "\nteirs:", "chips.yml", "teirs", "wanted chips and tiers"),
    # prices
    "price of one token": ("prices.yml", "hit: 0.15", "hit: 1.5e-7", "key hit", "1.5e-07", "wanted a price for a million tokens"),
    "hit above miss": ("prices.yml", "hit: 0.15", "hit: 0.65", "hit=", "0.65", "wanted at most miss=0.6"),
    "dates out of order": ("prices.yml", "valid_until: 2025-11-06", "valid_until: 2025-07-01", "valid_until=", "2025-07-01", "wanted a date after valid_from=2025-07-11"),
    "negative price": ("prices.yml", "hit: 0.15", "hit: -0.15", "key hit", "-0.15", "wanted greater than or equal to 0"),
    "price in quotes": ("prices.yml", "hit: 0.15", 'hit: "0.15"', "key hit", "'0.15'", "wanted a valid number"),
    "unknown currency": ("prices.yml", "currency: CNY", "currency: EUR", "key currency", "'EUR'", "wanted 'USD' or 'CNY'"),
    "two rows of one id": ("prices.yml", "id: k2-2025-07", "id: moonshot-v1-explicit-2024", "key id", "'moonshot-v1-explicit-2024'", "wanted it once"),
    "peak that is cheaper": ("prices.yml", "factor: 2.0", "factor: 0.5", "key peak.factor", "0.5", "wanted greater than 1"),
    "price row without a currency": ("prices.yml", "    currency: CNY\n", "", "key currency", "missing", "wanted a value"),
    # published
    "curve of unequal lengths": ("published.yml", "0.00532, ", "", "x, y", "9 and 8 points", "wanted as many of each"),
    "curve out of order": ("published.yml", "[4096.0, 8192.0", "[8192.0, 4096.0", "x=", "[8192.0, 4096.0", "wanted each point once and in order"),
    "neither value nor curve": ("published.yml", "value: 2.3\n", "value: null\n", "kl-ratio-text", "value=None", "wanted either a value or a curve"),
    "curve without a name for x": ("published.yml", 'x_name: "context"', "x_name: null", "kl-fig7b-mla", "x_name=None", "wanted either a value or a curve"),
    "reading error in per cent": ("published.yml", "reading_error: 0.005", "reading_error: 0.5", "key reading_error", "0.5", "wanted less than 0.2"),
    "two figures of one id": ("published.yml", "id: kl-fig7b-gdn", "id: kl-fig7b-mla", "key id", "'kl-fig7b-mla'", "wanted it once"),
    "unknown way of reading": ("published.yml", "read: digitised", "read: guessed", "key read", "'guessed'", "wanted 'text', 'digitised'"),
    "two values": ("published.yml", "value: 2.3\n", "value: 2.3\n    value: 2.4\n", "key 'value'", "line", "wanted it once"),
    # traces
    "negative tokens": (TRACE, "hit: 23907840", "hit: -23907840", "key days.0.hit", "-23907840", "wanted greater than or equal to 0"),
    "millions of tokens": (TRACE, "hit: 23907840", "hit: 23.9", "key days.0.hit", "23.9", "wanted a valid integer"),
    "days out of order": (TRACE, "date: 2026-07-15, hit: 56090496", "date: 2026-07-13, hit: 56090496", "days", "2026-07-13", "wanted each once and in order"),
    "day without requests": (TRACE, "requests: 507", "requests: 0", "key days.0.requests", "value 0", "wanted greater than 0"),
    "unreadable total": (TRACE, "hit: 480.4M", "hit: lots", "key printed.total.hit", "'lots'", "wanted a number such as"),
    "unreadable ratio": (TRACE, 'ratio: "42.7:1"', "ratio: 42.7 to 1", "key printed.ratio", "'42.7 to 1'", "wanted a number such as"),
    "unreadable share": (TRACE, "remembered: 99.1 %", "remembered: nearly all", "key printed.remembered", "'nearly all'", "wanted a number such as"),
    "unreadable cell of part 2": (TRACE, 'kimi: "0.028"', 'kimi: "few"', "key storage_table.rows.0.kimi", "'few'", "wanted a number such as"),
    "another rate of exchange": (TRACE, "cny_per_dollar: 7.2", "cny_per_dollar: 6.2", "key prices", "kimi.hit=0.28", "wanted kimi_cny.hit / cny_per_dollar = 0.3226"),
    "table without a million": (TRACE, "context: 1000000,", "context: 1000001,", "key storage_table", "1000001", "1000000 among them"),
    "log of another file": (TRACE, "name: longcat-2026-07", "name: longcat", "key name", "'longcat'", "wanted the file's name"),
    # claims
    "rule that is no name": ("claims.yml", "decide: memory_economy.storage_share_range", "decide: storage share", "key decide", "'storage share'", "wanted pattern"),
    "unreadable figure": ("claims.yml", 'printed: "67-78 %"', 'printed: "67 to 78"', "key printed", "'67 to 78'", "wanted a number such as"),
    "two claims of one id": ("claims.yml", "id: C-02", "id: C-01", "key id", "'C-01'", "wanted it once"),
    "gap in the numbering": ("claims.yml", "id: C-58", "id: C-59", "claim C-58", "missing", "wanted C-01 to C-58"),
    "promise that nobody made": ("claims.yml", "claims:\n", 'claims:\n  - {id: P-9, section: S7, chapter: ceiling, statement: "Part 2 promises more.", printed: null, printed_text: null, kind: promise, decide: ceiling.cost_model, tables: []}\n', "claim P-9", "unknown", "P-1 to P-4"),
    "unknown kind": ("claims.yml", "kind: figure", "kind: guess", "key kind", "'guess'", "wanted 'figure'"),
    "unknown chapter": ("claims.yml", "chapter: memory_economy", "chapter: money", "key chapter", "'money'", "wanted 'architecture'"),
    "table of the book, not of the post": ("claims.yml", "tables: [T-agent]", "tables: [A-sizes]", "key tables.0", "'A-sizes'", "wanted pattern"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_spoiled_file_is_refused(case, tmp_path):
    """Mutations: a default for a key, `extra="ignore"`, `strict=False`, a check dropped, or a message without its place."""
    name, old, new, key, value, wanted = BAD[case]
    told = error(tmp_path, name, spoiled(name, old, new))
    assert name in told and "wanted" in told
    assert key in told and value in told and wanted in told


@pytest.mark.parametrize("name", [SMALL, "chips.yml", "prices.yml", "published.yml", TRACE, "claims.yml"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "got NoneType"),
        ("- a\n- b\n", "got list"),
        ("many: [", "not readable, wanted YAML"),
        ("a: b: c", "not readable, wanted YAML"),
        (b"name: \xff", "byte 6 is not UTF-8, wanted a text in UTF-8"),
        ("? [a, b]\n: c\n", "key ['a', 'b']: wanted a name"),
        ("a: 1\na: 2\n", "key 'a' appears twice, wanted it once"),
    ],
)
def test_what_is_no_mapping_is_refused(name, content, told, tmp_path):
    """Mutation: an error of PyYAML, pydantic or Python let through as it is."""
    found = error(tmp_path, name, content)
    assert name in found and told in found and "wanted" in found


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("chips.yml", "chips: 3\ntiers: []", "key chips: value 3, wanted a list"),
        ("chips.yml", "chips: [h100]\ntiers: []", "chip 1: got str, wanted a mapping of Chip's keys"),
        ("prices.yml", "prices: {k3: 1}", "key prices: value {'k3': 1}, wanted a list"),
        ("prices.yml", "prices: [3]", "row 1: got int, wanted a mapping of Price's keys"),
        ("published.yml", "figures: null\nstatements: []", "key figures: value None, wanted a list"),
        ("published.yml", "figures: []\nstatements: [[]]", "entry 1: got list, wanted a mapping of Statement's keys"),
        ("claims.yml", "claims: [C-01]", "entry 1: got str, wanted a mapping of ClaimSpec's keys"),
        ("claims.yml", "claims: []", "claim C-01 is missing"),
    ],
)
def test_a_list_where_a_mapping_is_wanted_and_the_other_way_round(name, content, told, tmp_path):
    """Mutation: iterating over whatever stands there."""
    assert f"{name}: {told}" in error(tmp_path, name, content)


def test_every_fault_of_a_file_is_told_at_once(tmp_path):
    """Mutation: only the first of several faults."""
    text = spoiled(SMALL, "hidden: 2304", "hiden: 2304").replace("vocab: 163840", "vocab: -1")
    told = error(tmp_path, SMALL, text).splitlines()
    assert len(told) == 3 and all(SMALL in line and "wanted" in line for line in told)


def test_two_models_of_one_name(tmp_path):
    """Mutation: the later file wins."""
    text = (DATA / SMALL).read_text(encoding="utf-8")
    load(tmp_path, SMALL, text)
    told = error(tmp_path, "models/zz-copy.yml", text)
    assert (
        "zz-copy.yml: key name: value 'kimi-linear-48b-a3b' is already used by" in told
        and "wanted one file a model" in told
    )


def test_an_empty_folder_has_no_models(tmp_path):
    """Mutation: an empty table instead of an error."""
    with pytest.raises(DataError, match=r"no \*\.yml file, wanted one a model"):
        load_models(tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"chips\.yml: no such file"):
        load_chips(tmp_path / "chips.yml")


def test_a_claim_pointing_to_no_function(monkeypatch):
    """Mutation: such a claim gets no verdict instead of an error."""
    claim = claims()["C-01"].model_copy(update={"decide": "memory_economy.no_such_rule"})
    monkeypatch.setattr("lib.claims.claims", lambda: {"C-01": claim})
    with pytest.raises(
        DataError, match=r"data/claims\.yml: C-01: key decide: value 'memory_economy\.no_such_rule'.*wanted one of"
    ):
        rule_of("C-01")


def test_a_price_of_no_model(tmp_path, monkeypatch):
    """Mutation: `model_ref` taken on trust."""
    (tmp_path / "prices.yml").write_text(
        spoiled("prices.yml", "model_ref: kimi-k2", "model_ref: kimi-k9"), encoding="utf-8"
    )
    monkeypatch.setattr(import_module("lib.data.prices"), "DATA", tmp_path)
    with pytest.raises(
        DataError, match=r"prices\.yml: k2-2025-07: key model_ref: value 'kimi-k9', wanted null or one of"
    ):
        prices.__wrapped__()


@pytest.mark.parametrize(
    ("get", "known"),
    [(model, "kimi-k3"), (chip, "h200"), (trace, "longcat-2026-07"), (figure, "kl-fig7b-mla"), (lambda name: price_of(name, date(2026, 8, 1)), "none")],
)  # fmt: skip
def test_an_unknown_name_lists_what_there_is(get, known):
    """Mutation: a bare KeyError."""
    with pytest.raises(DataError, match=f"'nobody'.*{known}"):
        get("nobody")


def test_an_unknown_claim_lists_what_there_is():
    with pytest.raises(KeyError, match=r"C-99.*wanted one of C-01"):
        evaluate("C-99")


def test_models_as_they_are():
    """The lists of the published configurations, expanded. Mutation: `times` and `pattern` in the wrong order."""
    small = model("kimi-linear-48b-a3b")
    assert small.pattern == 6 * "KKKM" + "KKM" and len(small.layers) == 27
    full = [place for place, letter in enumerate(small.pattern, 1) if letter == "M"]
    assert full == [4, 8, 12, 16, 20, 24, 27]  # full_attn_layers of the configuration, from 1
    flash = model("deepseek-v4-flash")  # compress_ratios: 0, 0, then 4, 128 in turn, 4 last
    assert flash.pattern == "WW" + 20 * "CH" + "C"
    pro = model("deepseek-v4-pro")  # HCA in 0, 1, 3, 5, ... 59; CSA in 2, 4, ... 60
    assert [place for place, letter in enumerate(pro.pattern) if letter == "C"] == list(range(2, 61, 2))
    assert [place for place, letter in enumerate(model("glm-5.2").pattern) if letter == "D"] == [0, 1, *range(2, 75, 4)]
    longcat = model("longcat-2.0")
    assert (
        all(len(layer.mixers) == 2 and len(layer.ffns) == 3 for layer in longcat.layers) and len(longcat.layers) == 38
    )
    assert all(m.sources.geometry.source for m in models().values())


def test_chips_and_tiers_as_they_are():
    h200 = chip("h200")
    assert (h200.memory_bytes, h200.memory_bandwidth, h200.flops.bf16) == (141e9, 4.8e12, 989e12)
    assert [rent.value for rent in h200.dollars_per_hour] == [1.41, 1.74, 1.60]
    assert {"h100", "h200", "h800", "b200", "mi300x", "this-machine"} <= set(chips())
    assert list(tiers()) == ["hbm", "ddr5", "cxl", "rdma-pool", "nvme"]  # fastest first: tables rely on the order


def test_prices_as_they_are():
    """Mutation: a period that ends a day late, so that two rows are valid on the day of a change."""
    assert price_of("kimi-k3", date(2026, 7, 20)).miss == 3.00
    assert price_of("kimi-k2", date(2025, 11, 5)).id == "k2-2025-07"
    assert price_of("kimi-k2", date(2025, 11, 6)).id == "k2-thinking-2025-11"
    with pytest.raises(DataError, match="0 rows are valid"):
        price_of("kimi-k3", date(2026, 7, 15))


def test_published_as_it_is():
    """The ends of Fig. 7b, as digitised. Mutation: x and y swapped."""
    assert figure("kl-fig7b-mla").points()[2.0**20] == 0.01776 and figure("kl-fig7b-kl").points()[2.0**20] == 0.00799
    assert statements("future work") and set(statements("future work")) < set(statements())
    with pytest.raises(DataError, match="wanted a curve, got one value"):
        figure("kl-ratio-text").points()
    assert len(figures()) == len(
        {entry.quantity + entry.source + str(entry.x_name) + name for name, entry in figures().items()}
    )


def test_the_log_as_it_is():
    """Sums over six days of the export, by hand. Mutation: the day that only the post has counted in."""
    days = trace("longcat-2026-07").days
    assert sum(day.hit for day in days) == 23907840 + 56090496 + 33725312 + 4753152 + 132365952 + 229562368 == 480405120
    assert sum(day.miss + day.output for day in days) == 9093580 + 2162265 == 11255845
    assert date(2026, 7, 19) not in [day.date for day in days]


def test_claims_as_they_are():
    assert list(claims())[:2] == ["C-01", "C-02"] and len(claims()) == 58 + 4
    assert claims()["C-43"].printed == "42.7:1"


KEYS = st.sampled_from([key for key in Model.model_fields if key != "name"])


@given(KEYS, st.sampled_from([None, -1, 0, 3.5, "many", [], {}, True]))
def test_any_value_of_a_wrong_kind_is_refused_in_one_line_a_fault(key, value):
    """Mutation: a loader that crashes on a value that it did not foresee, or lets one through."""
    content = read_yaml(DATA / SMALL)
    if content[key] == value or (key, value) in [
        ("released", None),
        ("tied_embeddings", True),
        ("title", "many"),
        ("vendor", "many"),
    ]:
        return
    content[key] = value
    with pytest.raises(DataError) as caught:
        parse(Model, content, "model.yml")
    assert all(re.match(r"model\.yml: .*wanted", line) for line in str(caught.value).splitlines()), caught.value
