"""Every number that a chapter's prose glues in: a key, the chapter that says it, and the function that computes its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lib.cost import decode_flops, parameters, read_bytes, stored_bytes
from lib.cost.flops import chunk_flops
from lib.cost.memory import entry_bytes, latent_bytes, stored
from lib.data import model
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import scaling as s
from lib.evidence.words import count, percent, ratio, size, tokens

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


ARCHITECTURE = {
    "kda_heads": lambda: f"{_kda().heads}",
    "kda_dim": lambda: f"{_kda().key_dim}",
    "kda_matrix_layer": lambda: size(_matrix_state()),
    "kda_conv_layer": lambda: size(_conv_tail()),
    "kda_layers": lambda: f"{g.linear_share(g.kimi_linear())[0]}",
    "kda_state_all": lambda: size(g.state_bytes(g.kimi_linear())),
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
    "break_even": lambda: f"{g.break_even(g.kimi_linear()):,}",
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

NUMBERS: dict[str, Number] = {key: Number("architecture", compute) for key, compute in ARCHITECTURE.items()}
