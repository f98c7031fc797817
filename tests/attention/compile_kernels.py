"""Compile every Triton kernel for an H100 or H200 (sm_90), at real dimensions. Needs no GPU: a compiler is enough.

    python -m tests.attention.compile_kernels

Prints a line a kernel. The interpreter, in which the other tests run kernels, accepts what the compiler does not: a
variable that changes its shape in a loop, for one.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from lib.attention.triton import dsa, kda, mla, softmax

HALF, FLOAT, INTEGERS, LONG = "*bf16", "*fp32", "*i32", "*i64"
WIDE = {"WIDE": tl.float32}
DOT = WIDE | {"DOT": tl.bfloat16}
RULE = {"state": FLOAT, "q": HALF, "k": HALF, "v": HALF, "log_decay": HALF, "beta": HALF, "out": HALF, "last": FLOAT}
HEAD = {"K": 128, "K_PAD": 128, "V": 128, "COLS": kda.COLUMNS} | WIDE
TILES = HEAD | {"TILE": kda.TILE, "FLOOR": kda.LEAST}
LATENT = {"q": HALF, "cache": HALF, "indices": LONG, "lengths": INTEGERS, "out": FLOAT, "lse": FLOAT}
ROW = {"C": 512, "C_PAD": 512, "R": 64, "R_PAD": 64, "ROWS": 32} | DOT
GROUPED = {"q": HALF, "k": HALF, "v": HALF, "firsts": INTEGERS, "lengths": INTEGERS, "out": FLOAT, "lse": FLOAT}
GROUP = {"M": 8, "M_PAD": 16, "K": 128, "K_PAD": 128, "V": 128, "V_PAD": 128, "KEYS": 64} | DOT
INDEX = {"q": HALF, "weights": HALF, "keys": HALF, "out": HALF}
KERNELS = {
    "KDA step": (kda._step, RULE, HEAD),
    "KDA chunks": (kda._tiles, RULE, TILES | {"PRECISION": "tf32"}),
    "KDA chunks, float32": (kda._tiles, RULE | dict.fromkeys("qkv", FLOAT), TILES | {"PRECISION": "ieee"}),
    "MLA, 32 heads": (mla._attend, LATENT, ROW | {"HEADS": 32, "GATHER": False}),
    "MLA without rotary part": (mla._attend, LATENT, ROW | {"R": 0, "R_PAD": 16, "HEADS": 64, "GATHER": False}),
    "DSA over selected rows": (mla._attend, LATENT, ROW | {"HEADS": 64, "GATHER": True}),
    "GQA": (softmax._attend, GROUPED, GROUP),
    "DSA index scores": (dsa._scores, INDEX, {"D": 128, "D_PAD": 128, "HEADS": 64, "ROWS": 128} | DOT),
}


def compiled(kernel, pointers: dict, constants: dict):
    kinds = {p.name: "constexpr" if p.name in constants else pointers.get(p.name, "i32") for p in kernel.params}
    if "scale" in kinds:
        kinds["scale"] = "fp32"
    source = ASTSource(fn=kernel, signature=kinds, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})


if __name__ == "__main__":
    for name, (kernel, pointers, constants) in KERNELS.items():
        made = compiled(kernel, pointers, constants)
        print(
            f"{name}: {made.metadata.shared} bytes of shared memory, {len(made.asm['cubin'])} bytes of code", flush=True
        )
