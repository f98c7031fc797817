"""The accepted tables, `data/tables/<id>.csv`: what the last accepted build printed, compared with each new one.

A build never writes these files; only `python -m lib.build tables --accept` does. Numbers are written by `repr`, so
that reading gives the same double; an empty field is a missing value; everything else is text, letter for letter.
"""

from __future__ import annotations

import csv
import math
import numbers
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lib.tables.spec import Table

FOLDER = Path(__file__).resolve().parent.parent / "data" / "tables"
EXACT = 1e-9  # relative: what reordering a float64 sum may change, and far below any printed digit
HOW_TO_ACCEPT = "to accept the new values: make tables ACCEPT=1"


class MalformedTable(ValueError):
    """A CSV file that is not a table of this schema; the message names file, row and column."""


class TableDrift(AssertionError):
    """A recomputed table differs from the accepted one."""


@dataclass(frozen=True)
class Change:
    """One difference between the accepted and the recomputed table."""

    where: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.where}: {self.old} -> {self.new}"


def encode(value: object) -> str:
    """A cell as it stands in the file."""
    if _missing(value):
        return ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return str(value)
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def to_text(table: Table, frame: pd.DataFrame) -> str:
    rows = [[column.name for column in table.columns], *frame.itertuples(index=False, name=None)]
    return "".join(",".join(map(_field, row)) + "\n" for row in rows)


def _field(value: object) -> str:
    """A cell, quoted where it must be; the csv module would leave a carriage return bare, and read it as a line's end."""
    text = encode(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def write(table: Table, frame: pd.DataFrame, folder: Path | None = None) -> Path:
    """Write the table through a temporary file, so that a kill or a full disk leaves the old one whole."""
    path = (folder or FOLDER) / f"{table.id}.csv"
    draft = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(to_text(table, frame), encoding="utf-8", newline="")
        os.replace(draft, path)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {error.strerror}; is the folder read-only?") from None
    return path


def read(table: Table, folder: Path | None = None) -> pd.DataFrame | None:
    """The accepted table, or None when there is none yet."""
    path = (folder or FOLDER) / f"{table.id}.csv"
    if not path.exists():
        return None
    lines = _lines(path)
    heads, *rows = lines or [(1, [])]
    wanted = [column.name for column in table.columns]
    unknown = sorted(set(heads[1]) ^ set(wanted))
    if heads[1] != wanted and not unknown:
        raise MalformedTable(f"{path}, row 1: columns {heads[1]}, wanted {wanted}")
    known = {column.name: column for column in table.columns}
    records = []
    for number, fields in rows:
        if len(fields) != len(heads[1]):
            last = heads[1][min(len(fields), len(heads[1]) - 1)]
            raise MalformedTable(f"{path}, row {number}, column {last!r}: {len(fields)} fields, wanted {len(heads[1])}")
        records.append(
            [
                _decode(text, known.get(name), f"{path}, row {number}, column {name!r}")
                for name, text in zip(heads[1], fields, strict=True)
            ]
        )
    return pd.DataFrame(records, columns=heads[1], dtype=object)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            return [(reader.line_num, fields) for fields in reader]
    except UnicodeDecodeError as error:
        raise MalformedTable(f"{path}: not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise MalformedTable(f"{path}, row {reader.line_num}: {error}") from None


def _decode(text: str, column, place: str) -> object:
    if text == "":
        return None
    if column is None or not column.format:
        return text
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        raise MalformedTable(f"{place}: {text!r}, wanted a number") from None


def compare(table: Table, frame: pd.DataFrame, accepted: pd.DataFrame | None) -> list[Change]:
    """Each difference, in the order of the new table: changed cells, then rows and columns that came or went."""
    if accepted is None:
        return [Change("table", "(no accepted table)", f"{len(frame)} rows, all new")]
    changes = _columns(table, accepted)
    old_keys, new_keys = _keys(table, accepted), _keys(table, frame)
    old_at = {key: place for place, key in enumerate(old_keys)}
    shared = [column for column in table.columns if column.name in accepted.columns]
    for place, key in enumerate(new_keys):
        if key not in old_at:
            changes.append(Change(_words(key), "(no such row)", _row(frame, place)))
            continue
        for column in shared:
            old, new = accepted[column.name].iloc[old_at[key]], frame[column.name].iloc[place]
            if not same(old, new, column.band):
                changes.append(Change(f"{_words(key)}, column {column.name!r}", _shown(old), _shown(new)))
    gone = [key for key in old_keys if key not in set(new_keys)]
    changes += [Change(_words(key), _row(accepted, old_at[key]), "(row gone)") for key in gone]
    if not changes and old_keys != new_keys:
        changes.append(Change("order of rows", _words(old_keys[0]), _words(new_keys[0])))
    return changes


def same(old: object, new: object, band: float | None = None) -> bool:
    """Equal text, or numbers within 1e-9 (or the band that a measured column may show) of each other."""
    if encode(old) == encode(new):
        return True
    if not isinstance(new, numbers.Real) or isinstance(new, bool) or _missing(new) or _missing(old):
        return False
    try:
        old = float(old)
    except (TypeError, ValueError):
        return False
    return math.isclose(old, float(new), rel_tol=EXACT if band is None else band, abs_tol=0.0)


def _columns(table: Table, accepted: pd.DataFrame) -> list[Change]:
    names = [column.name for column in table.columns]
    came = [Change(f"column {name!r}", "(none)", "(new)") for name in names if name not in accepted.columns]
    return came + [Change(f"column {name!r}", "(there)", "(gone)") for name in accepted.columns if name not in names]


def _keys(table: Table, frame: pd.DataFrame) -> list[tuple]:
    """What rows are called: their head, with the `column` of a post table, numbered where that is not unique."""
    names = [name for name in (table.row_header, "column") if name in frame.columns]
    keys, seen = [], {}
    for row in frame[names].itertuples(index=False, name=None):
        key = tuple(map(encode, row))
        seen[key] = seen.get(key, 0) + 1
        keys.append(key if seen[key] == 1 else (*key, f"no. {seen[key]}"))
    return keys


def _words(key: tuple) -> str:
    return f"row {' / '.join(key)!r}"


def _row(frame: pd.DataFrame, place: int) -> str:
    return "; ".join(f"{name}={_shown(value)}" for name, value in frame.iloc[place].items())


def _shown(value: object) -> str:
    return repr(encode(value)) if isinstance(value, str) else encode(value) or "(empty)"


def check(table: Table, frame: pd.DataFrame, folder: Path | None = None, most: int = 20) -> None:
    """Raise TableDrift, listing the first changes, unless the table is the accepted one."""
    changes = compare(table, frame, read(table, folder))
    if changes:
        raise TableDrift(report(table, changes, most) + f"\n{HOW_TO_ACCEPT}")


def report(table: Table, changes: list[Change], most: int | None = None) -> str:
    shown = changes[:most]
    more = [f"  … and {len(changes) - len(shown)} more"] if len(shown) < len(changes) else []
    count = f"{len(changes)} difference{'s' if len(changes) > 1 else ''}"
    head = f"table {table.id} ({table.id}.csv): {count} from the accepted one"
    return "\n".join([head, *(f"  {change}" for change in shown), *more])
