"""The steps of a turn, from what a program reports of each use of a tool. Pure.

Every program names its tools and their arguments in its own words; what they have in common is read
here alone: the argument that tells most, the lines that a file gains and loses, the to-do list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from adapters.records.excerpt import changes
from adapters.records.values import list_of, mapping_of, text_of
from adapters.turn_events import ToolReport
from contract.work import MOST_STEPS, FileChange, Todo, TodoState, ToolStep, Work

DETAIL_CHARS = 2_000  # a secret in it has to be whole, or it can't be found; it is cut when shown
TELLS_MOST = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "path", "absolute_path", "dir_path",
    "pattern", "url", "query", "description", "prompt", "text", "code",
)  # fmt: skip
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path")
_OLD = ("old_string", "oldString", "old_str", "old_text", "old_source")
_NEW = ("new_string", "newString", "new_str", "new_text", "new_source")
_WHOLE = ("content", "file_text", "contents")
_STATES: Mapping[str, TodoState] = {
    "pending": "open",
    "in_progress": "doing",
    "inProgress": "doing",
    "completed": "done",
    "done": "done",
}
_BOX = re.compile(r"^[^\S\n]*[-*] \[([ xX~-])\] (.+)$", re.MULTILINE)
_MADE = re.compile(r'Task #(\w+) created|"task": ?\{"id": ?"(\w+)"')
_EXIT = re.compile(r"(?i)\bexit(?:ed)?(?: with)?(?: exit)?(?: code| status)?:? (\d{1,3})\b")
_EXITED = re.compile(  # of a command that failed for its program, but for its tool did not
    r"^(?:Exit Code|exit code): (\d{1,3})$|^<.*\bexit code (\d{1,3})>$", re.MULTILINE
)
_CODES = ("exit_code", "returncode")  # where a result is JSON
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
EXIT_CHARS = 200  # of the beginning and the end of a result: there stands how a command ended


def arguments_of(given: str) -> Mapping[str, Any]:
    """A tool's arguments, where they are JSON."""
    try:
        return mapping_of(json.loads(given)) if given.startswith("{") else {}
    except ValueError:
        return {}


def detail_of(arguments: object, chars: int = 200) -> str:
    """The one line that tells most of a tool's arguments: a command, a file, a query."""
    for name in TELLS_MOST:
        value = mapping_of(arguments).get(name)
        if isinstance(value, list):
            value = " ".join(word for word in value if isinstance(word, str))
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:chars]
    return ""


class WorkSteps:
    """Each use once, in the order in which it was first heard of. changed: since it was told."""

    def __init__(self) -> None:
        self.changed = False
        self._steps: dict[str, ToolStep] = {}
        self._left_out = 0
        self._todos: dict[str, Todo] = {}
        self._tasks: set[str] = set()  # uses that made an item each
        self._lists_before: dict[str, dict[str, Todo]] = {}  # what each use found that writes it
        self._hinted = ""  # the step that stands for a use until there is a report on it
        self._commands: set[str] = set()  # uses that run a command

    def told(self) -> Work:
        """The work so far."""
        self.changed = False
        return Work(tuple(self._steps.values()), tuple(self._todos.values()), self._left_out)

    def use(self, tool: str, detail: str) -> None:
        """A use of which no more is known yet; programs without reports never tell more."""
        self.settle()
        self._hinted = f"use {len(self._steps) + self._left_out}"
        self.put(self._hinted, ToolStep(tool_name(tool), detail))

    def settle(self) -> None:
        """The agent went on: what it used last is done, as far as anybody knows."""
        if (hinted := self._steps.get(self._hinted)) is not None:
            self.put(self._hinted, replace(hinted, state="done"))
        self._hinted = ""

    def note(self, did: ToolReport) -> None:
        """Take in what is known more of a use."""
        if self._hinted:
            del self._steps[self._hinted]
            self._hinted = ""
        given, result = arguments_of(did.given), did.result or ""
        if self._lists(did, given, result):
            return
        step = self._steps.get(did.id) or ToolStep(did.tool)
        known = step
        if did.given:
            plain = not did.given.startswith("{")
            detail = detail_of({"text": did.given} if plain else given, DETAIL_CHARS)
            step = replace(step, detail=detail or step.detail, changes=changes_in(given))
            if plain or "command" in given or "cmd" in given:
                self._commands.add(did.id)
        step = replace(step, tool=tool_name(did.tool) or step.tool)
        if did.result is not None:
            step = _ended(step, did, result, command=did.id in self._commands)
        if step != known or did.id not in self._steps:
            self.put(did.id, step)

    def put(self, use: str, step: ToolStep) -> None:
        """A use as it is known now."""
        if not step.tool:
            return
        self._steps[use] = step
        self.changed = True
        if len(self._steps) > MOST_STEPS:
            del self._steps[next(iter(self._steps))]
            self._left_out += 1

    def list_todos(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """The whole list, as the agent wrote it again."""
        todos = [todo for entry in entries if (todo := _todo(entry))]
        self._todos = {f"#{number}": todo for number, todo in enumerate(todos)}
        self.changed = True

    def _lists(self, did: ToolReport, given: Mapping[str, Any], result: str) -> bool:
        """True if the use writes the list, and is no step of its own.

        It counts once: the record tells again what a hook told before, perhaps much later.
        """
        again = did.id in self._lists_before
        if not again and not _writes_list(did.tool, given):
            return did.tool in _ABOUT_TASKS
        before = self._lists_before.setdefault(did.id, self._todos)
        self.changed = True
        if did.failed:
            self._todos = before
        elif did.tool == "TaskCreate" or did.id in self._todos:
            self._make_task(did.id, text_of(given.get("subject")), result)
        elif not again and did.tool == "TaskUpdate":
            self._change_task(f"#{given.get('taskId')}", given)
        elif not again and isinstance(boxes := given.get("todos"), str):
            self.list_todos(_boxes(boxes))
        elif not again:
            entries = list_of(given.get("todos") or given.get("plan"))
            self.list_todos(mapping_of(entry) for entry in entries)
        return True

    def _make_task(self, use: str, subject: str, result: str) -> None:
        """Known by its use until the program says which number it has."""
        if subject and use not in self._tasks:
            self._tasks.add(use)
            self._todos = self._todos | {use: Todo(subject)}
        if (made := _MADE.search(result)) and use in self._todos:
            number = f"#{made[1] or made[2]}"
            self._todos = {number if key == use else key: one for key, one in self._todos.items()}

    def _change_task(self, task: str, given: Mapping[str, Any]) -> None:
        if (known := self._todos.get(task)) is None:
            return
        status = text_of(given.get("status"))
        text = text_of(given.get("subject")) or known.text
        changed = {task: Todo(text, _STATES.get(status, known.state))}
        kept = {key: one for key, one in self._todos.items() if key != task}
        self._todos = kept if status == "deleted" else self._todos | changed


_ABOUT_TASKS = ("TaskList", "TaskGet", "TodoRead", "todoread")


def _writes_list(tool: str, given: Mapping[str, Any]) -> bool:
    listed = isinstance(given.get("todos"), list | str) or isinstance(given.get("plan"), list)
    return listed or tool in ("TaskCreate", "TaskUpdate")


def tool_name(tool: str) -> str:
    """A tool in the words of its program: of an MCP server's, the server and the tool."""
    return " ".join(tool.split("__")[1:]) if tool.startswith("mcp__") else tool


def _ended(step: ToolStep, did: ToolReport, result: str, *, command: bool) -> ToolStep:
    told = arguments_of(result)
    code = did.exit_code
    if code is None and command:
        own = next((told[name] for name in _CODES if isinstance(told.get(name), int)), None)
        code = _exit_code(result, _EXIT if did.failed else _EXITED) if own is None else own
    failed = did.failed or bool(code)
    patched = _patch_of(step, told)
    return replace(
        step,
        state="failed" if failed else "done",
        note=f"exit {code}" if code else "",
        changes=() if failed else patched or step.changes,
    )


def _exit_code(result: str, pattern: re.Pattern[str]) -> int | None:
    """The code with which a command ended, as its tool's result tells it."""
    found = pattern.search(result[:EXIT_CHARS]) or pattern.search(result[-EXIT_CHARS:])
    return int(next(filter(None, found.groups()))) if found else None


# ── Files ───────────────────────────────────────────────────────────────────────────────


def changes_in(given: Mapping[str, Any]) -> tuple[FileChange, ...]:
    """The files that a tool's arguments would change; their lines are counted as they are told."""
    if path := _first(given, _PATHS):
        edits = [mapping_of(edit) for edit in list_of(given.get("edits"))] or [given]
        found = [_edit(edit) for edit in edits]
        counted = [one for one in found if one is not None]
        if counted:
            return (FileChange(path, sum(a for a, _ in counted), sum(r for _, r in counted)),)
        return ()
    for name in ("patch", "input", "patchText"):
        if patched := patch_changes(text_of(given.get(name))):
            return patched
    return tuple(
        _diffed(path, mapping_of(change)) for path, change in given.items() if _is_diff(change)
    )


def edited(path: str, old: str, new: str) -> FileChange:
    """A file of which some text took another's place."""
    return FileChange(path, *_counted(changes(old, new).split("\n")))


def patch_changes(patch: str) -> tuple[FileChange, ...]:
    """The files of a patch in the form of `apply_patch`."""
    if not patch.startswith("*** Begin Patch"):
        return ()
    parts = _PATCHED.split(patch)[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return tuple(FileChange(path, *_counted(text.split("\n"))) for path, text in named)


def _edit(edit: Mapping[str, Any]) -> tuple[int, int] | None:
    if any(isinstance(edit.get(name), str) for name in _NEW):
        return _counted(changes(_first(edit, _OLD), _first(edit, _NEW)).split("\n"))
    whole = _first(edit, _WHOLE)
    return (_lines(whole), 0) if whole else None


def _patch_of(step: ToolStep, result: Mapping[str, Any]) -> tuple[FileChange, ...]:
    """The lines that really changed, where the program tells them: Claude Code's hooks do."""
    hunks = [mapping_of(hunk) for hunk in list_of(result.get("structuredPatch"))]
    if not hunks or len(step.changes) != 1:
        return ()
    lines = [line for hunk in hunks for line in list_of(hunk.get("lines")) if isinstance(line, str)]
    return (FileChange(step.changes[0].path, *_counted(lines)),)


def _is_diff(change: object) -> bool:
    """True of what Codex tells of a file."""
    return isinstance(change, Mapping) and not change.keys().isdisjoint(("unified_diff", "content"))


def _diffed(path: str, change: Mapping[str, Any]) -> FileChange:
    if diff := text_of(change.get("unified_diff")):
        return FileChange(path, *_counted(diff.split("\n")))
    lines = _lines(text_of(change.get("content")))
    deleted = change.get("type") == "delete"
    return FileChange(path, 0, lines) if deleted else FileChange(path, lines, 0)


def _counted(lines: Iterable[str]) -> tuple[int, int]:
    """Lines that are added, and that are taken out."""
    added = removed = 0
    for line in lines:
        added += line.startswith("+") and not line.startswith("+++ ")
        removed += line.startswith("-") and not line.startswith("--- ")
    return added, removed


def _lines(text: str) -> int:
    return len(text.splitlines())


def _first(given: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((value for name in names if (value := text_of(given.get(name)))), "")


# ── To-do lists ─────────────────────────────────────────────────────────────────────────


def _todo(entry: Mapping[str, Any]) -> Todo | None:
    text = _first(entry, ("content", "step", "description", "text", "title", "subject"))
    status = text_of(entry.get("status"))
    if not text or status in ("cancelled", "deleted"):
        return None
    return Todo(" ".join(text.split()), _STATES.get(status, "open"))


def _boxes(text: str) -> Iterable[Mapping[str, Any]]:
    """A list in Markdown, as Copilot keeps it."""
    states = {" ": "pending", "x": "completed", "X": "completed"}
    return [
        {"content": words, "status": states.get(mark, "in_progress")}
        for mark, words in _BOX.findall(text)
    ]
