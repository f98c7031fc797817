"""Tables of the memory, deployment, ceiling and data chapters that are the book's own."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.cost import prefill_flops, read_bytes, stored_bytes
from lib.cost.bill import bill
from lib.cost.capacity import max_batch
from lib.data import chips, figures, models, prices, tiers
from lib.evidence import ceilings as c
from lib.evidence import geometry as g
from lib.evidence import money
from lib.evidence import scaling as s
from lib.evidence.words import tokens
from lib.tables.post_economy import audit
from lib.tables.spec import Column, Table

FORMULA = "formula: lib.cost over data/models"
NODE = "formula: lib.cost over data/models and data/chips.yml"
K128, M1 = 2**17, 2**20


def shares() -> pd.DataFrame:
    """The author's week under each dated price list, dearest hits last."""
    usage, rows = money.usage_log(), []
    for name, row in prices().items():
        rates = money.rates_of(row)
        if rates and rates.hit > 0:
            parts = bill(usage, rates)
            rows.append({"price": name, "model": row.model, "vendor": row.vendor, "currency": row.currency, "from": str(row.valid_from or ""), "ratio": rates.hit / rates.miss,
                         "output_ratio": rates.output / rates.miss, "total": float(parts.total), "share": 100 * float(parts.storage_share),
                         "disputed": "yes" if row.disputed else ""})  # fmt: skip
    return pd.DataFrame(rows).sort_values("share", kind="stable")


def fits() -> pd.DataFrame:
    """Sequences that the smallest node of H200 holds, by context, and the bytes of one."""
    return pd.DataFrame([fit_row(m) for m in models().values()])


def fit_row(m) -> dict:
    system = c.smallest_node(m)
    at = max_batch(m, system, context=np.array([K128, M1]))
    return {
        "model": m.title,
        "advertised": tokens(m.context),
        "chips": system.count,
        "seq_128k": int(at[0]),
        "seq_1m": int(at[1]),
        "split_1m": int(max_batch(m, _split(system), context=M1)),
        "one_1m": float(stored_bytes(m, M1).total) / 2**30,
    }


def _split(system):
    """The same node with each chip keeping its own part of the context."""
    return c.System(system.chip, tensor=system.tensor, expert=system.expert, context=system.tensor)


def feasible() -> pd.DataFrame:
    """Ceilings of one and of sixteen sequences, by memory and by a 50 ms step, on the smallest node of H200."""
    return pd.DataFrame([ceiling_row(m) for m in models().values()])


def ceiling_row(m) -> dict:
    system = c.smallest_node(m)
    row = {"model": m.title, "chips": system.count}
    for batch in (1, 16):
        row |= {
            f"memory_{batch}": c.ceiling(m, system, batch=batch),
            f"latency_{batch}": c.ceiling(m, system, tpot=c.TPOT, memory=False, batch=batch),
        }
    return row


def scaling() -> pd.DataFrame:
    """What grows: slopes of a step, exponents of a prefill, and the part that dominates it at a million tokens."""
    return pd.DataFrame([scaling_row(m) for m in models().values()])


def scaling_row(m) -> dict:
    flops = prefill_flops(m, M1)
    parts = {"weights": flops.linear, "attention": flops.attention, "indexer": flops.index, "state": flops.state}
    heaviest = max(parts, key=lambda part: float(parts[part]))
    return {"model": m.title, "bytes": g.bytes_per_token(m), "flops": c.step_slope(m) / 1e6, "read": float(read_bytes(m, M1).total) / 2**30,
            "until": s.prefill_near_linear_until(m), "exponent": s.exponent_to_1m(s.prefill_work(m)), "wall": heaviest, "wall_share": 100 * float(parts[heaviest] / flops.total)}  # fmt: skip


def chip_figures() -> pd.DataFrame:
    rows = []
    for chip in chips().values():
        rents = "; ".join(
            f"{rent.kind} {rent.value:g}" + (f" ({rent.note})" if rent.note else "") for rent in chip.dollars_per_hour
        )
        rows.append({"chip": chip.title, "memory": chip.memory_bytes, "bandwidth": chip.memory_bandwidth, "bf16": chip.flops.bf16, "fp8": chip.flops.fp8, "fp4": chip.flops.fp4,
                     "link": chip.link_bandwidth, "host": chip.host_bandwidth, "rent": rents, "note": chip.note or "", "source": f"{chip.source} ({chip.confidence})"})  # fmt: skip
    return pd.DataFrame(rows)


def tier_figures() -> pd.DataFrame:
    rows = []
    for tier in tiers().values():
        row = {"tier": tier.title}
        for field in ("bandwidth", "latency", "capacity", "dollars_per_gb"):
            span = getattr(tier, field)
            row |= {f"{field}_low": span.low, f"{field}_high": span.high}
        rows.append(row | {"source": f"{tier.source} ({tier.confidence})", "note": tier.note or ""})
    return pd.DataFrame(rows)


def price_rows() -> pd.DataFrame:
    rows = []
    for name, row in prices().items():
        writes = "; ".join(f"{write.minutes} min {write.price:g}" for write in row.cache_write)
        above = "; ".join(
            f"above {entry.tokens:,}: {entry.hit} / {entry.miss} / {entry.output}" for entry in row.above_context
        )
        period = f"{row.valid_from or '?'} to {row.valid_until or 'now'}"
        peak = f"x{row.peak.factor:g} at {row.peak.hours_utc} UTC" if row.peak else ""
        rows.append({"price": name, "model": row.model, "period": period, "currency": row.currency, "hit": row.hit, "miss": row.miss, "output": row.output,
                     "other": "; ".join(filter(None, (writes and f"cache write {writes}", above, peak, row.storage_per_million_hour is not None
                                                      and f"storage {row.storage_per_million_hour:g} an hour"))),
                     "disputed": row.disputed or "", "source": f"{row.source} ({row.confidence})"})  # fmt: skip
    return pd.DataFrame(rows)


def published_figures() -> pd.DataFrame:
    """Every figure by others, as read."""
    rows = []
    for name, entry in figures().items():
        shown = (
            f"{entry.value:.6g}"
            if entry.value is not None
            else "; ".join(f"{x:g}: {y:g}" for x, y in entry.points().items())
        )
        read = entry.read + (f", ±{100 * entry.reading_error:g} %" if entry.reading_error else "")
        rows.append({"figure": name, "quantity": entry.quantity, "unit": entry.unit, "value": shown, "read": read, "used": entry.used_for or "", "source": f"{entry.source} ({entry.confidence})",
                     "note": entry.note or ""})  # fmt: skip
    return pd.DataFrame(rows)


def model_files() -> pd.DataFrame:
    """Each model as its file gives it: every dimension of every mechanism, and where each group of fields comes from."""
    return pd.DataFrame([model_row(m) for m in models().values()])


def model_row(m) -> dict:
    stack = f"{m.num_layers} layers" + (f" of {m.mixers_per_layer} mixers" if m.mixers_per_layer > 1 else "")
    others = [f"{m.mtp.layers} for multi-token prediction ({m.mtp.mixer}, {m.mtp.ffn})"] if m.mtp else []
    others += [f"{extra.name}: {extra.count:,} numbers{', active' if extra.active else ''}" for extra in m.extra]
    others += [] if m.residual.type == "plain" else [f"residual: {_dimensions(m.residual)}"]
    return {
        "model": m.title,
        "vendor": m.vendor,
        "released": str(m.released or ""),
        "shape": f"{stack}, hidden {m.hidden}, vocabulary {m.vocab}{', tied' if m.tied_embeddings else ''}, context {m.context}",
        "mixers": "; ".join(
            f"{letter} x {m.counts.get(letter, 0)}: {_dimensions(mixer)}" for letter, mixer in m.mechanisms.items()
        ),
        "ffns": "; ".join(f"{name}: {_dimensions(ffn)}" for name, ffn in m.ffns.items()),
        "others": "; ".join(others),
        "formats": ", ".join(f"{part} {fmt}" for part, fmt in m.precision),
        "sizes": f"{m.sizes.total or '-'} / {m.sizes.active or '-'}{', MTP counted' if m.sizes.with_mtp else ''}",
        "sources": "; ".join(
            f"{group.replace('_', '-')}: {origin.source} ({origin.confidence}{', ' + origin.note if origin.note else ''})"
            for group, origin in m.sources
        ),
    }


def _dimensions(spec) -> str:
    """`kda, heads 32, key_dim 128, ...`: the type and every field that the design has."""
    fields = [(name, value) for name, value in spec if name != "type" and value is not None and value is not False]
    return ", ".join([spec.type, *(name if value is True else f"{name} {value}" for name, value in fields)])


ECONOMY = (
    Table("M-audit", "The printed bill, from the log and from the rows as printed", "memory_economy", audit, (
        Column("what", "Figure"), Column("printed", "Printed"), Column("log", "From the log"), Column("verdict", "Verdict"), Column("rows", "From his printed totals"),
        Column("rows_verdict", "Against those")), "formula: lib.cost.bill over data/traces", "what"),
    Table("M-shares", "The same week under each price list", "memory_economy", shares, (
        Column("price", "Price row"), Column("model", "Model"), Column("vendor", "Vendor"), Column("currency", "Currency"), Column("from", "From"), Column("ratio", "Hit : miss", "", ".4f"),
        Column("output_ratio", "Output : miss", "", ".2f"), Column("total", "Bill", "currency", ",.2f"), Column("share", "Storage share", "%", ".1f"), Column("disputed", "Disputed")),
        "formula: lib.cost.bill over data/traces and data/prices.yml", "price"),
    Table("D-fit", "What the smallest node of H200 holds", "deployment", fits, (
        Column("model", "Model"), Column("advertised", "Advertised"), Column("chips", "H200", "", ".0f"), Column("seq_128k", "Sequences of 128K", "", ",.0f"),
        Column("seq_1m", "Sequences of 1M", "", ",.0f"), Column("split_1m", "of 1M, context split over the chips", "", ",.0f"), Column("one_1m", "One sequence of 1M", "GiB", ".2f")),
        NODE, "model"),
    Table("L-ceilings", "Largest context on the smallest node of H200", "ceiling", feasible, (
        Column("model", "Model"), Column("chips", "H200", "", ".0f"), Column("memory_1", "One sequence: fits", "tokens", ",.0f"), Column("latency_1", "One: 50 ms a token", "tokens", ",.0f"),
        Column("memory_16", "Sixteen: fit", "tokens", ",.0f"), Column("latency_16", "Sixteen: 50 ms a token", "tokens", ",.0f")), NODE, "model"),
    Table("L-scaling", "What grows with context, and what dominates a prefill of a million tokens", "ceiling", scaling, (
        Column("model", "Model"), Column("bytes", "Cache grows by", "B/token", ",.0f"), Column("flops", "A step grows by", "MFLOP/token", ".3f"), Column("read", "A step reads at 1M", "GiB", ".2f"),
        Column("until", "Prefill near linear until", "tokens", ",.0f"), Column("exponent", "Exponent at 1M", "", ".2f"), Column("wall", "Most of the prefill"),
        Column("wall_share", "Its share", "%", ".1f")), FORMULA, "model"),
    Table("R-models", "Models, as their files give them", "reproduce", model_files, (
        Column("model", "Model"), Column("vendor", "Vendor"), Column("released", "Released"), Column("shape", "Shape"), Column("mixers", "Token mixers"), Column("ffns", "Feed-forwards"),
        Column("others", "Other layers and numbers"), Column("formats", "Formats"), Column("sizes", "Printed: total / active"), Column("sources", "Sources")),
        "published: data/models", "model"),
    Table("R-chips", "Accelerators", "reproduce", chip_figures, (
        Column("chip", "Chip"), Column("memory", "Memory", "GB", ".0f", scale=1e9), Column("bandwidth", "Bandwidth", "TB/s", ".2f", scale=1e12), Column("bf16", "bf16", "TFLOP/s", ",.0f", scale=1e12),
        Column("fp8", "fp8", "TFLOP/s", ",.0f", scale=1e12), Column("fp4", "fp4", "TFLOP/s", ",.0f", scale=1e12), Column("link", "Link", "GB/s", ".0f", scale=1e9),
        Column("host", "Host link", "GB/s", ".0f", scale=1e9), Column("rent", "Dollars an hour"), Column("note", "Note"), Column("source", "Source")), "published: data/chips.yml", "chip"),
    Table("R-tiers", "Memory tiers, one device of each", "reproduce", tier_figures, (
        Column("tier", "Tier"), Column("bandwidth_low", "Bandwidth from", "GB/s", ",.1f", scale=1e9), Column("bandwidth_high", "to", "GB/s", ",.1f", scale=1e9),
        Column("latency_low", "Latency from", "ns", ",.0f", scale=1e-9), Column("latency_high", "to", "ns", ",.0f", scale=1e-9), Column("capacity_low", "Capacity from", "TB", ",.3f", scale=1e12),
        Column("capacity_high", "to", "TB", ",.3f", scale=1e12), Column("dollars_per_gb_low", "Dollars a GB from", "", ".2f"), Column("dollars_per_gb_high", "to", "", ".2f"),
        Column("source", "Source"), Column("note", "Note")), "published: data/chips.yml, tiers", "tier"),
    Table("R-prices", "API prices of a million tokens", "reproduce", price_rows, (
        Column("price", "Price row"), Column("model", "Model"), Column("period", "Period"), Column("currency", "Currency"), Column("hit", "Hit", "", ".6g"), Column("miss", "Miss", "", ".6g"),
        Column("output", "Output", "", ".6g"), Column("other", "Other charges"), Column("disputed", "Disputed"), Column("source", "Source")), "published: data/prices.yml", "price"),
    Table("R-figures", "Figures by others", "reproduce", published_figures, (
        Column("figure", "Figure"), Column("quantity", "Quantity"), Column("unit", "Unit"), Column("value", "Value"), Column("read", "Read from"), Column("used", "Used by"), Column("source", "Source"),
        Column("note", "Note")), "published: data/published.yml", "figure"),
)  # fmt: skip
