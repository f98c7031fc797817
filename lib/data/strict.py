"""Read YAML strictly and turn every fault into one error that names the file, the key, the value and what was wanted."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError


class DataError(ValueError):
    """A fault in a data file."""


class _UniqueKeys(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; here the second is an error."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen: set = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise DataError(f"line {key_node.start_mark.line + 1}: key {key!r}: wanted a name")
        if key in seen:
            raise DataError(f"line {key_node.start_mark.line + 1}: key {key!r} appears twice, wanted it once")
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=deep)


_UniqueKeys.add_constructor(
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, lambda loader, node: _mapping(loader, node, deep=True)
)

Spec = TypeVar("Spec", bound=BaseModel)


def read_yaml(path: Path) -> Any:
    """The file's content. Raises DataError, naming the file and line, on a syntax error or a key given twice."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)  # a SafeLoader with one more check
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8, wanted a text in UTF-8") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not readable, wanted YAML: {error}") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def parse(kind: type[Spec], content: Any, where: str) -> Spec:
    """`content` as a `kind`; `where` (file, entry) opens each line of the error, one line a fault."""
    if not isinstance(content, dict):
        raise DataError(f"{where}: got {type(content).__name__}, wanted a mapping of {kind.__name__}'s keys")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise DataError("\n".join(_fault(fault, where, kind, content) for fault in error.errors())) from None


def listed(content: Any, path: Path, *keys: str) -> list[list]:
    """The lists under `keys`, which must be all that the file has. Raises DataError otherwise."""
    names = " and ".join(keys)
    if not isinstance(content, dict) or set(content) != set(keys):
        got = f"keys {sorted(map(str, content))}" if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{path}: got {got}, wanted {names} as the only key{'s' * (len(keys) > 1)}, each with a list")
    for key in keys:
        if not isinstance(content[key], list):
            raise DataError(f"{path}: key {key}: value {content[key]!r}, wanted a list")
    return [content[key] for key in keys]


def _fault(fault: dict, where: str, kind: type[BaseModel], content: Any) -> str:
    key = _key(fault, content)
    if fault["type"] == "extra_forbidden":
        return f"{where}: key {key}: unknown (value {fault['input']!r}), wanted a key of {key.rpartition('.')[0] or kind.__name__}"
    if fault["type"] == "missing":
        return f"{where}: key {key}: missing, wanted a value (write null where the design has no such part)"
    if fault["type"] == "value_error":
        # a check over several keys begins with the key that it found wrong
        return f"{where}: key {key}: {fault['ctx']['error']}" if key else f"{where}: {fault['ctx']['error']}"
    if fault["type"] == "union_tag_invalid":
        return f"{where}: key {key}.type: value {fault['ctx']['tag']!r}: wanted one of {fault['ctx']['expected_tags']}"
    if fault["type"] == "union_tag_not_found":
        return f"{where}: key {key}.type: missing, wanted the name of a type"
    value = repr(fault["input"])
    value = value if len(value) <= 80 else value[:77] + "..."
    return f"{where}: key {key}: value {value}: {_wanted(fault['msg'])}"


def _key(fault: dict, content: Any) -> str:
    """The key as it stands in the file: without the tags that pydantic puts in for the members of a union."""
    parts = []
    for place, part in enumerate(fault["loc"]):
        last = place == len(fault["loc"]) - 1
        held = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
        tag = isinstance(content, dict) and content.get("type") == part  # may be a key too: a window has a window
        there = part in held and not (tag and (not last or fault["type"] == "value_error"))
        if there or (last and fault["type"] == "missing"):
            parts.append(str(part))
        content = content[part] if there else content
    return ".".join(parts)


def _wanted(message: str) -> str:
    """pydantic's "Input should be a valid integer" in the words of every other error here."""
    return re.sub(r"^(?:Input|String|List|Value) should (?:be |match )?", "wanted ", message)
