"""Published sizes and work, each beside a function of the geometry: these must be met exactly, or the difference explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lib.cost import decode_flops, parameters, stored_bytes
from lib.cost.flops import absorbed_flops, chunk_flops
from lib.cost.memory import entry_bytes, latent_bytes, stored
from lib.data import Model, model
from lib.data.formats import FORMATS
from lib.evidence import ceilings
from lib.evidence import geometry as g
from lib.validation.work import fp8_equivalent

K128, M1 = 2**17, 2**20


@dataclass(frozen=True)
class Check:
    """How the book recomputes one published figure, and what explains a difference beyond its reading."""

    compute: Callable[[], float]
    explained: str = ""


def bf16(m: Model) -> Model:
    """The model with every cached part in bf16, states in float32."""
    cached = dict.fromkeys(("kv", "latent", "entry", "rope", "index"), "bf16")
    return m.model_copy(update={"precision": m.precision.model_copy(update=cached)})


def fp8_layout(m: Model) -> Model:
    """The model with V3.2's cache layout."""
    return m.model_copy(
        update={"precision": m.precision.model_copy(update={"latent": "fp8_s128", "index": "fp8_s128"})}
    )


def _part(name: str, part: str, context: int = M1) -> float:
    return float(getattr(stored_bytes(bf16(model(name)), context), part))


def _growth(name: str, part: str) -> float:
    return (_part(name, part, M1) - _part(name, part, M1 // 2)) / (M1 / 2)


LEDGER: dict[str, Callable[[str], float]] = {
    "kv": lambda name: _growth(name, "kv"),
    "index": lambda name: _growth(name, "index"),
    "state": lambda name: _part(name, "state"),
    "window": lambda name: _part(name, "window"),
    "128k": lambda name: _part(name, "total", K128),
    "1m": lambda name: _part(name, "total", M1),
}


def _mixer(name: str, letter: str):
    return model(name).mechanisms[letter]


def _v4_entries(name: str, per_value: Callable[[Model], tuple[float, float]]) -> float:
    """Growth for a token of V4's compressed entries and index keys, with the sizes of one entry and one index key given."""
    m = model(name)
    entry, index = per_value(m)
    total = 0.0
    for mixer, count in m.mixer_counts:
        if mixer.type in ("csa", "hca"):
            total += count * entry / mixer.ratio
        if mixer.type == "csa":
            total += count * index / mixer.ratio
    return total


def _window_ratio(name: str) -> float:
    m = model(name)
    one = entry_bytes(512, 64, m.precision)
    return one * m.num_layers / _v4_entries(name, lambda _: (one, 0.0))


def _page(entries: int, each: int, unit: int = 576) -> int:
    """Bytes of a page of entries, padded to a multiple of `unit`."""
    return -(-entries * each // unit) * unit


def _forced_block(ranks: int) -> tuple[int, float]:
    """vLLM's attention block for Kimi-Linear: the least multiple of 64 tokens whose MLA page holds a rank's state page, and the
    share that it pads the state page by."""
    m = g.kimi_linear()
    state = stored(_mixer(m.name, "K"), 0, m.precision)[2] / ranks
    token = latent_bytes(_mixer(m.name, "M"), m.precision)
    block = -(-int(state) // (token * 64)) * 64
    return block, block * token / state - 1


def _core_ratio(context: int) -> float:
    """2 T^2 d over the chunk form's FLOPs for T tokens of one head, d = 128 (Kimi Linear, section 6.3)."""
    return 2 * context * 128 / chunk_flops(128, 128)


def _without_sharing(name: str) -> Model:
    m = model(name)
    own = {
        letter: x.model_copy(update={"indexer": "own"}) if x.type == "dsa" else x for letter, x in m.mechanisms.items()
    }
    return m.model_copy(update={"mechanisms": own})


def _sharing(parts: tuple[str, ...]) -> float:
    with_, without = decode_flops(model("glm-5.2"), M1), decode_flops(_without_sharing("glm-5.2"), M1)
    return float(sum(getattr(without, part) for part in parts) / sum(getattr(with_, part) for part in parts))


def _per_token(m: Model) -> float:
    return g.bytes_per_token(m)


CHECKS: dict[str, Check] = {
    "kl-total-llamacpp": Check(lambda: parameters(g.kimi_linear()).total),
    "kl-vllm-block": Check(lambda: _forced_block(2)[0]),
    "kl-vllm-padding": Check(lambda: round(_forced_block(2)[1], 4)),
    "kl-saving": Check(lambda: round(g.asymptotic_saving(g.kimi_linear()), 4)),
    "kl-break-even": Check(lambda: round(g.break_even(g.kimi_linear()))),
    "kl-state-as-tokens": Check(lambda: round(g.state_bytes(g.kimi_linear()) / _per_token(g.kimi_linear()))),
    "kl-per-token": Check(lambda: _per_token(g.kimi_linear())),
    "kl-core-flops": Check(lambda: chunk_flops(128, 128)),
    "kl-core-ratio-4k": Check(lambda: _core_ratio(4096)),
    "kl-core-ratio-128k": Check(lambda: _core_ratio(K128)),
    "kl-core-ratio-1m": Check(lambda: round(_core_ratio(M1))),
    "k3-per-token": Check(lambda: _per_token(g.kimi_k3())),
    "k3-state-layer": Check(lambda: _mixer("kimi-k3", "K").heads * 128 * 128 * 4 / 8),
    "k3-matrix-state": Check(lambda: 69 * _mixer("kimi-k3", "K").heads * 128 * 128 * 4),
    "v32-latent-row": Check(lambda: latent_bytes(_mixer("deepseek-v3.2", "D"), g.v32().precision)),
    "v32-index-row": Check(lambda: g.v32().precision.of("index").bytes_for(128)),
    "v32-mtp-128k": Check(lambda: (g.v32().num_layers + g.v32().mtp.layers) * latent_bytes(_mixer("deepseek-v3.2", "D"), bf16(g.v32()).precision) * K128),
    "v32-core": Check(lambda: absorbed_flops(_mixer("deepseek-v3.2", "D")) * 2048),
    "v32-index-share": Check(lambda: float(stored_bytes(g.v32(), M1).index / stored_bytes(g.v32(), M1).total)),
    "v32-bf16-1m": Check(lambda: _part("deepseek-v3.2", "total")),
    "flashmla-intensity": Check(lambda: absorbed_flops(_mixer("deepseek-v3.2", "D")) / latent_bytes(_mixer("deepseek-v3.2", "D"), bf16(g.v32()).precision)),
    "v4-entry": Check(lambda: entry_bytes(512, 64, g.v4_flash().precision)),
    "v4-index-entry": Check(lambda: g.v4_flash().precision.of("index").bytes_for(128)),
    "v4-flash-per-token": Check(lambda: round(_per_token(g.v4_flash()))),
    "v4-pro-per-token": Check(lambda: round(_per_token(model("deepseek-v4-pro")))),
    "v4-flash-window": Check(lambda: float(stored_bytes(g.v4_flash(), M1).window)),
    "v4-pro-window": Check(lambda: float(stored_bytes(model("deepseek-v4-pro"), M1).window)),
    "v4-window-ratio": Check(lambda: _window_ratio("deepseek-v4-pro")),
    "v4-pool-csa": Check(lambda: _page(64, 584)),
    "v4-pool-index": Check(lambda: _page(64, 132)),
    "v4-pool-hca": Check(lambda: _page(2, 584)),
    "v4-bf16-1m": Check(lambda: _part("deepseek-v4-pro", "kv") + _part("deepseek-v4-pro", "index")),
    "v4-kv-pro": Check(lambda: _per_token(model("deepseek-v4-pro")) / _per_token(g.v32())),
    "v4-kv-flash": Check(lambda: _per_token(g.v4_flash()) / _per_token(g.v32())),
    "v4-gqa8": Check(lambda: _per_token(model("deepseek-v4-pro")) / (61 * 2 * 8 * 128 * 2)),
    "v4-flops-pro": Check(lambda: fp8_equivalent(model("deepseek-v4-pro")) / fp8_equivalent(g.v32())),
    "v4-flops-flash": Check(lambda: fp8_equivalent(g.v4_flash()) / fp8_equivalent(g.v32())),
    "k3-dsa-total": Check(lambda: fp8_equivalent(g.v32())),
    "v4-pro-work": Check(lambda: fp8_equivalent(model("deepseek-v4-pro"))),
    "v4-flash-work": Check(lambda: fp8_equivalent(g.v4_flash())),
    "v41-per-token": Check(lambda: (3 / 2 + 1) * (FORMATS["nvfp4"].bytes_for(512) + FORMATS["mxfp4"].bytes_for(128))),
    "ds4-per-token": Check(lambda: _v4_entries("deepseek-v4-flash", lambda m: (512 * 4, 128 * 4)),
                           "the log's slope is 3,441 values a token, the geometry's 3,440: one part in 3,440"),
    "glm-share": Check(lambda: _sharing(("linear", "attention", "index", "state")),
                       "2.73 with the core in absorbed form and 2.83 in expanded form; the vendor does not say what its token includes"),
    "glm-share-attention": Check(lambda: _sharing(("attention", "index"))),
    "glm-fp8-per-token": Check(lambda: _per_token(fp8_layout(model("glm-5.2")))),
    "glm5-fp8-per-token": Check(lambda: _per_token(fp8_layout(model("glm-5")))),
    "longcat-fp8-per-token": Check(lambda: _per_token(fp8_layout(model("longcat-2.0")))),
    "longcat-total": Check(lambda: parameters(model("longcat-2.0")).total),
}  # fmt: skip


def ledger_check(figure_id: str) -> Check | None:
    """`ledger-PART-MODEL` and `work-slope-MODEL`."""
    if figure_id.startswith("ledger-"):
        _, part, name = figure_id.split("-", 2)
        return Check(lambda: LEDGER[part](name))
    if figure_id.startswith("work-slope-"):
        return Check(lambda: ceilings.step_slope(model(figure_id.removeprefix("work-slope-"))))
    return None


__all__ = ["CHECKS", "Check", "bf16", "fp8_layout", "ledger_check"]
