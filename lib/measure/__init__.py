"""Measuring the mechanisms on this device: `python -m lib.measure` writes a record, tables and claims read it.

`harness` times points and knows nothing of attention, `suites` say what a point is, `record` keeps raw samples and where
they came from, `fit` and `roofline` read them. Reading a record needs no torch; names load where they are used.
"""
