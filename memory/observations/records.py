"""Records that a model writes of an agent's work: observations, and a session's outline. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Literal, get_args
from unicodedata import category

from contract.values import dataclass
from memory.observations.markup import Element, Shape, parse

Kind = Literal["decision", "bugfix", "feature", "refactor", "discovery"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST_FACTS = 7
TITLE_WORDS = (3, 8)
SUBTITLE_WORDS = (0, 24)
FACTS = (3, MOST_FACTS)
FACT_CHARS = (50, 150)
CONCEPTS = (2, 5)
SESSION_TITLE_WORDS = (3, 6)
SESSION_SUBTITLE_WORDS = (0, 20)
MOST_FILES = 50  # more is a sweep over the whole tree, of which the first tell enough
MADE_TITLE_WORDS = 8  # of the narrative, where a record came without a title

SHAPES: Mapping[str, Shape] = {
    "observation": Shape(
        frozenset({"type", "title", "subtitle", "fact", "narrative", "concept", "file"}),
        {
            "facts": frozenset({"fact"}),
            "concepts": frozenset({"concept"}),
            "files": frozenset({"file"}),
            "files_read": frozenset({"file"}),
            "files_modified": frozenset({"file"}),
            "files_edited": frozenset({"file"}),
            "files_touched": frozenset({"file"}),
        },
    ),
    "session": Shape(frozenset({"title", "subtitle", "overview"})),
}


@dataclass(frozen=True, slots=True)
class NewObservation:
    """An observation to be stored. files: relative to the workspace. notes: what was off."""

    kind: Kind
    title: str
    subtitle: str
    facts: tuple[str, ...]
    narrative: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionOutline:
    """A session's subject. overview: at its end, else ""."""

    title: str
    subtitle: str
    overview: str = ""


@dataclass(frozen=True, slots=True)
class ParsedRecords:
    """All that an answer holds. rejected: a reason for each record that is not taken."""

    records: tuple[NewObservation, ...]
    session: SessionOutline | None
    rejected: tuple[str, ...]


def read_records(text: str, *, workspace: str = "") -> ParsedRecords:
    """Read an answer. workspace: absolute path, "" when there is none. Never raises."""
    parsed = parse(text, SHAPES)
    records: list[NewObservation] = []
    rejected = list(parsed.rejected)
    session: SessionOutline | None = None
    for element in parsed.elements:
        if element.name == "session":
            session = session or _session(element)
        elif record := _record(element, workspace):
            records.append(record)
        else:
            rejected.append("an observation without a narrative")
    return ParsedRecords(tuple(records), session, tuple(rejected))


def _record(element: Element, workspace: str) -> NewObservation | None:
    narrative = element.first("narrative")
    if not any(map(_is_seen, narrative)):
        return None
    notes: list[str] = []
    said = _line(element.first("type")).lower()
    kind = next((kind for kind in KINDS if kind == said), None)
    if kind is None:
        notes.append(f"type {said[:40]!r} is not known")
    title = _line(element.first("title"))
    if not title:
        title = cut_words(narrative, MADE_TITLE_WORDS)
        notes.append("no title: taken from the narrative")
    facts = [_line(fact) for fact in element.all("fact")]
    if len(facts) > MOST_FACTS:
        notes.append(f"{len(facts)} facts: cut to {MOST_FACTS}")
        facts = facts[:MOST_FACTS]
    given = element.all("file")
    files = relative_files(given, workspace)
    if len(files) < len({_line(name) for name in given}):
        notes.append("files outside the workspace left out")
    record = NewObservation(
        kind=kind or "discovery",
        title=title,
        subtitle=_line(element.first("subtitle")),
        facts=tuple(facts),
        narrative=narrative,
        concepts=tuple(map(_line, element.all("concept"))),
        files=files,
        notes=tuple(notes),
    )
    return with_notes(record)


def with_notes(record: NewObservation) -> NewObservation:
    """The record with a note on each length that is off: lengths are soft."""
    lengths = [
        _off("title", _words(record.title), TITLE_WORDS, "words"),
        _off("subtitle", _words(record.subtitle), SUBTITLE_WORDS, "words"),
        _off("facts", len(record.facts), FACTS, ""),
        *(_off(f"fact {n}", len(f), FACT_CHARS, "chars") for n, f in enumerate(record.facts, 1)),
        _off("concepts", len(record.concepts), CONCEPTS, ""),
    ]
    notes = (*record.notes, *filter(None, lengths))
    return replace(record, notes=notes)


def _off(what: str, length: int, within: tuple[int, int], unit: str) -> str:
    least, most = within
    if least <= length <= most:
        return ""
    return f"{what}: {length} {unit}".rstrip() + f", not {least}-{most}"


def _session(element: Element) -> SessionOutline | None:
    title, overview = _line(element.first("title")), _line(element.first("overview"))
    if not title and not overview:
        return None
    return SessionOutline(title, _line(element.first("subtitle")), overview)


def relative_files(names: Sequence[str], workspace: str) -> tuple[str, ...]:
    """The files as the workspace knows them, each once; those outside it are left out."""
    found = (relative_file(name, workspace) for name in names)
    return tuple(dict.fromkeys(name for name in found if name))[:MOST_FILES]


def relative_file(name: str, workspace: str) -> str:
    """A file's path relative to the workspace, "" when it lies elsewhere or is no path."""
    name = _line(name)
    path = PurePosixPath(name)
    if not name or ".." in path.parts or name[0] == "~" or "\\" in name or "://" in name:
        return ""
    if not path.is_absolute():
        return "" if str(path) == "." else str(path)
    if not workspace or not path.is_relative_to(workspace):
        return ""
    inner = str(path.relative_to(workspace))
    return "" if inner == "." else inner


def cut_words(text: str, most: int) -> str:
    """The first words of a text on one line."""
    return " ".join(text.split(maxsplit=most)[:most])


def _is_seen(sign: str) -> bool:
    return category(sign)[0] not in "ZC"


def _line(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> int:
    return len(text.split())
