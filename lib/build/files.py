"""Writing a file so that a kill leaves the old content or the new one, nothing in between."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    draft = path.with_name(f"{path.name}.part")
    draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    os.replace(draft, path)
