"""A `config.json` read key by key: each key is used, known to change no cost, or an error.

What a reader does not ask for, and what is not listed here as harmless, is refused when its name says that it may shape a
layer. A configuration of a new kind thus fails with the key's name; it is never costed as full attention.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from lib.data.strict import DataError

# parts of names that may shape attention, state, experts or layers
WATCHED = re.compile(
    r"attn|attention|linear|window|sliding|swa|sparse|index|compress|lora|rope|rotary|head|kv|latent|mla|ssm|mamba|conv"
    r"|recurrent|state|delta|gate|gating|lightning|kda|expert|moe|mlp|ffn|layer|block|hybrid|local|global|sink|mtp|nextn"
    r"|ngram|oe_|stream|hc_|mhc|chunk|residual|zero|topk|cli_|candidate|engram|hash|slid|memory|share"
)

# keys that match but change neither sizes nor operations: positions, numerics, routing among equals, training, bookkeeping
_HARMLESS = """
rope_theta rope_scaling rope_parameters rope_interleave rope_type rope_local_base_freq
rope_traditional swa_rope_theta compress_rope_theta partial_rotary_factor rotary_dim rotary_pct
indexer_rope_interleave mla_use_nope
attention_bias attention_out_bias attention_dropout attn_dropout attention_scaling attn_logit_softcapping
query_pre_attn_scalar attention_value_scale attn_implementation _attn_implementation _attn_implementation_internal
mla_scale_q_lora mla_scale_kv_lora qkv_bias use_qk_norm qk_layernorm qk_norm_type mlp_bias attention_projection_layout
router_aux_loss_coef output_router_logits router_jitter_noise routed_scaling_factor scoring_func topk_method n_group
topk_group norm_topk_prob moe_renormalize moe_router_activation_func moe_router_dtype use_grouped_topk
num_expert_group moe_router_bias router_bias aux_loss_alpha seq_aux initial_context_length
use_routing_bias router_dtype shared_moe_mode
index_k_norm_type index_local_tokens index_init_tokens index_share_for_mtp_iteration index_kpool_always_select_tail
hc_sinkhorn_iters hc_eps latent_moe_use_norm num_hash_layers swiglu_limit
layer_norm_eps layernorm_epsilon layer_norm_epsilon output_hidden_states layernorm_full_attention_alpha
layernorm_full_attention_beta layernorm_linear_attention_alpha layernorm_linear_attention_beta layernorm_mlp_alpha
layernorm_mlp_beta full_attn_alpha_factor full_attn_beta_factor linear_attn_alpha_factor linear_attn_beta_factor
mlp_alpha_factor mlp_beta_factor postnorm
pretraining_tp ep_size head_dtype lm_head_dtype chunk_size_feed_forward cross_attention_hidden_size
add_cross_attention is_encoder_decoder tie_encoder_decoder gradient_checkpointing gradient_checkpointing_use_reentrant
prune_heads pruned_heads use_cache use_cache_quantization recompute_granularity cache_implementation
use_bidirectional_attention mtp_share_embeddings mtp_loss_weight mtp_use_dedicated_embeddings dsa_mtp_cli
mtp_replicate_modules mtp_disable_over_tokenizer num_labels image_token_index
"""
HARMLESS = frozenset(_HARMLESS.split())


class Config:
    """One JSON object, with the keys read so far. `where` opens every error."""

    def __init__(self, content: dict, where: str, ignore: Collection[str] = ()) -> None:
        self.where = where
        self._content = content
        self._ignore = frozenset(ignore)
        self._seen = set(ignore)

    def has(self, key: str) -> bool:
        """Whether the key is there with a value; null says that the design has no such part."""
        if self._content.get(key) is None:
            self._seen.add(key)
            return False
        return True

    def error(self, key: str, wanted: str) -> DataError:
        if key not in self._content:
            return DataError(f"{self.where}: key {key}: missing, wanted {wanted}")
        return DataError(f"{self.where}: key {key}: value {_short(self._content[key])}, wanted {wanted}")

    def value(self, key: str, good: Callable[[Any], bool], wanted: str, default: Any = ...) -> Any:
        """The key's value if it is `good`; `default`, if one is given, when the key is absent or null."""
        if not self.has(key):
            if default is ...:
                raise self.error(key, wanted)
            return default
        self._seen.add(key)
        if not good(self._content[key]):
            raise self.error(key, wanted)
        return self._content[key]

    def size(self, key: str, default: Any = ...) -> int:
        return self.value(key, lambda x: _whole(x) and x > 0, "a whole number > 0", default)

    def count(self, key: str, default: Any = ...) -> int:
        return self.value(key, lambda x: _whole(x) and x >= 0, "a whole number >= 0", default)

    def number(self, key: str, default: Any = ...) -> float:
        return self.value(key, lambda x: isinstance(x, int | float) and not isinstance(x, bool), "a number", default)

    def flag(self, key: str, default: Any = ...) -> bool:
        return self.value(key, lambda x: x in (True, False), "true or false", default) in (True, 1)

    def text(self, key: str, default: Any = ...) -> str:
        return self.value(key, lambda x: isinstance(x, str), "a string", default)

    def list(self, key: str, length: int | None = None) -> list:
        wanted = "a list" if length is None else f"a list of {length}, one a layer"
        found = self.value(key, lambda x: isinstance(x, list), wanted)
        if length is not None and len(found) != length:
            raise DataError(f"{self.where}: key {key}: {len(found)} entries, wanted {length}, one a layer")
        return found

    def section(self, key: str) -> Config:
        """A nested object as a `Config` of its own."""
        found = self.value(key, lambda x: isinstance(x, dict), "an object")
        return Config(found, f"{self.where}: {key}", self._ignore)

    def only(self, key: str, *allowed: Any) -> None:
        """Raises unless the key is absent or has one of the values that the reader's formula holds for."""
        self.value(key, lambda x: x in allowed, " or ".join(repr(value) for value in allowed) or "null", None)

    def first(self, *keys: str) -> str:
        """The one of several names for a field that the file uses; the first of them when it uses none."""
        used = [key for key in keys if self.has(key)]
        if len({_short(self._content[key]) for key in used}) > 1:
            raise DataError(f"{self.where}: keys {' and '.join(used)} name one field but differ, wanted one value")
        self._seen.update(keys)
        return used[0] if used else keys[0]

    def known(self, *keys: str) -> None:
        """Keys that this family writes and that change no cost."""
        self._seen.update(keys)

    def finish(self) -> None:
        """Raises for the first key that may shape a layer and that nothing read."""
        for key, value in self._content.items():
            read = key in self._seen or key in HARMLESS or value is None
            if not read and WATCHED.search(key.lower()):
                raise DataError(
                    f"{self.where}: key {key}: value {_short(value)} is read by no rule of this family, wanted a key that it "
                    "knows; name the key in `ignore` if it changes no cost"
                )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
