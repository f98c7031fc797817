"""Whole designs, released and hypothetical, and the claims that rest on them."""

from __future__ import annotations

import pytest

from lib.claims import convergence
from lib.cost import stored_bytes
from lib.data import claims, model
from lib.data.mechanisms import Csa, Dsa, Kda, Mla
from lib.data.variants import with_mechanism
from lib.evidence import designs
from lib.verdict import Kind


def test_only_the_all_token_layers_are_replaced():
    """Breaks when a KDA layer changes, or a replaced layer keeps its latents' width from another model."""
    original = model("kimi-linear-48b-a3b")
    for twin, kind in ((designs.kimi_with_dsa(), Dsa), (designs.kimi_with_csa(), Csa)):
        assert twin.pattern == original.pattern and twin.mechanisms["K"] == original.mechanisms["K"]
        assert isinstance(twin.mechanisms["M"], kind)
    latent, sparse = original.mechanisms["M"], designs.kimi_with_dsa().mechanisms["M"]
    assert (sparse.heads, sparse.latent, sparse.rope) == (latent.heads, latent.latent, latent.rope)
    with pytest.raises(ValueError, match=r"letter='X': wanted one of"):
        with_mechanism(original, "X", latent, name="x", title="X")


def test_bytes_of_the_twins_by_hand():
    """DSA adds seven index keys of 128 bf16 numbers a token to seven latents of 576; CSA keeps a quarter of seven entries of
    584 bytes and seven index keys of 68. Breaks when a cache of the replaced layer stays."""
    assert designs.of(designs.kimi_with_dsa()).per_token == 7 * (2 * 576 + 2 * 128)
    assert designs.of(designs.kimi_with_csa()).per_token == 7 * (584 + 68) / 4
    states = stored_bytes(model("kimi-linear-48b-a3b"), 0).state
    assert stored_bytes(designs.kimi_with_dsa(), 0).state == states


def test_every_design_names_what_it_has():
    """Breaks when a design is listed twice, or the hypothetical ones are taken for released."""
    found = designs.all_designs()
    assert len({m.name for m in found}) == len(found) == len(designs.RELEASED) + 2
    assert all(any(isinstance(x, Kda) for x in m.mechanisms.values()) for m in found[-2:])
    assert not any(isinstance(x, Mla) for m in found[-2:] for x in m.mechanisms.values())


KEPT = designs.Keeps("X", from_host=0.001, per_token=10.0, dense_per_token=40.0, linear_share=0.75)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, Kind.ONLY_IF),
        ({"from_host": 0.2}, Kind.FAILS),
        ({"per_token": 39.0}, Kind.FAILS),
        ({"linear_share": 0.2}, Kind.FAILS),
    ],
)
def test_all_three_are_needed(change, kind):
    """Breaks when one of the three advantages is not looked at."""
    assert convergence.hybrid_keeps_all(claims()["C-56"], kept=KEPT._replace(**change)).verdict.kind is kind


def test_a_promise_without_a_source_is_unchecked():
    """Breaks when nothing known counts as broken."""
    ours = [designs.of(designs.kimi_with_dsa())]
    assert convergence.fusion_quantified(claims()["P-4"], sequel=None, ours=ours).verdict.kind is Kind.UNCHECKED
    assert convergence.fusion_quantified(claims()["P-4"], sequel="says so", ours=ours).verdict.kind is Kind.FAILS
