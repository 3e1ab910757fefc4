"""Finds every fault in a persona file's text, with its place. Pure.

Lines and columns count from 1, in characters; an end is behind the last character.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from contract.language import phrase, say
from contract.values import dataclass
from gateway.settings.mistakes.words import example_of, place_of, reason_of
from gateway.settings.personas.front_yaml import FrontLoader
from gateway.settings.tables import reserved

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
LONG_BODY = 20_000  # characters, about 5,000 tokens: each new session reads it before anything else
FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n((?:.*?\n)??)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""A persona file's beginning; its group is the YAML."""
_SECRETS = {
    phrase("a private key"): r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    phrase("an API key"): r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}|\bAKIA[0-9A-Z]{16}\b",
    phrase("a platform's token"): r"\bxox[a-z]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
    phrase("a signed token"): r"\beyJ[\w-]{10,4000}+\.eyJ[\w-]{10,}+\.[\w-]*",
    phrase("a password"): r"(?i)\b(?:password|passwd|secret|token|api[_ -]?key)[ \t]*[:=][ \t]*"
    r"[\"']?(?=\S{0,1000}[0-9])[^\s\"'<>{}]{8,}",
}

_PATHS = frozenset({"workspace", "login"})
_NO_VALUE = phrase('YAML reads ~ as nothing: write "~" in quotes, or leave the line out')

Severity = Literal["error", "warning"]
Front = TypeVar("Front", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PersonaFinding:
    """One fault. suggestion: what would fix it, "" when the message says so itself. key: of the
    front matter, "" when it is about none."""

    severity: Severity
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    suggestion: str = ""
    key: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.suggestion})" if self.suggestion else self.message


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The surroundings that a persona's file is checked against.

    agents: names that `agent` may have; empty: not known here. taken: names and aliases of the
    other personas, each with whose it is. sections: names of the header's sections. pools: names
    that `workers` may have; None: not known here.
    """

    agents: Collection[str] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    sections: Collection[str] = ()
    is_folder: Callable[[Path], bool] = lambda path: True
    pools: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Checked(Generic[Front]):
    """front: None when the text can't be used as a persona at all."""

    front: Front | None
    body: str
    findings: tuple[PersonaFinding, ...]

    @property
    def errors(self) -> tuple[PersonaFinding, ...]:
        """The faults that keep it from working."""
        return tuple(f for f in self.findings if f.severity == "error")


def check(name: str, text: str, model: type[Front], around: CheckContext) -> Checked[Front]:
    """Every fault of a persona file, in the order of the text."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    page = _Page(text)
    if not NAME.fullmatch(name):
        page.add("error", 0, 0, say("a persona's name is lower case, e.g. claude.md"),
                 say("a letter, then at most 31 letters, digits, - and _"))  # fmt: skip
    elif why := reserved(name):
        page.add("error", 0, 0, why, say("take another one"))
    if (at := text.find("\x00")) >= 0:
        page.add("error", at, at + 1, say("there is a NUL character, which no text has"))
    match = FRONT_MATTER.match(text)
    front = None
    body_at = match.end() if match else 0
    if match is None:
        _no_front_matter(page)
    else:
        front = _read_front(page, match, model)
        if front is not None:
            _look_around(page, front, name, around)
    _look_at_body(page, body_at, around.sections, alone=match is None)
    named = NAME.fullmatch(name) is not None and not reserved(name)
    usable = named and not (front and _reserved_aliases(front)) and "\x00" not in text
    findings = tuple(sorted(page.findings, key=lambda f: (f.line, f.column, f.severity)))
    return Checked(front if usable else None, text[body_at:].strip(), findings)


class _Page:
    """The text, its findings so far, and where its lines and keys are."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.findings: list[PersonaFinding] = []
        self.starts = [0, *(newline.end() for newline in re.finditer("\n", text))]  # of the lines
        self.keys: dict[tuple[str, ...], tuple[int, int]] = {}
        self.values: dict[tuple[str, ...], tuple[int, int]] = {}

    def add(
        self,
        severity: Severity,
        start: int,
        end: int,
        message: str,
        suggestion: str = "",
        key: str = "",
    ) -> None:
        """start, end: offsets in the text."""
        line, column = self._place(start)
        end_line, end_column = self._place(max(start, end))
        self.findings.append(
            PersonaFinding(severity, line, column, end_line, end_column, message, suggestion, key)
        )

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.starts, min(at, len(self.text)))
        return line, at - self.starts[line - 1] + 1


def _no_front_matter(page: _Page) -> None:
    first = page.text.split("\n", 1)[0]
    if first.rstrip() == "---":
        page.add("error", 0, 3, say("the front matter has no end"), say("close it with a line ---"))
        return
    message = say("begin with --- , a line `agent: NAME`, and --- again")
    page.add("error", 0, len(first), message)


# ── The front matter ────────────────────────────────────────────────────────────────────


def _read_front(page: _Page, match: re.Match[str], model: type[Front]) -> Front | None:
    raw = _read_yaml(page, match[1], match.start(1))
    if raw is None:
        return None
    for key in [key for key, value in raw.items() if value is None and str(key) in _PATHS]:
        page.add(
            "error",
            *page.values[(str(key),)],
            say("{key}: there is no value", key=key),
            say(_NO_VALUE),
            str(key),
        )
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            _tell_fault(page, fault, model)
        return None


def _read_yaml(page: _Page, source: str, offset: int) -> dict[Any, Any] | None:
    """The mapping that stands there, and in `page` where its keys and values are."""
    loader = None
    try:
        loader = FrontLoader(source)
        node = loader.get_single_node()
        if node is None:
            return {}
        _locate(page, node, offset)
        raw = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = offset + min(mark.index if mark else 0, len(source))
        problem = " ".join(f"{error.problem or error.context}".split())
        page.add(
            "error", at, at + 1, say("front matter: {problem}", problem=problem), _hint(problem)
        )
    except yaml.reader.ReaderError as error:
        at = offset + int(error.position)
        page.add("error", at, at + 1, say("front matter: a character that YAML doesn't allow"))
    except (ValueError, OverflowError) as error:  # a date or a number that is none
        reason = say("front matter: {problem}", problem=" ".join(str(error).split())[:120])
        page.add(
            "error", offset, offset + len(source.rstrip()), reason, say("put the value in quotes")
        )
    except RecursionError:
        page.add("error", offset, offset + 1, say("front matter: it is nested too deeply"))
    else:
        if isinstance(raw, dict):
            return raw
        end = offset + len(source.rstrip())
        page.add("error", offset, end, say("the front matter must be `key: value` lines"))
    finally:
        if loader is not None:
            loader.dispose()
    return None


def _hint(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return say("put a value that holds a colon in quotes")
    if "cannot start any token" in problem:
        return say("indent with blanks; put a value that begins with @, ` or % in quotes")
    return say("write one `key: value` a line, and a list in one line: [one, two]")


def _locate(page: _Page, node: yaml.Node, offset: int) -> None:
    """Note where each key, and each item of its list, stands; a key given twice is an error."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        path = (str(key.value),)
        if path in page.keys:
            page.add(
                "error",
                *_span(key, offset),
                say("{key}: the key is there twice", key=path[0]),
                key=path[0],
            )
        page.keys[path] = _span(key, offset)
        page.values[path] = _span(value, offset)
        if isinstance(value, yaml.SequenceNode):
            for number, item in enumerate(value.value):
                page.values[(*path, str(number))] = _span(item, offset)


def _span(node: yaml.Node, offset: int) -> tuple[int, int]:
    return offset + node.start_mark.index, offset + node.end_mark.index


def _tell_fault(page: _Page, fault: ErrorDetails, model: type[BaseModel]) -> None:
    path = tuple(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        hint = say("add a line `{line}`", line=f"{path[0]}: {example_of(path[0])}")
        page.add("error", 0, 3, say("{key} is missing", key=place_of(fault)), hint, path[0])
        return
    if fault["type"] == "extra_forbidden":
        span = page.keys.get(path[:1], (0, 3))
        hint = _nearest(path[0], model) if len(path) == 1 else ""
        page.add(
            "error", *span, say("{key}: there is no such key", key=place_of(fault)), hint, path[0]
        )
        return
    span = page.values.get(path) or page.values.get(path[:1]) or (0, 3)
    quotes = fault["type"] == "string_type" and not isinstance(fault["input"], list | dict)
    reason = f"{place_of(fault)}: {reason_of(fault)}"
    page.add(
        "error", *span, reason, say("put it in quotes") if quotes else "", path[0] if path else ""
    )


def _nearest(key: str, model: type[BaseModel]) -> str:
    near = difflib.get_close_matches(key.lower(), model.model_fields, 3, 0.6)
    near.sort(key=lambda known: sorted(known) != sorted(key.lower()))  # two changed places
    return _meant(near, model.model_fields)


def _meant(near: Sequence[str], known: Iterable[str]) -> str:
    if near:
        return say("did you mean `{name}`?", name=near[0])
    return say("known: {names}", names=", ".join(known))


# ── What it says of other things ────────────────────────────────────────────────────────


def _look_around(page: _Page, front: BaseModel, name: str, around: CheckContext) -> None:
    """An agent that is not there, a folder that is not there, a name that somebody else has."""
    given = front.model_dump()
    agent = given.get("agent")
    if around.agents and agent not in around.agents:
        near = difflib.get_close_matches(str(agent), around.agents, 1)
        known = say("known: {names}", names=", ".join(around.agents))
        hint = f"{_meant(near, ())} {known}" if near else known
        told = say("agent: there is no agent {name}", name=repr(agent))
        page.add("error", *page.values[("agent",)], told, hint, "agent")
    pool = given.get("workers")
    if pool is not None and around.pools is not None and pool not in around.pools:
        told = say("workers: there is no pool {name}", name=repr(pool))
        page.add("error", *page.values[("workers",)], told, _pools(pool, around.pools), "workers")
    workspace = given.get("workspace")
    if isinstance(workspace, Path) and pool is None and not around.is_folder(workspace):
        span = page.values[("workspace",)]
        told = say("workspace: there is no folder {folder}", folder=workspace)
        page.add("error", *span, told, say("make it first"), "workspace")
    if (owner := around.taken.get(name)) is not None:
        told = say("@{owner} has {name} as an alias", owner=owner, name=repr(name))
        page.add("error", 0, 3, told, say("take another name"))
    _look_at_aliases(page, front, name, around)


def _look_at_aliases(page: _Page, front: BaseModel, name: str, around: CheckContext) -> None:
    """An alias that no persona may have, that somebody else has, or that is its name anyway."""
    given, kept = front.model_dump(), _reserved_aliases(front)
    for number, alias in enumerate(given.get("aliases", ())):
        span = page.values.get(("aliases", str(number))) or page.values[("aliases",)]
        if alias in kept:
            page.add("error", *span, f"aliases: {kept[alias]}", say("take another one"))
        elif (owner := around.taken.get(alias)) is not None:
            told = say("aliases: {name} is a name of @{owner}", name=repr(alias), owner=owner)
            page.add("error", *span, told)
        elif alias == name:
            told = say("aliases: {name} is its name anyway", name=repr(alias))
            page.add("warning", *span, told)


def _pools(given: str, known: Collection[str]) -> str:
    """A hint of which pool was meant."""
    if not known:
        return say("[workers.pools] in moot.toml names none")
    return _meant(difflib.get_close_matches(given, known, 1), sorted(known))


def _reserved_aliases(front: BaseModel) -> dict[str, str]:
    """The aliases that no persona can have, each with the reason. Only the demo agent, which is
    Moot's own, may be called by Moot's name."""
    given = front.model_dump()
    asked = {alias: reserved(alias) for alias in given.get("aliases", ())}
    own = "moot" if given.get("agent") == "demo" else ""
    return {alias: why for alias, why in asked.items() if why and alias != own}


# ── The body ────────────────────────────────────────────────────────────────────────────


def _look_at_body(page: _Page, start: int, sections: Collection[str], *, alone: bool) -> None:
    body = page.text[start:]
    if not body.strip() and not alone:
        end = len(page.text.rstrip())
        page.add(
            "warning", end, end, say("the body is empty: the agent is told nothing of its role")
        )
    if len(body) > LONG_BODY:
        far = start + LONG_BODY
        message = say(
            "the body has {n} characters; an agent reads all of it at each start",
            n=f"{len(body):,}",
        )
        page.add("warning", far, far, message, say("keep it below {n}", n=f"{LONG_BODY:,}"))
    for at, end, section in _named(body, sections):
        message = say(
            "the body names the section {section}; a persona is about role, scope, voice and "
            "peers, the layout of the prompt may change",
            section=repr(section),
        )
        page.add("warning", start + at, start + end, message)
    for what, pattern in _SECRETS.items():
        for match in re.finditer(pattern, page.text):
            page.add(
                "warning",
                *match.span(),
                say("this looks like {what}: the agent could tell it", what=say(what)),
                say("keep secrets in the environment"),
            )


def _named(body: str, sections: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Where the body names a section. A name of one word is a word of everyday, too, unless it
    stands in capitals or in a bracket."""
    for section in sections:
        words = r"\s+".join(map(re.escape, section.split()))
        pattern = rf"(?i:\b{words}\b)" if " " in section else rf"\b{words}\b|(?i:\[{words}\b)"
        for match in re.finditer(pattern, body):
            yield *match.span(), section
