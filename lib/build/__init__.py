"""Building the book: `python -m lib.build book` and `python -m lib.build tables [--accept]`."""

RECORD = "execution.json"  # in _build: what the extension leaves for the last lines of the build
