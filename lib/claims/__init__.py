"""Every claim of the post, decided: `claims.evaluate("C-43")` -> Decision, `claims.frame()` -> one row a claim.

`data/claims.yml` says what is claimed and names the rule that decides it (`decide: module.function`, a rule of `lib.claims`);
a claim that points to no rule, or a rule that no claim points to, is an error.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

import pandas as pd

from lib.claims.decision import Decision, Rule
from lib.data import DataError, claims
from lib.verdict import Kind

MODULES = ("architecture", "paths", "efficiency", "deployment", "memory_economy", "convergence", "ceiling")

__all__ = ["Decision", "Rule", "evaluate", "frame", "rules", "scoreboard"]


@cache
def rules() -> dict[str, Rule]:
    """Every rule by `module.function`."""
    found = {}
    for name in MODULES:
        module = import_module(f"lib.claims.{name}")
        found |= {f"{name}.{key}": value for key, value in vars(module).items() if isinstance(value, Rule)}
    return found


def rule_of(claim_id: str) -> Rule:
    known = claims()
    if claim_id not in known:
        raise KeyError(f"claim {claim_id!r}: wanted one of {', '.join(known)}")
    name = known[claim_id].decide
    if name not in rules():
        raise DataError(
            f"data/claims.yml: {claim_id}: key decide: value {name!r} names no rule, wanted one of {', '.join(sorted(rules()))}"
        )
    return rules()[name]


@cache
def evaluate(claim_id: str) -> Decision:
    """Decide one claim from the data as it stands."""
    return rule_of(claim_id)(claims()[claim_id])


def frame() -> pd.DataFrame:
    """One row a claim, in the post's order."""
    rows = []
    for name, claim in claims().items():
        decision = evaluate(name)
        rows.append(
            {
                "id": name,
                "section": claim.section,
                "chapter": claim.chapter,
                "statement": claim.statement,
                "printed": claim.printed or claim.printed_text or "",
                "recomputed": decision.recomputed,
                "verdict": str(decision.verdict),
                "kind": decision.verdict.kind.words,
                "evidence": decision.evidence,
                "provenance": decision.provenance,
            }
        )
    return pd.DataFrame(rows)


def scoreboard() -> pd.DataFrame:
    """How many claims got each verdict, kinds that none got included."""
    counted = frame()["kind"].value_counts()
    return pd.DataFrame(
        [{"verdict": kind.words, "mark": kind.mark, "claims": int(counted.get(kind.words, 0))} for kind in Kind]
    )
