"""Findings of `moot doctor`: a line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["✓", "⚠", "✗"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding. what: the part of Moot it is about. remedy: what to do; "": nothing."""

    mark: Mark
    what: str
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.mark} {self.what}: {self.text}"
        return f"{line} — {self.remedy}" if self.remedy else line
