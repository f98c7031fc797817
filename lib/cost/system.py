"""Chips, how many, and how a model is split over them.

A replica of the dense weights spans `tensor` chips; there are `data` replicas, so `tensor * data` chips in all. Inside a replica
the caches may be split by tokens over `context` chips (context parallel), which divides `tensor`. Routed experts are spread over
`expert` chips, across replicas when `expert` exceeds `tensor`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lib.data.chips import Chip


@dataclass(frozen=True)
class System:
    """`chip` is a `lib.data.Chip`. Raises ValueError when a split does not divide."""

    chip: Chip
    tensor: int = 1
    data: int = 1
    expert: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        for name in ("tensor", "data", "expert", "context"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"system.{name}={value!r}: wanted a whole number of chips, 1 or more")
        if self.tensor % self.context:
            raise ValueError(f"system.context={self.context}: wanted a divisor of tensor={self.tensor}")
        if self.count % self.expert_span:
            raise ValueError(f"system.expert={self.expert}: wanted a divisor of the {self.count} chips")
        if self.expert_span % self.tensor:
            raise ValueError(f"system.expert={self.expert}: wanted a multiple or a divisor of tensor={self.tensor}")
        if self.chip.memory_bytes is None or self.chip.memory_bandwidth is None:
            raise ValueError(
                f"chip {self.chip.name}: memory figures are unknown, wanted a chip with published or measured ones"
            )

    @property
    def count(self) -> int:
        return self.tensor * self.data

    @property
    def expert_span(self) -> int:
        """Chips over which one copy of the routed experts lies: experts that lie on fewer chips than a replica are cut."""
        return max(self.expert, self.tensor)


def rate(chip: Chip, fmt: str) -> float:
    """Dense FLOP/s at which numbers stored as `fmt` are multiplied: the chip's rate for that width, or for the next wider
    one that it has. float32 counts at the bf16 rate, a bound that no chip here exceeds."""
    chain = {"fp32": ("bf16",), "bf16": ("bf16",)}.get(fmt) or (
        ("fp8", "bf16") if fmt.startswith("fp8") else ("fp4", "fp8", "bf16")
    )
    for width in chain:
        if (value := getattr(chip.flops, width)) is not None:
            return value
    raise ValueError(f"chip {chip.name}: no rate for {fmt} or wider, wanted flops.bf16 at least")
