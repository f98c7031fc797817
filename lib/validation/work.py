"""Work in one precision's worth: operations weighted by what they cost in the format in which they are published to run."""

from __future__ import annotations

from lib.cost import decode_flops
from lib.data import Model

# V4 report's comparison: bf16 attention counts twice an fp8 operation, an fp4 indexer half, weights once
WEIGHT = {"bf16": 2.0, "fp8": 1.0, "fp8_s128": 1.0, "mxfp4": 0.5}


def fp8_equivalent(m: Model, context: int = 2**20) -> float:
    """FP8-equivalent FLOPs of a token at `context`: attention core in bf16, the indexer in its keys' format, weights in fp8.

    Weights are counted without the output head, as the vendor's active-parameter figure is."""
    flops = decode_flops(m, context)
    return float(2 * _body(m) + WEIGHT["bf16"] * flops.attention + WEIGHT[m.precision.index] * flops.index)


def _body(m: Model) -> float:
    """Active parameters as the vendor prints them."""
    from lib.verdict import printed

    return printed(m.sizes.active).value
