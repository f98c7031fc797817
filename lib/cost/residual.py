"""What a residual scheme costs a token: attention residuals weigh the outputs of earlier blocks of layers, over depth.

Layer l of block b attends to the b finished blocks before it and to the embedding: one dot product and one weighted sum of
`hidden` numbers for each source (Attention Residuals, arXiv 2603.15031; Kimi K3 report, section 2.2). No term holds the context.
"""

from __future__ import annotations

from typing import NamedTuple

from lib.data.model import Model


class ResidualCost(NamedTuple):
    """FLOPs for one token, and numbers kept for one token while its layers run (none are cached between tokens)."""

    flops: int
    kept: int


def residual_cost(model: Model) -> ResidualCost:
    """The extra cost of the model's residual scheme over plain addition; streams count their wider state only."""
    if model.residual.type == "attention":
        per_block = -(-model.num_layers // model.residual.blocks)
        sources = sum(layer // per_block + 1 for layer in range(model.num_layers))
        return ResidualCost(4 * model.hidden * sources, (model.residual.blocks + 1) * model.hidden)
    if model.residual.type == "streams":
        return ResidualCost(0, (model.residual.streams - 1) * model.hidden)
    return ResidualCost(0, 0)
