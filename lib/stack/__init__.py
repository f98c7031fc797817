"""Small decoder-only models from the book's own layers, in any pattern, trained on tasks whose answers code knows.

    python -m lib.stack train            the committed set, resumable; writes data/training
    python -m lib.stack train --only mqar-16:KKKM:0

Letters of a pattern, a layer each: K KDA, H KDA with one decay a head, G Gated DeltaNet, M MLA, D DSA (MLA over the tokens that
a trained indexer picks), W a sliding window with sinks.
"""
