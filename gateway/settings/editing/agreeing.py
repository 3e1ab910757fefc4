"""Values that lie both in files of each machine and in a database that several know: the side that
holds, and the form on which a machine and the database last agreed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gateway.settings.whole_file import put

Holds = Literal["both", "ours", "theirs"]


def judge(ours: str, agreed: str | None, theirs: str | None) -> Holds:
    """The side whose form of a file holds. The forms are digests, "" where the file is gone, None
    where nothing is known. theirs: the database's.

    An edit here holds as long as the database has what was agreed on; else its form does.
    """
    if ours == theirs:
        return "both"
    return "ours" if theirs is None or theirs == agreed else "theirs"


def agreed_in(file: Path) -> dict[str, str]:
    """The forms agreed on, by name. Raises OSError."""
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}


def note_agreed(file: Path, forms: Mapping[str, str]) -> None:
    """Write the forms agreed on. Raises OSError."""
    put(file, json.dumps(forms, indent=0, sort_keys=True).encode(), 0o600)
