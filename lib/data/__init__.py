"""Typed, strict loading of `data/`: models, chips, tiers, prices, traces, claims and figures published by others."""

from lib.data.chips import Chip, Tier, chip, chips, tiers
from lib.data.claims import ClaimSpec, claims
from lib.data.hf import from_hf
from lib.data.load import DATA, model, models
from lib.data.model import Model, Precision
from lib.data.prices import Price, price, price_of, prices
from lib.data.published import figure, figures, statements
from lib.data.strict import DataError
from lib.data.traces import Trace, trace

__all__ = [
    "DATA", "Chip", "ClaimSpec", "DataError", "Model", "Precision", "Price", "Tier", "Trace", "chip", "chips", "claims", "figure",
    "figures", "from_hf", "model", "models", "price", "price_of", "prices", "statements", "tiers", "trace",
]  # fmt: skip
