"""No figure of the data is dead: change any number by five per cent, and loading fails or a table, a claim or a check differs.

Whole numbers change by at least one, zeros become 0.05 or 1, and of printed texts ("42.7:1", "67-78 %") each number's last
digit changes by one, which is more than half a unit. Dates are not numbers here. A number that only a listing shows must
stand in CONTEXT with the reason; an entry there that something computes with is stale and fails too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

from lib import claims as deciding
from lib import numbers, tables
from lib.cost.residual import residual_cost
from lib.data import DATA, claims, figures, models
from lib.data.model import Model
from lib.data.strict import DataError, parse, read_yaml
from lib.data.traces import Trace
from lib.evidence import geometry as g
from lib.evidence import money
from lib.tables import architecture, economy, efficiency
from lib.verdict import printed

# data file and key -> why no cost, claim or check needs it; R-models lists all of them
SHARED = "a layer that reuses an earlier layer's selection has no indexer: the dimensions say which one it reuses"
ONLY_MTP = "only the multi-token-prediction layer has it, and the vendor's printed total does not count that layer"
PLAIN_WINDOW = "rotary dimensions of a plain window layer: key_dim holds them, so no cost sees how many there are"
STREAMS = "hyper-connections widen the residual, which is not cached; their weights are under 0.1 % of the model"
CONTEXT = {
    ("kimi-k3", "mechanisms.K.lower_bound"): "a bound on the decay: a matter of numerics, tested with the kernels",
    (
        "glm-5.3-flash",
        "mechanisms.K.lower_bound",
    ): "a bound on the decay: a matter of numerics, tested with the kernels",
    ("deepseek-v4-flash", "residual.streams"): STREAMS,
    ("deepseek-v4-pro", "residual.streams"): STREAMS,
    ("glm-5.3-flash", "residual.streams"): STREAMS,
    ("gpt-oss-120b", "mechanisms.W.rope"): PLAIN_WINDOW,
    ("mimo-v2-flash", "mechanisms.W.rope"): PLAIN_WINDOW,
    ("mimo-v2.5-pro", "mechanisms.W.rope"): PLAIN_WINDOW,
    ("mimo-v2-flash", "ffns.draft.width"): ONLY_MTP,
    ("mimo-v2.5-pro", "ffns.draft.width"): ONLY_MTP,
    **{("glm-5.2", f"mechanisms.S.index_{key}"): SHARED for key in ("heads", "dim", "pool")},
    **{("longcat-2.0", f"mechanisms.S.index_{key}"): SHARED for key in ("heads", "dim", "pool")},
    **{
        ("deepseek-v4-pro", f"mechanisms.W.{key}"): ONLY_MTP
        for key in ("heads", "kv_heads", "key_dim", "value_dim", "window", "rope", "q_rank", "out_groups", "out_rank")
    },
}

NO_FIGURE = ("unit", "id", "name", "hours_utc")  # keys whose text may look like a figure and is none


def leaves(content, path: tuple = ()) -> Iterator[tuple[tuple, object]]:
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        yield from leaves(value, (*path, key)) if isinstance(value, dict | list) else [((*path, key), value)]


def changes(key, value) -> list:
    """The value moved by five per cent, or a printed text with one number's last digit moved; nothing for other leaves."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int):
        return [value + max(1, round(0.05 * abs(value)))]
    if isinstance(value, float):
        return [value * 1.05 if value else 0.05]
    if isinstance(value, str) and key not in NO_FIGURE and all(map(readable, value.split(" / "))):
        return [moved(value, found.end() - 1) for found in re.finditer(r"\d+(\.\d+)?(?!\d)", value.replace(":1", ""))]
    return []


def readable(text: str) -> bool:
    try:
        printed(text)
    except ValueError:
        return False
    return True


def moved(text: str, at: int) -> str:
    return text[:at] + ("8" if text[at] == "9" else str(int(text[at]) + 1)) + text[at + 1 :]


def dead(content, seen) -> list[str]:
    """Keys of `content` whose change `seen()`, called with the change in place, does not notice. Leaves `content` as it was."""
    unseen = []
    for path, value in list(leaves(content)):
        parent = content
        for key in path[:-1]:
            parent = parent[key]
        for other in changes(path[-1], value):
            parent[path[-1]] = other
            if not seen():
                unseen.append(".".join(map(str, path)))
        parent[path[-1]] = value
    return list(dict.fromkeys(unseen))


def notices(compute) -> callable:
    """A function that says whether `compute()` fails to load or differs from what it gives now."""
    before = compute()

    def seen() -> bool:
        try:
            return compute() != before
        except DataError:
            return True

    return seen


def model_rows(m: Model) -> Iterator[str]:
    """What tables compute of one model, the cheap ones first: most changes show in the first."""
    yield repr(architecture.size_row(m))
    yield repr(architecture.cache_row(m))
    yield repr(architecture.split_row(m))
    yield repr(residual_cost(m).flops)  # T-components
    yield repr(efficiency.design_roles().to_dict())  # C-designs: `models` is replaced by this one model
    if g.moe(m):
        yield repr(architecture.sparsity_row(m))
    if g.latent_attention(m):
        yield repr(g.compression(m))
    if g.linear_share(m)[0] and g.latent_attention(m):
        yield repr(g.cache_saving(m, np.array([4096, 2**20])).tolist())
    yield repr(economy.fit_row(m))
    yield repr(economy.scaling_row(m))
    yield repr(economy.ceiling_row(m))


@pytest.mark.parametrize("name", list(models()))
def test_every_number_of_a_model_counts(name, monkeypatch):
    """Mutation: a cost that forgets a dimension, such as the convolution's tail or the rotary part of a latent."""
    content = read_yaml(DATA / "models" / f"{name}.yml")

    def use(m: Model) -> Model:
        monkeypatch.setattr(efficiency, "models", lambda: {m.name: m})
        monkeypatch.setattr("lib.claims.convergence.models", lambda: {m.name: m})
        return m

    before = list(model_rows(use(parse(Model, content, name))))

    def computed() -> bool:
        try:
            changed = use(parse(Model, content, name))
        except DataError:
            return True
        return any(new != old for new, old in zip(model_rows(changed), before, strict=False))

    context = {key for model, key in CONTEXT if model == name}
    assert set(dead(content, computed)) == context, "only listed, or listed as context and computed with"
    shown = notices(lambda: repr(economy.model_row(parse(Model, content, name))))
    assert dead(content, shown) == []  # R-models lists every dimension, those of CONTEXT included


def feed(monkeypatch, module: str, content) -> None:
    """Let a loader's module read `content` instead of its file."""
    monkeypatch.setattr(import_module(module), "read_yaml", lambda path: content)


def shown(*ids: str) -> str:
    return "\n".join(tables.compute(name).to_csv(index=False) for name in ids)


def test_every_number_of_chips_and_tiers_is_shown(monkeypatch):
    """Mutation: a column dropped from R-chips or R-tiers, or a rent left out."""
    module, content = import_module("lib.data.chips"), read_yaml(DATA / "chips.yml")
    feed(monkeypatch, "lib.data.chips", content)
    monkeypatch.setattr(module, "_loaded", lambda: module.load_chips(DATA / "chips.yml"))
    assert dead(content, notices(lambda: shown("R-chips", "R-tiers"))) == []


def test_every_number_of_prices_is_shown(monkeypatch):
    """Mutation: R-prices without the long-context tier, the write price or the peak factor."""
    module, content = import_module("lib.data.prices"), read_yaml(DATA / "prices.yml")
    feed(monkeypatch, "lib.data.prices", content)
    rows: dict = {}

    def load() -> str:
        rows.clear()
        rows.update(module.load_prices(DATA / "prices.yml"))
        return shown("R-prices")

    monkeypatch.setattr(economy, "prices", lambda: rows)
    assert dead(content, notices(load)) == []


def test_prices_of_all_three_kinds_move_the_bill(monkeypatch):
    """A listed price that no bill uses would be scenery. Mutation: the output price left out of the bill."""
    module, content = import_module("lib.data.prices"), read_yaml(DATA / "prices.yml")
    whole = [row for row in content["prices"] if None not in (row["hit"], row["miss"], row["output"]) and row["hit"]]
    loaded = {row["id"]: parse(module.Price, row, row["id"]) for row in whole}
    bill = {row["price"]: row for row in economy.shares().to_dict("records")}
    assert set(bill) == set(loaded)
    for kind in ("hit", "miss", "output"):
        dearer = {name: row.model_copy(update={kind: 1.05 * getattr(row, kind)}) for name, row in loaded.items()}
        monkeypatch.setattr(economy, "prices", lambda dearer=dearer: dearer)
        after = {row["price"]: row for row in economy.shares().to_dict("records")}
        assert all(after[name]["total"] > bill[name]["total"] for name in bill)
        assert all((after[name]["share"] > bill[name]["share"]) == (kind == "hit") for name in bill)


def test_every_number_of_the_usage_log_counts(monkeypatch):
    """Mutation: a printed share that the audit leaves out, or a day that the sums skip."""
    content = read_yaml(DATA / "traces" / f"{money.WEEK}.yml")
    monkeypatch.setattr(money, "week", lambda: parse(Trace, content, "trace"))

    def compute() -> str:
        return shown("M-audit", "T-storage") + numbers.NUMBERS["log_mean"].text()

    assert dead(content, notices(compute)) == []


def test_every_printed_figure_of_a_claim_counts(monkeypatch):
    """Mutation: a rule that types its figure instead of taking it from the claim, on a page that does not show it either."""
    module, content = import_module("lib.data.claims"), read_yaml(DATA / "claims.yml")
    feed(monkeypatch, "lib.data.claims", content)

    def compute() -> list:
        found = module.load_claims(DATA / "claims.yml")
        return [(claim.printed, claim.printed_text, claim.statement) for claim in found.values()]

    assert dead(content, notices(compute)) == []


@pytest.mark.parametrize("name", [name for name, claim in claims().items() if claim.printed])
def test_a_verdict_follows_the_printed_figure(name):
    """Whatever the evidence, a figure far larger or smaller is another claim: rules read it, they do not type it.

    Mutation: `compare(at, "2x")` instead of `compare(at, claim.printed)`."""
    claim, rule = claims()[name], deciding.rule_of(name)

    def kind(text: str) -> str:
        return rule(claim.model_copy(update={"printed": text})).verdict.kind.words

    def times(factor: float) -> str:
        return re.sub(r"\d+(\.\d+)?", lambda n: plain(factor * float(n[0])), claim.printed.removesuffix(":1"))

    others = [TRUE[name]] if name in TRUE else [times(factor) for factor in (1000.0, 0.25, 0.001)]
    assert {kind(text) for text in others} != {kind(claim.printed)}


# false at any size: the figure that would hold, from every price row, 6 of 256 experts, the log's bill
TRUE = {"C-01": "22-97 %", "C-13": "2.3 %", "C-44": "71 %"}


def plain(value: float) -> str:
    """Two digits, no exponent."""
    return f"{float(f'{value:.2g}'):f}".rstrip("0").rstrip(".")


def test_every_number_of_published_is_shown(monkeypatch):
    """Mutation: R-figures without the reading error, or with the first points of a curve only."""
    module, content = import_module("lib.data.published"), read_yaml(DATA / "published.yml")
    entries: dict = {}
    monkeypatch.setattr(economy, "figures", lambda: entries)
    unseen = []
    for entry in content["figures"]:

        def load(entry=entry) -> str:
            entries.clear()
            entries[entry["id"]] = parse(module.Figure, entry, entry["id"])
            return shown("R-figures")

        unseen += [f"{entry['id']}.{key}" for key in dead(entry, notices(load))]
    assert unseen == []
    assert not any(changes(path[-1], value) for path, value in leaves(content["statements"]))


def owners(used_for: str) -> list[str]:
    return [name.strip() for name in used_for.split(",")]


def read_by(owner: str) -> str:
    """A table or a claim as it comes out now, nothing of it taken from a cache."""
    deciding.evaluate.cache_clear()
    if owner in tables.TABLES:
        return shown(owner)
    return repr(deciding.rule_of(owner)(claims()[owner]))


# T-validation is the next test's; what is decided by which figures exist, not by their values
PRESENCE = {"C-33": "a comparison exists when one device has curves of both kinds of layer"}
OWNERS = sorted(
    {owner for entry in figures().values() for owner in owners(entry.used_for or "") if owner}
    - {"T-validation", *PRESENCE}
)


@pytest.mark.parametrize("owner", OWNERS)
def test_a_figure_moves_what_it_is_said_to_be_used_for(owner, monkeypatch):
    """`used_for` is a promise to the reader. Mutation: a rule that types 11.48 / 1.84, or a figure kept for a table that is gone."""
    module = import_module("lib.data.published")
    entries = dict(figures())
    monkeypatch.setattr(module, "_loaded", lambda: (entries, {}))
    before, unmoved = read_by(owner), []
    for name, entry in figures().items():
        if owner in owners(entry.used_for or ""):
            larger = {"value": entry.value and 1.05 * entry.value, "y": entry.y and [1.05 * y for y in entry.y]}
            entries[name] = entry.model_copy(update=larger)
            if read_by(owner) == before:
                unmoved.append(name)
            entries[name] = entry
    deciding.evaluate.cache_clear()
    assert unmoved == []


@pytest.mark.parametrize("owner", PRESENCE)
def test_a_figure_is_present_for_what_it_is_said_to_be_used_for(owner, monkeypatch):
    """Mutation: curves listed for a comparison that looks elsewhere."""
    used = [name for name, entry in figures().items() if owner in owners(entry.used_for or "")]
    before, left = read_by(owner), {name: entry for name, entry in figures().items() if name not in used}
    monkeypatch.setattr(import_module("lib.data.published"), "_loaded", lambda: (left, {}))
    assert used and read_by(owner) != before


def test_every_figure_meant_for_the_validation_is_in_it():
    """Mutation: a figure that the cost model misses, quietly left out of T-validation."""
    rows = tables.compute("T-validation")
    ratios = {
        f"kl-fig{name}-{who}" for name in ("7b", "1b", "7a") for who in ("mla", "kl")
    }  # rows hold their quotients
    for name, entry in figures().items():
        meant = "T-validation" in owners(entry.used_for or "")
        found = rows[rows["figure"] == name]["published"].tolist()
        assert meant == (bool(found) or name in ratios), name
        if found:
            assert found == ([entry.value] if entry.y is None else list(entry.y)), name
