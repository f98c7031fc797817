"""A model as the costs see it: layers of mechanisms and feed-forwards, sizes, precisions, and where each came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from lib.data.formats import FORMATS, Format
from lib.data.mechanisms import Count, FeedForward, Mechanism, Size, Spec
from lib.verdict import printed

Confidence = Literal["primary", "transcription", "mirror", "secondary", "inferred", "computed"]
Path = Literal["linear", "sparse", "full", "window"]


class Source(Spec):
    """Where a group of fields comes from, and how sure it is."""

    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence
    note: str | None = None


class Precision(Spec):
    """The storage format of each part. `kv`: keys and values of softmax and window layers; `entry`: the unrotated part
    of a V4 entry; `rope`: the rotated part of a latent or an entry."""

    weights: str
    experts: str
    kv: str
    latent: str
    entry: str
    rope: str
    index: str
    state: str
    conv: str

    @field_validator("*")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in FORMATS:
            raise ValueError(f"format {value!r}: wanted one of {', '.join(FORMATS)}")
        return value

    def of(self, part: str) -> Format:
        return FORMATS[getattr(self, part)]


class Run(Spec):
    """`times` repetitions of a pattern of mechanism letters."""

    times: Size
    pattern: Annotated[str, Field(min_length=1)]


class FfnRun(Spec):
    """`layers` layers in a row with the feed-forwards `ffns` each."""

    layers: Size
    ffns: Annotated[list[str], Field(min_length=1)]


class Mtp(Spec):
    """Multi-token-prediction layers: how many, and what each is made of (keys of the model's mechanisms and ffns)."""

    layers: Size
    mixer: str
    ffn: str


class Extra(Spec):
    """Parameters outside the counted matrices, such as lookup tables; `active`: whether a token multiplies by them."""

    name: str
    count: Size
    active: bool


class Residual(Spec):
    """How layers' outputs are added up: plain, block attention residuals (`blocks`), or `streams` hyper-connections."""

    type: Literal["plain", "attention", "streams"]
    blocks: Size | None
    streams: Size | None

    @model_validator(mode="after")
    def _one_scheme(self):
        for name, scheme in (("blocks", "attention"), ("streams", "streams")):
            if (getattr(self, name) is not None) != (self.type == scheme):
                raise ValueError(f"{name}={getattr(self, name)}: wanted a size for type {scheme}, null for any other")
        return self


class Sizes(Spec):
    """Total and active parameters as the vendor prints them ("48B"), None where no figure is published. `with_mtp`: whether the
    printed total counts the multi-token-prediction layers."""

    total: str | None
    active: str | None
    with_mtp: bool

    @field_validator("total", "active")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        if value is not None:
            printed(value)
        return value


class Sources(Spec):
    """One source for each group of fields."""

    geometry: Source
    attention: Source
    feed_forward: Source
    precision: Source
    context: Source
    sizes: Source


@dataclass(frozen=True)
class Layer:
    """One layer: its token mixers (two in LongCat) and its feed-forwards (three in LongCat)."""

    mixers: tuple
    ffns: tuple


class Model(Spec):
    """One model. `layers` expands `mixers` and `feed_forward`; `counts` repeats the published layer counts as a check."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")]
    title: str
    vendor: str
    released: date | None
    path: Path
    hidden: Size
    vocab: Size
    tied_embeddings: bool
    context: Size
    num_layers: Size
    mixers_per_layer: Size
    mechanisms: dict[str, Mechanism]
    ffns: dict[str, FeedForward]
    mixers: list[Run]
    feed_forward: list[FfnRun]
    counts: dict[str, Count]
    mtp: Mtp | None
    extra: list[Extra]
    residual: Residual
    precision: Precision
    sizes: Sizes
    sources: Sources

    @field_validator("mechanisms")
    @classmethod
    def _letters(cls, value: dict) -> dict:
        if bad := [key for key in value if len(key) != 1]:
            raise ValueError(f"mechanism key {bad[0]!r}: wanted one letter, as used in the pattern")
        return value

    @model_validator(mode="after")
    def _adds_up(self):
        letters = self.pattern
        if unknown := sorted(set(letters) - set(self.mechanisms)):
            raise ValueError(
                f"mixers: letter {unknown[0]!r} names no mechanism, wanted one of {sorted(self.mechanisms)}"
            )
        if len(letters) != self.num_layers * self.mixers_per_layer:
            raise ValueError(
                f"mixers: {len(letters)} letters, wanted num_layers x mixers_per_layer = "
                f"{self.num_layers} x {self.mixers_per_layer} = {self.num_layers * self.mixers_per_layer}"
            )
        if (count := sum(run.layers for run in self.feed_forward)) != self.num_layers:
            raise ValueError(f"feed_forward: {count} layers, wanted num_layers = {self.num_layers}")
        if (counted := dict(Counter(letters))) != self.counts:
            raise ValueError(f"counts: {self.counts}, wanted {counted} as in the pattern")
        names = {ffn for run in self.feed_forward for ffn in run.ffns} | ({self.mtp.ffn} if self.mtp else set())
        if names - set(self.ffns):
            raise ValueError(f"feed_forward: {sorted(names - set(self.ffns))[0]!r}, wanted one of {sorted(self.ffns)}")
        if self.mtp and self.mtp.mixer not in self.mechanisms:
            raise ValueError(f"mtp.mixer: {self.mtp.mixer!r}, wanted one of {sorted(self.mechanisms)}")
        if unused := set(self.mechanisms) - set(letters) - ({self.mtp.mixer} if self.mtp else set()):
            raise ValueError(f"mechanisms: {sorted(unused)[0]!r} is used in no layer, wanted only what layers use")
        if unused := set(self.ffns) - names:
            raise ValueError(f"ffns: {sorted(unused)[0]!r} is used in no layer, wanted only what layers use")
        return self

    @property
    def pattern(self) -> str:
        """One letter a mixer, over the whole depth."""
        return "".join(run.pattern * run.times for run in self.mixers)

    @property
    def layers(self) -> tuple[Layer, ...]:
        ffns = [tuple(self.ffns[name] for name in run.ffns) for run in self.feed_forward for _ in range(run.layers)]
        step = self.mixers_per_layer
        groups = [self.pattern[i : i + step] for i in range(0, len(self.pattern), step)]
        return tuple(
            Layer(tuple(self.mechanisms[letter] for letter in group), ffn)
            for group, ffn in zip(groups, ffns, strict=True)
        )

    @property
    def mtp_layers(self) -> tuple[Layer, ...]:
        if self.mtp is None:
            return ()
        return (Layer((self.mechanisms[self.mtp.mixer],), (self.ffns[self.mtp.ffn],)),) * self.mtp.layers

    @property
    def mixer_counts(self) -> list[tuple]:
        """(mechanism, how many layers have it), in order of first use: costs sum over these few, not over all layers."""
        return self.mixers_with(mtp=False)

    def mixers_with(self, *, mtp: bool) -> list[tuple]:
        """As `mixer_counts`, the mixers of the multi-token-prediction layers among them when `mtp`."""
        counted = Counter(self.pattern)
        if mtp and self.mtp:
            counted[self.mtp.mixer] += self.mtp.layers
        return [(self.mechanisms[letter], count) for letter, count in counted.items()]

    @property
    def ffn_counts(self) -> list[tuple]:
        counted: Counter[str] = Counter()
        for run in self.feed_forward:
            for name in run.ffns:
                counted[name] += run.layers
        return [(self.ffns[name], count) for name, count in counted.items()]
