"""docs/configuration.md: every key of moot.toml with its type, its default and its meaning.

Types and defaults come from the tables that Moot reads the file with, the meanings from the
comments of moot.toml.example, which is their one home. `python -m tests.gateway.configuration_page`
writes the page below its introduction; a test fails while it is stale.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gateway.settings.bots import TABLES
from gateway.settings.config import Config

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "moot.toml.example"
PAGE = ROOT / "docs" / "configuration.md"
_NAMED = {
    "agents": "NAME",
    "sources": "NAME",
    "prices": "MODEL",
    "personas": "NAME",
    "people": "ID",
    "rooms": "ID",
    "pools": "NAME",
}
_WORDS = {str: "text", int: "whole number", float: "number", Path: "path", bool: "true or false"}
_LONGEST_DEFAULT = 60


@dataclass
class Section:
    """A table of moot.toml. also: other tables with the same keys."""

    path: str
    model: type[BaseModel]
    also: list[str] = field(default_factory=list)


class Meanings:
    """The comments of moot.toml.example, by table and key. A bot's table is bots.PLATFORM."""

    def __init__(self, text: str) -> None:
        self._of: dict[tuple[str, str], str] = {}
        table, last = "", ("", "")
        for line in text.splitlines():
            if header := re.match(r"(?:# )?\[+([^\]]+)\]+(?:\s+# (.*))?$", line):
                table = general(header[1])
                last = (table, "")
                self._of.setdefault(last, header[2] or "")
            elif key := re.match(r"(?:# )?(\w+) = (.*)$", line):
                value, comment = cut(key[2])
                if table.startswith("bots") and key[1] == "platform":
                    table = f"bots.{value.strip(chr(34))}"
                last = (table, key[1])
                self._of.setdefault(last, comment)
            elif more := re.match(r"#?\s{20,}# (.*)$", line):
                self._of[last] = f"{self._of[last]} {more[1]}"

    def of(self, table: str, key: str = "") -> str:
        """A key's meaning, or without a key a table's; "" where the example has none."""
        found = self._of.get((table, key), "")
        if not found and table.startswith("bots."):  # what all bots have is explained once
            found = self._of.get(("bots.slack", key), "")
        return found

    def keys(self) -> set[tuple[str, str]]:
        """Every table and key that the example shows."""
        return {place for place in self._of if place[1]}


def general(header: str) -> str:
    """A table's path without the names that people choose: agents.claude-code is agents.NAME."""
    parts = re.findall(r'"[^"]*"|[^.]+', header)
    named = [i for i, part in enumerate(parts[:-1]) if part in _NAMED and parts[0] != "limits"]
    for i in named:
        parts[i + 1] = _NAMED[parts[i]]
    return ".".join(parts)


def cut(text: str) -> tuple[str, str]:
    """A value and the comment after it, if any. A # within quotes begins no comment."""
    found = re.match(r"""((?:"[^"]*"|'[^']*'|[^#"'])*)(?:# (.*))?$""", text)
    return (found[1].strip(), found[2] or "") if found else (text, "")


def sections(meanings: Meanings) -> list[Section]:
    """Every table, in the order of the file; tables of one form are one section."""
    found: list[Section] = []
    for path, model in _tables(Config, "", meanings):
        same = [section for section in found if section.model is model]
        if same:
            same[0].also.append(path)
        else:
            found.append(Section(path, model))
    return found


def _tables(
    model: type[BaseModel], path: str, meanings: Meanings
) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, info in model.model_fields.items():
        below = f"{path}.{name}".lstrip(".")
        if name == "bots":
            yield from ((f"bots.{platform}", table) for platform, table in TABLES.items())
        elif (inner := table_in(info.annotation)) and not meanings.of(path, name):
            if get_origin(info.annotation) is dict:
                below = f"{below}.{_NAMED[name]}"
            if plain_keys(inner, below, meanings):
                yield below, inner
            yield from _tables(inner, below, meanings)


def table_in(annotation: Any) -> type[BaseModel] | None:
    """The table that a field holds: itself, or the items of its list or dict."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := table_in(arg))), None)


def plain_keys(model: type[BaseModel], path: str, meanings: Meanings) -> dict[str, FieldInfo]:
    """The keys of a table that hold values; those with tables of their own are sections."""
    return {
        name: info
        for name, info in model.model_fields.items()
        if not table_in(info.annotation) or meanings.of(path, name)
    }


def kind_of(info: FieldInfo) -> str:
    """A key's type, with its bounds."""
    bounds = [_bound(each) for each in info.metadata]
    return ", ".join([_kind(info.annotation), *(bound for bound in bounds if bound)])


def _kind(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return ", ".join([_kind(args[0]), *filter(None, (_bound(each) for each in args[1:]))])
    if origin is Literal:
        return ", ".join(f'`"{each}"`' for each in args)
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(arg) for arg in args if arg is not type(None))
    if origin in (tuple, frozenset, list):
        return f"list: {_kind(args[0])}"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "table"
    return _WORDS[annotation]


def _bound(each: Any) -> str:
    match each:
        case Ge(ge=least):
            return f"at least {least}"
        case Gt(gt=above):
            return f"above {above}"
        case Le(le=most):
            return f"at most {most}"
        case MinLen(min_length=1):
            return "not empty"
        case MaxLen(max_length=most):
            return f"at most {most} long"
    inner = getattr(each, "metadata", None)  # a pydantic.Field within Annotated
    return ", ".join(filter(None, (_bound(one) for one in inner))) if inner else ""


def default_of(info: FieldInfo) -> str:
    """A key's default as it would be written."""
    value = info.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return ""
    shown = f"`{_toml(value)}`"
    return shown if len(shown) <= _LONGEST_DEFAULT else "built in"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Path):
        return f'"{value}"'
    if isinstance(value, tuple | frozenset):
        return f"[{', '.join(_toml(each) for each in value)}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def rendered(page: str) -> str:
    """The page with its tables as they should be. Its introduction stays."""
    meanings = Meanings(EXAMPLE.read_text("utf-8"))
    parts = [page.partition("\n## ")[0]]
    for section in sections(meanings):
        parts.append(_heading(section, meanings))
        keys = plain_keys(section.model, section.path, meanings).items()
        rows = [
            f"| `{name}` | {kind_of(info)} | {default_of(info)} | {said} |"
            for name, info in keys
            if name != "platform"
            for said in [_linked(meanings.of(section.path, name))]
        ]
        parts.append(
            "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])
        )
    return "\n".join(parts)


def _heading(section: Section, meanings: Meanings) -> str:
    path = section.path
    if path.startswith("bots."):
        platform = path.removeprefix("bots.")
        return f'## [[bots]], platform = "{platform}"\n\nSee [{platform}.md]({platform}.md).\n'
    brackets = f"[[{path}]]" if path in ("schedules", "access.grants") else f"[{path}]"
    said = _linked(meanings.of(path))
    also = ", ".join(f"`[{each}]`" for each in section.also)
    lines = [f"## {brackets}", ""]
    lines += [f"{said[0].upper()}{said[1:]}.", ""] if said else []
    lines += [f"The same keys: {also}.", ""] if also else []
    return "\n".join(lines)


def _linked(meaning: str) -> str:
    """A comment as Markdown: pages are links, and nothing is HTML or ends a cell."""
    safe = meaning.replace("<", "&lt;").replace("|", "\\|")
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", safe)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text("utf-8")), "utf-8")
