"""Which layer is of which kind: lists, intervals and counts of a configuration, which must agree when there are several."""

from __future__ import annotations

from collections.abc import Callable

from lib.data.hf.config import Config
from lib.data.strict import DataError

Rule = Callable[[Config, str, int], list[str]]


def pattern(c: Config, layers: int, rules: dict[str, Rule], default: str | None = None) -> list[str]:
    """The kind of each layer, from the first of the keys that the file has. All keys that it has must say the same; with
    none of them every layer is `default`, or it is an error."""
    found = {key: rule(c, key, layers) for key, rule in rules.items() if c.has(key)}
    if not found:
        if default is None:
            raise DataError(f"{c.where}: key {' or '.join(rules)}: missing, wanted the kind of each layer")
        return [default] * layers
    (first, kinds), *others = found.items()
    for key, other in others:
        for layer, (a, b) in enumerate(zip(kinds, other, strict=True)):
            if a != b:
                raise DataError(
                    f"{c.where}: layer {layer}: key {first} says {a}, key {key} says {b}, wanted one of the two"
                )
    return kinds


def listed(names: dict) -> Rule:
    """A list of one name (or number) a layer."""

    def rule(c: Config, key: str, layers: int) -> list[str]:
        entries = c.list(key, layers)
        for layer, entry in enumerate(entries):
            if isinstance(entry, list | dict) or entry not in names:
                wanted = " or ".join(repr(name) for name in names)
                raise DataError(f"{c.where}: key {key}: layer {layer} is {entry!r}, wanted {wanted}")
        return [names[entry] for entry in entries]

    return rule


def every(kind: str, other: str) -> Rule:
    """A number n: each n-th layer is `kind`, the others are `other`."""

    def rule(c: Config, key: str, layers: int) -> list[str]:
        step = c.size(key)
        return [kind if (layer + 1) % step == 0 else other for layer in range(layers)]

    return rule


def leading(kind: str, other: str) -> Rule:
    """A number n: the first n layers are `kind`."""

    def rule(c: Config, key: str, layers: int) -> list[str]:
        first = c.count(key)
        return [kind if layer < first else other for layer in range(layers)]

    return rule


def numbered(c: Config, lists: dict[str, str], layers: int, base: int) -> list[str]:
    """Kinds from several lists of layer numbers counted from `base`, key -> kind; each layer must be in exactly one."""
    kinds: list[str | None] = [None] * layers
    for key, kind in lists.items():
        for number in c.list(key):
            if not isinstance(number, int) or not base <= number < layers + base:
                raise DataError(f"{c.where}: key {key}: layer {number!r}, wanted {base} to {layers + base - 1}")
            if kinds[number - base] is not None:
                raise DataError(
                    f"{c.where}: key {key}: layer {number} is listed twice, wanted it once in {' or '.join(lists)}"
                )
            kinds[number - base] = kind
    if None in kinds:
        raise DataError(
            f"{c.where}: layer {kinds.index(None) + base} is in none of {', '.join(lists)}, wanted it in one"
        )
    return kinds


ATTENTION = {"full_attention": "full", "sliding_attention": "sliding", "linear_attention": "linear"}
FEED_FORWARD = {"dense": "dense", "sparse": "moe"}


def mixtures_after_dense(c: Config, layers: int) -> list[str]:
    """DeepSeek's way: `first_k_dense_replace` dense layers, then mixtures; a list of either kind where a file has one."""
    rules: dict[str, Rule] = {"mlp_layer_types": listed(FEED_FORWARD), "first_k_dense_replace": leading("dense", "moe")}
    if isinstance(c.value("moe_layer_freq", lambda x: True, "", None), list):
        rules["moe_layer_freq"] = listed({0: "dense", 1: "moe"})
    else:
        c.only("moe_layer_freq", 1)
    return pattern(c, layers, rules)
