"""Families that mix linear attention with full or sparse attention: Kimi, GLM-5.3-Flash, Qwen, MiniMax."""

from __future__ import annotations

from lib.data.hf.config import Config
from lib.data.hf.latent import drafts, feed_forwards
from lib.data.hf.patterns import every, listed, mixtures_after_dense, numbered, pattern
from lib.data.hf.pieces import dense, depth, dsa, head_dim, kda, latent_width, make, mla, moe, softmax
from lib.data.hf.stack import Stack, simple
from lib.data.mechanisms import GatedDelta, Lightning

HYBRID = {"linear_attention": "linear", "full_attention": "full"}


def kimi(c: Config, options) -> Stack:
    """kimi_linear, and K3's text part: KDA and MLA by two lists of layers counted from 1."""
    layers, linear = depth(c), c.section("linear_attn_config")
    lists = {"kda_layers": "linear", "full_attn_layers": "full"}
    kinds = pattern(
        c,
        layers,
        {"linear_attn_config": lambda *_: numbered(linear, lists, layers, 1), "layer_types": listed(HYBRID)},
    )
    mixers = {"linear": kda(linear), "full": mla(c, output_gate=c.flag("mla_use_output_gate", False))}
    linear.finish()
    ffns = {"dense": None, "moe": _kimi_moe(c)}
    kinds_of_ffn = mixtures_after_dense(c, layers)
    if "dense" in kinds_of_ffn:
        ffns["dense"] = dense(c)
    per_block = c.size("attn_res_block_size", None)
    return simple(
        [mixers[kind] for kind in kinds],
        [ffns[kind] for kind in kinds_of_ffn],
        mtp=drafts(c, mixers["full"], ffns["moe"]),
        blocks=per_block and -(-layers // per_block),
    )


def _kimi_moe(c: Config):
    return moe(
        c,
        experts=c.size("num_experts"),
        active=c.size(c.first("num_experts_per_token", "num_experts_per_tok")),
        width=c.size("moe_intermediate_size"),
        shared=c.count("num_shared_experts", 0),
        latent=latent_width(c, "routed_expert_hidden_size"),
    )


def glm_next(c: Config, options) -> Stack:
    """glm5_next: KDA and DSA with pooled index keys; its two lists of layers count from 0."""
    layers, linear = depth(c), c.section("linear_attn_config")
    names = {"linear_attention": "linear", "deepseek_sparse_attention": "sparse"}
    rules = {"layer_types": listed(names)}
    if linear.has("kda_layers") or linear.has("full_attn_layers"):
        lists = {"kda_layers": "linear", "full_attn_layers": "sparse"}
        rules["linear_attn_config"] = lambda *_: numbered(linear, lists, layers, 0)
    kinds = pattern(c, layers, rules)
    pattern(c, layers, {"indexer_types": listed({"full": "own"})}, "own")  # none shares so far
    pool = c.size("index_kpool", 1)
    c.only("index_kpool_compress", True)
    c.only("mhc", True)
    mixers = {"linear": kda(linear), "sparse": dsa(c, "own", pool=pool)}
    linear.finish()
    ffns = feed_forwards(c, layers)
    return simple(
        [mixers[kind] for kind in kinds],
        ffns,
        mtp=drafts(c, mixers["sparse"], ffns[-1]),
        streams=c.size("hc_mult", None),
    )


def qwen_hybrid(c: Config, options) -> Stack:
    """qwen3_next, qwen3_5 and its mixtures: Gated DeltaNet with one gated softmax layer in so many."""
    layers = depth(c)
    kinds = pattern(c, layers, {"layer_types": listed(HYBRID), "full_attention_interval": every("full", "linear")})
    c.only("attn_output_gate", True)
    mixers = {"full": softmax(c, output_gate=True), "linear": _gated_delta(c)}
    ffn = qwen_moe(c, shared=True) if c.has("num_experts") else dense(c)
    c.known("intermediate_size")
    mtp = drafts(c, mixers["full"], ffn, "mtp_num_hidden_layers")
    return simple([mixers[kind] for kind in kinds], [ffn] * layers, mtp=mtp)


def _gated_delta(c: Config) -> GatedDelta:
    return make(
        GatedDelta,
        c,
        key_heads=c.size("linear_num_key_heads"),
        value_heads=c.size("linear_num_value_heads"),
        key_dim=c.size("linear_key_head_dim"),
        value_dim=c.size("linear_value_head_dim"),
        conv=c.size("linear_conv_kernel_dim"),
    )


def qwen_moe(c: Config, *, shared: bool):
    """A mixture in every layer; `shared`: with one gated shared expert."""
    c.only("decoder_sparse_step", 1)
    c.only("mlp_only_layers", [])
    return moe(
        c,
        experts=c.size("num_experts"),
        active=c.size("num_experts_per_tok"),
        width=c.size("moe_intermediate_size"),
        shared=1 if shared else 0,
        shared_width=c.size("shared_expert_intermediate_size") if shared else None,
        shared_gate=shared,
    )


def minimax(c: Config, options) -> Stack:
    """minimax_text_01, minimax_m1, minimax_m2: lightning attention (0) and softmax attention (1) by a list."""
    layers = depth(c)
    rules = {"attn_type_list": listed({0: "linear", 1: "full"}), "layer_types": listed(HYBRID)}
    kinds = pattern(c, layers, rules)
    full, dim = softmax(c), head_dim(c)
    mixers = {"full": full}
    if "linear" in kinds:
        mixers["linear"] = make(Lightning, c, heads=full.heads, key_dim=dim, value_dim=dim)
    c.only("shared_intermediate_size", 0)
    ffn = moe(
        c,
        experts=c.size("num_local_experts"),
        active=c.size("num_experts_per_tok"),
        width=c.size("intermediate_size"),
    )
    c.known("block")  # tokens a tile of the lightning kernel
    mtp = drafts(c, full, ffn, "num_mtp_modules")
    return simple([mixers[kind] for kind in kinds], [ffn] * layers, mtp=mtp)
