"""What the calculator's script needs, as numbers that `lib.cost` has computed: no formula of a mechanism is written twice.

Costs of one sequence are piecewise linear in the context (windows, top-k and groups of tokens make the bends), so that a
few points and straight lines between them are exact. Costs that depend on how a model is split, and on the batch, are
written out for every split and batch that the page offers. The script then multiplies, adds, divides by the chip's
rates, and takes the largest of three times.
"""

from __future__ import annotations

import numpy as np

from lib.cost import stored_bytes
from lib.cost.flops import decode_flops
from lib.cost.links import decode_links
from lib.cost.memory import read, stored
from lib.cost.parameters import parameters
from lib.cost.system import System, cache_share, rate
from lib.cost.weights import weights_held, weights_read
from lib.data import Model, chip, chips, models
from lib.data.chips import Chip
from lib.data.mechanisms import Linear

GROUP = 128  # tokens: the largest group that is compressed into one entry; contexts are whole groups
CONTEXTS = sorted({round(2 ** (i / 8) / GROUP) * GROUP for i in range(80, 193)})  # 1K … 16M, eight an octave
COUNTS = (1, 2, 4, 8, 16, 32, 64)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SPLITS = {
    "tensor": "tensor parallel",
    "context": "tensor parallel, caches split by tokens",
    "data": "data parallel, experts over all chips",
}
CACHED = {"served": "as the model is served", "bf16": "bf16", "fp8": "fp8"}
COLUMNS = ("linear", "routed", "heads", "index", "sequences", "weights", "links")  # of a row of a split's "batches"
PARTS = ("kv", "index", "state", "window")
CHIPS = tuple(
    name for name, entry in chips().items() if not entry.measured and entry.link_bandwidth and entry.memory_bandwidth
)


def system(device: str | Chip, count: int, split: str) -> System:
    """How the page's choices of chips are a `lib.cost.System`."""
    device = chip(device) if isinstance(device, str) else device
    if split == "data":
        return System(device, data=count, expert=count)
    return System(device, tensor=count, expert=count, context=count if split == "context" else 1)


def cached_as(m: Model, cached: str) -> Model:
    """The model with its growing caches in another format; states stay as they are."""
    if cached == "served":
        return m
    fmt = {"bf16": "bf16", "fp8": "fp8_s128"}[cached]
    parts = dict.fromkeys(("kv", "latent", "index", "entry"), fmt)
    return m.model_copy(update={"precision": m.precision.model_copy(update=parts)})


def points(values) -> list[list[float]]:
    """`[[context, value], …]` at the bends of a piecewise linear function on `CONTEXTS`."""
    values = np.broadcast_to(np.asarray(values, dtype=float), len(CONTEXTS))
    kept = [0]
    for i in range(1, len(CONTEXTS) - 1):
        left, middle, right = kept[-1], i, i + 1
        slope = (values[right] - values[left]) / (CONTEXTS[right] - CONTEXTS[left])
        straight = values[left] + slope * (CONTEXTS[middle] - CONTEXTS[left])
        if abs(straight - values[middle]) > 1e-9 * abs(values[middle]):
            kept.append(i)
    return [[CONTEXTS[i], float(values[i])] for i in (*kept, len(CONTEXTS) - 1)]


def _costs(m: Model) -> dict:
    """Bytes kept and moved by kind of layer, FLOPs by part: one sequence, whole model, all as points over the context."""
    tokens, layers = np.array(CONTEXTS), []
    for mixer, count in m.mixer_counts:
        kept, moved = stored(mixer, tokens, m.precision), read(mixer, tokens, m.precision)
        times = 2 if isinstance(mixer, Linear) else 1  # a state is written back
        layers.append({"held": points(count * sum(kept)), "moved": points(times * count * sum(moved))})
    whole, flops = stored_bytes(m, tokens), decode_flops(m, tokens)
    return {
        "layers": layers,
        "stored": {part: points(getattr(whole, part)) for part in PARTS},
        "attention": points(flops.attention + flops.state),
        "index": points(flops.index),
    }


def _on(m: Model, count: int, split: str) -> dict:
    """A split's shares of each kind of layer's cache, weights a chip holds, and for each batch what the busiest chip does."""
    s = system(CHIPS[0], count, split)
    linear, routed = 2 * parameters(m).active, 2 * parameters(m).routed_active
    rows = []
    for batch in BATCHES:
        sequences, group = s.share(batch, s.tensor), s.share(batch, s.expert_span)
        rows.append([
            (linear - routed) * sequences / s.tensor, routed * group / s.expert_span, sequences / s.tensor,
            sequences / s.context, sequences, weights_read(m, s, batch), decode_links(m, s, sequences),
        ])  # fmt: skip
    return {
        "replicas": s.data,
        "held": weights_held(m, s),
        "shares": [cache_share(mixer, s.tensor, s.context) for mixer, _ in m.mixer_counts],
        "batches": [[float(x) for x in row] for row in rows],
    }


def _model(m: Model) -> dict:
    splits = {
        f"{count} {split}": _on(m, count, split)
        for count in COUNTS
        for split in SPLITS
        if count > 1 or split == "tensor"
    }
    costs = {cached: _costs(cached_as(m, cached)) for cached in CACHED}
    formats = {"weights": m.precision.weights, "experts": m.precision.experts}
    return {"title": m.title, "context": m.context, "formats": formats,
            "index": {cached: cached_as(m, cached).precision.index for cached in CACHED}, "costs": costs, "splits": splits}  # fmt: skip


def _chip(name: str, formats: set[str]) -> dict:
    device = chip(name)
    rent = next((rent for rent in device.dollars_per_hour), None)
    return {"title": device.title, "memory": device.memory_bytes, "bandwidth": device.memory_bandwidth, "link": device.link_bandwidth,
            "rates": {fmt: rate(device, fmt) for fmt in sorted(formats)}, "rent": rent and rent.value, "rent_kind": rent and rent.kind}  # fmt: skip


def content() -> dict:
    """All of it, ready for JSON."""
    found = {name: _model(m) for name, m in models().items()}
    formats = {"bf16"} | {fmt for m in found.values() for fmt in (*m["formats"].values(), *m["index"].values())}
    return {
        "contexts": CONTEXTS,
        "counts": COUNTS,
        "batches": BATCHES,
        "columns": COLUMNS,
        "models": found,
        "chips": {name: _chip(name, formats) for name in CHIPS},
    }
