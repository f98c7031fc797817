"""What is measured, one module a suite: `plans(device, tokens)` lists its points."""

from __future__ import annotations

from importlib import import_module

NAMES = ("limits", "decode", "prefill", "stack", "tiers")


def suite(name: str):
    """The module of one suite."""
    if name not in NAMES:
        raise ValueError(f"suite: got {name!r}, wanted one of {', '.join(NAMES)}")
    return import_module(f"{__name__}.{name}")
