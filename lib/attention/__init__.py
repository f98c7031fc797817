"""The mechanisms, one module each, with the same verbs; `merge` joins partial attentions over disjoint keys.

Names load on first use, so that `lib.attention.window.keys_seen` can be called where torch is not installed, and
Triton only when a verb is given CUDA tensors.
"""

from __future__ import annotations

import importlib

MODULES = (
    "softmax", "window", "mla", "gated_delta", "kda", "dsa", "csa", "layers", "rope", "parallel", "checks",
)  # fmt: skip
__all__ = ["merge", *MODULES]


def __getattr__(name: str):
    if name == "merge":
        return importlib.import_module(f"{__name__}.partial").merge
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
