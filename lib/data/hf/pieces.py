"""Mechanisms and feed-forwards from the names that configurations use for their dimensions."""

from __future__ import annotations

from typing import get_args

from lib.data.hf.config import Config
from lib.data.mechanisms import Csa, Dense, Dsa, Hca, Kda, Mla, Moe, Softmax, Spec, Window
from lib.data.strict import DataError, parse


def make(kind: type[Spec], c: Config, **fields) -> Spec:
    """A `kind` with its own `type`; its faults are a DataError of the configuration."""
    (name,) = get_args(kind.model_fields["type"].annotation)
    return parse(kind, fields | {"type": name}, f"{c.where}: {name} layer")


def _latent_fields(c: Config) -> dict:
    fields = {
        "heads": c.size("num_attention_heads"),
        "latent": c.size("kv_lora_rank"),
        "rope": c.count("qk_rope_head_dim"),
        "nope": c.size("qk_nope_head_dim"),
        "value": c.size("v_head_dim"),
        "q_rank": c.size("q_lora_rank", None),
    }
    c.known("num_key_value_heads", "head_dim")  # nominal: one latent serves all heads
    if c.has("qk_head_dim") and c.size("qk_head_dim") != fields["nope"] + fields["rope"]:
        raise c.error("qk_head_dim", f"qk_nope_head_dim + qk_rope_head_dim = {fields['nope'] + fields['rope']}")
    return fields


def mla(c: Config, *, output_gate: bool = False) -> Mla:
    return make(Mla, c, **_latent_fields(c), output_gate=output_gate)


def dsa(c: Config, indexer: str, *, pool: int = 1) -> Dsa:
    """MLA with a lightning indexer, "own" or "shared"."""
    fields = _latent_fields(c) | {
        "index_heads": c.size("index_n_heads"),
        "index_dim": c.size("index_head_dim"),
        "top_k": c.size("index_topk"),
    }
    if fields["q_rank"] is None:
        raise c.error("q_lora_rank", "a whole number > 0: the indexer's queries come from the compressed query")
    return make(Dsa, c, **fields, indexer=indexer, index_pool=pool, output_gate=False)


def kda(c: Config) -> Kda:
    """From `linear_attn_config`. Both low-rank projections are as wide as a head, unless the gate is at full rank."""
    dim = c.size("head_dim")
    return make(
        Kda,
        c,
        heads=c.size("num_heads"),
        key_dim=dim,
        value_dim=dim,
        conv=c.size("short_conv_kernel_size"),
        decay_rank=dim,
        gate_rank=None if c.flag("use_full_rank_gate", False) else dim,
        lower_bound=c.number("gate_lower_bound", None),
    )


def head_dim(c: Config) -> int:
    """`head_dim`, or hidden size over heads, which is what a file that leaves it out means."""
    hidden, heads = c.size("hidden_size"), c.size("num_attention_heads")
    if not c.has("head_dim") and hidden % heads:
        raise c.error(
            "head_dim", f"a whole number > 0, as hidden_size={hidden} is no multiple of num_attention_heads={heads}"
        )
    return c.size("head_dim", hidden // heads)


def softmax(c: Config, *, output_gate: bool = False) -> Softmax:
    dim = head_dim(c)
    return make(
        Softmax,
        c,
        heads=c.size("num_attention_heads"),
        kv_heads=c.size("num_key_value_heads"),
        key_dim=dim,
        value_dim=c.size("v_head_dim", dim),
        output_gate=output_gate,
    )


def window(c: Config, *, prefix: str = "", sinks: bool = False) -> Window:
    """A sliding window; `prefix` opens the names of its heads and their dimensions where full layers have others."""
    dim = c.size(f"{prefix}head_dim") if prefix else head_dim(c)
    return make(
        Window,
        c,
        heads=c.size(f"{prefix}num_attention_heads"),
        kv_heads=c.size(f"{prefix}num_key_value_heads"),
        key_dim=dim,
        value_dim=c.size(f"{prefix}v_head_dim") if prefix else c.size("v_head_dim", dim),
        window=c.size(c.first("sliding_window", "sliding_window_size")),
        sinks=sinks,
        shared_kv=False,
        rope=int(dim * c.number("partial_rotary_factor", 1.0)),
        q_rank=None,
        out_groups=None,
        out_rank=None,
    )


def compressed(c: Config) -> dict[int, Window | Csa | Hca]:
    """DeepSeek V4's three kinds of layers by compression ratio: 0 a window alone, 4 with selection, 128 without."""
    c.only("num_key_value_heads", 1)
    common = {
        "heads": c.size("num_attention_heads"),
        "rope": c.count("qk_rope_head_dim"),
        "q_rank": c.size("q_lora_rank"),
        "window": c.size("sliding_window"),
        "out_groups": c.size("o_groups"),
        "out_rank": c.size("o_lora_rank"),
    }
    dim = c.size("head_dim")
    index = {
        "index_heads": c.size("index_n_heads"),
        "index_dim": c.size("index_head_dim"),
        "top_k": c.size("index_topk"),
    }
    alone = {"kv_heads": 1, "key_dim": dim, "value_dim": dim, "sinks": True, "shared_kv": True}
    return {
        0: make(Window, c, **common, **alone),
        4: make(Csa, c, **common, **index, head_dim=dim, ratio=4),
        128: make(Hca, c, **common, head_dim=dim, ratio=128),
    }


def dense(c: Config, key: str = "intermediate_size") -> Dense:
    return make(Dense, c, width=c.size(key))


def moe(
    c: Config, *, experts: int, active: int, width: int, shared: int = 0, shared_width: int | None = None, **more
) -> Moe:
    """A mixture. `shared_width` defaults to `width`; `more` replaces the fields that few designs have."""
    fields = {"shared_gate": False, "latent": None, "zero_experts": 0, "active_real": None} | more
    wide = (shared_width or width) if shared else None
    return make(Moe, c, experts=experts, active=active, width=width, shared=shared, shared_width=wide, **fields)


def deepseek_moe(c: Config) -> Moe:
    """DeepSeek's names, which GLM, Kimi K2 and MiMo keep."""
    return moe(
        c,
        experts=c.size(c.first("n_routed_experts", "num_local_experts", "num_experts")),
        active=c.size("num_experts_per_tok"),
        width=c.size("moe_intermediate_size"),
        shared=c.count("n_shared_experts", 0),
    )


def depth(c: Config) -> int:
    return c.size(c.first("num_hidden_layers", "num_layers"))


def latent_width(c: Config, key: str) -> int | None:
    """The width at which routed experts work, None when it is the hidden size."""
    width = c.size(key, None)
    if width is not None and width > c.size("hidden_size"):
        raise DataError(f"{c.where}: key {key}: value {width}, wanted at most hidden_size={c.size('hidden_size')}")
    return width
