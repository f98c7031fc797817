"""How many bytes a vector of values takes in each storage format, its scales and padding included.

A format with `block` > 0 stores one scale of `scale_bytes` for every `block` values (rounded up). `pad` rounds the whole
vector up to a multiple of that many bytes, as an entry's scale row is padded in a cache line.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    name: str
    bits: int
    block: int
    scale_bytes: int
    pad: int
    source: str

    @property
    def per_value(self) -> float:
        """Bytes of one number in a long array, its share of the scales included; padding is left out."""
        return self.bits / 8 + (self.scale_bytes / self.block if self.block else 0.0)

    def bytes_for(self, values: int) -> int:
        """Bytes of a vector of `values` numbers."""
        body = -(-values * self.bits // 8)
        scales = -(-values // self.block) * self.scale_bytes if self.block else 0
        return -(-(body + scales) // self.pad) * self.pad


_FORMATS = (
    Format("fp32", 32, 0, 0, 1, "IEEE 754"),
    Format("bf16", 16, 0, 0, 1, "bfloat16: 1 sign, 8 exponent, 7 fraction bits"),
    Format("fp8", 8, 0, 0, 1, "one byte a value; scales too few to count (one for a 128 x 128 block of weights)"),
    Format("fp8_s128", 8, 128, 4, 1, "FlashMLA and DeepGEMM cache rows: e4m3 with one fp32 scale for 128 values"),
    Format(
        "fp8_e8m0_64",
        8,
        64,
        1,
        8,
        "DeepSeek V4 entry: e4m3 with one power-of-two scale byte for 64 values, padded to 8",
    ),
    Format("mxfp4", 4, 32, 1, 1, "OCP MX: e2m1 with one power-of-two scale byte for 32 values"),
    Format("nvfp4", 4, 16, 1, 1, "e2m1 with one e4m3 scale byte for 16 values"),
)
FORMATS = {fmt.name: fmt for fmt in _FORMATS}
