"""Recompute every table, say what changed, and write only when told to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lib import accepted
from lib.accepted import HOW_TO_ACCEPT, MalformedTable
from lib.tables import TABLES
from lib.tables.spec import Table


def check(*, accept: bool = False, schemas: Mapping[str, Table] = TABLES, folder: Path = accepted.FOLDER) -> int:
    """0 when every table is the accepted one (or has just been accepted), 1 otherwise."""
    failed = [name for name, schema in sorted(schemas.items()) if not _one(schema, folder, accept)]
    orphans = sorted(path for path in folder.glob("*.csv") if path.stem not in schemas)
    for path in orphans:
        print(f"{path.name}: no table has this id; remove the file")
    differ = f"{len(failed)} of {len(schemas)} tables differ"
    if failed and not accept:
        print(f"{differ}; {HOW_TO_ACCEPT}")
    elif failed:
        print(f"{len(failed)} of {len(schemas)} tables could not be accepted")
    else:
        print(f"{len(schemas)} tables agree with {folder}")
    return 1 if failed or orphans else 0


def _one(schema: Table, folder: Path, accept: bool) -> bool:
    """Whether the table agrees with the accepted one, after writing it if that was asked for."""
    try:
        frame = schema.compute()
    except Exception as error:  # one table that cannot be computed must not hide the others
        print(f"table {schema.id}: cannot be computed: {type(error).__name__}: {error}")
        return False
    try:
        changes = accepted.compare(schema, frame, accepted.read(schema, folder))
    except MalformedTable as error:
        print(f"table {schema.id}: {error}")
        changes = [accepted.Change("table", "(malformed)", f"{len(frame)} rows")]
    if not changes:
        return True
    print(accepted.report(schema, changes))
    return accept and _write(schema, frame, folder)


def _write(schema: Table, frame, folder: Path) -> bool:
    try:
        print(f"accepted: {accepted.write(schema, frame, folder)}")
    except OSError as error:
        print(error.strerror)
        return False
    return True
