"""The post's claims, in our own words, from `data/claims.yml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from lib.data.load import DATA
from lib.data.mechanisms import Spec
from lib.data.strict import DataError, listed, parse, read_yaml
from lib.verdict import printed

Chapter = Literal["architecture", "efficiency", "deployment", "memory_economy", "convergence", "ceiling"]
Nature = Literal["figure", "scaling", "attribution", "comparison", "mechanism", "forecast", "promise"]
FIRST, LAST = {"C": 1, "P": 1}, {"C": 58, "P": 4}


class ClaimSpec(Spec):
    """One claim. `printed` is a figure that `lib.verdict.printed` reads, `printed_text` what stands there when it is none;
    `decide` names the rule of `lib.claims`, `tables` the post's tables that repeat the claim."""

    id: Annotated[str, Field(pattern=r"^[CP]-\d{1,2}$")]
    section: Annotated[str, Field(pattern=r"^S\d(\.\d)?$")]
    chapter: Chapter
    statement: Annotated[str, Field(min_length=10)]
    printed: str | None
    printed_text: str | None
    kind: Nature
    decide: Annotated[str, Field(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]
    tables: list[Annotated[str, Field(pattern=r"^T-[a-z]+$")]]

    @field_validator("printed")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        if value is not None:
            printed(value)
        return value


def load_claims(path: Path) -> dict[str, ClaimSpec]:
    """The claims of a file, in its order. Raises DataError on a fault, an id given twice, or a gap in the numbering."""
    (entries,) = listed(read_yaml(path), path, "claims")
    found: dict[str, ClaimSpec] = {}
    for position, entry in enumerate(entries, 1):
        name = entry.get("id", f"entry {position}") if isinstance(entry, dict) else f"entry {position}"
        claim = parse(ClaimSpec, entry, f"{path}: {name}")
        if claim.id in found:
            raise DataError(f"{path}: {name}: key id: value {claim.id!r} appears twice, wanted it once")
        found[claim.id] = claim
    _check_numbering(path, list(found))
    return found


def _check_numbering(path: Path, ids: list[str]) -> None:
    wanted = [
        f"{letter}-{n:02d}" if letter == "C" else f"{letter}-{n}"
        for letter in "CP"
        for n in range(FIRST[letter], LAST[letter] + 1)
    ]
    if missing := [name for name in wanted if name not in ids]:
        raise DataError(f"{path}: claim {missing[0]} is missing, wanted C-01 to C-58 and P-1 to P-4")
    if extra := [name for name in ids if name not in wanted]:
        raise DataError(f"{path}: claim {extra[0]}: key id: unknown, wanted C-01 to C-58 or P-1 to P-4")


@cache
def claims() -> dict[str, ClaimSpec]:
    """Every claim by id, in the post's order."""
    return load_claims(DATA / "claims.yml")


__all__ = ["ClaimSpec", "claims", "load_claims"]
