"""[backup] in moot.toml."""

from __future__ import annotations

import re
from datetime import time
from typing import Annotated

from pydantic import Field, field_validator

from gateway.settings.tables import Table

_EVERY = re.compile(r"daily ([01][0-9]|2[0-3]):([0-5][0-9])")


class BackupTable(Table):
    """Backups that Moot makes by itself, into data/backups, unless every = ""; see docs/backup.md.
    most_...: bounds of what agents keep in their folders, in each backup."""

    every: str = "daily 03:00"
    keep: Annotated[int, Field(ge=1)] = 7
    scopes: bool = False
    most_file_gb: Annotated[float, Field(gt=0)] = 1.0
    most_scope_gb: Annotated[float, Field(gt=0)] = 20.0
    most_scope_files: Annotated[int, Field(ge=1)] = 200_000

    @field_validator("every")
    @classmethod
    def _when(cls, value: str) -> str:
        if value and not _EVERY.fullmatch(value):
            raise ValueError(f'{value!r} is not "daily 03:00", nor "" for never')
        return value

    @property
    def at(self) -> time | None:
        """The time of day; None: never."""
        match = _EVERY.fullmatch(self.every)
        return time(int(match[1]), int(match[2])) if match else None
