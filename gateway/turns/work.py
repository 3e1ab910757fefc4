"""An agent's work, made fit to be shown: no secret, nothing forged, one short line a step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from composer.cuts import cut_words
from composer.guard import flat
from contract.work import FileChange, Todo, ToolStep, Work
from gateway.core.redaction import Redactor

DETAIL_CHARS = 120  # of a step: it stays one line on a screen, two on a phone
PATH_CHARS = 80
TODOS = 50


class ShownWork:
    """The work of one turn as it may be shown. workspace: paths in it are told from there."""

    def __init__(self, redactor: Redactor, workspace: Path) -> None:
        self._redactor = redactor
        self._inside = re.compile(rf"(?<![\w./-]){re.escape(str(workspace))}/(?=[^\s/])")
        self._steps: dict[ToolStep, ToolStep] = {}  # a step is told again with all that follow it
        self._made: tuple[Work, Work] = (Work(), Work())

    def __call__(self, work: Work) -> Work:
        """The same as it may be shown."""
        if work is not self._made[0]:
            self._steps = {step: self._steps.get(step) or self._step(step) for step in work.steps}
            todos = tuple(
                Todo(self._text(todo.text, DETAIL_CHARS), todo.state) for todo in work.todos[:TODOS]
            )
            shown = Work(tuple(self._steps[step] for step in work.steps), todos, work.left_out)
            self._made = (work, shown)
        return self._made[1]

    def _step(self, step: ToolStep) -> ToolStep:
        return replace(
            step,
            tool=self._text(step.tool, PATH_CHARS),
            detail=self._text(step.detail, DETAIL_CHARS),
            changes=tuple(
                FileChange(self._text(change.path, PATH_CHARS), change.added, change.removed)
                for change in step.changes
            ),
        )

    def _text(self, text: str, chars: int) -> str:
        """Cut last: a secret that was cut before could not be found."""
        return cut_words(flat(self._redactor.unfinished(self._inside.sub("", text))), chars)
