"""Secrets of bots and keys of agents follow the lead: those of moot.env, which the page writes.

What the environment itself says goes before moot.env, and is each machine's own: it is neither put
into the database nor taken from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import field
from pathlib import Path

import structlog

from bots.kit.cursor import KeyRows
from bots.platforms import SPECS
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.settings.editing.agreeing import agreed_in, judge, note_agreed
from gateway.settings.editing.files import File, read, write_all
from gateway.settings.env_file import AGREED, LOGIN_ENDS, parse_env, set_values
from gateway.settings.personas.files import text_mark

log = structlog.stdlib.get_logger("moot.settings")

MODE = 0o600
_DEVICE, _KIND = "", "variable"
_BEGUN = "", ""  # name and value of the row that says that the others are known


@dataclass(frozen=True, slots=True)
class LoginEnvironment:
    """The environment of a Moot that runs, with what moot.env said; a secret that is taken is put
    into it. learn: told what is never to be shown."""

    environment: MutableMapping[str, str]
    learn: Callable[[Iterable[str]], None]


@dataclass(frozen=True, slots=True)
class Differing:
    """Variables that differ, None: one that is gone. put: into the database; taken: from there.
    after: the marks that are agreed on then, "" for one that is gone."""

    after: dict[str, str]
    put: dict[str, str | None] = field(default_factory=dict)
    taken: dict[str, str | None] = field(default_factory=dict)


class SecretFollower:
    """Brings moot.env here and the database together; nothing is put into the database where
    another gateway leads."""

    def __init__(
        self, rows: KeyRows, known: LoginEnvironment, *, leads: bool, file: Path, data_dir: Path
    ) -> None:
        """rows: the gateway's own in the database. file: moot.env, which need not be there."""
        self._rows = rows
        self._known = known
        self._leads = leads
        self._file = file
        self._agreed = data_dir / AGREED
        said = _said(file)
        self._own = {name for name, value in known.environment.items() if said.get(name) != value}

    async def follow(self) -> bool:
        """Look once; true if something was taken. Raises StoreRefusal, ConfigError, OSError."""
        theirs = await self._theirs()
        text, ours, agreed = await asyncio.to_thread(self._here)
        found = self._judged(ours, theirs, agreed)
        if self._leads and (found.put or theirs is None):
            rows = {(_KIND, name): value for name, value in found.put.items()}
            await self._rows.save(_DEVICE, {_BEGUN: "", **rows})
        await asyncio.to_thread(self._bring, text, found, agreed)
        self._use(found.taken)
        return bool(found.taken)

    def _judged(
        self, ours: Mapping[str, str], theirs: Mapping[str, str] | None, agreed: Mapping[str, str]
    ) -> Differing:
        known, found = theirs or {}, Differing(after=dict(agreed))
        for name in {*ours, *known, *agreed}:
            gone = None if theirs is None or name not in agreed else ""
            there = text_mark(known[name]) if name in known else gone
            here = text_mark(ours[name]) if name in ours else ""
            side = judge(here, agreed.get(name), there)
            if side == "ours" and not self._leads:
                continue
            value = (known if side == "theirs" else ours).get(name)
            if side != "both":
                (found.taken if side == "theirs" else found.put)[name] = value
            found.after[name] = "" if value is None else text_mark(value)
        return found

    async def _theirs(self) -> dict[str, str] | None:
        """The database's; None: it never had any, or was restored without."""
        rows = dict(await self._rows.load(_DEVICE))
        if _BEGUN not in rows:
            return None
        kept = {name: value for (kind, name), value in rows.items() if kind == _KIND}
        return {name: kept[name] for name in self._followed(kept)}

    def _here(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """The text of moot.env, those of its secrets that follow, and the marks agreed on."""
        found = read(self._file)
        text = found or ""
        said = parse_env(text, str(self._file))
        agreed = {} if found is None else agreed_in(self._agreed)  # a file that was lost
        return (
            text,
            {name: said[name] for name in self._followed(said) if said[name]},
            {name: agreed[name] for name in self._followed(agreed) if agreed[name]},
        )

    def _followed(self, names: Iterable[str]) -> list[str]:
        """Those that the page may write and the environment itself does not say."""
        return [name for name in names if _is_the_pages(name) and name not in self._own]

    def _bring(self, text: str, found: Differing, agreed: Mapping[str, str]) -> None:
        if found.taken:
            new = set_values(text, found.taken)
            write_all([File(self._file, new, text or None, mode=MODE)])
            log.info("settings.secrets_followed", file=str(self._file), names=sorted(found.taken))
        if found.after != agreed:
            note_agreed(self._agreed, found.after)

    def _use(self, taken: Mapping[str, str | None]) -> None:
        self._known.learn(value for value in taken.values() if value)
        for name, value in taken.items():
            if value is None:
                self._known.environment.pop(name, None)
            else:
                self._known.environment[name] = value


def _is_the_pages(name: str) -> bool:
    """True for a platform's, e.g. SLACK_BOT_TOKEN, and a key of an agent."""
    return name.partition("_")[0].lower() in SPECS or name.endswith(LOGIN_ENDS)


def _said(file: Path) -> Mapping[str, str]:
    try:
        return parse_env(read(file) or "", str(file))
    except ConfigError:  # `follow` says so
        return {}
