"""A `Model` from its layers: letters for mechanisms, names for feed-forwards, runs, counts, and where it came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

from lib.data.mechanisms import Csa, Dsa, Hca, Linear, Window
from lib.data.model import Model
from lib.data.strict import parse

LETTERS = {
    "softmax": "F", "window": "W", "mla": "M", "dsa": "D", "gated_delta": "G", "kda": "K", "lightning": "L",
    "csa": "C", "hca": "H",
}  # fmt: skip
SPARE = "ABEIJNOPQRSTUVXYZabcdefghijklmnopqrstuvwxyz"


@dataclass
class Stack:
    """What a family's reader finds. Each layer has a tuple of mixers and one of feed-forwards; `mtp` is (layers, mixer,
    feed-forward); `extra` is (name, numbers) of tables beside the matrices; `blocks` and `streams` shape the residual."""

    layers: list[tuple[tuple, tuple]]
    mtp: tuple | None = None
    extra: list[tuple[str, int]] = field(default_factory=list)
    blocks: int | None = None
    streams: int | None = None
    tied_by_default: bool = False


def simple(mixers: list, ffns: list, **more) -> Stack:
    """One mixer and one feed-forward a layer."""
    return Stack([((mixer,), (ffn,)) for mixer, ffn in zip(mixers, ffns, strict=True)], **more)


def assemble(stack: Stack, where: str, fields: dict) -> Model:
    """The model; `fields` are its name, sizes, context, precision and the like. Raises DataError when they do not fit."""
    mtp_mixer, mtp_ffn = stack.mtp[1:] if stack.mtp else (None, None)
    mixers = [mixer for mixers, _ in stack.layers for mixer in mixers]
    letters = _letters(_distinct([*mixers, mtp_mixer]))
    names = _names(_distinct([ffn for _, ffns in stack.layers for ffn in ffns] + [mtp_ffn]))
    text = "".join(letters[mixer] for mixer in mixers)
    content = fields | {
        "path": _path(mixers),
        "num_layers": len(stack.layers),
        "mixers_per_layer": len(stack.layers[0][0]),
        "mechanisms": {letter: mixer for mixer, letter in letters.items()},
        "ffns": {name: ffn for ffn, name in names.items()},
        "mixers": [{"times": 1, "pattern": text}],
        "feed_forward": _runs([[names[ffn] for ffn in ffns] for _, ffns in stack.layers]),
        "counts": dict(Counter(text)),
        "mtp": stack.mtp and {"layers": stack.mtp[0], "mixer": letters[mtp_mixer], "ffn": names[mtp_ffn]},
        "extra": [{"name": name, "count": count, "active": False} for name, count in stack.extra],
        "residual": _residual(stack),
        "sizes": {"total": None, "active": None, "with_mtp": False},
        "sources": _sources(where),
    }
    return parse(Model, content, where)


def _distinct(items: list) -> list:
    return [item for item in dict.fromkeys(items) if item is not None]


def _letters(mixers: list) -> dict:
    letters: dict = {}
    for mixer in mixers:
        wish = "S" if getattr(mixer, "indexer", None) == "shared" else LETTERS[mixer.type]
        free = (letter for letter in wish + SPARE if letter not in letters.values())
        letters[mixer] = next(free)
    return letters


def _names(ffns: list) -> dict:
    seen: Counter = Counter()
    names = {}
    for ffn in ffns:
        seen[ffn.type] += 1
        names[ffn] = ffn.type if seen[ffn.type] == 1 else f"{ffn.type}{seen[ffn.type]}"
    return names


def _runs(layers: list[list[str]]) -> list[dict]:
    return [{"layers": len(list(group)), "ffns": ffns} for ffns, group in groupby(layers)]


def _path(mixers: list) -> str:
    for kind, path in ((Linear, "linear"), (Dsa | Csa | Hca, "sparse"), (Window, "window")):
        if any(isinstance(mixer, kind) for mixer in mixers):
            return path
    return "full"


def _residual(stack: Stack) -> dict:
    kind = "attention" if stack.blocks else "streams" if stack.streams else "plain"
    return {"type": kind, "blocks": stack.blocks, "streams": None if stack.blocks else stack.streams}


def _sources(where: str) -> dict:
    read = {"source": where, "confidence": "transcription"}
    derived = read | {"confidence": "inferred", "note": "the rule of lib.data.hf.precision"}
    groups = dict.fromkeys(("geometry", "attention", "feed_forward", "context", "sizes"), read)
    return groups | {"precision": derived}
