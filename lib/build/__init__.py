"""Building the book: `python -m lib.build book` and `python -m lib.build tables [--accept]`."""
