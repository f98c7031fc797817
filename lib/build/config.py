"""Refuse a key of `_config.yml` that nothing reads: Jupyter Book ignores a misspelt one without a word."""

from __future__ import annotations

import difflib
import json
from importlib.util import find_spec
from pathlib import Path

import yaml


def faults(path: Path) -> list[str]:
    """What is wrong with the keys, each with the nearest key that would be right."""
    if not path.exists():
        return [f"{path}: there is no such file"]
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        return [f"{path}: {error}"]
    if not isinstance(given, dict):
        return [f"{path}: wanted keys and values"]
    known = known_keys()
    unknown = [key for key in keys(given) if key not in known and (key in given or key.partition(".")[0] in known)]
    return [f"{path.name}: key {key!r} is unknown{_nearest(key, known)}" for key in unknown]


def keys(tree: dict, prefix: str = "") -> list[str]:
    """Dotted keys, two levels deep: what lies below belongs to Sphinx, which checks it itself."""
    found = []
    for name, value in tree.items():
        found.append(f"{prefix}{name}")
        if isinstance(value, dict) and not prefix:
            found += keys(value, f"{name}.")
    return found


def known_keys() -> set[str]:
    """Every key that Jupyter Book's schema or its defaults name."""
    package = Path(find_spec("jupyter_book").origin).parent
    schema = json.loads((package / "config_schema.json").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((package / "default_config.yml").read_text(encoding="utf-8"))
    return set(keys(_properties(schema))) | set(keys(defaults))


def _properties(schema: dict) -> dict:
    return {name: _properties(below) for name, below in schema.get("properties", {}).items()}


def _nearest(key: str, known: set[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_to_sphinx(given: dict, registered: set[str]) -> list[str]:
    """Keys of `sphinx: config:` that no extension has registered."""
    return [
        f"_config.yml: key 'sphinx.config.{key}' is unknown{_nearest(key, registered)}"
        for key in given
        if key not in registered
    ]
