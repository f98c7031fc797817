"""Storage formats from a configuration.

The rule: `torch_dtype` (or `dtype`) says what everything is stored as; bf16 where a quantised file leaves it out.
`quantization_config` replaces the format of weights and routed experts, or of routed experts only, by the table below.
Recurrent states are kept in float32 unless `mamba_ssm_dtype` says otherwise. Caches are not a matter of the file: a server
chooses their format, and so does the caller, by part.
"""

from __future__ import annotations

from collections.abc import Mapping

from lib.data.hf.config import Config
from lib.data.model import Precision
from lib.data.strict import DataError, parse

DTYPES = {"bfloat16": "bf16", "float16": "bf16", "float32": "fp32"}  # float16 takes bfloat16's two bytes
EXPERTS_ONLY = {"mxfp4": "mxfp4", "mxfp4-pack-quantized": "mxfp4", "nvfp4-pack-quantized": "nvfp4", "NVFP4": "nvfp4"}
ALL_WEIGHTS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "float-quantized": "fp8", "FP8": "fp8"}
EXPERT_DTYPES = {"fp4": "mxfp4", "mxfp4": "mxfp4", "fp8": "fp8", "bf16": "bf16", "bfloat16": "bf16"}


def precision(configs: list[Config], overrides: Mapping[str, str] | None) -> Precision:
    """From the text configuration and the one around it. Raises DataError for a format that this book cannot store, unless
    `overrides` gives both weights and experts."""
    overrides = dict(overrides or {})
    for c in configs:
        c.known("torch_dtype", "dtype", "mamba_ssm_dtype", "expert_dtype", "quantization_config")
    if set(overrides) >= set(Precision.model_fields):
        return parse(Precision, overrides, f"{configs[0].where}: precision")
    quantised = next((c for c in configs if c.has("quantization_config")), None)
    base = _dtype(configs, quantised is not None)
    formats = dict.fromkeys(Precision.model_fields, base)
    formats["state"] = next((_named(c, "mamba_ssm_dtype", DTYPES) for c in configs if c.has("mamba_ssm_dtype")), "fp32")
    if quantised is not None and not {"weights", "experts"} <= set(overrides):
        formats |= _quantised(quantised)
    for c in configs:
        if c.has("expert_dtype"):
            formats["experts"] = _named(c, "expert_dtype", EXPERT_DTYPES)
    return parse(Precision, formats | overrides, f"{configs[0].where}: precision")


def _dtype(configs: list[Config], quantised: bool) -> str:
    for c in configs:
        key = c.first("torch_dtype", "dtype")
        if c.has(key):
            return _named(c, key, DTYPES)
    if quantised:
        return "bf16"
    raise configs[0].error("torch_dtype", f"one of {', '.join(DTYPES)}")


def _named(c: Config, key: str, names: dict[str, str]) -> str:
    name = c.text(key)
    if name not in names:
        raise c.error(key, f"one of {', '.join(names)}")
    return names[name]


def _quantised(c: Config) -> dict[str, str]:
    section = c.section("quantization_config")
    method = section.text("quant_method")
    name = {"compressed-tensors": "format", "modelopt": "quant_algo"}.get(method)
    scheme = section.text(name) if name else method
    if scheme in EXPERTS_ONLY:
        return {"experts": EXPERTS_ONLY[scheme]}
    if scheme in ALL_WEIGHTS:
        experts = {"mxfp4": "mxfp4"}.get(section.text("store_dtype", None), ALL_WEIGHTS[scheme])
        return {"weights": ALL_WEIGHTS[scheme], "experts": experts}
    known = ", ".join((*EXPERTS_ONLY, *ALL_WEIGHTS))
    raise DataError(
        f"{section.where}: key {name or 'quant_method'}: value {scheme!r}, wanted one of {known}; or give the formats of "
        "weights and experts as precision"
    )
