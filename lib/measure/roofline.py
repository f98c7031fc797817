"""How near a measured point is to what its device can do: the larger of its memory and its compute time, over its time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.measure.record import MalformedRecord, Record


class Limits(NamedTuple):
    """Bytes a second of a large read, FLOP a second of the best matrix product."""

    bandwidth: float
    rate: float


def limits(record: Record) -> Limits:
    """The best samples of suite *limits*: a limit is what the device can do, so that others' work must not lower it.

    The rate is the highest of all dtypes: a kernel may widen what it reads, and does where narrow products are slow.
    """
    frame = record.suites.get("limits")
    if frame is None or not {"read", "product"} <= set(frame["name"]):
        raise MalformedRecord(
            f"{record.folder / 'limits.csv'}: wanted samples of read and product; measure --suite limits"
        )
    read, product = (frame[frame["name"] == name] for name in ("read", "product"))
    return Limits(float((read["bytes"] / read["seconds"]).max()), float((product["flops"] / product["seconds"]).max()))


def fraction(points: pd.DataFrame, known: Limits) -> np.ndarray:
    """Of the least time that bytes and FLOPs allow, how much each point's median is: 1 is at the limit."""
    least = np.maximum(points["bytes"].astype(float) / known.bandwidth, points["flops"].astype(float) / known.rate)
    return (least / points["seconds"].astype(float)).to_numpy()


def bound(points: pd.DataFrame, known: Limits) -> np.ndarray:
    """Which limit is nearer: bytes or FLOPs."""
    memory = points["bytes"].astype(float) / known.bandwidth >= points["flops"].astype(float) / known.rate
    return np.where(memory, "bytes", "FLOPs")
