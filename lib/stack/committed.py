"""The runs that the book's record holds, and the small one that a build repeats."""

from __future__ import annotations

from dataclasses import replace

from lib.stack.training import Run

DEPTH = 4
SEEDS = (0, 1, 2)
PATTERNS = ("KKKM", "KKKD", "KKKK", "MMMM", "DDDD", "GGGG", "WWWW", "HHHH")
RECALL = Run(task="mqar", size=24, pattern="KKKM", seed=0, steps=1000, rate=2e-3, tested=(4, 8, 16, 32, 48))
FAR = Run(task="needle", size=32, pattern="KKKM", seed=0, steps=500, rate=2e-3, tested=(64, 128, 256))
LIVE = replace(RECALL, size=4, pattern="MMMM", steps=400, tested=())


def runs() -> list[Run]:
    """In order of what the chapter needs first; a seed of all patterns before the next seed."""
    recall = [replace(RECALL, pattern=pattern, seed=seed) for seed in SEEDS for pattern in PATTERNS]
    far = [
        replace(FAR, pattern=pattern, seed=seed)
        for seed in SEEDS
        for pattern in PATTERNS
        if pattern not in ("GGGG", "HHHH")
    ]
    depth = [replace(RECALL, residual="attention", seed=seed) for seed in SEEDS]
    return [*recall, *depth, *far, LIVE]
