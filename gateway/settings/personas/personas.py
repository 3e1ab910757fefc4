"""Persona files: YAML front matter and a Markdown body, re-read when they change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import structlog
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from adapters.agent import Mode
from contract.errors import ConfigError
from contract.language import ENGLISH, speaking
from contract.values import dataclass
from gateway.settings.personas.check import NAME, CheckContext, Checked, check
from gateway.settings.personas.files import read_text
from gateway.settings.sandbox import OwnSandbox
from gateway.settings.tables import FolderName, Modes, Show, words

log = structlog.stdlib.get_logger("moot.personas")


_Alias = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]


class FrontMatter(BaseModel):
    """The keys of a persona file's front matter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(description="The program that answers: `claude-code`, `codex`, `demo`, …")
    description: str = Field(default="", description="One line for people: what to ask it for.")
    project: str | None = Field(default=None, description="The project whose facts it may be told.")
    model: str | None = Field(
        default=None, description="The agent's model, by the agent's own name for it."
    )
    workspace: Path | None = Field(
        default=None, description="The folder it works in; it must be there."
    )
    workspaces: dict[FolderName, Path] = Field(
        default={}, description="Other folders, by the names by which people choose one."
    )
    modes: Modes | None = Field(
        default=None,
        description="`plan`, `ask`, `auto`: those that people may choose; else the first two.",
    )
    driver: Literal["terminal", "acp"] | None = Field(
        default=None, description="How its program is driven: typed into a terminal, or by ACP."
    )
    login: Path | None = Field(default=None, description="A HOME whose login its program is given.")
    sandbox: OwnSandbox | None = Field(
        default=None,
        description="`auto`, `on` or `off`: whether its program runs in a sandbox; or a table.",
    )
    workers: str | None = Field(
        default=None, description="The pool of machines it works on, of `[workers.pools]`."
    )
    show: Show | None = Field(
        default=None,
        description="`work`: people see its tools while it works; `words`: only what it says.",
    )
    avatar: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = Field(
        default=None,
        description="Its picture's address, where one account speaks for several personas.",
    )
    aliases: Annotated[tuple[_Alias, ...], BeforeValidator(words)] = Field(
        default=(), description="Other names that people may call it."
    )


SHOWN = frozenset({"description", "project", "show", "avatar", "aliases", "workspaces", "modes"})
"""Keys that a living session needs not be told of."""


def front_matter_schema() -> dict[str, Any]:
    """The JSON Schema of a persona file's front matter."""
    schema = FrontMatter.model_json_schema()
    aliases = schema["properties"]["aliases"]
    listed = {key: aliases.pop(key) for key in ("type", "items") if key in aliases}
    aliases["anyOf"] = [listed, {"type": "string"}]  # names with commas between them
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The front matter of a Moot persona",
    }
    return head | {key: value for key, value in schema.items() if key != "title"}


@dataclass(frozen=True)
class Persona:
    """Somebody to mention: the file's name, its front matter, and its body as system prompt.

    text: the whole file. mode: chosen for a session; "": none was.
    """

    name: str
    front: FrontMatter
    body: str
    text: str = field(default="", compare=False, repr=False)
    mode: Mode | Literal[""] = ""

    def __hash__(self) -> int:
        return hash(self.name)  # its front matter holds a table

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that people may call it by: its own and its aliases, lower case."""
        return (self.name, *self.front.aliases)

    @cached_property
    def start(self) -> tuple[object, ...]:
        """The settings its program starts with: a session that began with others can't go on."""
        front = self.front.model_dump(exclude=set(SHOWN))
        return (self.body, self.mode, *front.items())


def check_persona(name: str, text: str, around: CheckContext | None = None) -> Checked[FrontMatter]:
    """Every fault of a persona file's text."""
    return check(name, text, FrontMatter, around or CheckContext())


def parse_persona(name: str, text: str) -> Persona:
    """Read a persona file's text. Raises ConfigError: what is wrong, and how to fix it."""
    return _persona(name, text, check_persona(name, text))


def _persona(name: str, text: str, checked: Checked[FrontMatter]) -> Persona:
    if checked.front is None:
        told = (
            f"{name}.md{f':{one.line}' if one.line > 1 else ''}: {one}" for one in checked.errors
        )
        raise ConfigError("\n".join(dict.fromkeys(told)))
    return Persona(name, checked.front, checked.body, text)


def _stats(folder: Path) -> dict[str, tuple[int, ...]]:
    """By name, stats that show that a persona's file was changed, or another put in its place."""
    found: dict[str, tuple[int, ...]] = {}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            stem, suffix = os.path.splitext(entry.name)
            if suffix != ".md" or stem == "README":
                continue
            with suppress(OSError):  # an editor may be replacing it just now
                status = entry.stat()
                found[stem] = status.st_mtime_ns, status.st_size, status.st_ino
    return dict(sorted(found.items()))


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

    good: every persona by its name, as its file was last good.
    problems: file name → one sentence, for files that can't be read as they stand.
    warnings: likewise, for files that work but should be corrected.
    seen: the files' stats, as they were at the last look.
    """

    def __init__(
        self,
        folder: Path,
        section_names: Sequence[str] = (),
        agents: Collection[str] = (),
        pools: Collection[str] | None = None,
    ) -> None:
        """agents: the names that are known; empty: any is taken. pools: likewise of workers; None:
        any."""
        self.folder = folder
        self._section_names = tuple(section_names)
        self._agents = tuple(agents)
        self._pools = pools
        self.seen: dict[str, tuple[int, ...]] = {}
        self.good: dict[str, Persona] = {}
        self._gone: dict[str, Persona] = {}
        self.names = Names(self.good)
        self.problems: dict[str, str] = {}
        self.warnings: dict[str, str] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Read what changed since the last call (a stat a file); True if anything did."""
        now = self.stats()
        if now == self.seen:
            return False
        for name in self.seen.keys() - now.keys():
            if (gone := self.good.pop(name, None)) is not None:
                self._gone[name] = gone
            for table in (self.problems, self.warnings):
                table.pop(name, None)
        for name in now:
            if now[name] != self.seen.get(name):
                self._read(name)
        self.seen = now
        return True

    def stats(self) -> dict[str, tuple[int, ...]]:
        """By the name of each file that is there, stats that change with it. Raises OSError."""
        return _stats(self.folder)

    def _read(self, name: str) -> None:
        try:
            text = read_text(self.folder, name)
            with speaking(ENGLISH):  # it is kept, whoever is being answered now
                checked = check_persona(name, text, self.around(name))
            persona = _persona(name, text, checked)
        except ConfigError as error:
            self.problems[name] = str(error)
            kept = "; its last good form stays in use" if name in self.good else ""
            log.warning("persona.invalid", file=f"{name}.md", reason=f"{error}{kept}")
            return
        self.good[name] = persona
        self._gone.pop(name, None)
        self.problems.pop(name, None)
        self.warnings.pop(name, None)
        if checked.findings:
            first = (*checked.errors, *checked.findings)[0]
            self.warnings[name] = f"{name}.md: {first}"
            for found in checked.findings:
                log.warning(
                    "persona.doubtful",
                    file=f"{name}.md",
                    severity=found.severity,
                    reason=str(found),
                )
        log.info("persona.loaded", name=name, agent=persona.front.agent)

    def around(self, name: str) -> CheckContext:
        """The surroundings that the file of that name is checked against."""
        taken = {
            called: other.name
            for other in self.good.values()
            if other.name != name
            for called in other.names
        }
        return CheckContext(self._agents, taken, self._section_names, _is_folder, self._pools)

    def move(self, folder: Path) -> None:
        """Read the files of another folder from now on."""
        self.folder = folder
        self.seen = {}
        self.refresh()

    def of(self, names: Iterable[str]) -> list[Persona]:
        """The personas of these names that are there, in their order: a bot's."""
        return [self.good[name] for name in names if name in self.good]

    def gone(self, names: Iterable[str]) -> list[Persona]:
        """Those of these names whose file was there and is not any more: what they have begun goes
        on, can be stopped, and asks for permission."""
        return [self._gone[name] for name in names if name in self._gone]


def _is_folder(path: Path) -> bool:
    return path.expanduser().is_dir()
