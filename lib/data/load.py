"""Where the data lies, and the loaders of the models. Files are read once a process; `clear()` forgets them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lib.data.model import Model
from lib.data.strict import DataError, parse, read_yaml

DATA = Path(__file__).resolve().parents[2] / "data"


@cache
def models() -> dict[str, Model]:
    """Every model of `data/models`, by name, in the files' alphabetical order."""
    return load_models(DATA / "models")


def load_models(folder: Path) -> dict[str, Model]:
    """The models of a folder, by name. Raises DataError when a file is faulty or two files give one name."""
    found: dict[str, tuple[Path, Model]] = {}
    for path in sorted(folder.glob("*.yml")):
        loaded = parse(Model, read_yaml(path), str(path))
        if loaded.name in found:
            raise DataError(
                f"{path}: key name: value {loaded.name!r} is already used by {found[loaded.name][0]}, wanted one file a model"
            )
        if loaded.name != path.stem:
            raise DataError(f"{path}: key name: value {loaded.name!r}, wanted the file's name {path.stem!r}")
        found[loaded.name] = (path, loaded)
    if not found:
        raise DataError(f"{folder}: no *.yml file, wanted one a model")
    return {name: loaded for name, (_, loaded) in found.items()}


def model(name: str) -> Model:
    """One model by name; DataError lists the names there are."""
    if name not in models():
        raise DataError(f"model {name!r}: wanted one of {', '.join(models())}")
    return models()[name]
