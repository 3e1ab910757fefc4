"""Persona files follow the lead: each machine's folder, and a database that several may know.

The database says which version each file is to have. A machine notes on which form its file and the
database last agreed: by that an edit of the file is told from a file that is behind. So what is
edited beside the gateway that leads is put into the database, and from there into other folders.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

import structlog

from contract.errors import ConfigError
from contract.refusals import why
from gateway.personas.versions import CurrentVersion, Versions
from gateway.settings.editing.agreeing import agreed_in, judge, note_agreed
from gateway.settings.personas.check import NAME
from gateway.settings.personas.files import keep_aside, read_text, remove, text_mark, write_text
from gateway.settings.personas.personas import Personas
from gateway.settings.personas.shipped import AGREED, is_as_shipped
from store.database import Store

log = structlog.stdlib.get_logger("moot.personas")

SETTLED_S = 3.0  # in a folder that machines share, a file changes before the database does


class PersonaFollower:
    """Brings this machine's folder and the database together. Where the database is only read,
    another gateway leads: then an edit here is left alone, and told of."""

    def __init__(
        self,
        personas: Personas,
        store: Store,
        *,
        folder: Path,
        data_dir: Path,
        clock: Callable[[], datetime],
        settled_s: float = SETTLED_S,
    ) -> None:
        """folder: the one that may be written to; personas that come with Moot may be in use from
        another one."""
        self._personas = personas
        self._versions = Versions(store, clock)
        self._leads = not store.read_only
        self._folder = folder
        self._file = data_dir / AGREED
        self._settled_s = settled_s
        self._odd: dict[str, tuple[str, str, float]] = {}  # forms on both sides, and since when
        self._told: set[tuple[str, ...]] = set()

    async def follow(self) -> bool:
        """Look once; True: files here were changed. Raises StoreRefusal."""
        try:
            return await self._follow()
        except OSError as error:
            self._not_followed([], why(error))
            return False

    async def _follow(self) -> bool:
        self._personas.refresh()
        current = await self._versions.current()
        if self._leads and not current:
            current = await self._begun()
        here, before = await asyncio.to_thread(self._look, current)
        agreed, taken, refused = dict(before), list[str](), defaultdict[str, list[str]](list)
        for name, text in here.items():
            ours, theirs = text_mark(text), current.get(name)
            holds = judge(ours, agreed.get(name), theirs.digest if theirs else None)
            if holds == "both":
                self._odd.pop(name, None)
                agreed[name] = ours
            elif theirs is None or holds == "ours":
                if await self._ours(name, text):
                    agreed[name] = ours
            else:
                try:
                    if await self._theirs(name, text, theirs, behind=ours == agreed.get(name, "")):
                        agreed[name] = theirs.digest
                        taken.append(name)
                except ConfigError as error:
                    refused[error.say].append(name)
        if agreed != before:
            await asyncio.to_thread(note_agreed, self._file, agreed)
        if taken:
            self._personas.refresh()
            log.info("personas.followed", names=taken)
        for reason, names in refused.items():
            self._not_followed(names, reason)
        return bool(taken)

    async def apart(self) -> list[str]:
        """Names of the files that differ from the database's. Raises StoreRefusal, OSError."""
        current = await self._versions.current()
        here, _ = await asyncio.to_thread(self._look, current)
        return [
            name
            for name, text in here.items()
            if current and text_mark(text) != (current[name].digest if name in current else "")
        ]

    async def _begun(self) -> dict[str, CurrentVersion]:
        """The history's newest version of each file, where none was current yet and the file here
        is an earlier one; a form that the history doesn't know was edited by hand."""
        newest = await self._versions.newest()
        here, _ = await asyncio.to_thread(self._look, newest)
        for name, text in here.items():
            last = newest.get(name)
            if last and (text is None or await self._versions.knows(name, text)):
                await self._versions.put(name, None if last.deleted else last.text)
        return await self._versions.current()

    # ── Looking ─────────────────────────────────────────────────────────────────────────

    def _look(self, current: Iterable[str]) -> tuple[dict[str, str | None], dict[str, str]]:
        """Each file's text, None where there is none, and the forms agreed on. Files that can't be
        read are left out; a folder without any persona was lost, and nothing is agreed on."""
        there = self._personas.stats()
        names = sorted(name for name in {*there, *current} if NAME.fullmatch(name))
        texts = {name: self._text(name) if name in there else None for name in names}
        readable = {
            name: text for name, text in texts.items() if text is not None or name not in there
        }
        return readable, agreed_in(self._file) if there else {}

    def _text(self, name: str) -> str | None:
        try:
            return read_text(self._personas.folder, name)
        except ConfigError:
            return None  # `persona.invalid` says why

    # ── An edit here ────────────────────────────────────────────────────────────────────

    async def _ours(self, name: str, text: str | None) -> bool:
        """True if the database has it now: a good form that was made where this one leads."""
        good = self._personas.good.get(name)
        if text is not None and (good is None or good.text != text):
            return False
        if self._leads:
            await self._versions.put(name, text)
            return True
        mark = text_mark(text)
        edited = self._settled(name, mark, "") and not self._is_as_shipped(name)
        if edited and self._first(name, mark):
            log.warning("personas.edited_here", name=name, digest=mark[:8])
        return False

    # ── The database's form ─────────────────────────────────────────────────────────────

    async def _theirs(
        self, name: str, text: str | None, theirs: CurrentVersion, *, behind: bool
    ) -> bool:
        """True if the file has it now. behind: it was not edited here. Raises ConfigError."""
        if not (behind or self._leads or self._settled(name, text_mark(text), theirs.digest)):
            return False
        version = await self._versions.get(name, theirs.number)
        if version is None or await asyncio.to_thread(self._text, name) != text:
            return False
        if self._personas.folder != self._folder:
            raise ConfigError(f"{self._folder} is not there; let Moot's user make it")
        known = text is None or await self._versions.knows(name, text)
        if not known and not self._is_as_shipped(name):
            aside = await asyncio.to_thread(keep_aside, self._folder, name)
            log.warning("personas.kept_aside", name=name, file=aside.name)
        if version.deleted:
            await asyncio.to_thread(remove, self._folder, name)
        else:
            await asyncio.to_thread(write_text, self._folder, name, version.text)
        self._odd.pop(name, None)
        return True

    def _is_as_shipped(self, name: str) -> bool:
        try:
            return is_as_shipped(self._personas.folder, name)
        except OSError:
            return False

    # ── Once each ───────────────────────────────────────────────────────────────────────

    def _settled(self, name: str, ours: str, theirs: str) -> bool:
        """True if both sides have been as they are for a while."""
        now = asyncio.get_running_loop().time()
        was = self._odd.get(name)
        if was is None or was[:2] != (ours, theirs):
            was = self._odd[name] = (ours, theirs, now)
        return now - was[2] >= self._settled_s

    def _first(self, *of: str) -> bool:
        """True if it was not told of yet."""
        new = of not in self._told
        self._told.add(of)
        return new

    def _not_followed(self, names: Sequence[str], reason: str) -> None:
        if self._first(*names, reason):
            log.warning("personas.not_followed", names=names, reason=reason)
