"""How a claim is decided: evidence computed from data and costs, and a rule that turns evidence into a verdict.

The two are kept apart so that a test can hand a rule other evidence and see each verdict that it can give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lib.verdict import Verdict


@dataclass(frozen=True)
class Decision:
    """A claim's verdict, what was recomputed, the evidence in a sentence, and where the values come from."""

    verdict: Verdict
    recomputed: str
    evidence: str
    provenance: str


@dataclass(frozen=True)
class Rule:
    """`rule(claim, **evidence) -> Decision`; `evidence` holds a function of no argument for each of its keywords."""

    rule: Callable[..., Decision]
    evidence: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def __call__(self, claim, **given) -> Decision:
        """Decide `claim`; evidence that is not given is computed."""
        return self.rule(
            claim, **{name: given[name] if name in given else compute() for name, compute in self.evidence.items()}
        )


def decides(**evidence: Callable[[], Any]) -> Callable[[Callable[..., Decision]], Rule]:
    """Bind a rule to the functions that compute its evidence."""
    return lambda rule: Rule(rule, evidence)
