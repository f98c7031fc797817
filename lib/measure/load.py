"""Whether other programs worked on the CPU meanwhile: what makes a time worthless without a trace in it."""

from __future__ import annotations

import os
import time
from pathlib import Path

WORKING = (0, 1, 2, 5, 6, 7)  # of a line of /proc/stat: user, nice, system, interrupts and what the host took away


class Others:
    """Cores that other programs kept busy since the last look, on average; None where the system does not say."""

    def __init__(self) -> None:
        self.last = self._now()

    def look(self) -> float | None:
        before, self.last = self.last, self._now()
        if before is None or self.last is None or self.last[0] - before[0] < 0.05:
            return None  # the system counts in hundredths of a second
        wall, busy, own = (new - old for new, old in zip(self.last, before, strict=True))
        return max(0.0, (busy - own) / wall)

    @staticmethod
    def _now() -> tuple[float, float, float] | None:
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
            busy = sum(int(fields[i]) for i in WORKING) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return None
        mine = os.times()
        return time.monotonic(), busy, mine.user + mine.system
