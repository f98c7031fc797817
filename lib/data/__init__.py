"""Typed, strict loading of `data/`: models, chips, tiers, prices, traces, claims and figures published by others."""

from lib.data.load import DATA, model, models
from lib.data.model import Model, Precision
from lib.data.strict import DataError

__all__ = ["DATA", "DataError", "Model", "Precision", "model", "models"]
