"""Configurations as vendors write them, reduced to the fields that shape a layer and some that do not.

Values are those that the data sheets of `data/models` rest on; field names are those of the models' own configurations.
`CONFIGS` has the name of a file of `data/models` for each; `OTHERS` are families without one.
"""

from __future__ import annotations

# what every file has and no cost depends on
NOISE = {
    "architectures": ["SomethingForCausalLM"], "hidden_act": "silu", "initializer_range": 0.02, "rms_norm_eps": 1e-6,
    "bos_token_id": 0, "eos_token_id": [1, 2], "transformers_version": "5.0.0", "use_cache": True, "attention_dropout": 0.0,
    "attention_bias": False, "rope_theta": 10000.0, "rope_scaling": {"type": "yarn", "factor": 40},
}  # fmt: skip
BF16 = {"torch_dtype": "bfloat16"}
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


def _latent(heads: int, q_rank: int | None, nope: int = 128, value: int = 128, rope: int = 64) -> dict:
    return {
        "num_attention_heads": heads, "num_key_value_heads": heads, "q_lora_rank": q_rank, "kv_lora_rank": 512,
        "qk_nope_head_dim": nope, "qk_rope_head_dim": rope, "v_head_dim": value,
    }  # fmt: skip


def _index(heads: int, top_k: int) -> dict:
    return {"index_n_heads": heads, "index_head_dim": 128, "index_topk": top_k}


def _experts(count: int, active: int, width: int, shared: int | None, dense: int | None = None, first: int = 0) -> dict:
    return {
        "n_routed_experts": count, "num_experts_per_tok": active, "moe_intermediate_size": width, "n_shared_experts": shared,
        "intermediate_size": dense, "first_k_dense_replace": first, "moe_layer_freq": 1, "n_group": 8, "topk_group": 4,
        "topk_method": "noaux_tc", "scoring_func": "sigmoid", "norm_topk_prob": True, "routed_scaling_factor": 2.5,
    }  # fmt: skip


def _sizes(layers: int, hidden: int, vocab: int, context: int) -> dict:
    return {
        "num_hidden_layers": layers, "hidden_size": hidden, "vocab_size": vocab, "max_position_embeddings": context,
        "tie_word_embeddings": False,
    }  # fmt: skip


def _one_based(layers: int, full: list[int]) -> dict:
    return {"full_attn_layers": full, "kda_layers": [i for i in range(1, layers + 1) if i not in full]}


KIMI_LINEAR = NOISE | BF16 | _latent(32, None) | {
    "model_type": "kimi_linear", "num_hidden_layers": 27, "hidden_size": 2304, "vocab_size": 163840, "head_dim": 72,
    "model_max_length": 1048576, "tie_word_embeddings": False, "mla_use_nope": True, "num_nextn_predict_layers": 0,
    "linear_attn_config": {
        "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4, **_one_based(27, [4, 8, 12, 16, 20, 24, 27]),
    },
    "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1, "moe_intermediate_size": 1024,
    "intermediate_size": 9216, "first_k_dense_replace": 1, "moe_layer_freq": 1, "moe_renormalize": True,
    "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 2.446, "use_grouped_topk": True,
    "num_expert_group": 1, "topk_group": 1,
}  # fmt: skip

KIMI_K3 = {
    "model_type": "kimi_k3", "architectures": ["KimiK3ForConditionalGeneration"], "vision_config": {"hidden_size": 1152},
    "media_placeholder_token_id": 163605, "torch_dtype": "bfloat16",
    "text_config": NOISE | _latent(96, 1536) | _sizes(93, 7168, 163840, 1048576) | {
        "model_type": "kimi_linear", "mla_use_nope": True, "mla_use_output_gate": True, "attn_res_block_size": 12,
        "linear_attn_config": {
            "num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0,
            "use_full_rank_gate": True, **_one_based(93, [*range(4, 93, 4), 93]),
        },
        "num_experts": 896, "num_experts_per_token": 16, "num_shared_experts": 2, "moe_intermediate_size": 3072,
        "routed_expert_hidden_size": 3584, "latent_moe_use_norm": True, "intermediate_size": 33792,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "num_nextn_predict_layers": 0,
        "quantization_config": {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"},
    },
}  # fmt: skip

KIMI_K2 = NOISE | _latent(64, 1536) | _experts(384, 8, 2048, 1, 18432, 1) | _sizes(61, 7168, 163840, 131072) | {
    "model_type": "kimi_k2", "num_nextn_predict_layers": 0, "torch_dtype": "bfloat16", "quantization_config": FP8,
}  # fmt: skip

DEEPSEEK_V32 = (
    NOISE | _latent(128, 1536) | _index(64, 2048) | _experts(256, 8, 2048, 1, 18432, 3) | _sizes(61, 7168, 129280, 163840)
    | {"model_type": "deepseek_v32", "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16", "quantization_config": FP8}
)  # fmt: skip


def _v4(
    layers: int, hidden: int, heads: int, q_rank: int, groups: int, top_k: int, ratios: list[int], experts: dict
) -> dict:
    return NOISE | _sizes(layers, hidden, 129280, 1048576) | _index(64, top_k) | experts | {
        "model_type": "deepseek_v4", "num_attention_heads": heads, "num_key_value_heads": 1, "head_dim": 512,
        "qk_rope_head_dim": 64, "q_lora_rank": q_rank, "o_groups": groups, "o_lora_rank": 1024, "sliding_window": 128,
        "compress_ratios": ratios, "compress_rope_theta": 160000, "num_hash_layers": 3, "num_nextn_predict_layers": 1,
        "hc_mult": 4, "hc_sinkhorn_iters": 20, "hc_eps": 1e-6, "swiglu_limit": 10.0, "torch_dtype": "bfloat16",
        "quantization_config": FP8, "expert_dtype": "fp4",
    }  # fmt: skip


def _v4_experts(count: int, width: int) -> dict:
    kept = ("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts", "topk_method")
    return {key: value for key, value in _experts(count, 6, width, 1).items() if key in kept} | {
        "first_k_dense_replace": 0
    }


V4_FLASH = _v4(43, 4096, 64, 1024, 8, 512, [0, 0] + [4, 128] * 20 + [4, 0], _v4_experts(256, 2048))
V4_PRO = _v4(61, 7168, 128, 1536, 16, 1024, [128, 128] + [4, 128] * 29 + [4, 0], _v4_experts(384, 3072))

GLM_5 = (
    NOISE | BF16 | _latent(64, 2048, 192, 256) | _index(32, 2048) | _experts(256, 8, 2048, 1, 12288, 3)
    | _sizes(78, 6144, 154880, 202752)
    | {"model_type": "glm_moe_dsa", "num_nextn_predict_layers": 1, "qk_head_dim": 256, "indexer_rope_interleave": True}
)  # fmt: skip
GLM_52_OWNERS = [0, 1, *range(2, 78, 4)]
GLM_52 = GLM_5 | {
    "max_position_embeddings": 1048576, "index_topk_freq": 4, "index_skip_topk_offset": 3,
    "index_share_for_mtp_iteration": True, "indexer_types": ["full" if i in GLM_52_OWNERS else "shared" for i in range(78)],
}  # fmt: skip

GLM_53_FLASH = {
    "model_type": "glm5_next", "architectures": ["Glm5NextForConditionalGeneration"], "vision_config": {},
    "text_config": NOISE | BF16 | _latent(64, 1536, 256, 256, 0) | _index(32, 2048)
    | _experts(288, 8, 2048, 1, 12288, 3) | _sizes(45, 4096, 154880, 1048576) | {
        "model_type": "glm5_next_text", "num_nextn_predict_layers": 1, "qk_head_dim": 256, "mla_use_nope": True,
        "layer_types": ["deepseek_sparse_attention" if i % 4 == 3 else "linear_attention" for i in range(45)],
        "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 42, "indexer_types": ["full"] * 45,
        "linear_attn_config": {
            "num_heads": 64, "head_dim": 128, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0,
            "kda_layers": [i for i in range(45) if i % 4 != 3], "full_attn_layers": list(range(3, 45, 4)),
        },
        "index_kpool": 4, "index_kpool_compress": True, "index_kpool_always_select_tail": True,
        "hc_mult": 4, "hc_sinkhorn_iters": 20, "mhc": True,
    },
}  # fmt: skip

LONGCAT_2 = NOISE | BF16 | _index(32, 2048) | {
    "model_type": "longcat", "num_layers": 38, "hidden_size": 8192, "vocab_size": 163840,
    "max_position_embeddings": 262144, "num_attention_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "attention_method": "LSA", "cli_factor": 2,
    "index_local_tokens": 1024, "index_init_tokens": 16, "index_k_norm_type": "rms", "mla_scale_q_lora": True,
    "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048, "n_routed_experts": 768, "zero_expert_num": 128,
    "zero_expert_type": "identity", "moe_topk": 12, "routed_scaling_factor": 9, "oe_vocab_size_ratio": 100.567,
    "oe_neighbor_num": 5, "oe_split_num": 4, "mtp_num_layers": 3,
}  # fmt: skip

QWEN3_NEXT = NOISE | BF16 | _sizes(48, 2048, 151936, 262144) | {
    "model_type": "qwen3_next", "full_attention_interval": 4, "num_attention_heads": 16, "num_key_value_heads": 2,
    "head_dim": 256, "partial_rotary_factor": 0.25, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512,
    "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
    "intermediate_size": 5120, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True,
    "output_router_logits": False, "router_aux_loss_coef": 0.001,
}  # fmt: skip

QWEN35 = {
    "model_type": "qwen3_5_moe", "tie_word_embeddings": False, "vision_config": {}, "image_token_id": 7,
    "text_config": NOISE | {"dtype": "bfloat16"} | {
        "model_type": "qwen3_5_moe_text", "num_hidden_layers": 60, "hidden_size": 4096, "vocab_size": 248320,
        "max_position_embeddings": 262144, "full_attention_interval": 4, "attn_output_gate": True,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 15,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 64, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32", "num_experts": 512, "num_experts_per_tok": 10,
        "moe_intermediate_size": 1024, "shared_expert_intermediate_size": 1024, "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
    },
}  # fmt: skip


def _mimo(heads: int, kv: int, full: list[int], hidden: int, experts: int, layers: int, context: int) -> dict:
    return NOISE | _sizes(layers, hidden, 152576, context) | {
        "model_type": "mimo_v2_flash", "torch_dtype": "bfloat16", "quantization_config": FP8,
        "hybrid_layer_pattern": [0 if i in full else 1 for i in range(layers)], "hybrid_block_size": None,
        "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": 192, "v_head_dim": 128,
        "swa_num_attention_heads": heads, "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128,
        "swa_rope_theta": 10000, "partial_rotary_factor": 0.334, "sliding_window": 128, "sliding_window_size": 128,
        "attention_chunk_size": 128, "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False,
        "attention_value_scale": 0.707, "moe_layer_freq": [0] + [1] * (layers - 1), "n_routed_experts": experts,
        "num_experts_per_tok": 8, "n_shared_experts": None, "moe_intermediate_size": 2048, "intermediate_size": 16384,
        "num_nextn_predict_layers": 3,
    }  # fmt: skip


MIMO_FLASH = _mimo(64, 4, [0, 5, 11, 17, 23, 29, 35, 41, 47], 4096, 256, 48, 262144)
MIMO_PRO = _mimo(128, 8, [0, 7, 15, 23, 31, 39, 47, 55, 62, 69], 6144, 384, 70, 1048576)

MINIMAX_M2 = NOISE | BF16 | _sizes(62, 3072, 200064, 196608) | {
    "model_type": "minimax_m2", "attn_type_list": [1] * 62, "num_attention_heads": 48, "num_key_value_heads": 8,
    "head_dim": 128, "rotary_dim": 64, "num_local_experts": 256, "num_experts_per_tok": 8, "intermediate_size": 1536,
    "num_mtp_modules": 3, "use_qk_norm": True, "qk_norm_type": "per_layer", "shared_intermediate_size": 0,
}  # fmt: skip

GPT_OSS = NOISE | _sizes(36, 2880, 201088, 131072) | {
    "model_type": "gpt_oss", "layer_types": ["sliding_attention", "full_attention"] * 18, "sliding_window": 128,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
    "num_experts_per_tok": 4, "experts_per_token": 4, "intermediate_size": 2880, "swiglu_limit": 7.0,
    "initial_context_length": 4096, "attention_bias": True,
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
}  # fmt: skip


def _llama(layers: int, hidden: int, heads: int, width: int) -> dict:
    return NOISE | BF16 | _sizes(layers, hidden, 128256, 131072) | {
        "model_type": "llama", "num_attention_heads": heads, "num_key_value_heads": 8, "intermediate_size": width,
        "mlp_bias": False, "pretraining_tp": 1,
    }  # fmt: skip


CONFIGS = {
    "kimi-linear-48b-a3b": KIMI_LINEAR, "kimi-k3": KIMI_K3, "kimi-k2": KIMI_K2, "deepseek-v3.2": DEEPSEEK_V32,
    "deepseek-v4-flash": V4_FLASH, "deepseek-v4-pro": V4_PRO, "glm-5": GLM_5, "glm-5.2": GLM_52,
    "glm-5.3-flash": GLM_53_FLASH, "longcat-2.0": LONGCAT_2, "qwen3-next-80b-a3b": QWEN3_NEXT,
    "qwen3.5-397b-a17b": QWEN35, "mimo-v2-flash": MIMO_FLASH, "mimo-v2.5-pro": MIMO_PRO, "minimax-m2": MINIMAX_M2,
    "gpt-oss-120b": GPT_OSS, "llama-3.1-405b": _llama(126, 16384, 128, 53248),
    "llama-3.1-70b": _llama(80, 8192, 64, 28672),
}  # fmt: skip

MINIMAX_M1 = NOISE | BF16 | _sizes(80, 6144, 200064, 10240000) | {
    "model_type": "minimax_m1", "attn_type_list": [1 if i % 8 == 7 else 0 for i in range(80)],
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "rotary_dim": 64, "num_local_experts": 32,
    "num_experts_per_tok": 2, "intermediate_size": 9216, "shared_intermediate_size": 0, "shared_moe_mode": "sigmoid",
    "layernorm_linear_attention_alpha": 3.5565588200778455, "layernorm_full_attention_alpha": 3.55, "postnorm": True,
}  # fmt: skip

LONGCAT_FLASH = {key: value for key, value in LONGCAT_2.items() if not key.startswith(("index_", "oe_", "cli_", "mtp_"))} | {
    "model_type": "longcat_flash", "attention_method": "MLA", "num_layers": 28, "hidden_size": 6144, "vocab_size": 131072,
    "n_routed_experts": 512, "zero_expert_num": 256,
}  # fmt: skip

GEMMA_3 = {
    "model_type": "gemma3", "torch_dtype": "bfloat16", "vision_config": {},
    "text_config": {
        "model_type": "gemma3_text", "num_hidden_layers": 62, "hidden_size": 5376, "vocab_size": 262208,
        "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
        "intermediate_size": 21504, "sliding_window": 1024, "sliding_window_pattern": 6, "rope_local_base_freq": 10000,
        "query_pre_attn_scalar": 168,
    },
}  # fmt: skip

MISTRAL = _llama(32, 4096, 32, 14336) | {"model_type": "mistral", "vocab_size": 32000, "sliding_window": 4096}
QWEN3 = _llama(36, 4096, 32, 12288) | {
    "model_type": "qwen3", "head_dim": 128, "vocab_size": 151936, "sliding_window": 4096, "use_sliding_window": False,
    "max_window_layers": 36,
}  # fmt: skip
QWEN3_MOE = _llama(94, 4096, 64, 12288) | {
    "model_type": "qwen3_moe", "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "num_experts": 128,
    "num_experts_per_tok": 8, "moe_intermediate_size": 1536, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "use_sliding_window": False, "max_window_layers": 94,
}  # fmt: skip
MIXTRAL = _llama(32, 4096, 32, 14336) | {
    "model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None,
}  # fmt: skip
DEEPSEEK_V3 = DEEPSEEK_V32 | {
    "model_type": "deepseek_v3", "index_n_heads": None, "index_head_dim": None, "index_topk": None,
}  # fmt: skip

OTHERS = {
    "minimax_m1": MINIMAX_M1, "longcat_flash": LONGCAT_FLASH, "gemma3": GEMMA_3, "mistral": MISTRAL, "qwen3": QWEN3,
    "qwen3_moe": QWEN3_MOE, "mixtral": MIXTRAL, "deepseek_v3": DEEPSEEK_V3,
}  # fmt: skip
