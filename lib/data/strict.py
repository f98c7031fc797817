"""Read YAML strictly and turn every fault into one error that names the file, the key, the value and what was wanted."""

from __future__ import annotations

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
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as YAML: {error}") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def parse(kind: type[Spec], content: Any, where: str) -> Spec:
    """`content` as a `kind`; `where` (file, entry) opens each line of the error, one line a fault."""
    if not isinstance(content, dict):
        raise DataError(f"{where}: got {type(content).__name__}, wanted a mapping of {kind.__name__}'s keys")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise DataError("\n".join(_fault(fault, where, kind) for fault in error.errors())) from None


def _fault(fault: dict, where: str, kind: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in fault["loc"]) or kind.__name__
    if fault["type"] == "extra_forbidden":
        return f"{where}: key {key}: unknown (value {fault['input']!r}), wanted a key of {kind.__name__}"
    if fault["type"] == "missing":
        return f"{where}: key {key}: missing, wanted a value (write null where the design has no such part)"
    if fault["type"] == "value_error":
        return f"{where}: {key}: {fault['ctx']['error']}"
    value = repr(fault["input"])
    value = value if len(value) <= 80 else value[:77] + "..."
    return f"{where}: key {key}: value {value}: {fault['msg']}"
