"""What a measurement on a GPU needs, checked before anything is timed: `python -m benchmarks.preflight OUT_DIR`.

Prints one line a check and exits with 1 at the first that fails, saying what was found and what was wanted. The last check
runs one small step of each mechanism, which also compiles its kernels. `--folder OUT_DIR` prints where the record will be.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

PYTHON, TORCH = (3, 11), (2, 11)
NEEDED = ("numpy", "pandas", "pydantic", "yaml")
FREE = 8 << 30  # bytes of GPU memory: below, not even one layer's cache at a million tokens fits beside its kernels
DISK = 64 << 20
SMALL = 4096  # tokens of the step that is tried


class Lacking(Exception):
    """A check that failed: what was found, and what was wanted."""


def python() -> str:
    if sys.version_info[:2] < PYTHON:
        raise Lacking(f"{sys.version.split()[0]}, wanted {'.'.join(map(str, PYTHON))} or newer")
    return sys.version.split()[0]


def packages() -> str:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise Lacking(f"{', '.join(missing)} cannot be imported, wanted it installed")
    return ", ".join(NEEDED)


def torch() -> str:
    try:
        module = importlib.import_module("torch")
    except ImportError as error:
        raise Lacking(f"{error}; wanted torch {'.'.join(map(str, TORCH))} or newer") from None
    found = tuple(int(part) for part in module.__version__.split("+")[0].split(".")[:2])
    if found < TORCH:
        raise Lacking(f"{module.__version__}, wanted {'.'.join(map(str, TORCH))} or newer")
    return module.__version__


def gpu() -> str:
    import torch

    if not torch.cuda.is_available():
        raise Lacking(f"torch {torch.__version__} sees none; wanted one, and a torch that is built for it")
    return torch.cuda.get_device_name(0)


def triton() -> str:
    try:
        return importlib.import_module("triton").__version__
    except ImportError as error:
        raise Lacking(f"{error}; wanted triton, which torch for CUDA brings") from None


def memory() -> str:
    import torch

    free, total = torch.cuda.mem_get_info()
    if free < FREE:
        raise Lacking(
            f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB are free, wanted {FREE / 2**30:.0f}: is something else on this GPU?"
        )
    return f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


def disk(out: Path) -> str:
    free = shutil.disk_usage(out).free
    if free < DISK:
        raise Lacking(f"{free / 2**20:.0f} MiB are free in {out}, wanted {DISK / 2**20:.0f}")
    return f"{free / 2**30:.1f} GiB free"


def checkout() -> str:
    """Not a reason to stop: a sample of uncommitted code is good for its owner, and marked for others."""
    from lib.measure.device import _dirty

    return (
        "uncommitted changes: the record will be marked and cannot be contributed" if _dirty() else "no local changes"
    )


def kernels(device: str = "cuda", tokens: int = SMALL) -> str:
    """One step of each mechanism: it compiles, runs, gives finite numbers, and moves the bytes of the formula."""
    import torch

    from lib.measure import memory, subjects
    from lib.measure.suites import decode

    plans = [*(decode.one_layer(name, tokens, 1) for name in subjects.layers()), decode.hybrid(tokens, 1)]
    pool = memory.Pool(max(plan.need for plan in plans), device)
    for plan in plans:
        try:
            with torch.inference_mode():
                case = plan.make(pool)
                finite = all(torch.isfinite(x.float()).all() for x in _tensors(case.runs[0]()))
        except Exception as error:  # whatever a compiler or a driver raises: the name of the mechanism is what helps
            raise Lacking(f"{plan.point.name}: {type(error).__name__}: {error}") from error
        if case.counted != plan.work.bytes:
            raise Lacking(
                f"{plan.point.name}: tensors hold {case.counted:,.0f} bytes, the formula says {plan.work.bytes:,.0f}"
            )
        if not finite:
            raise Lacking(f"{plan.point.name}: numbers that are not finite")
    return f"{len(plans)} run"


def _tensors(result) -> Iterator:
    for one in result if isinstance(result, tuple | list) else (result,):
        yield from _tensors(one) if isinstance(one, tuple | list) else (one,)


def checks(out: Path) -> dict[str, Callable[[], str]]:
    return {"Python": python, "packages": packages, "torch": torch, "GPU": gpu, "Triton": triton, "memory": memory,
            "disk": lambda: disk(out), "checkout": checkout, "kernels": kernels}  # fmt: skip


def run(wanted: dict[str, Callable[[], str]]) -> int:
    for name, check in wanted.items():
        try:
            print(f"{name}: {check()}", flush=True)
        except Lacking as lacking:
            print(f"{name}: {lacking}", file=sys.stderr)
            return 1
    return 0


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "--folder":
        from lib.measure import device

        print(Path(arguments[1]) / device.describe("cuda")["slug"])
        return 0
    if len(arguments) != 1:
        print("usage: python -m benchmarks.preflight OUT_DIR", file=sys.stderr)
        return 2
    return run(checks(Path(arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
