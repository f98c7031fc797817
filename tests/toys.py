"""Models and chips small enough to be costed on paper."""

from __future__ import annotations

from lib.data.chips import Chip
from lib.data.mechanisms import Dense, Dsa, GatedDelta, Kda, Lightning, Mla, Moe, Softmax
from lib.data.model import Model

SOURCE = {"source": "made up", "confidence": "computed"}
GROUPS = ("geometry", "attention", "feed_forward", "precision", "context", "sizes")
BF16 = dict.fromkeys(("weights", "experts", "kv", "latent", "entry", "rope", "index", "state", "conv"), "bf16")

SOFTMAX = Softmax(type="softmax", heads=2, kv_heads=1, key_dim=4, value_dim=4, output_gate=False)
WIDE = Softmax(type="softmax", heads=8, kv_heads=8, key_dim=4, value_dim=4, output_gate=False)
MLA = Mla(type="mla", heads=4, latent=16, rope=4, nope=8, value=8, q_rank=None, output_gate=False)
DSA = Dsa(
    type="dsa", heads=4, latent=16, rope=4, nope=8, value=8, q_rank=8, output_gate=False,
    indexer="own", index_heads=2, index_dim=8, index_pool=1, top_k=32,
)  # fmt: skip
KDA = Kda(type="kda", heads=8, key_dim=4, value_dim=4, conv=4, decay_rank=4, gate_rank=4, lower_bound=None)
GDN = GatedDelta(type="gated_delta", key_heads=2, value_heads=4, key_dim=4, value_dim=4, conv=4)
LIGHTNING = Lightning(type="lightning", heads=4, key_dim=4, value_dim=8)

DENSE = Dense(type="dense", width=16)
MOE = Moe(
    type="moe", experts=8, active=2, width=4, shared=0, shared_width=None, shared_gate=False,
    latent=None, zero_experts=0, active_real=None,
)  # fmt: skip


def toy(pattern: str, mechanisms: dict, ffn=DENSE, **changes) -> Model:
    """A model with hidden size 8 and a vocabulary of 16: one letter of `pattern` a layer, `ffn` after each."""
    content = {
        "name": "toy", "title": "Toy", "vendor": "nobody", "released": None, "path": "full",
        "hidden": 8, "vocab": 16, "tied_embeddings": False, "context": 1024,
        "num_layers": len(pattern), "mixers_per_layer": 1,
        "mechanisms": mechanisms, "ffns": {"f": ffn},
        "mixers": [{"times": 1, "pattern": pattern}], "feed_forward": [{"layers": len(pattern), "ffns": ["f"]}],
        "counts": {letter: pattern.count(letter) for letter in dict.fromkeys(pattern)},
        "mtp": None, "extra": [], "residual": {"type": "plain", "blocks": None, "streams": None},
        "precision": BF16, "sizes": {"total": None, "active": None, "with_mtp": False}, "sources": dict.fromkeys(GROUPS, SOURCE),
    }  # fmt: skip
    return Model.model_validate(content | changes)


def toy_chip(**changes) -> Chip:
    """1 GB at 10 GB/s, 1 TFLOP/s in bf16 and 2 in fp8, 1 GB/s to its neighbours."""
    content = {
        "name": "toy", "title": "Toy", "measured": False, "memory_bytes": 1e9, "memory_bandwidth": 1e10,
        "flops": {"bf16": 1e12, "fp8": 2e12, "fp4": None}, "link_bandwidth": 1e9, "host_bandwidth": None,
        "dollars_per_hour": [], "source": "made up", "confidence": "computed", "note": None,
    }  # fmt: skip
    return Chip.model_validate(content | changes)
