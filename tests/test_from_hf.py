"""`from_hf` against the models of `data/models`, against published totals, and against files that must be refused."""

from __future__ import annotations

import copy
import json

import pytest

from lib.cost import decode_flops, parameters, prefill_flops, read_bytes, stored_bytes
from lib.data import DataError, from_hf, model, models
from lib.data.hf import FAMILIES
from lib.data.mechanisms import Lightning, Softmax, Window
from tests.hf_configs import CONFIGS, GLM_52, GLM_52_OWNERS, OTHERS

CONTEXTS = [1, 127, 4096, 2**20]
# figures that a configuration cannot give and that the data file takes from a publication
GIVEN = {"longcat-2.0": {"active_real": 7.7}}
# drafts that a public configuration leaves out though the model has them, or that the data file leaves out
DRAFTS_DIFFER = {"kimi-k2", "kimi-k3"}


def edited(config: dict, **changes) -> dict:
    """A copy with keys of the text part replaced; a value of `...` takes the key out."""
    config = copy.deepcopy(config)
    text = config.get("text_config", config)
    text.update(changes)
    for key in [key for key, value in text.items() if value is ...]:
        del text[key]
    return config


def read(name: str):
    return from_hf(CONFIGS[name], precision=model(name).precision.model_dump(), **GIVEN.get(name, {}))


def test_every_model_has_a_configuration():
    """Breaks if a model is added to data/models without one here."""
    assert set(CONFIGS) == set(models())


@pytest.mark.parametrize("name", CONFIGS)
def test_same_layers_as_the_data_file(name):
    """Breaks if lists of layers count from the wrong number, or a rank, gate, window or pool is not read."""
    found, filed = read(name), model(name)
    assert found.layers == filed.layers
    assert (found.hidden, found.vocab, found.tied_embeddings) == (filed.hidden, filed.vocab, filed.tied_embeddings)
    assert found.residual == filed.residual and found.path == filed.path
    if name not in DRAFTS_DIFFER:
        assert found.mtp_layers == filed.mtp_layers


@pytest.mark.parametrize("name", CONFIGS)
def test_same_costs_as_the_data_file(name):
    """Breaks if shared experts, latent experts, tables or the head differ from the file."""
    found, filed = read(name), model(name)
    # the file's n-gram tables are a published figure of five digits
    near = pytest.approx(tuple(parameters(filed)), rel=1e-5 if filed.extra else 1e-12)
    assert tuple(parameters(found)) == near
    for context in CONTEXTS:
        for cost in (stored_bytes, read_bytes, decode_flops, prefill_flops):
            assert tuple(cost(found, context)) == tuple(cost(filed, context)), cost.__name__


@pytest.mark.parametrize("name", CONFIGS)
def test_same_bytes_of_weights_without_help(name):
    """Breaks if a quantisation is read as another format, or experts keep the format of the rest."""
    found = from_hf(CONFIGS[name], **GIVEN.get(name, {})).precision
    assert (found.weights, found.experts) == (model(name).precision.weights, model(name).precision.experts)
    assert found.state == "fp32" and found.latent == found.kv == "bf16"


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("minimax_m1", 456.1, 47.2),
        ("longcat_flash", 560.7, 27.15),
        ("gemma3", 27.0, 27.0),
        ("mistral", 7.24, 7.11),
        ("qwen3", 8.19, 7.57),
        ("qwen3_moe", 235.1, 21.6),
        ("mixtral", 46.7, 12.75),
        ("deepseek_v3", 671.0, 36.6),
    ],
)
def test_published_totals_of_other_families(name, total, active):
    """Breaks if a family's experts, head dimension or tied embeddings are misread: in 1e9 parameters, within 0.5 %."""
    counted = parameters(from_hf(OTHERS[name]))
    assert counted.total / 1e9 == pytest.approx(total, rel=5e-3)
    assert counted.active / 1e9 == pytest.approx(active, rel=5e-3)


def test_lightning_layers():
    """Breaks if 0 and 1 of the list are swapped."""
    m = from_hf(OTHERS["minimax_m1"])
    softmax = [i for i, layer in enumerate(m.layers) if isinstance(layer.mixers[0], Softmax)]
    assert softmax == [7, 15, 23, 31, 39, 47, 55, 63, 71, 79]
    assert isinstance(m.layers[0].mixers[0], Lightning) and m.path == "linear"
    assert stored_bytes(m, 1).state == 70 * 64 * 128 * 128 * 4  # 280 MiB


def test_index_share_by_frequency_equals_the_list():
    """Breaks if the offset is off by one: the list says 0, 1, 2, 6, 10, …"""
    by_list = from_hf(edited(GLM_52, index_topk_freq=..., index_skip_topk_offset=...))
    by_number = from_hf(edited(GLM_52, indexer_types=...))
    assert by_list.layers == by_number.layers
    owners = [i for i, layer in enumerate(by_number.layers) if layer.mixers[0].indexer == "own"]
    assert owners == GLM_52_OWNERS and len(owners) == 21


def test_window_patterns():
    """Breaks if each n-th layer is the window instead of the full layer, or a window covers all layers of Gemma."""
    gemma = from_hf(OTHERS["gemma3"])
    full = [i for i, layer in enumerate(gemma.layers) if isinstance(layer.mixers[0], Softmax)]
    assert full == list(range(5, 62, 6)) and gemma.tied_embeddings
    assert {type(layer.mixers[0]) for layer in from_hf(OTHERS["mistral"]).layers} == {Window}
    assert from_hf(edited(OTHERS["mistral"], sliding_window=None)).path == "full"
    assert from_hf(OTHERS["qwen3"]).path == "full"
    half = from_hf(edited(OTHERS["qwen3"], use_sliding_window=True, max_window_layers=18))
    assert [type(layer.mixers[0]) for layer in half.layers] == [Softmax] * 18 + [Window] * 18


def test_zero_experts_of_an_even_router():
    """Breaks if zero experts count as work: 12 of 512 + 256 are 8 real ones on average."""
    (moe,) = {ffn for layer in from_hf(OTHERS["longcat_flash"]).layers for ffn in layer.ffns if ffn.type == "moe"}
    assert moe.active == 12 and moe.active_real == 8.0


def test_precision_rule():
    """Breaks if an override is lost, or mamba_ssm_dtype is ignored."""
    config = edited(CONFIGS["qwen3.5-397b-a17b"], mamba_ssm_dtype="bfloat16")
    assert from_hf(config).precision.state == "bf16"
    assert from_hf(config, precision={"kv": "fp8"}).precision.kv == "fp8"
    k2 = edited(CONFIGS["kimi-k2"], quantization_config={"quant_method": "awq", "bits": 4})
    assert from_hf(k2, precision={"weights": "bf16", "experts": "mxfp4"}).precision.experts == "mxfp4"


def test_from_a_path(tmp_path):
    """Breaks if a file is read otherwise than its content."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS["kimi-linear-48b-a3b"]), encoding="utf-8")
    found = from_hf(path, name="My Kimi (v2)")
    assert found.name == "my-kimi-v2" and found.sources.geometry.source == str(path)
    assert found.layers == from_hf(CONFIGS["kimi-linear-48b-a3b"]).layers
    assert found.sizes.total is None


# what must be refused: (configuration, changes, what the error says)
REFUSED = {
    "unknown family": ("llama-3.1-70b", {"model_type": "mamba9"}, ["model_type", "'mamba9'", "wanted one of"]),
    "no family": ("llama-3.1-70b", {"model_type": ...}, ["key model_type: missing"]),
    "unknown attention type": (
        "qwen3.5-397b-a17b",
        {"layer_types": ["linear_attention"] * 59 + ["retention"], "full_attention_interval": ...},
        ["layer_types", "layer 59", "'retention'", "'linear_attention' or 'full_attention'"],
    ),
    "unknown number": (
        "mimo-v2-flash",
        {"hybrid_layer_pattern": [2] * 48},
        ["hybrid_layer_pattern", "layer 0", "2", "0 or 1"],
    ),
    "pattern too short": (
        "mimo-v2-flash",
        {"hybrid_layer_pattern": [0, 1] * 23},
        ["hybrid_layer_pattern", "46", "wanted 48"],
    ),
    "pattern too long": ("gpt-oss-120b", {"layer_types": ["full_attention"] * 37}, ["layer_types", "37", "wanted 36"]),
    "no pattern": ("gpt-oss-120b", {"layer_types": ...}, ["layer_types", "missing", "kind of each layer"]),
    "missing key": ("deepseek-v3.2", {"kv_lora_rank": ...}, ["key kv_lora_rank: missing", "whole number > 0"]),
    "null where a number is needed": (
        "deepseek-v3.2",
        {"index_topk": None},
        ["key index_topk", "None", "whole number > 0"],
    ),
    "a string for a number": ("deepseek-v3.2", {"hidden_size": "7168"}, ["key hidden_size", "'7168'", "whole number"]),
    "true for a number": ("deepseek-v3.2", {"num_hidden_layers": True}, ["key num_hidden_layers", "True"]),
    "extra attention key": (
        "llama-3.1-70b",
        {"sparse_attention_config": {"freq": 4}},
        ["sparse_attention_config", "ignore"],
    ),
    "an indexer in a family without one": ("kimi-k2", {"index_topk": 2048}, ["index_topk", "2048"]),
    "a window in a family without one": (
        "llama-3.1-70b",
        {"sliding_window": 4096},
        ["sliding_window", "4096", "wanted null"],
    ),
    "a linear layer's width": ("kimi-k2", {"linear_key_head_dim": 128}, ["linear_key_head_dim", "128"]),
    "a compression": ("deepseek-v3.2", {"compress_ratios": [4] * 61}, ["compress_ratios"]),
    "a later design's ratio": (
        "deepseek-v4-pro",
        {"compress_ratios": [2] * 61},
        ["compress_ratios", "layer 0", "0, 4 or 128"],
    ),
    "ratios too few": ("deepseek-v4-pro", {"compress_ratios": [4] * 60}, ["compress_ratios", "60 entries", "61"]),
    "ratios against names": (
        "deepseek-v4-flash",
        {"layer_types": ["sliding_attention"] * 43},
        ["layer 2", "layer_types says 0", "compress_ratios says 4"],
    ),
    "a window and an interval that differ": (
        "qwen3.5-397b-a17b",
        {"full_attention_interval": 5},
        ["layer 3", "layer_types says full", "full_attention_interval says linear"],
    ),
    "hybrid lists and names that differ": (
        "glm-5.3-flash",
        {"layer_types": ["linear_attention"] * 45},
        ["layer 3", "layer_types says linear", "linear_attn_config says sparse"],
    ),
    "a shared first indexer": (
        "glm-5.2",
        {"indexer_types": ["shared"] * 78, "index_topk_freq": None},
        ["layer 0 shares"],
    ),
    "owners against a frequency": ("glm-5.2", {"index_topk_freq": 3}, ["indexer_types says", "index_topk_freq says"]),
    "dense layers against names": ("glm-5.3-flash", {"first_k_dense_replace": 2}, ["layer 2", "dense", "moe"]),
    "another expert step": ("glm-5", {"moe_layer_freq": 2}, ["moe_layer_freq", "2", "wanted 1"]),
    "heads that do not divide": ("llama-3.1-70b", {"num_key_value_heads": 7}, ["heads=64", "multiple of kv_heads=7"]),
    "no head dimension": (
        "llama-3.1-70b",
        {"num_attention_heads": 60, "num_key_value_heads": 6},
        ["head_dim", "no multiple"],
    ),
    "a key part that does not add up": ("glm-5", {"qk_head_dim": 192}, ["qk_head_dim", "192", "= 256"]),
    "an indexer without a compressed query": ("deepseek-v3.2", {"q_lora_rank": None}, ["q_lora_rank", "indexer"]),
    "experts for another design": (
        "longcat-2.0",
        {"zero_expert_type": "copy"},
        ["zero_expert_type", "'copy'", "'identity'"],
    ),
    "another attention method": (
        "longcat-2.0",
        {"attention_method": "LoZA"},
        ["attention_method", "'LoZA'", "'MLA' or 'LSA'"],
    ),
    "a wide latent": (
        "kimi-k3",
        {"routed_expert_hidden_size": 9000},
        ["routed_expert_hidden_size", "at most hidden_size=7168"],
    ),
    "unknown quantisation": (
        "kimi-k2",
        {"quantization_config": {"quant_method": "awq"}},
        ["quant_method", "'awq'", "precision"],
    ),
    "unknown dtype": ("llama-3.1-70b", {"torch_dtype": "int8"}, ["torch_dtype", "'int8'", "bfloat16"]),
    "no dtype": ("llama-3.1-70b", {"torch_dtype": ...}, ["key torch_dtype: missing"]),
    "two names that differ": (
        "gpt-oss-120b",
        {"experts_per_token": 8},
        ["num_experts_per_tok and experts_per_token", "differ"],
    ),
    "an interval that is no number": (
        "qwen3-next-80b-a3b",
        {"full_attention_interval": "4"},
        ["full_attention_interval", "'4'"],
    ),
    "an ungated variant": (
        "qwen3.5-397b-a17b",
        {"attn_output_gate": False},
        ["attn_output_gate", "False", "wanted True"],
    ),
    "a sparser Qwen": ("qwen3-next-80b-a3b", {"mlp_only_layers": [0]}, ["mlp_only_layers", "[0]", "wanted []"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    """Breaks if a field is skipped, guessed, or taken for full attention: the error names key, value and what was wanted."""
    name, changes, words = REFUSED[case]
    with pytest.raises(DataError) as error:
        from_hf(edited(CONFIGS[name], **changes))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"kda_layers": [1, 2, 3]}, ["layer 5 is in none of"]),
        ({"full_attn_layers": [3, 4]}, ["layer 3", "listed twice"]),
        ({"full_attn_layers": [0]}, ["layer 0", "wanted 1 to 27"]),
        ({"full_attn_layers": None}, ["full_attn_layers", "None", "a list"]),
        ({"chunkwise_attention": 2}, ["linear_attn_config: key chunkwise_attention", "read by no rule"]),
    ],
)
def test_refused_lists_of_kimi(lists, words):
    """Breaks if layers may be in no list or in both, count from 0, or a nested key is not watched."""
    config = copy.deepcopy(CONFIGS["kimi-linear-48b-a3b"])
    config["linear_attn_config"] |= lists
    with pytest.raises(DataError) as error:
        from_hf(config)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_key_around_the_text_part_is_watched():
    """Breaks if only the inner object is checked."""
    with pytest.raises(DataError, match="key sparse_attention"):
        from_hf(CONFIGS["kimi-k3"] | {"sparse_attention": True})


def test_ignored_keys_pass():
    """Breaks if `ignore` does not reach nested objects, or silences keys that it does not name."""
    config = edited(CONFIGS["kimi-k3"], attention_colour="blue", attention_sound="low")
    with pytest.raises(DataError, match="attention_sound"):
        from_hf(config, ignore=["attention_colour"])
    assert from_hf(config, ignore=["attention_colour", "attention_sound"]).layers == read("kimi-k3").layers


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["FileNotFoundError", "wanted a readable config.json"]),
        ('{"model_type": "llama",', ["not JSON", "line 1"]),
        ("[1, 2]", ["JSON list", "wanted an object"]),
        ("", ["not JSON"]),
    ],
)
def test_broken_files(tmp_path, text, words):
    """Breaks if a parser's own exception comes through."""
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        from_hf(path)
    assert str(path) in str(error.value) and all(word in str(error.value) for word in words)


def test_a_folder_is_refused(tmp_path):
    """Breaks if a folder raises another error than a missing file."""
    with pytest.raises(DataError, match="wanted a readable config"):
        from_hf(tmp_path)


@pytest.mark.parametrize("name", [*CONFIGS, *OTHERS])
def test_each_layer_key_matters(name):
    """Breaks if a reader fills in a dimension that the file leaves out: without any one of them, an error or another model."""
    config = CONFIGS.get(name) or OTHERS[name]
    text = config.get("text_config", config)
    ends = ("_rank", "_heads", "_size", "_dim", "_topk", "_window", "_layers")
    shaping = [key for key, value in text.items() if key.endswith(ends) and value is not None]
    whole = from_hf(config, precision={"weights": "bf16", "experts": "bf16"})
    same = {key for key in shaping if _same(edited(config, **{key: ...}), whole)}
    implied = IMPLIED | IMPLIED_IN.get(text["model_type"], set())
    assert same <= implied, same - implied


# fields that say what another field says, or that no cost depends on: leaving them out changes nothing
IMPLIED = {
    "head_dim",
    "qk_head_dim",
    "num_hash_layers",
    "rotary_dim",
    "use_grouped_topk",
    "shared_intermediate_size",
    "mlp_only_layers",
}
LATENT = {"num_key_value_heads"}  # one latent serves all heads
IMPLIED_IN = {
    "kimi_linear": LATENT | {"num_nextn_predict_layers"}, "kimi_k2": LATENT | {"num_nextn_predict_layers"},
    "deepseek_v3": LATENT, "deepseek_v32": LATENT, "glm_moe_dsa": LATENT, "glm5_next_text": LATENT, "deepseek_v4": LATENT,
    "qwen3_next": {"intermediate_size"},  # no dense layer
    "mimo_v2_flash": {"sliding_window", "sliding_window_size", "attention_chunk_size"},
    "qwen3": {"sliding_window", "use_sliding_window", "max_window_layers"},  # windows are off
    "qwen3_moe": {"sliding_window", "use_sliding_window", "max_window_layers", "intermediate_size"},
}  # fmt: skip


def _same(config: dict, whole) -> bool:
    try:
        return from_hf(config, precision={"weights": "bf16", "experts": "bf16"}) == whole
    except DataError:
        return False


def test_families_are_covered():
    """Breaks if a reader has no configuration in these tests."""
    tested = {c["model_type"] for c in [*CONFIGS.values(), *OTHERS.values()]}
    tested |= {c["text_config"]["model_type"] for c in [*CONFIGS.values(), *OTHERS.values()] if "text_config" in c}
    assert {FAMILIES[kind] for kind in tested} == set(FAMILIES.values())
