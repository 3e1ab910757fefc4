"""An agent's work in one turn as people are shown it, with every word that is used for it, and the
files that it hands over to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from contract.chat import Attachment
from contract.values import dataclass

StepState = Literal["running", "done", "failed"]
TodoState = Literal["open", "doing", "done"]

STEP_MARKS: Mapping[StepState, str] = {"running": "…", "done": "✓", "failed": "✗"}
TODO_MARKS: Mapping[TodoState, str] = {"open": "☐", "doing": "▸", "done": "☑"}
CHAT_STEPS, CHAT_TODOS = 8, 10  # lines of a draft: it has to fit a phone
MOST_STEPS = 200  # on record; of more the newest stay


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a tool wrote. added, removed: lines."""

    path: str
    added: int
    removed: int

    @property
    def words(self) -> str:
        """For people, e.g. `app.py +3 −1`."""
        return f"{self.path} +{self.added} −{self.removed}"


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One use of a tool. detail: a command, a path, a query. note: how it failed, e.g. "exit 1"."""

    tool: str
    detail: str = ""
    state: StepState = "running"
    note: str = ""
    changes: tuple[FileChange, ...] = ()

    @property
    def text(self) -> str:
        """The tool and what it was used on; the files that it changed stand for themselves."""
        paths = {change.path for change in self.changes}
        if len(paths) == 1 or not paths:
            return f"{self.tool} {self.detail}".rstrip()
        return self.tool

    @property
    def done(self) -> str:
        """The same with what it changed, e.g. `Edit app.py +3 −1`."""
        if len(self.changes) == 1 and self.changes[0].path == self.detail:
            return f"{self.text}{self.changes[0].words.removeprefix(self.detail)}"
        return " ".join([self.text, ", ".join(one.words for one in self.changes)]).rstrip()

    @property
    def line(self) -> str:
        """For people, e.g. `✗ Bash make test → exit 1`."""
        shown = f"{STEP_MARKS[self.state]} {self.done}"
        return f"{shown} → {self.note}" if self.note else shown


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of the agent's own list."""

    text: str
    state: TodoState = "open"

    @property
    def line(self) -> str:
        """For people, e.g. `☐ Run the tests`."""
        return f"{TODO_MARKS[self.state]} {self.text}"


@dataclass(frozen=True, slots=True)
class Work:
    """All of it, in the order in which it happened. left_out: of the oldest steps."""

    steps: tuple[ToolStep, ...] = ()
    todos: tuple[Todo, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.steps or self.todos)

    @property
    def summary(self) -> str:
        """All of it in one line, e.g. `4 tools, 2 files changed`."""
        done = sum(todo.state == "done" for todo in self.todos)
        files = {
            change.path for step in self.steps if step.state == "done" for change in step.changes
        }
        tools = len(self.steps) + self.left_out
        return ", ".join(
            part
            for part, told in (
                (_plural(tools, "tool"), tools),
                (f"{_plural(len(files), 'file')} changed", files),
                (f"{done} of {_plural(len(self.todos), 'to-do')} done", self.todos),
            )
            if told
        )

    @property
    def chat_lines(self) -> list[str]:
        """The newest of it for a draft, one line each."""
        before = len(self.steps) + self.left_out - CHAT_STEPS
        earlier = [f"({_plural(before, 'tool')} before)"] if before > 0 else []
        more = len(self.todos) - CHAT_TODOS
        return [
            *earlier,
            *(step.line for step in self.steps[-CHAT_STEPS:]),
            *(todo.line for todo in self.todos[:CHAT_TODOS]),
            *([f"({more} more)"] if more > 0 else []),
        ]

    def as_json(self) -> dict[str, Any]:
        """Plain values, for a record."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer on its way. text: one post of it, the work above the words. words: all that the
    agent has said so far; work: None: none is shown."""

    text: str
    words: str
    work: Work | None = None


def _plural(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}"


def recorded_work(values: Mapping[str, Any] | None) -> Work | None:
    """The work that a record holds, see `as_json`; None: none."""
    if not values:
        return None
    steps = (
        ToolStep(**step | {"changes": tuple(FileChange(**one) for one in step["changes"])})
        for step in values["steps"]
    )
    todos = (Todo(**todo) for todo in values["todos"])
    return Work(tuple(steps), tuple(todos), values["left_out"])


@dataclass(frozen=True, slots=True)
class HandedFile:
    """A file as it was when it was handed over, and where it is kept. comment: one line."""

    file: Attachment
    comment: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values, for a record."""
        return {**asdict(self.file), "comment": self.comment}


def recorded_files(record: Mapping[str, Any]) -> list[HandedFile]:
    """The files that a turn's record tells of."""
    return [handed_file(values) for values in record.get("files", ())]


def handed_file(values: Mapping[str, Any]) -> HandedFile:
    """One of them, see `HandedFile.as_json`."""
    told = dict(values)
    comment = str(told.pop("comment", ""))
    return HandedFile(Attachment(**told), comment)
