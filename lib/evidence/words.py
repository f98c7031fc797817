"""Numbers as the book prints them: contexts in binary thousands, bytes in binary units, counts in B and T."""

from __future__ import annotations

import math


def tokens(value: float) -> str:
    """4096 -> 4K, 1048576 -> 1M, 5384 -> 5.3K: K and M are 2^10 and 2^20, as contexts are named."""
    for size, suffix in ((2**20, "M"), (2**10, "K")):
        if value >= size:
            scaled = value / size
            return (
                f"{scaled:.0f}{suffix}"
                if scaled >= 100 or abs(scaled - round(scaled)) < 1e-9
                else f"{scaled:.1f}{suffix}"
            )
    return f"{value:.0f}"


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def ratio(value: float) -> str:
    return f"{value:.1f}x"


def count(value: float) -> str:
    """49122675072 -> 49.1B, 2.78e12 -> 2.78T: decimal thousands, three digits."""
    return _scaled(value, 1000, ("", "K", "M", "B", "T", "P", "E", "Z"))


def size(value: float) -> str:
    """Bytes in binary units: 8455716864 -> 7.88 GiB."""
    return _scaled(value, 1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB"))


def seconds(value: float) -> str:
    return _scaled(value * 1e9, 1000, (" ns", " µs", " ms", " s")) if value < 1000 else f"{value:,.0f} s"


def dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.1 else f"${value:.3g}"


def _scaled(value: float, base: int, suffixes: tuple[str, ...]) -> str:
    if value == 0:
        return f"0{suffixes[0]}"
    power = min(max(int(math.log(abs(value), base) + 1e-12), 0), len(suffixes) - 1)
    scaled = value / base**power
    if round(scaled, 2) >= base and power < len(suffixes) - 1:  # 999.9996 K rounds to the next suffix
        scaled, power = scaled / base, power + 1
    digits = max(0, 3 - len(str(int(abs(scaled)))))
    return f"{scaled:.{digits}f}{suffixes[power]}"
