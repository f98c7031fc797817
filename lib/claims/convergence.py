"""Claims of section 6: what the field converges on, and who has built it."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.data import models, statements
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Mla
from lib.evidence import designs as released
from lib.evidence import reports
from lib.evidence.ceilings import TPOT
from lib.evidence.words import percent, seconds
from lib.verdict import holds, only_if, unchecked

DATA = "published: data/models"
COSTS = "formula: lib.cost over data/models and data/chips.yml"
ROLES = {"linear": (Kda, GatedDelta), "all-token MLA": (Mla,), "sparse": (Dsa, Csa, Hca)}


def designs() -> dict[str, set[str]]:
    """title -> which of linear, all-token MLA and sparse layers the model has."""
    return {
        m.title: {role for role, kinds in ROLES.items() if any(isinstance(x, kinds) for x in m.mechanisms.values())}
        for m in models().values()
    }


@decides(remark=reports.future_work)
def future_work(claim, *, remark) -> Decision:
    return Decision(
        holds(remark is not None, "" if remark else "no such remark in data/published.yml"),
        remark or "",
        f"The report's discussion: {remark}.",
        "published: Kimi Linear report (arXiv 2510.26692), section 7.1",
    )


@decides(designs=designs)
def three_way_convergence(claim, *, designs) -> Decision:
    all_three = [title for title, roles in designs.items() if len(roles) == 3]
    two = [title for title, roles in designs.items() if {"linear", "sparse"} <= roles]
    told = f"With linear, sparse and all-token MLA layers: {', '.join(all_three) or 'none'}. With linear and sparse layers: {', '.join(two) or 'none'}."
    if all_three:
        return Decision(holds(True), f"{len(all_three)} models", told, DATA)
    if two:
        return Decision(
            holds(False, f"{' and '.join(two)} joins linear and sparse layers and has no all-token layer between them"),
            f"0 of {len(designs)} models have all three",
            told,
            DATA,
        )
    return Decision(holds(False, "no model joins linear and sparse layers"), f"0 of {len(designs)} models", told, DATA)


@decides(kept=released.keeps)
def hybrid_keeps_all(claim, *, kept) -> Decision:
    """By cost: the cache may leave HBM and a token still comes in time; fewer bytes than latents everywhere; linear layers."""
    parts = {
        "offloading": kept.from_host <= TPOT, "compression": kept.per_token < kept.dense_per_token / 2, "local speed": kept.linear_share > 0.5,
    }  # fmt: skip
    lost = [name for name, true in parts.items() if not true]
    told = (
        f"{kept.title} at 1M: a step takes at least {seconds(kept.from_host)} with its latents in host memory; one more token takes {kept.per_token:,.0f} bytes, where latents in every layer would take "
        f"{kept.dense_per_token:,.0f}; {percent(kept.linear_share, 0)} of its layers cost the same at any context."
    )
    if lost:
        return Decision(holds(False, f"by cost it loses {' and '.join(lost)}"), "by cost", told, COSTS)
    return Decision(
        only_if(
            "quality holds: by cost all three are kept, and no comparison of trained models at equal size is public"
        ),
        "by cost, all three",
        told,
        COSTS,
    )


def sparse_with_mtp() -> dict[str, str]:
    """title -> vendor of the models that select over MLA latents and train multi-token prediction."""
    return {
        m.title: m.vendor for m in models().values() if m.mtp and any(isinstance(x, Dsa) for x in m.mechanisms.values())
    }


@decides(found=sparse_with_mtp)
def only_deepseek_integrates(claim, *, found) -> Decision:
    others = sorted({vendor for vendor in found.values() if vendor != "DeepSeek"})
    told = "; ".join(f"{title} ({vendor})" for title, vendor in found.items())
    return Decision(
        holds(bool(found) and not others, f"{' and '.join(others)} ship the three together too" if others else ""),
        f"{len(found)} models",
        f"Models with an indexer over MLA latents and multi-token prediction: {told}.",
        DATA,
    )


@decides(
    sequel=lambda: next((entry.says for entry in statements("sequel").values()), None),
    ours=lambda: [released.of(m) for m in released.all_designs()],
)
def fusion_quantified(claim, *, sequel, ours) -> Decision:
    """A promise of numbers is kept by a number; the book's own table shows what such numbers look like."""
    best = min(ours, key=lambda design: design.per_token)
    told = f"What the book finds: of {len(ours)} designs, {best.model.title} grows least, {best.per_token:,.0f} bytes a token."
    if sequel is None:
        return Decision(unchecked("what part 2 says of it"), "", told, COSTS)
    return Decision(
        holds(False, "part 2 predicts a fusion of compression, sparsity and linear layers and gives no number for it"),
        f"{len(ours)} designs costed here",
        told,
        f"published: part 2 of the series; {COSTS}",
    )
