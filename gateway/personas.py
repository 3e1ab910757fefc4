"""Persona files: YAML front matter and a Markdown body, re-read when they change."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, overload

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from contract import ConfigError
from gateway.config import place_of, reason_of
from gateway.sandbox_tables import OwnSandbox
from gateway.tables import words

log = logging.getLogger("moot.personas")

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)


class FrontMatter(BaseModel):
    """The keys of a persona file's front matter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str
    description: str = ""
    project: str | None = None
    model: str | None = None
    workspace: Path | None = None
    driver: Literal["terminal", "acp"] | None = None
    login: Path | None = None
    sandbox: OwnSandbox | None = None
    avatar: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    aliases: Annotated[
        tuple[Annotated[str, Field(pattern=f"^{NAME.pattern}$")], ...], BeforeValidator(words)
    ] = ()


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody to mention: the file's name, its front matter, and its body as system prompt."""

    name: str
    front: FrontMatter
    body: str

    @property
    def names(self) -> tuple[str, ...]:
        """What people may call it: its name and aliases, lower case."""
        return (self.name, *self.front.aliases)


def parse_persona(name: str, text: str) -> Persona:
    """Read a persona file's text. Raises ConfigError: what is wrong, and how to mend it."""
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name}.md: a persona's name is lower case, e.g. claude.md")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise ConfigError(f"{name}.md: begin with --- , a line `agent: NAME`, and --- again")
    try:
        raw = yaml.safe_load(match[1] or "") or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}.md: front matter: {_first_line(error)}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{name}.md: the front matter must be `key: value` lines")
    try:
        front = FrontMatter.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        known = f" (known: {', '.join(FrontMatter.model_fields)})"
        hint = known if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"{name}.md: {place_of(first)}: {reason_of(first)}{hint}") from None
    return Persona(name, front, text[match.end() :].strip())


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _stats(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            stem, suffix = os.path.splitext(entry.name)
            if suffix != ".md" or stem == "README":
                continue
            with suppress(FileNotFoundError):  # an editor may be replacing it just now
                status = entry.stat()
                yield stem, (status.st_mtime_ns, status.st_size)


class Names(Sequence[str]):
    """The names of the personas as they are at each look, in alphabetical order, but one that
    needs no key comes first: it is the one that can always answer."""

    def __init__(self, personas: Mapping[str, Persona]) -> None:
        self._personas = personas

    def _now(self) -> list[str]:
        return sorted(self._personas, key=lambda n: (self._personas[n].front.agent != "demo", n))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._now()[index]

    def __len__(self) -> int:
        return len(self._personas)


class Personas:
    """The personas of a folder as they are now; a broken file keeps its last good form.

    problems: file name → one sentence, for files that can't be read as they stand.
    warnings: likewise, for files that work but should be mended.
    """

    def __init__(self, folder: Path, section_names: Sequence[str] = ()) -> None:
        self._folder = folder
        self._section_names = tuple(section_names)
        self._seen: dict[str, tuple[int, int]] = {}
        self._good: dict[str, Persona] = {}
        self.names = Names(self._good)
        self.problems: dict[str, str] = {}
        self.warnings: dict[str, str] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Read what changed since the last call (a stat a file); True if anything did."""
        now = dict(sorted(_stats(self._folder)))
        if now == self._seen:
            return False
        for name in self._seen.keys() - now.keys():
            for table in (self._good, self.problems, self.warnings):
                table.pop(name, None)
        for name in now:
            if now[name] != self._seen.get(name):
                self._read(name)
        self._seen = now
        return True

    def _read(self, name: str) -> None:
        path = self._folder / f"{name}.md"
        try:
            persona = parse_persona(name, path.read_text(encoding="utf-8"))
        except (ConfigError, OSError, UnicodeDecodeError) as error:
            self.problems[name] = str(error)
            kept = "; its last good form stays in use" if name in self._good else ""
            log.warning("persona.invalid file=%s.md reason=%r%s", name, str(error), kept)
            return
        self._good[name] = persona
        self.problems.pop(name, None)
        self.warnings.pop(name, None)
        named = [s for s in self._section_names if s.casefold() in persona.body.casefold()]
        if named:
            self.warnings[name] = (
                f"{name}.md: the body names the section {named[0]!r}; a persona is about role, "
                "scope, voice and peers, the layout of the prompt may change"
            )
            log.warning("persona.names_section file=%s.md section=%r", name, named[0])
        log.info("persona.loaded name=%s agent=%s", name, persona.front.agent)

    def all(self) -> Mapping[str, Persona]:
        """Every persona by its name."""
        return self._good

    def of(self, names: Iterable[str]) -> list[Persona]:
        """Those of these names that are there, in their order: whom a bot serves."""
        return [self._good[name] for name in names if name in self._good]

    def get(self, name: str) -> Persona | None:
        """The persona of that name, as its file was last good."""
        return self._good.get(name)
