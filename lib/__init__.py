"""Kernels, cost models and data of the book on million-token attention.

Dependencies point down only: chapters -> book, tables, claims, charts -> cost, measure -> attention, data.
Importing this package imports nothing else, so that `import lib.cost` stays fast and free of torch.
"""

__version__ = "0.1.0"
