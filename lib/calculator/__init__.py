"""The calculator page: `lib.cost` written out as numbers, which the page adds up and divides, and the form around them."""

from lib.calculator.export import BATCHES, CACHED, CHIPS, CONTEXTS, COUNTS, SPLITS, content, system
from lib.calculator.page import markup

__all__ = ["BATCHES", "CACHED", "CHIPS", "CONTEXTS", "COUNTS", "SPLITS", "content", "markup", "system"]
