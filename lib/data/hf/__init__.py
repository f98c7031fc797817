"""Models from a Hugging Face `config.json`: the same type as `data/models`, or an error that names what is not understood."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from lib.data.hf import grouped, latent, linear
from lib.data.hf.config import Config
from lib.data.hf.precision import precision as read_precision
from lib.data.hf.stack import Stack, assemble
from lib.data.model import Model
from lib.data.strict import DataError

FAMILIES = {
    "kimi_linear": linear.kimi, "kimi_k3": linear.kimi,
    "kimi_k2": latent.full_latent, "deepseek_v3": latent.full_latent,
    "deepseek_v32": latent.sparse_latent, "glm_moe_dsa": latent.sparse_latent,
    "deepseek_v4": latent.compressed_sparse,
    "glm5_next": linear.glm_next, "glm5_next_text": linear.glm_next,
    "longcat": latent.longcat, "longcat_flash": latent.longcat, "longcat_flash_ngram": latent.longcat,
    "qwen3_next": linear.qwen_hybrid, "qwen3_5": linear.qwen_hybrid, "qwen3_5_text": linear.qwen_hybrid,
    "qwen3_5_moe": linear.qwen_hybrid, "qwen3_5_moe_text": linear.qwen_hybrid,
    "mimo_v2": grouped.mimo, "mimo_v2_flash": grouped.mimo,
    "minimax": linear.minimax, "minimax_text_01": linear.minimax, "minimax_m1": linear.minimax,
    "minimax_m2": linear.minimax,
    "gpt_oss": grouped.gpt_oss,
    "gemma2": grouped.gemma, "gemma3": grouped.gemma, "gemma3_text": grouped.gemma,
    "llama": grouped.plain, "mistral": grouped.mistral, "mixtral": grouped.mixtral,
    "qwen2": grouped.qwen, "qwen3": grouped.qwen, "qwen3_moe": grouped.qwen_mixture,
}  # fmt: skip
NESTED = ("vision_config", "audio_config", "projector_config", "perceiver_config", "auto_map", "generation_config")


class Options(NamedTuple):
    """What a file cannot say. `active_real`: mean number of real experts a token where there are zero experts."""

    active_real: float | None


def from_hf(
    config: str | Path | dict,
    *,
    name: str | None = None,
    precision: Mapping[str, str] | None = None,
    active_real: float | None = None,
    ignore: Collection[str] = (),
) -> Model:
    """The model of a `config.json`, given as a path or as its content; a composite one is entered at `text_config`.

    `precision` replaces the storage format of parts ({"latent": "fp8_s128"}); without it `lib.data.hf.precision` says what a
    file means. `active_real` is the mean number of real experts where there are zero experts (an even router's, if None).
    `ignore` names keys that change no cost. Raises DataError, naming key, value and what was wanted, for a file that is
    none, an unknown `model_type`, a missing or contradictory field, or a field about layers that no rule reads: nothing is
    taken for full attention in silence. `sizes` are None and vendor unknown: a configuration does not say."""
    content, where = _content(config)
    outer = Config(content, where, ignore)
    text = outer.section("text_config") if outer.has("text_config") else outer
    configs = [text] if text is outer else [text, outer]
    kind = _family(configs)
    stack: Stack = FAMILIES[kind](text, Options(active_real))
    fields = _fields(configs, stack) | {"precision": read_precision(configs, precision)}
    title = name or kind
    model = assemble(stack, where, fields | {"name": _slug(title), "title": title})
    outer.known("text_config", *NESTED)
    for c in configs:
        c.finish()
    return model


def _content(config: str | Path | dict) -> tuple[dict, str]:
    if isinstance(config, dict):
        return config, "config"
    path = Path(config)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, PermissionError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {type(error).__name__}, wanted a readable config.json") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {error.lineno}: not JSON: {error.msg}, wanted a whole config.json") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: got a JSON {type(content).__name__}, wanted an object")
    return content, str(path)


def _family(configs: list[Config]) -> str:
    """The innermost `model_type` that has a reader."""
    for c in configs:
        if c.has("model_type") and (kind := c.text("model_type")) in FAMILIES:
            return kind
    raise configs[0].error("model_type", f"one of {', '.join(FAMILIES)}")


def _fields(configs: list[Config], stack: Stack) -> dict:
    text = configs[0]
    tied = next((c.flag("tie_word_embeddings") for c in configs if c.has("tie_word_embeddings")), stack.tied_by_default)
    return {
        "vendor": "unknown",
        "released": None,
        "hidden": text.size("hidden_size"),
        "vocab": text.size("vocab_size"),
        "tied_embeddings": tied,
        "context": text.size("max_position_embeddings" if text.has("max_position_embeddings") else "model_max_length"),
    }


def _slug(title: str) -> str:
    """`title` in the letters that a model's name may have."""
    slug = re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-.")
    return slug or "model"


__all__ = ["FAMILIES", "from_hf"]
