"""Hypothetical twins of a model: the same stack with some of its mixers replaced."""

from __future__ import annotations

from collections import Counter

from lib.data.mechanisms import Dsa, Linear, Mla
from lib.data.model import Model, Run


def replace_mixers(model: Model, letters: dict[str, str], *, name: str) -> Model:
    """`model` with each mechanism letter replaced as `letters` says, e.g. {"K": "M"} for an all-MLA twin.

    The replacement must be a mechanism of the model itself: a twin changes the pattern, not the dimensions."""
    if missing := [new for new in letters.values() if new not in model.mechanisms]:
        raise ValueError(
            f"letters: {missing[0]!r} is no mechanism of {model.name}, wanted one of {sorted(model.mechanisms)}"
        )
    pattern = "".join(letters.get(letter, letter) for letter in model.pattern)
    content = model.model_dump() | {
        "name": name,
        "mixers": [Run(times=1, pattern=pattern).model_dump()],
        "counts": dict(Counter(pattern)),
        "mechanisms": {letter: model.mechanisms[letter].model_dump() for letter in set(pattern)},
        "mtp": None if model.mtp and model.mtp.mixer not in pattern else model.model_dump()["mtp"],
    }
    return Model.model_validate(content)


def all_full(model: Model) -> Model:
    """The twin whose linear layers are all replaced by the model's own full-attention (or sparse) layer."""
    linear = [letter for letter, mixer in model.mechanisms.items() if isinstance(mixer, Linear)]
    kept = [letter for letter in model.mechanisms if letter not in linear]
    if not linear or not kept:
        raise ValueError(f"{model.name}: wanted a hybrid, got mechanisms {sorted(model.mechanisms)}")
    return replace_mixers(
        model, dict.fromkeys(linear, kept[0]), name=f"{model.name}-all-{model.mechanisms[kept[0]].type}"
    )


def all_sparse(model: Model, indexer: Dsa) -> Model:
    """The twin whose every layer is the model's own latent attention under another model's indexer: DSA under the same conditions.

    Heads and latents are the model's; the indexer, its selection and the width of the compressed query are `indexer`'s.
    """
    latent = next((mixer for mixer in model.mechanisms.values() if isinstance(mixer, Mla)), None)
    if latent is None:
        raise ValueError(f"{model.name}: wanted a model with MLA layers, got mechanisms {sorted(model.mechanisms)}")
    shared = ("heads", "latent", "rope", "nope", "value", "output_gate")
    sparse = indexer.model_dump() | {name: getattr(latent, name) for name in shared}
    content = model.model_dump() | {
        "name": f"{model.name}-all-dsa",
        "mixers": [Run(times=1, pattern="D" * len(model.pattern)).model_dump()],
        "counts": {"D": len(model.pattern)},
        "mechanisms": {"D": sparse},
        "mtp": None,
    }
    return Model.model_validate(content)


def with_mechanism(model: Model, letter: str, mechanism, *, name: str, title: str) -> Model:
    """The twin in which every layer of `letter` has `mechanism` instead, whatever model that comes from; drafts are left out."""
    if letter not in model.mechanisms:
        raise ValueError(f"letter={letter!r}: wanted one of {sorted(model.mechanisms)} of {model.name}")
    mechanisms = {key: mixer.model_dump() for key, mixer in model.mechanisms.items() if key in model.pattern}
    content = model.model_dump() | {
        "name": name,
        "title": title,
        "mechanisms": mechanisms | {letter: mechanism.model_dump()},
        "mtp": None,
    }
    return Model.model_validate(content)
