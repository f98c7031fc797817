"""One scenario as a dictionary of plain numbers in base units, and the same as lines of text. No number is computed here."""

from __future__ import annotations

from collections import Counter

from lib.cost.allocator import reserved_bytes, reserved_held
from lib.cost.capacity import dollars_per_million, free_bytes, max_batch, throughput
from lib.cost.flops import decode_flops
from lib.cost.memory import read_bytes, stored_bytes
from lib.cost.parameters import parameters
from lib.cost.step import decode_step
from lib.cost.system import System
from lib.cost.weights import weight_bytes, weights_held
from lib.data.model import Model

PARTS = {
    "kv": "keys and values, latents, entries",
    "index": "index keys",
    "state": "recurrent states, tails",
    "window": "windows",
    "total": "total",
}
WORK = {"linear": "weights", "attention": "attention", "index": "index", "state": "states", "total": "total"}


def report(
    model: Model, *, context: int, batch: int, block: int, system: System | None = None, efficiency: float = 1.0
) -> dict:
    """Everything that `python -m lib.cost` prints: bytes, FLOPs, seconds, dollars. What needs chips is None without them."""
    counted = parameters(model)
    return {
        "model": model.name,
        "layers": dict(Counter(mixer.type for layer in model.layers for mixer in layer.mixers)),
        "parameters": {"total": float(counted.total), "active": float(counted.active)},
        "context": context,
        "model_context": model.context,
        "batch": batch,
        "precision": model.precision.model_dump(),
        "weights": float(weight_bytes(model)),
        "stored": _numbers(stored_bytes(model, context)),
        "block": block,
        "reserved": _numbers(reserved_bytes(model, context, block=block)),
        "read": _numbers(read_bytes(model, context)),
        "flops": _numbers(decode_flops(model, context)),
        "system": system and _system(system, efficiency),
        "chip": system and _chip(model, system, context, block),
        "step": system and _step(model, system, context, batch, efficiency),
        "dollars_per_million": system and _dollars(model, system, context, batch, efficiency),
    }


def _numbers(parts) -> dict[str, float]:
    return {name: float(value) for name, value in parts._asdict().items()}


def _system(system: System, efficiency: float) -> dict:
    splits = {name: getattr(system, name) for name in ("count", "tensor", "data", "expert_span", "context")}
    return {"chip": system.chip.name, "title": system.chip.title, **splits, "efficiency": efficiency}


def _chip(model: Model, system: System, context: int, block: int) -> dict:
    free = free_bytes(model, system)
    paged = reserved_held(model, system, context, block=block)
    return {
        "weights": float(weights_held(model, system)),
        "free": float(free),
        "max_batch": int(max_batch(model, system, context=context)),
        "max_batch_paged": int(max(free, 0.0) // max(float(paged), 1.0)) * system.data,
    }


def _step(model: Model, system: System, context: int, batch: int, efficiency: float) -> dict:
    step = decode_step(model, system, context=context, batch=batch, efficiency=efficiency)
    slow, fast = throughput(model, system, context=context, batch=batch, efficiency=efficiency)
    return {
        "flops": float(step.flops),
        "bytes": float(step.bytes),
        "time_lower": float(step.time_lower),
        "time_upper": float(step.time_upper),
        "bound": str(step.bound),
        "parts": {name: float(part) for name, part in step.parts.items()},
        "tokens_per_second": {"lower": float(slow), "upper": float(fast)},
    }


def _dollars(model: Model, system: System, context: int, batch: int, efficiency: float) -> list[dict]:
    rows = []
    for rent in system.chip.dollars_per_hour:
        scenario = {"context": context, "batch": batch, "efficiency": efficiency}
        least, most = dollars_per_million(model, system, dollars_per_hour=rent.value, **scenario)
        rows.append({"rent": rent.kind, "chip_hour": rent.value, "lower": float(least), "upper": float(most)})
    return rows


# as text


def render(found: dict) -> str:
    """The report for reading: two columns of numbers at most, each with its unit."""
    lines = [*_head(found), "", *_sizes(found), "", *_work(found)]
    if found["system"]:
        lines += ["", *_on_chips(found), "", *_time(found), *_prices(found)]
    return "\n".join(lines)


def _head(found: dict) -> list[str]:
    layers = " + ".join(f"{count} {kind}" for kind, count in found["layers"].items())
    counted = found["parameters"]
    lines = [
        f"{found['model']}: {layers}; {counted['total'] / 1e9:,.4g} B parameters, {counted['active'] / 1e9:,.4g} B active",
        f"context {found['context']:,} tokens, batch {found['batch']:,}",
    ]
    if found["context"] > found["model_context"]:
        lines.append(f"note: the model itself is made for {found['model_context']:,} tokens")
    formats: dict[str, list[str]] = {}
    for part, fmt in found["precision"].items():
        formats.setdefault(fmt, []).append(part)
    return [*lines, "stored as " + "; ".join(f"{fmt}: {', '.join(parts)}" for fmt, parts in formats.items())]


def _row(label: str, *cells: str) -> str:
    return f"  {label:<36}" + "".join(f"{cell:>18}" for cell in cells)


def _sizes(found: dict) -> list[str]:
    block = f"blocks of {found['block']}"
    lines = ["One sequence, bytes", _row("", "lower bound", block, "read in a step")]
    for part, label in PARTS.items():
        if part == "total" or found["stored"][part] or found["reserved"][part]:
            lines.append(_row(label, *(_bytes(found[column][part]) for column in ("stored", "reserved", "read"))))
    return lines


def _work(found: dict) -> list[str]:
    total = found["flops"]["total"]
    lines = ["One sequence, FLOPs of a decode step"]
    for part, label in WORK.items():
        if value := found["flops"][part]:
            lines.append(_row(label, _si(value), f"{value / total:.1%}"))
    return lines


def _on_chips(found: dict) -> list[str]:
    s, chip = found["system"], found["chip"]
    split = f"tensor {s['tensor']}, data {s['data']}, experts over {s['expert_span']}, context {s['context']}"
    return [
        f"On {s['count']} x {s['title']} ({split})",
        _row("weights on a chip", _bytes(chip["weights"])),
        _row("left for caches", _bytes(chip["free"])),
        _row("sequences that fit", f"{chip['max_batch']:,}", f"{chip['max_batch_paged']:,} in blocks"),
    ]


def _time(found: dict) -> list[str]:
    step, efficiency, rate = found["step"], found["system"]["efficiency"], found["step"]["tokens_per_second"]
    said = "full rates" if efficiency == 1 else f"rates x {efficiency:g}"
    lines = [f"A decode step, {said}"]
    if found["batch"] > found["chip"]["max_batch"]:
        lines.append(f"  note: {found['batch']:,} sequences do not fit, at most {found['chip']['max_batch']:,} do")
    lines += [_row(name, _seconds(step["parts"][name])) for name in ("compute", "memory", "link")]
    lines += [
        _row("", "at best", "at worst"),
        _row(f"step, limited by {step['bound']}", _seconds(step["time_lower"]), _seconds(step["time_upper"])),
        _row("tokens a second", f"{rate['upper']:,.1f}", f"{rate['lower']:,.1f}"),
    ]
    return lines


def _prices(found: dict) -> list[str]:
    if not found["dollars_per_million"]:
        return [f"  no rent is known for {found['system']['title']}: no price a million tokens"]
    return [
        _row(f"$ a million, {row['rent']} {row['chip_hour']:g} $/h", f"{row['lower']:,.3f}", f"{row['upper']:,.3f}")
        for row in found["dollars_per_million"]
    ]


def _scaled(value: float, base: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if abs(value) < base:
            return f"{value:,.4g} {unit}".rstrip()
        value /= base
    return f"{value:,.4g} {units[-1]}"


def _bytes(value: float) -> str:
    return _scaled(value, 1024.0, ("B", "KiB", "MiB", "GiB", "TiB"))


def _si(value: float) -> str:
    return _scaled(value, 1000.0, ("", "K", "M", "G", "T", "P"))


def _seconds(value: float) -> str:
    return f"{value * 1e3:,.4g} ms" if value >= 1e-4 else f"{value * 1e6:,.4g} us"
