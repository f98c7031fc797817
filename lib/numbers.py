"""Every number that a chapter's prose glues in: a key, the chapter that says it, and the function that computes its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lib.calculator import system
from lib.claims.convergence import designs
from lib.cost import decode_flops, parameters, parking, read_bytes, stored_bytes
from lib.cost.capacity import ceiling, max_batch
from lib.cost.crossover import crossovers
from lib.cost.flops import CHUNK, chunk_flops
from lib.cost.memory import entry_bytes, latent_bytes, stored
from lib.cost.scaling import NEAR_LINEAR
from lib.cost.step import decode_step
from lib.data import Model, chip, chips, claims, figure, figures, model, models, prices, tiers
from lib.data.mechanisms import Softmax
from lib.data.variants import all_full
from lib.evidence import ceilings, decoding, measured, money, reports
from lib.evidence import designs as design_evidence
from lib.evidence import geometry as g
from lib.evidence import scaling as s
from lib.evidence import tiers as tier_evidence
from lib.evidence.training import compute_where, efficiency_after_shift, shift_that_erases
from lib.evidence.words import count, dollars, percent, ratio, seconds, size, tokens
from lib.measure import live
from lib.measure.record import records
from lib.tables import TABLES
from lib.validation.rows import implied_rates
from lib.validation.work import fp8_equivalent
from lib.verdict import printed

K128, M1 = 2**17, 2**20


@dataclass(frozen=True)
class Number:
    """`compute()` gives the text as it stands in the prose, unit included."""

    chapter: str
    compute: Callable[[], str]

    def text(self) -> str:
        return self.compute()


def _kda():
    return model("kimi-linear-48b-a3b").mechanisms["K"]


def _mla():
    return model("kimi-linear-48b-a3b").mechanisms["M"]


def _matrix_state() -> float:
    kda = _kda()
    return kda.heads * kda.key_dim * kda.value_dim * 4


def _conv_tail() -> float:
    return stored(_kda(), 0, g.kimi_linear().precision)[2] - _matrix_state()


def _csa():
    return g.v4_flash().mechanisms["C"]


def _heads_in_words(mixer) -> str:
    return f"{mixer.heads} heads of {mixer.nope} + {mixer.value} over a latent of {mixer.latent}"


def _sharing() -> list[float]:
    """Query heads for one key-value head, in the models that cache keys and values of all tokens."""
    return [m.heads / m.kv_heads for x in models().values() for m in x.mechanisms.values() if isinstance(m, Softmax)]


ARCHITECTURE = {
    "kda_heads": lambda: f"{_kda().heads}",
    "kda_dim": lambda: f"{_kda().key_dim}",
    "kda_matrix_layer": lambda: size(_matrix_state()),
    "kda_conv_layer": lambda: size(_conv_tail()),
    "kda_layers": lambda: f"{g.linear_share(g.kimi_linear())[0]}",
    "kda_state_all": lambda: size(g.state_bytes(g.kimi_linear())),
    "chunk_tokens": lambda: f"{CHUNK}",
    "all_layers": lambda: f"{sum(g.linear_share(g.kimi_linear()))}",
    "k2_heads": lambda: _heads_in_words(g.latent_attention(model("kimi-k2"))),
    "gqa_low": lambda: f"{min(_sharing()):.0f}",
    "gqa_high": lambda: f"{max(_sharing()):.0f}",
    "v32_index_heads": lambda: f"{g.latent_attention(g.v32()).index_heads}",
    "hca_ratio": lambda: f"{g.v4_flash().mechanisms['H'].ratio}",
    "v4_window": lambda: f"{_csa().window}",
    "near_linear": lambda: f"{NEAR_LINEAR}",
    "k3_active_experts": lambda: f"{g.moe(g.kimi_k3()).active}",
    "k3_all_experts": lambda: f"{g.moe(g.kimi_k3()).experts}",
    "kda_chunk_flops": lambda: f"{chunk_flops(_kda().key_dim, _kda().value_dim):,.0f}",
    "mla_numbers": lambda: f"{_mla().latent} + {_mla().rope}",
    "mla_layer_bytes": lambda: f"{latent_bytes(_mla(), g.kimi_linear().precision):,}",
    "mla_layers": lambda: f"{g.linear_share(g.kimi_linear())[1]}",
    "hybrid_per_token": lambda: f"{g.bytes_per_token(g.kimi_linear()):,.0f}",
    "twin_per_token": lambda: f"{g.bytes_per_token(all_full(g.kimi_linear())):,.0f}",
    "hybrid_1m": lambda: size(float(stored_bytes(g.kimi_linear(), M1).total)),
    "twin_1m": lambda: size(float(stored_bytes(all_full(g.kimi_linear()), M1).total)),
    "saving_limit": lambda: percent(g.asymptotic_saving(g.kimi_linear()), 2),
    "saving_1m": lambda: percent(float(g.cache_saving(g.kimi_linear(), M1)), 2),
    "break_even": lambda: f"{g.break_even(g.kimi_linear()):,.0f}",
    "saving_1k": lambda: percent(float(g.cache_saving(g.kimi_linear(), 1024))),
    "compression_k2": lambda: ratio(g.compression(model("kimi-k2")).without_rotary),
    "compression_k2_rotary": lambda: ratio(g.compression(model("kimi-k2")).rotary_in_latent),
    "compression_k3": lambda: ratio(g.compression(g.kimi_k3()).without_rotary),
    "compression_k3_rotary": lambda: ratio(g.compression(g.kimi_k3()).rotary_in_latent),
    "compression_small": lambda: ratio(g.compression(g.kimi_linear()).without_rotary),
    "dsa_top_k": lambda: f"{g.latent_attention(g.v32()).top_k:,}",
    "dsa_latent_bytes": lambda: f"{latent_bytes(g.latent_attention(g.v32()), g.v32().precision):,}",
    "dsa_index_bytes": lambda: f"{g.v32().precision.of('index').bytes_for(g.latent_attention(g.v32()).index_dim):,}",
    "dsa_per_token": lambda: f"{g.bytes_per_token(g.v32()):,.0f}",
    "dsa_stored_1m": lambda: size(float(stored_bytes(g.v32(), M1).total)),
    "dsa_read_1m": lambda: size(float(read_bytes(g.v32(), M1).total)),
    "dsa_read_latents_1m": lambda: size(float(read_bytes(g.v32(), M1).kv)),
    "dsa_read_index_1m": lambda: size(float(read_bytes(g.v32(), M1).index)),
    "dsa_index_share": lambda: percent(s.step_share(g.v32(), "index")),
    "v4_entry_bytes": lambda: f"{entry_bytes(_csa().head_dim, _csa().rope, g.v4_flash().precision):,}",
    "v4_per_token": lambda: f"{g.bytes_per_token(g.v4_flash()):,.0f}",
    "v4_stored_1m": lambda: size(float(stored_bytes(g.v4_flash(), M1).total)),
    "v4_over_v32": lambda: percent(g.bytes_per_token(g.v4_flash()) / g.bytes_per_token(g.v32())),
    "k3_experts": lambda: percent(g.sparsity(g.kimi_k3()).experts, 2),
    "k3_everything": lambda: percent(g.sparsity(g.kimi_k3()).everything, 2),
    "k3_total": lambda: count(parameters(g.kimi_k3()).total),
    "k3_active": lambda: count(parameters(g.kimi_k3()).active),
    "k3_blocks": lambda: f"{g.kimi_k3().residual.blocks}",
    "small_total": lambda: count(parameters(g.kimi_linear()).total),
    "small_active": lambda: count(parameters(g.kimi_linear()).active),
    "small_experts": lambda: percent(g.sparsity(g.kimi_linear()).experts, 2),
    "small_everything": lambda: percent(g.sparsity(g.kimi_linear()).everything, 2),
    "flash_experts": lambda: percent(g.sparsity(g.v4_flash()).experts, 2),
    "pro_experts": lambda: percent(g.sparsity(model("deepseek-v4-pro")).experts, 2),
    "step_growth_small": lambda: ratio(
        float(decode_flops(g.kimi_linear(), M1).total / decode_flops(g.kimi_linear(), 4096).total)
    ),
    "prefill_until_small": lambda: tokens(s.prefill_near_linear_until(g.kimi_linear())),
    "prefill_until_v32": lambda: tokens(s.prefill_near_linear_until(g.v32())),
    "prefill_until_flash": lambda: tokens(s.prefill_near_linear_until(g.v4_flash())),
    "prefill_exponent_small": lambda: f"{s.exponent_to_1m(s.prefill_work(g.kimi_linear())):.2f}",
    "prefill_exponent_v32": lambda: f"{s.exponent_to_1m(s.prefill_work(g.v32())):.2f}",
    "prefill_exponent_flash": lambda: f"{s.exponent_to_1m(s.prefill_work(g.v4_flash())):.2f}",
}


def _interval(text: str) -> tuple[float, float]:
    """What a printed figure stands for."""
    interval = printed(text).interval
    return interval.low, interval.high


INDEX = {
    "index_size": lambda: claims()["C-11"].printed_text,
    "index_k3_total": ARCHITECTURE["k3_total"],
    "index_k3_active": ARCHITECTURE["k3_active"],
    "index_mla_share": lambda: percent(s.prefill_share(g.kimi_linear(), "attention"), 0),
    "index_indexer_share": lambda: percent(s.prefill_share(g.v32(), "index"), 0),
    "index_until_hybrid": ARCHITECTURE["prefill_until_small"],
    "index_until_sparse": ARCHITECTURE["prefill_until_v32"],
    "index_flash_per_token": ARCHITECTURE["v4_per_token"],
    "index_v32_per_token": ARCHITECTURE["dsa_per_token"],
    "index_k3_per_token": lambda: f"{g.bytes_per_token(g.kimi_k3()):,.0f}",
    "index_k3_share": lambda: percent(money.log_share("kimi")),
    "index_v4_share": lambda: percent(money.log_share("deepseek")),
    "index_interval": lambda: "{:.2f}M to {:.2f}M".format(*(x / 1e6 for x in _interval("480.4M"))),
    "index_share_low": lambda: percent(min(money.shares_by_price().values()), 0),
    "index_share_high": lambda: percent(max(money.shares_by_price().values()), 0),
}


def _rho(compute: float, shift: float = 0.0) -> str:
    return f"{float(efficiency_after_shift(*reports.scaling_fits(), compute, shift)):.2f}"


def _middle_compute() -> float:
    tested = reports.tested_compute()
    return (tested.low * tested.high) ** 0.5


def _best_node() -> decoding.Node:
    return max(decoding.nodes(), key=lambda one: one.ratio_fixed)


LOSS_ERROR = 0.01  # one hundredth, for scale: the report prints no spread over seeds

EFFICIENCY = {
    "cache_limit": lambda: f"{decoding.cache_limit():.2f}",
    "twin_ms": lambda: f"{1e3 * reports.twin_step_at_1m():.2f} ms",
    "hybrid_ms": lambda: f"{1e3 * figure('kl-fig7b-kl').points()[M1]:.2f} ms",
    "ratio_single": lambda: f"{reports.single_stream_ratios()[M1].middle:.2f}",
    "ratio_single_128k": lambda: f"{reports.single_stream_ratios()[K128].middle:.2f}",
    "ratio_single_4k": lambda: f"{reports.single_stream_ratios()[4096].middle:.2f}",
    "large_4k": lambda: f"{1e3 * figure('kl-fig1b-kl').points()[4096.0]:.2f} ms",
    "ratio_large": lambda: f"{reports.large_batch_ratios()[M1].middle:.2f}",
    "twin_layers": ARCHITECTURE["all_layers"],
    "linear_layers": ARCHITECTURE["kda_layers"],
    "chunk_here": ARCHITECTURE["chunk_tokens"],
    "index_row": lambda: f"{2 * g.latent_attention(g.v32()).index_dim}",
    "label_printed": lambda: f"{figure('kl-throughput-label').value:g}",
    "loss_error": lambda: f"{LOSS_ERROR:g}",
    "prefill_1m": lambda: f"{figure('kl-fig7a-mla').points()[M1] / figure('kl-fig7a-kl').points()[M1]:.1f}",
    "active_body": lambda: count(parameters(g.kimi_linear()).active - parameters(g.kimi_linear()).head),
    "ratio_large_128k": lambda: f"{reports.large_batch_ratios()[K128].middle:.2f}",
    "label_off": lambda: percent(figure("kl-throughput-label").value / reports.large_batch_ratios()[M1].middle - 1),
    "bytes_1m": lambda: f"{float(decoding.bytes_ratio(M1)):.2f}",
    "fit_fixed": lambda: f"{1e3 * decoding.both_curves().fixed:.1f} ms",
    "fit_layer": lambda: f"{1e3 * decoding.both_curves().layer:.2f} ms",
    "fit_rate": lambda: f"{decoding.both_curves().rate / 1e12:.1f} TB/s",
    "fit_weights": lambda: f"{1e3 * (decoding.both_curves().fixed - decoding.overhead()):.1f} ms",
    "fit_overhead": lambda: f"{1e3 * decoding.overhead():.1f} ms",
    "six_best": lambda: f"{_best_node().ratio_fixed:.2f}",
    "six_node": lambda: f"{_best_node().count} {chips()[_best_node().chip].title}",
    "rate_twin": lambda: f"{decoding.large_rates()[0] / 1e12:.1f} TB/s",
    "rate_hybrid": lambda: f"{decoding.large_rates()[1] / 1e12:.1f} TB/s",
    "six_rest": lambda: percent(decoding.rest_of_six(), 0),
    "six_rest_ms": lambda: (
        f"{1e3 * decoding.rest_of_six() * float(decoding.moved(decoding.twin(), M1)) / decoding.large_rates()[1]:.1f} ms"
    ),
    "ar_printed": lambda: f"{figure('ar-efficiency').value:.2f}x",
    "device_name": lambda: measured.reference().title,
    "exp_kda": lambda: f"{measured.exponent('kda').exponent:.2f}",
    "exp_mla": lambda: f"{measured.exponent('mla').exponent:.2f}",
    "exp_score": lambda: f"{measured.exponent('dsa', 'score').exponent:.2f}",
    "index_time": lambda: percent(measured.index_share(), 0),
    "attend_time": lambda: f"{1e3 * measured.parts().loc[M1, 'attend']:.1f} ms",
    "stack_1m": lambda: f"{measured.stack_ratio(M1):.2f}",
    "stack_dsa_1m": lambda: f"{measured.stack_ratio(M1, 'all-dsa'):.2f}",
    "stack_dsa_128k": lambda: f"{measured.stack_ratio(K128, 'all-dsa'):.2f}",
    "prefill_crossing": lambda: tokens(decoding.published_prefill_crossing()),
    "prefill_equal": lambda: f"{decoding.prefill_flops_equal():,.0f}",
    "prefill_late": lambda: seconds(figure("kl-fig7a-kl").points()[4096.0] - figure("kl-fig7a-mla").points()[4096.0]),
    "prefill_rate": lambda: f"{decoding.prefill_gap() / 1e12:.0f} TFLOP/s",
    "rho_high": lambda: _rho(reports.tested_compute().low),
    "rho_low": lambda: _rho(reports.tested_compute().high),
    "rho_at": lambda: f"{compute_where(*reports.scaling_fits(), 1.16):.1f}",
    "loss_gap": lambda: f"{shift_that_erases(*reports.scaling_fits(), _middle_compute()):.3f}",
    "rho_worse": lambda: _rho(_middle_compute(), LOSS_ERROR),
    "rho_better": lambda: _rho(_middle_compute(), -LOSS_ERROR),
}


def _traces() -> list[float]:
    """Mean prompt tokens of a request in the published traces of agents."""
    return [figure(name).value for name in ("tracelab-mean", "weka-mean")]


DEPLOYMENT = {
    "state_read": lambda: size(float(read_bytes(g.kimi_linear(), M1).state)),
    "latents_read": lambda: size(float(read_bytes(g.kimi_linear(), M1).kv)),
    "state_share": lambda: percent(
        float(read_bytes(g.kimi_linear(), M1).state / read_bytes(g.kimi_linear(), M1).total), 2
    ),
    "trace_low": lambda: f"{min(_traces()):,.0f}",
    "trace_high": lambda: f"{max(_traces()):,.0f}",
    "log_mean": lambda: f"{money.mean_prompt():,.0f}",
    "log_max_day": lambda: f"{money.largest_daily_mean():,.0f}",
}


def _session(price_id: str) -> str:
    return dollars(money.growing_session(money.rates_of(prices()[price_id])).total)


MEMORY_ECONOMY = {
    "log_hits": lambda: f"{money.usage_log().hit:,.0f}",
    "log_misses": lambda: f"{money.usage_log().miss:,.0f}",
    "log_output": lambda: f"{money.usage_log().output:,.0f}",
    "log_ratio": lambda: f"{money.usage_log().hit / money.usage_log().computed:.2f}",
    "kimi_share": INDEX["index_k3_share"],
    "deepseek_share": INDEX["index_v4_share"],
    "share_low": INDEX["index_share_low"],
    "share_high": INDEX["index_share_high"],
    "session_rounds": lambda: f"{money.growing_session().rounds}",
    "session_hits": lambda: f"{money.growing_session().hits / 1e6:,.0f} million",
    "session_kimi": lambda: _session("k3-2026-07"),
    "session_deepseek": lambda: _session("v4-pro-2026-05"),
    "v32_fetch": lambda: size(float(read_bytes(g.v32(), M1).kv)),
    "v32_index": lambda: size(float(read_bytes(g.v32(), M1).index)),
    "kl_state": DEPLOYMENT["state_read"],
    "kl_latents": DEPLOYMENT["latents_read"],
    "tier_device": EFFICIENCY["device_name"],
    "tier_mla_bytes": lambda: size(measured.tier("mla", M1, "file")["bytes_read"]),
    "tier_mla_slower": lambda: (
        f"{measured.tier('mla', M1, 'file')['seconds'] / measured.tier('mla', M1, 'memory')['seconds']:.1f}"
    ),
    "tier_dsa_bytes": lambda: size(measured.tier("dsa", M1, "file", 0.4, 0.0)["bytes_read"]),
    "tier_dsa_hot": lambda: size(measured.tier("dsa", M1, "file", 0.4, 0.2)["bytes_read"]),
    "tier_kda": lambda: seconds(measured.tier("kda", 0, "restore")["seconds"]),
}


def _kept(name: str):
    return parking(model(name), tiers()["nvme"], chip("h200"), context=M1)


MEMORY_ECONOMY |= {
    "tier_buffer": lambda: percent(live.TIERS[2], 0),
    "tier_locality": lambda: f"{live.TIERS[1]:g}",
    "tier_page": lambda: f"{tier_evidence.PAGE:,}",
    "v32_row": ARCHITECTURE["dsa_latent_bytes"],
    "page_waste": lambda: f"{tier_evidence.PAGE / latent_bytes(g.latent_attention(g.v32()), g.v32().precision):.1f}",
    "tier_v32_ddr5": lambda: seconds(float(tier_evidence.step(g.v32(), "ddr5").time_lower)),
    "tier_kl_ddr5": lambda: seconds(float(tier_evidence.step(g.kimi_linear(), "ddr5").time_lower)),
    "tier_glm_ddr5": lambda: seconds(float(tier_evidence.step(model("glm-5.3-flash"), "ddr5").time_lower)),
    "tier_glm_resident": lambda: size(float(tier_evidence.step(model("glm-5.3-flash"), "ddr5").resident)),
    "tier_kl_furthest": lambda: tokens(tier_evidence.furthest(g.kimi_linear(), "ddr5")),
    "park_k3_low": lambda: dollars(24 * _kept("kimi-k3").dollars[0]),
    "park_k3_high": lambda: dollars(24 * _kept("kimi-k3").dollars[1]),
    "park_k3_restore": lambda: f"{_kept('kimi-k3').restore[0]:.1f} to {_kept('kimi-k3').restore[1]:.1f} s",
    "one_reading_here": lambda: dollars(money.one_reading()),
}


def _glm() -> Model:
    return model("glm-5.3-flash")


def _with_dsa():
    return design_evidence.of(design_evidence.kimi_with_dsa())


def _with_csa():
    return design_evidence.of(design_evidence.kimi_with_csa())


CONVERGENCE = {
    "glm_layers": lambda: g.mixer_words(_glm()).replace(" + ", " and ") + " layers",
    "glm_per_token": lambda: f"{g.bytes_per_token(_glm()):,.0f}",
    "glm_index_share": lambda: percent(
        float(stored_bytes(_glm(), M1).index / (stored_bytes(_glm(), M1).index + stored_bytes(_glm(), M1).kv))
    ),
    "mla_step": lambda: seconds(design_evidence.of(g.kimi_linear()).lower),
    "mla_token": lambda: f"{design_evidence.of(g.kimi_linear()).per_token:,.0f}",
    "dsa_twin_step": lambda: seconds(_with_dsa().lower),
    "dsa_twin_work": lambda: percent(_with_dsa().work / design_evidence.of(g.kimi_linear()).work, 0),
    "dsa_twin_movable": lambda: percent(_with_dsa().movable, 0),
    "csa_twin_token": lambda: f"{_with_csa().per_token:,.0f}",
    "csa_twin_ceiling": lambda: tokens(_with_csa().ceiling),
    "designs_count": lambda: f"{len(designs())}",
    "designs_two": lambda: _some(sum({"linear", "sparse"} <= roles for roles in designs().values())),
    "designs_three": lambda: _some(sum(len(roles) == 3 for roles in designs().values())),
}


def _some(number: int) -> str:
    return ("none", "one", "two", "three", "four", "five")[number] if number < 6 else str(number)


def _indexer_in_fp8() -> float:
    return float(decode_flops(g.v32(), M1).index) / fp8_equivalent(g.v32())


def _cache_crossing() -> int:
    """The last context at which Kimi K3's and V3.2's caches are of one size."""
    return crossovers(lambda c: stored_bytes(g.kimi_k3(), c).total, lambda c: stored_bytes(g.v32(), c).total)[-1]


def _fixed(kind: str) -> str:
    return f"{1e3 * min(figure(f'h200-{kind}-b1').points().values()):.2f} ms"


RATES_FROM = 2**15  # at shorter contexts the report's hybrid is slower than its twin, or nearly

CEILING = {
    "k3_v32_cross": lambda: tokens(_cache_crossing()),
    "v32_top_k": ARCHITECTURE["dsa_top_k"],
    "v32_index_heads_here": ARCHITECTURE["v32_index_heads"],
    "glm_indexers": lambda: f"{sum(n for x, n in model('glm-5.2').mixer_counts if x.indexer == 'own')}",
    "glm_layers_all": lambda: f"{model('glm-5.2').num_layers}",
    "fixed_mla": lambda: _fixed("mla"),
    "fixed_dsa": lambda: _fixed("dsa"),
    "rate_low": lambda: f"{min(implied_rates(RATES_FROM)):.2f}",
    "rate_high": lambda: f"{max(implied_rates(RATES_FROM)):.2f}",
    "rate_from": lambda: tokens(RATES_FROM),
    "k3_chips": lambda: f"{ceilings.smallest_node(g.kimi_k3()).count}",
    "k3_memory": lambda: tokens(ceilings.ceilings(g.kimi_k3(), 5e5).memory),
    "k3_latency": lambda: tokens(ceilings.ceilings(g.kimi_k3(), 5e5).latency),
    "k3_latency_16": lambda: tokens(
        ceiling(g.kimi_k3(), ceilings.smallest_node(g.kimi_k3()), tpot=ceilings.TPOT, memory=False, batch=16)
    ),
    "v32_index_share": ARCHITECTURE["dsa_index_share"],
    "v32_index_share_fp8": lambda: percent(_indexer_in_fp8()),
    "cache_limit_here": EFFICIENCY["cache_limit"],
    "k3_sequences": lambda: _some(ceilings.ceilings(g.kimi_k3(), 5e5).sequences),
}

CLAIMS = {
    "claims_count": lambda: f"{sum(name.startswith('C') for name in claims())}",
    "promises_count": lambda: _some(sum(name.startswith("P") for name in claims())),
    "printed_quotient": lambda: f"{printed('480.4M').value / printed('11.3M').value:.1f}",
}


CALCULATED = 16  # sequences, and chips: the calculator's first state


def _at_a_million(name: str, split: str = "context"):
    return decode_step(model(name), system("h200", CALCULATED, split), context=M1, batch=CALCULATED)


def _that_fit(split: str) -> str:
    return _some(int(max_batch(g.kimi_k3(), system("h200", CALCULATED, split), context=M1)))


CALCULATOR = {
    "calc_batch": lambda: f"{CALCULATED}",
    "calc_chips": lambda: f"{CALCULATED}",
    "calc_k3": lambda: seconds(float(_at_a_million("kimi-k3").time_lower)),
    "calc_v4": lambda: seconds(float(_at_a_million("deepseek-v4-pro").time_lower)),
    "calc_fits_tensor": lambda: _that_fit("tensor"),
    "calc_fits_context": lambda: _that_fit("context"),
}

REPRODUCE = {
    "models_count": lambda: f"{len(models())}",
    "chips_count": lambda: f"{len(chips())}",
    "prices_count": lambda: f"{len(prices())}",
    "published_count": lambda: f"{len(figures())}",
    "tables_count": lambda: f"{len(TABLES)}",
    "records_count": lambda: f"{len(records())}",
    "samples_count": lambda: f"{sum(len(frame) for found in records().values() for frame in found.suites.values()):,}",
    "live_band": lambda: f"{live.BAND:g}",
    "live_apart": lambda: f"{live.APART:g}",
}

CHAPTERS = {
    "architecture": ARCHITECTURE, "index": INDEX, "efficiency": EFFICIENCY, "deployment": DEPLOYMENT, "memory_economy": MEMORY_ECONOMY,
    "convergence": CONVERGENCE, "ceiling": CEILING, "calculator": CALCULATOR, "claims": CLAIMS, "reproduce": REPRODUCE,
}  # fmt: skip
NUMBERS: dict[str, Number] = {
    key: Number(chapter, compute) for chapter, group in CHAPTERS.items() for key, compute in group.items()
}
