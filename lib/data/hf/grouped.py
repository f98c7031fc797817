"""Families of softmax attention with grouped heads, whole or in a sliding window."""

from __future__ import annotations

from lib.data.hf.config import Config
from lib.data.hf.latent import drafts
from lib.data.hf.linear import qwen_moe
from lib.data.hf.patterns import ATTENTION, every, listed, mixtures_after_dense, pattern
from lib.data.hf.pieces import deepseek_moe, dense, depth, moe, softmax, window
from lib.data.hf.stack import Stack, simple

WINDOWED = {name: kind for name, kind in ATTENTION.items() if kind != "linear"}


def _mixers(c: Config, kinds: list[str], *, sinks: bool = False) -> list:
    known = {"full": softmax} | ({"sliding": lambda c: window(c, sinks=sinks)} if "sliding" in kinds else {})
    made = {kind: known[kind](c) for kind in dict.fromkeys(kinds)}
    return [made[kind] for kind in kinds]


def plain(c: Config, options) -> Stack:
    """llama: full attention and a dense feed-forward in every layer."""
    layers = depth(c)
    kinds = pattern(c, layers, {"layer_types": listed({"full_attention": "full"})}, "full")
    c.only("sliding_window")
    return simple(_mixers(c, kinds), [dense(c)] * layers)


def mistral(c: Config, options) -> Stack:
    """mistral: a window in every layer when `sliding_window` is set."""
    layers = depth(c)
    default = "sliding" if c.has("sliding_window") else "full"
    return simple(_mixers(c, pattern(c, layers, {"layer_types": listed(WINDOWED)}, default)), [dense(c)] * layers)


def mixtral(c: Config, options) -> Stack:
    layers = depth(c)
    ffn = moe(
        c, experts=c.size("num_local_experts"), active=c.size("num_experts_per_tok"), width=c.size("intermediate_size")
    )
    default = "sliding" if c.has("sliding_window") else "full"
    return simple(_mixers(c, pattern(c, layers, {"layer_types": listed(WINDOWED)}, default)), [ffn] * layers)


def _qwen_kinds(c: Config, layers: int) -> list[str]:
    """`sliding_window` counts only with `use_sliding_window`, and then from layer `max_window_layers` on."""
    windows = c.flag("use_sliding_window", False)
    first = c.count("max_window_layers", layers if not windows else ...)
    default = ["sliding" if windows and layer >= first else "full" for layer in range(layers)]
    kinds = pattern(c, layers, {"layer_types": listed(WINDOWED)}, "full") if c.has("layer_types") else default
    if kinds != default and c.has("use_sliding_window"):
        raise c.error("layer_types", "what use_sliding_window and max_window_layers say")
    c.known("sliding_window")
    return kinds


def qwen(c: Config, options) -> Stack:
    """qwen2, qwen3: dense."""
    layers = depth(c)
    return simple(_mixers(c, _qwen_kinds(c, layers)), [dense(c)] * layers)


def qwen_mixture(c: Config, options) -> Stack:
    """qwen3_moe: no shared expert."""
    layers = depth(c)
    c.known("intermediate_size")
    return simple(_mixers(c, _qwen_kinds(c, layers)), [qwen_moe(c, shared=False)] * layers)


def gemma(c: Config, options) -> Stack:
    """gemma2, gemma3: each n-th layer full, or a list; embeddings are tied unless the file says otherwise."""
    layers = depth(c)
    step = every("full", "sliding")
    rules = {"layer_types": listed(WINDOWED), "sliding_window_pattern": step, "_sliding_window_pattern": step}
    return simple(_mixers(c, pattern(c, layers, rules)), [dense(c)] * layers, tied_by_default=True)


def gpt_oss(c: Config, options) -> Stack:
    """gpt_oss: windows and full layers by a list, attention sinks, a mixture in every layer."""
    layers = depth(c)
    kinds = pattern(c, layers, {"layer_types": listed(WINDOWED)})
    ffn = moe(
        c,
        experts=c.size("num_local_experts"),
        active=c.size(c.first("num_experts_per_tok", "experts_per_token")),
        width=c.size("intermediate_size"),
    )
    return simple(_mixers(c, kinds, sinks=True), [ffn] * layers)


def mimo(c: Config, options) -> Stack:
    """mimo_v2: `hybrid_layer_pattern` has 1 for a window; window layers have heads of their own; drafts are windows with a
    dense feed-forward."""
    layers = depth(c)
    rules = {"hybrid_layer_pattern": listed({0: "full", 1: "sliding"}), "layer_types": listed(WINDOWED)}
    kinds = pattern(c, layers, rules)
    c.only("add_full_attention_sink_bias", False)
    sliding = window(c, prefix="swa_", sinks=c.flag("add_swa_attention_sink_bias"))
    c.only("attention_chunk_size", sliding.window)
    c.known("hybrid_block_size")
    mixers = {"full": softmax(c), "sliding": sliding}
    ffns = {"moe": deepseek_moe(c), "dense": dense(c)}
    kinds_of_ffn = mixtures_after_dense(c, layers)
    mtp = drafts(c, sliding, ffns["dense"])
    return simple([mixers[kind] for kind in kinds], [ffns[kind] for kind in kinds_of_ffn], mtp=mtp)
