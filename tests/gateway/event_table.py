"""The table of log events in docs/log-events.md, made of the calls in the code.

`python -m tests.gateway.event_table` writes levels and fields as the code has them, and a row for
each new event, whose sentence is left to be written. A test fails while the page is another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HOUSE = Path(__file__).parents[2]
PAGE = HOUSE / "docs" / "log-events.md"
ROOMS = ("bots", "adapters", "composer", "memory", "store", "llm", "gateway")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
GIVEN = {
    "logs.lost": ("warning", "lines"),
    "moot.said": ("any", "message"),
    "library.said": ("any", "message"),
}
"""Events that no call of the code names: level and fields."""
_ROW = re.compile(r"^\| `([a-z_.]+)` \|(?:[^|\n]*\|[^|\n]*\|)? ?(.*?) ?\|$", re.MULTILINE)


@dataclass
class Event:
    """An event as the code logs it, at all its places."""

    levels: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    calls: list[tuple[str, ast.Call]] = field(default_factory=list)

    def row(self, name: str, sentence: str) -> str:
        fields = ", ".join(f"`{key}`" for key in self.fields)
        return f"| `{name}` | {', '.join(self.levels)} | {fields or '·'} | {sentence} |"


def calls() -> Iterator[tuple[str, str, str, ast.Call]]:
    """Where, how, which event, and the call of each line of code that logs."""
    for room in ROOMS:
        for path in sorted((HOUSE / room).rglob("*.py")):
            where = path.relative_to(HOUSE)
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                    continue
                owner, how = call.func.value, call.func.attr
                if isinstance(owner, ast.Name) and owner.id == "log" and how in LEVELS:
                    said = call.args[1 if how == "log" else 0]
                    assert isinstance(said, ast.Constant), f"{where}:{call.lineno}: no literal name"
                    yield f"{where}:{call.lineno}", how, str(said.value), call


def events() -> dict[str, Event]:
    """Every event of the code by its name."""
    found: dict[str, Event] = {}
    for where, how, name, call in calls():
        event = found.setdefault(name, Event())
        event.calls.append((where, call))
        level = {"exception": "error", "log": "by case"}.get(how, how)
        if level not in event.levels:
            event.levels.append(level)
        keys = [keyword.arg or "" for keyword in call.keywords]
        keys += [
            str(key.value)
            for keyword in call.keywords
            if keyword.arg is None and isinstance(keyword.value, ast.Dict)
            for key in keyword.value.keys
            if isinstance(key, ast.Constant)
        ]
        for key in keys:
            if key not in (*event.fields, "", "exc_info"):
                event.fields.append(key)
    for name, (level, fields) in GIVEN.items():
        found[name] = Event([level], [fields])
    return found


def sentences(page: str) -> dict[str, str]:
    """What the page says of each event."""
    return dict(_ROW.findall(page))


def updated(page: str) -> str:
    """The page with the levels and fields of today's code, without events that are gone."""
    found, said = events(), sentences(page)
    lines = []
    for line in page.splitlines():
        match = _ROW.match(line)
        if match is None:
            lines.append(line)
        elif match[1] in found:
            lines.append(found[match[1]].row(match[1], match[2]))
    new = sorted(found.keys() - said.keys())
    if new:
        lines += ["", "## New", "", "| event | level | fields | meaning |", "|---|---|---|---|"]
        lines += [found[name].row(name, "") for name in new]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
