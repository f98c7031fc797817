"""Chips, how many, and how a model is split over them.

A replica of the dense weights spans `tensor` chips; there are `data` replicas, so `tensor * data` chips in all. Inside a
replica the caches may be split by tokens over `context` chips (context parallel), which divides `tensor`. Routed experts
are spread over `expert` chips, across replicas when `expert` exceeds `tensor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lib.data.mechanisms import GatedDelta, Linear, Softmax, Window

if TYPE_CHECKING:
    from lib.data.chips import Chip

_RATES = {"bf16": ("bf16",), "fp32": ("bf16",), "fp8": ("fp8", "bf16"), "fp4": ("fp4", "fp8", "bf16")}


@dataclass(frozen=True)
class System:
    """`chip` is a `lib.data.Chip`. Raises ValueError when a split does not divide, or the chip's memory is unknown."""

    chip: Chip
    tensor: int = 1
    data: int = 1
    expert: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        for name in ("tensor", "data", "expert", "context"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"system.{name}={value!r}: wanted a whole number of chips, 1 or more")
        if self.tensor % self.context:
            raise ValueError(f"system.context={self.context}: wanted a divisor of tensor={self.tensor}")
        if self.expert % self.tensor and self.tensor % self.expert:
            raise ValueError(f"system.expert={self.expert}: wanted a multiple or a divisor of tensor={self.tensor}")
        if self.count % self.expert_span:
            raise ValueError(f"system.expert={self.expert}: wanted a divisor of the {self.count} chips")
        if self.chip.memory_bytes is None or self.chip.memory_bandwidth is None:
            raise ValueError(f"chip {self.chip.name}: memory figures are unknown, wanted a chip that has them")

    @property
    def count(self) -> int:
        return self.tensor * self.data

    @property
    def expert_span(self) -> int:
        """Chips over which one copy of the routed experts lies: experts that lie on fewer chips than a replica are cut."""
        return max(self.expert, self.tensor)

    def share(self, batch, chips: int):
        """Of `batch` sequences (or tokens) over the system, how many the busiest group of `chips` chips has: whole ones."""
        return np.ceil(np.asarray(batch, dtype=float) * chips / self.count)


def cache_share(mixer, tensor: int, context: int = 1) -> float:
    """The share of a layer's cache that one chip of a replica of `tensor` chips holds and reads.

    Latents, compressed entries and index keys serve all heads, so tensor parallel replicates them and only context parallel
    splits them; key-value heads split up to their number; recurrent states split by heads. Heads stay whole: 8 of them over
    3 chips leave 3 on the busiest."""
    if isinstance(mixer, Linear):
        heads = mixer.value_heads if isinstance(mixer, GatedDelta) else mixer.heads
        return -(-heads // tensor) / heads
    if isinstance(mixer, Softmax | Window):
        return -(-mixer.kv_heads // (tensor // context)) / mixer.kv_heads / context
    return 1 / context


def rate(chip: Chip, fmt: str) -> float:
    """Dense FLOP/s at which numbers stored as `fmt` are multiplied at best: the chip's rate for that width, or for the next
    wider one that it has. float32 counts at the bf16 rate, a bound that no chip here exceeds."""
    width = fmt if fmt in _RATES else "fp8" if fmt.startswith("fp8") else "fp4"
    for name in _RATES[width]:
        if (value := getattr(chip.flops, name)) is not None:
            return value
    raise ValueError(f"chip {chip.name}: no rate for {fmt} or wider, wanted flops.bf16 at least")
