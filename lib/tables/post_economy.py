"""The post's tables on money and memory: T-agent, T-tiers, T-storage and T-deployment, cell by cell."""

from __future__ import annotations

import pandas as pd

from lib.claims import evaluate
from lib.cost.bill import storage_share
from lib.data import figure, model, models
from lib.evidence import money, tiers
from lib.evidence.words import percent, seconds, size, tokens
from lib.tables.post_architecture import from_claim
from lib.tables.spec import CELL_COLUMNS, Table, cell, cells
from lib.verdict import Interval, compare, holds, only_if, unchecked

BILL = "formula: lib.cost.bill over data/traces and data/prices.yml"
TIERS = "published: data/chips.yml, tiers"


def agent() -> pd.DataFrame:
    log = money.usage_log()
    row = "the author's week"
    return cells([
        cell(row, "cache-hit tokens", "480.4M", f"{log.hit:,.0f}", compare(log.hit, "480.4M"), BILL, "C-43"),
        cell(row, "compute tokens", "11.3M", f"{log.computed:,.0f}", compare(log.computed, "11.3M"), BILL, "C-43"),
        from_claim(row, "storage : compute", "42.7:1", "C-43"),
        from_claim(row, "storage's share of the bill, Kimi", "78 %", "C-44"),
        from_claim(row, "storage's share of the bill, DeepSeek", "21 %", "C-45"),
        from_claim(row, "the same across vendors", "67-78 %", "C-01"),
    ])  # fmt: skip


def memory_tiers() -> pd.DataFrame:
    rows = []
    fits = {
        "HBM": "hot cache: recent tokens",
        "CXL/DRAM": "warm cache: recent context",
        "SSD/NVMe": "cold cache: historical context",
    }
    for name, dollars in (("HBM", "$$$"), ("CXL/DRAM", "$$"), ("SSD/NVMe", "$")):
        for field in ("capacity", "bandwidth"):
            text, given, known = tiers.checks()[f"{name} {field}"]
            rows.append(cell(name, field, text, _range(known, field), _range_verdict(given, known), TIERS, "C-47"))
        rows.append(cell(name, "cost per GB", dollars, _dollars(name), _dearer_than_next(name), TIERS, "C-47"))
        rows.append(_what_fits(name, fits[name]))
    return cells(rows)


STEPS = "formula: lib.cost.tier_step over data/models and data/chips.yml"


def _what_fits(name: str, printed_text: str) -> dict:
    """HBM: must a step's reads be recent? Slower tiers: whose step at a million tokens meets the target from there?"""
    if name == "HBM":
        kept = {
            model(x).title: size(float(tiers.step(model(x), "ddr5").resident))
            for x in ("deepseek-v3.2", "kimi-linear-48b-a3b")
        }
        told = "; ".join(f"{title}: {kept_bytes} must stay at 1M" for title, kept_bytes in kept.items())
        verdict = only_if(
            "the layer is a window: an indexer selects by content, and its keys of all tokens stay; a state has no tokens"
        )
        return cell(name, "what fits there", printed_text, told, verdict, STEPS, "C-48")
    tier = {"CXL/DRAM": "ddr5", "SSD/NVMe": "nvme"}[name]
    found = tiers.in_time(tier)
    fast, late = (
        [title for title, (best, _) in found.items() if best],
        [title for title, (best, _) in found.items() if not best],
    )
    verdict = (
        holds(True)
        if not late
        else only_if(f"layers select what they read: {', '.join(late)} need longer than 50 ms a token")
        if fast
        else holds(False)
    )
    return cell(
        name,
        "what fits there",
        printed_text,
        f"within 50 ms at best at 1M: {', '.join(fast) or 'none'}",
        verdict,
        STEPS,
        "C-48",
    )


def _range_verdict(given: Interval, known: Interval):
    if given.covers(known):
        return holds(True)
    if known.covers(given) or given.overlaps(known):
        return holds(True, "sources reach further" if not known.covers(given) or known != given else "")
    return holds(False, "outside what sources give")


def _dearer_than_next(name: str):
    """Dollar signs are an order: a tier costs more than the next cheaper one. Overlapping ranges leave it open."""
    order = list(tiers.ROWS)
    upper, lower = (name, order[order.index(name) + 1]) if name != order[-1] else (order[-2], name)
    dear, cheap = (tiers.sourced(tiers.ROWS[row][0], "dollars_per_gb") for row in (upper, lower))
    if dear.overlaps(cheap):
        return unchecked(f"prices of {upper} and {lower} from one source and month; the ranges found overlap")
    return holds(dear.low > cheap.high)


def _range(known: Interval, field: str) -> str:
    unit, scale = ("TB", 1e12) if known.high >= 1e12 else ("GB", 1e9)
    return f"{known.low / scale:g} to {known.high / scale:g} {unit}{'/s' if field == 'bandwidth' else ''} a device"


def _dollars(name: str) -> str:
    known = tiers.sourced(tiers.ROWS[name][0], "dollars_per_gb")
    return f"${known.low:g} to ${known.high:g}" + (" (DRAM; no CXL price found)" if "CXL" in name else "")


def storage() -> pd.DataFrame:
    """Part 2's table: the price of reading a context once."""
    table, rows = money.week().storage_table, []
    for entry in table.rows:
        row = f"{entry.context / 1e6:g}M tokens" if entry.context >= 10**6 else f"{entry.context / 1e3:g}K tokens"
        for vendor, title in (("kimi", "Kimi3"), ("deepseek", "DeepSeek")):
            exact = money.author_rates()[money.VENDORS[vendor]].hit * entry.context / 1e6
            printed = getattr(entry, vendor)
            verdict = compare(exact, printed)
            if verdict.kind.words == "does not hold":  # he multiplied a price that he had rounded before
                verdict = compare(money.tariff(vendor) * (entry.context / 1e6), printed)
            rows.append(cell(row, title, f"${printed}", f"${exact:.6g}", verdict, BILL, "C-40 C-41"))
    rates = money.author_rates()
    ratio = rates["Kimi K3"].hit / rates["DeepSeek V4-Pro"].hit
    rows.append(cell("at every context", "ratio", table.ratio, f"{ratio:.2f}x", compare(ratio, table.ratio), BILL))
    return cells(rows)


def deployment() -> pd.DataFrame:
    wanted = {"DeepSeek V4": ("deepseek-v4-pro", "unknown", "system-level data published"), "GLM52": ("glm-5.2", "unknown", ""),
              "LongCat 2.0": ("longcat-2.0", "600K and more", "can go higher"), "Kimi3": ("kimi-k3", "unknown", "not yet widely deployed")}  # fmt: skip
    rows = []
    for name, (key, deployed, note) in wanted.items():
        context = models()[key].context
        rows.append(
            cell(
                name,
                "advertised",
                "1M",
                tokens(context),
                compare(context, "1M"),
                "published: data/models, context",
                "C-35",
            )
        )
        rows.append(_deployed(name, model, deployed))
        if note:
            rows.append(_note(name, note))
    return cells(rows)


def _deployed(name: str, model: str, printed: str) -> dict:
    if name == "LongCat 2.0":
        return from_claim(name, "actually deployed", printed, "C-36") | {
            "recomputed": f"{evaluate('C-36').recomputed} in the log; time to first token at 512K "
            f"{seconds(figure('longcat-ttft-512k').value)} on 32 H200"
        }
    if name == "DeepSeek V4":
        slow, fast = figure("v4-pro-900k").value, figure("v4-pro-4k").value
        return cell(
            name,
            "actually deployed",
            printed,
            f"run at 900K: {fast:.0f} tokens/s at 4K, {slow:.0f} at 900K on B200",
            holds(False, "a launch measurement at 900K is published; what the service runs at is not"),
            "published: LMSYS launch post, as copied",
            "C-42",
        )
    return cell(
        name,
        "actually deployed",
        printed,
        "",
        unchecked("a vendor's statement or a service's log by request length"),
        "none",
    )


def _note(name: str, note: str) -> dict:
    if name == "DeepSeek V4":
        return from_claim(name, "note", note, "C-42")
    if name == "Kimi3":
        return cell(
            name,
            "note",
            note,
            "weights public since 2026-07-27",
            unchecked("numbers of deployments at the date of the post"),
            "none",
        )
    return cell(name, "note", note, "", unchecked("a log with one row a request"), "none", "C-36")


def audit() -> pd.DataFrame:
    """Every printed figure of the bill, recomputed from the log and from the rows as printed."""
    post, log, total, days = (
        money.week().printed,
        money.usage_log(),
        money.usage_total_row(),
        money.usage_printed_days(),
    )
    rates, peak = money.author_rates(), money.usage_of_day(-1)
    rows = []
    for kind in ("hit", "miss", "output"):
        rows.append(
            _audit(f"total row: {kind}", getattr(post.total, kind), getattr(log, kind), getattr(days, kind), count=True)
        )
    rows.append(_audit("computed tokens", post.computed, log.computed, days.miss + days.output, count=True))
    rows.append(_audit("hits to computed", post.ratio, log.hit / log.computed, total.hit / total.computed))
    rows.append(
        _audit(
            "tokens from the cache",
            post.remembered,
            log.hit / (log.hit + log.computed),
            days.hit / (days.hit + days.miss + days.output),
            share=True,
        )
    )
    rows.append(_audit("price ratio", post.price_ratio, rates["Kimi K3"].hit / rates["DeepSeek V4-Pro"].hit, None))
    for vendor in ("kimi", "deepseek"):
        rate, bills = (
            rates[money.VENDORS[vendor]],
            {"week": (post.week, log, total), "20 July": (post.peak_day, peak, None)},
        )
        for period, (pair, usage, rounded) in bills.items():
            printed = getattr(pair, vendor)
            for part in ("storage", "compute", "total"):
                if text := getattr(printed, part):
                    rows.append(
                        _audit(
                            f"{period}, {vendor}: {part}, $",
                            text,
                            money.dollars(usage, rate, part),
                            rounded and money.dollars(rounded, rate, part),
                        )
                    )
            rows.append(
                _audit(
                    f"{period}, {vendor}: storage share",
                    printed.share,
                    float(storage_share(usage, rate)),
                    rounded and storage_share(rounded, rate),
                    share=True,
                )
            )
    for period, pair, usage, rounded in (("week", post.week, log, total), ("20 July", post.peak_day, peak, None)):
        both = [money.dollars(usage, rates[name], "total") for name in ("Kimi K3", "DeepSeek V4-Pro")]
        ends = rounded and money.dollars(rounded, rates["Kimi K3"], "total") / money.dollars(
            rounded, rates["DeepSeek V4-Pro"], "total"
        )
        rows.append(_audit(f"{period}: Kimi over DeepSeek", pair.ratio, both[0] / both[1], ends))
    for vendor in ("kimi", "deepseek"):
        rate = rates[money.VENDORS[vendor]]
        share, rounded = float(storage_share(log, rate)), storage_share(total, rate)
        rows.append(
            _audit(f"later post, {vendor}: storage share", getattr(post.later_post, vendor), share, rounded, share=True)
        )
    draft = money.week().draft
    least, most = post.later_post.vendors.removesuffix(" %").split("-")  # "67-78 %" are the draft's two vendors
    for vendor, printed in (("kimi", f"{most} %"), ("deepseek", f"{least} %")):
        rows.append(
            _audit(
                f"draft, {vendor}: storage share",
                printed,
                getattr(draft, vendor).storage / getattr(draft, vendor).total,
                None,
                share=True,
            )
        )
    rows.append(
        _audit(
            "draft: tokens from the cache",
            post.remembered,
            draft.early.hit / (draft.early.hit + draft.early.computed),
            None,
            share=True,
        )
    )
    return pd.DataFrame(rows)


def _audit(
    what: str, printed: str, log: float, rows: Interval | None, *, count: bool = False, share: bool = False
) -> dict:
    def show(value: float) -> str:
        return f"{value:,.0f}" if count else percent(value, 2) if share else f"{value:,.2f}"

    verdict = compare(log, printed)
    from_rows = "" if rows is None else f"{show(rows.low)} to {show(rows.high)}"
    printed_verdict = "" if rows is None else compare(rows, printed).kind.words
    return {
        "what": what,
        "printed": printed,
        "log": show(log),
        "verdict": str(verdict),
        "rows": from_rows,
        "rows_verdict": printed_verdict,
    }


POST_ECONOMY = (
    Table("T-agent", "An agent's week", "memory_economy", agent, CELL_COLUMNS),
    Table("T-tiers", "Memory tiers", "memory_economy", memory_tiers, CELL_COLUMNS),
    Table("T-storage", "Part 2: what reading a context once costs", "memory_economy", storage, CELL_COLUMNS),
    Table("T-deployment", "Advertised and deployed contexts", "deployment", deployment, CELL_COLUMNS),
)
