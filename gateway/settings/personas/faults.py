"""Reasons why an edit of a persona was refused, with what helps to fix it."""

from __future__ import annotations

import difflib

from contract.errors import MootError
from contract.language import phrase
from gateway.settings.personas.check import PersonaFinding


class Unsound(MootError):
    """A text that can't be saved as a persona; `findings` say why."""

    def __init__(self, findings: tuple[PersonaFinding, ...]) -> None:
        first = next(f for f in findings if f.severity == "error")
        super().__init__(f"line {first.line}: {first}")
        self.findings = findings


class Conflict(MootError):
    """The file is not what the edit began from. theirs: its text now, None: it is gone.

    base: what an edit of that carries. diff: from theirs to the text that was to be saved.
    """

    def __init__(self, theirs: str | None, base: str, diff: str) -> None:
        deleted = phrase("the file was deleted since you began; nothing was saved")
        changed = phrase("the file was changed since you began; nothing was saved")
        super().__init__(deleted if theirs is None else changed)
        self.theirs = theirs
        self.base = base
        self.diff = diff


class Unknown(MootError):
    """There is no such persona, or no such version of it."""


def unified(before: str, after: str, before_title: str, after_title: str) -> str:
    """A unified diff, "" when they are the same."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), before_title, after_title, lineterm=""
    )
    return "\n".join(lines)
