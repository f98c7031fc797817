"""`python -m lib.cost`: what a model costs at a context and a batch, from a `config.json` or a model of this book.

Errors are one line on stderr and exit status 2. Modules that read data are imported when they are needed, so that `--help`
is quick.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

SUFFIXES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}

# first word -> what runs with the words after it; any other first word is a model
COMMANDS: dict[str, Callable[[list[str]], int]] = {}


class Refusal(Exception):
    """A reason to stop that the caller can act on, in one line."""


class _Parser(argparse.ArgumentParser):
    """Without the usage text before an error: one line says what is wrong."""

    def error(self, message: str):
        raise Refusal(message)


def size(text: str) -> int:
    """A whole number of tokens; K, M and G are 2^10, 2^20 and 2^30: "128K" is 131,072."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)", text.strip().replace(",", "").upper())
    value = float(match[1]) * SUFFIXES[match[2]] if match else -1.0
    if value < 0 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r}, wanted a whole number of tokens such as 4096, 128K or 1M")
    return int(value)


def positive(text: str) -> int:
    """A whole number of 1 or more, with the suffixes of `size`."""
    try:
        value = size(text)
    except argparse.ArgumentTypeError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}, wanted a whole number of 1 or more")
    return value


def fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}, wanted a number above 0, at most 1")
    return value


def pair(text: str) -> tuple[str, str]:
    part, equals, fmt = text.partition("=")
    if not (part and equals and fmt):
        raise argparse.ArgumentTypeError(f"{text!r}, wanted part=format such as latent=fp8_s128")
    return part, fmt


def parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="python -m lib.cost",
        description="Bytes, FLOPs, time, batch and price of decoding with a model, at a context and a batch.",
        epilog="Stored bytes are given twice: the lower bound that the mathematics sets, and what a paged allocator reserves. "
        "Times are bounds, from published rates of the chip: at best everything overlaps, at worst nothing does.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("model", help="a Hugging Face config.json, or the name of a model in data/models")
    add("--context", type=size, required=True, help="tokens in the cache; K and M are binary: 128K is 131072")
    add("--batch", type=positive, default=1, help="sequences over all chips (default: %(default)s)")
    add("--block", type=positive, default=16, help="tokens in a block of the paged allocator (default: %(default)s)")
    add("--precision", type=pair, action="append", default=[], metavar="PART=FORMAT",
        help="store a part as another format, such as latent=fp8_s128; may be given several times")  # fmt: skip
    add("--chip", metavar="NAMExN", help="chips to run on, such as h200x8; without it, sizes and FLOPs only")
    add(
        "--tensor",
        type=positive,
        help="chips that share a replica's weights and heads (default: all of them, over --data)",
    )
    add("--data", type=positive, help="replicas (default: as many as --tensor leaves)")
    add("--expert", type=positive, help="chips over which routed experts are spread (default: those of a replica)")
    add("--cp", type=positive, default=1, help="chips of a replica that split caches by tokens (default: %(default)s)")
    add("--efficiency", type=fraction, default=1.0, help="multiplies every rate of the chip (default: %(default)s)")
    add("--active-real", type=float, metavar="N", help="mean real experts a token, for a config.json with zero experts")
    add("--ignore", action="append", default=[], metavar="KEY", help="a key of the config.json that changes no cost")
    add("--json", action="store_true", help="print one JSON object in bytes, FLOPs, seconds and dollars")
    return made


def load(chosen: argparse.Namespace):
    """The model that the command line names, with its precisions replaced."""
    from lib.data import Precision, from_hf, model, models
    from lib.data.strict import parse

    formats = dict(chosen.precision)
    if unknown := sorted(set(formats) - set(Precision.model_fields)):
        raise Refusal(f"argument --precision: part {unknown[0]!r}, wanted one of {', '.join(Precision.model_fields)}")
    if chosen.model in models():
        if chosen.ignore or chosen.active_real is not None:
            raise Refusal(
                f"{chosen.model} is a model of data/models, wanted --ignore and --active-real with a config.json only"
            )
        found = model(chosen.model)
        precision = parse(Precision, found.precision.model_dump() | formats, "argument --precision")
        return found.model_copy(update={"precision": precision})
    if not Path(chosen.model).exists():
        raise Refusal(f"{chosen.model}: no such file or model, wanted a config.json or one of {', '.join(models())}")
    return from_hf(chosen.model, precision=formats, active_real=chosen.active_real, ignore=chosen.ignore)


def system(chosen: argparse.Namespace):
    """The chips and splits that the command line names, None without --chip."""
    from lib.cost.system import System

    if chosen.chip is None:
        for name in ("tensor", "data", "expert"):
            if getattr(chosen, name) is not None:
                raise Refusal(f"argument --{name}: wanted it with --chip only")
        if chosen.cp != 1 or chosen.efficiency != 1.0:
            raise Refusal("arguments --cp and --efficiency: wanted them with --chip only")
        return None
    kind, count = _chips(chosen.chip)
    tensor, data = _split(count, chosen.tensor, chosen.data)
    return System(kind, tensor=tensor, data=data, expert=chosen.expert or tensor, context=chosen.cp)


def _chips(text: str):
    """("h200x8") -> the chip and 8; a name alone is one chip."""
    from lib.data import chips

    name, _, number = text.rpartition("x")
    if text in chips():
        return chips()[text], 1
    if name not in chips() or not re.fullmatch(r"[1-9]\d*", number):
        raise Refusal(
            f"argument --chip: {text!r}, wanted a name and a count such as h200x8, names: {', '.join(chips())}"
        )
    return chips()[name], int(number)


def _split(count: int, tensor: int | None, data: int | None) -> tuple[int, int]:
    tensor = tensor or max(count // (data or 1), 1)
    data = data or max(count // tensor, 1)
    if tensor * data != count:
        raise Refusal(
            f"arguments --tensor {tensor} and --data {data}: wanted tensor x data = {count}, the number of chips"
        )
    return tensor, data


def cost(words: list[str]) -> int:
    """The default command: print one scenario."""
    chosen = parser().parse_args(words)
    found = load(chosen)

    import json

    from lib.cost.report import render, report

    scenario = {
        "context": chosen.context,
        "batch": chosen.batch,
        "block": chosen.block,
        "efficiency": chosen.efficiency,
    }
    told = report(found, system=system(chosen), **scenario)
    print(json.dumps(told, indent=2) if chosen.json else render(told))
    return 0


def main(argv: list[str] | None = None) -> int:
    """Exit status: 0, or 2 after one line on stderr."""
    words = sys.argv[1:] if argv is None else argv
    command = COMMANDS.get(words[0]) if words else None
    try:
        return command(words[1:]) if command else cost(words)
    except (Refusal, ValueError) as error:  # a DataError is a ValueError
        line = "; ".join(part.strip() for part in str(error).splitlines())
        print(f"python -m lib.cost: {line}", file=sys.stderr)
        return 2
