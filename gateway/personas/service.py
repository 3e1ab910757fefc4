"""Personas as administrators handle them: read, checked, edited, rolled back, always on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from contract.chat import Room, Speaker
from contract.errors import ConfigError
from contract.language import later
from contract.values import dataclass
from gateway.audit.audit import Audit
from gateway.personas.versions import Version, Versions, Why
from gateway.settings.personas.check import Checked, PersonaFinding
from gateway.settings.personas.faults import Conflict, Unknown, Unsound, unified
from gateway.settings.personas.files import (
    check_name,
    digest,
    is_writable,
    read_bytes,
    remove,
    write_text,
)
from gateway.settings.personas.personas import FrontMatter, Persona, Personas, check_persona
from gateway.settings.personas.shipped import bring_shipped
from store.health import StoreRefusal

if TYPE_CHECKING:  # only who knows a server needs it
    from gateway.personas.following import PersonaFollower

LOOK_S = 0.5

State = Literal["good", "broken", "deleted"]


@dataclass(frozen=True, slots=True)
class PersonaFile:
    """A persona's file as it is now. base: what an edit of it carries. version: the newest;
    None: it has none yet. A deleted one has the text that it had last."""

    name: str
    state: State
    text: str
    base: str
    checked: Checked[FrontMatter]
    version: Version | None


class PersonaService:
    """The files of one folder and their history. One edit at a time."""

    def __init__(
        self,
        personas: Personas,
        versions: Versions,
        *,
        own_folder: Path,
        audit: Audit,
        changed: Callable[[], object] = lambda: None,
        follower: PersonaFollower | None = None,
    ) -> None:
        """own_folder: where edits go when the personas in use are those that come with Moot.
        changed: told of every edit. follower: None where no other gateway knows the database."""
        self._personas = personas
        self.versions = versions
        self._own_folder = own_folder
        self._audit = audit
        self._changed = changed
        self._follower = follower
        self._numbers: dict[str, tuple[str, int]] = {}  # of the text that each has now
        self._lock = asyncio.Lock()

    @property
    def folder(self) -> Path:
        """The folder of the files that count now."""
        return self._personas.folder

    @property
    def writable(self) -> bool:
        """True if an edit can be saved, as far as one sees without trying."""
        if self.folder == self._own_folder:
            return is_writable(self.folder)
        ancestors = (p for p in self._own_folder.parents if p.is_dir())
        return is_writable(next(ancestors))

    @property
    def moves_to(self) -> Path | None:
        """The folder that the first edit makes, with copies of the personas; None: it is there."""
        return None if self.folder == self._own_folder else self._own_folder

    # ── Looking ─────────────────────────────────────────────────────────────────────────

    async def sheets(self) -> list[PersonaFile]:
        """Every persona that is or was, by name."""
        await self.catch_up()
        newest = await self.versions.newest()
        here = {*self._personas.good, *self._personas.problems}
        gone = {name for name, version in newest.items() if version.deleted}
        return [self._sheet(name, newest.get(name)) for name in sorted(here | gone)]

    async def sheet(self, name: str) -> PersonaFile:
        """One persona's file. Raises Unknown."""
        check_name(name)
        await self.catch_up()
        newest = next(iter(await self.versions.of(name)), None)
        known = name in self._personas.good or name in self._personas.problems
        if not known and newest is None:
            raise Unknown(later("there is no persona {name}", name=repr(name)))
        sheet = self._sheet(name, newest)
        if sheet.state == "deleted":
            last = next((v.text for v in await self.versions.of(name) if not v.deleted), "")
            return replace(sheet, text=last)
        return sheet

    def _sheet(self, name: str, newest: Version | None) -> PersonaFile:
        try:
            data = self._now(name)
        except ConfigError as error:
            fault = PersonaFinding("error", 1, 1, 1, 1, str(error))
            return PersonaFile(name, "broken", "", "", Checked(None, "", (fault,)), newest)
        if data is None:
            return PersonaFile(name, "deleted", "", "", Checked(None, "", ()), newest)
        text = data.decode("utf-8-sig", errors="replace")
        checked = self.check(name, text)
        state: State = "good" if checked.front is not None else "broken"
        return PersonaFile(name, state, text, digest(data), checked, newest)

    def _now(self, name: str) -> bytes | None:
        """The file's bytes; None: there is no file that could be read."""
        if not (self.folder / f"{name}.md").exists():
            return None
        return read_bytes(self.folder, name)

    def check(self, name: str, text: str) -> Checked[FrontMatter]:
        """Every fault that a text would have as that persona's file."""
        return check_persona(name, text, self._personas.around(name))

    def persona_of(self, name: str, text: str) -> Persona:
        """A text as the persona that it would be. Raises Unsound."""
        checked = self.check(name, text)
        if checked.front is None:
            raise Unsound(checked.findings)
        return Persona(name, checked.front, checked.body, text)

    async def diff(self, name: str, older: int, newer: int | None) -> str:
        """A unified diff of two versions; newer None: of the file now. Raises Unknown."""
        before = await self.version(name, older)
        if newer is None:
            after, title = (await self.sheet(name)).text, "now"
        else:
            after, title = (await self.version(name, newer)).text, f"version {newer}"
        return unified(before.text, after, f"version {older}", title)

    async def version(self, name: str, number: int) -> Version:
        """One version. Raises Unknown."""
        found = await self.versions.get(check_name(name), number)
        if found is None:
            raise Unknown(later("{name} has no version {number}", name=name, number=number))
        return found

    # ── What changed by itself ──────────────────────────────────────────────────────────

    async def number(self, persona: Persona) -> int:
        """The version that a persona is; noted now when it is new."""
        known = self._numbers.get(persona.name)
        if known is None or known[0] != persona.text:
            async with self._lock:
                await self._keep(persona.name, persona.text, "file")
            self._changed()
        return self._numbers[persona.name][1]

    async def catch_up(self) -> None:
        """Note what was edited or deleted outside of Moot since the last look, and follow the lead;
        whoever stands by notes nothing."""
        self._personas.refresh()
        async with self._lock:
            if not self.versions.read_only:
                await self._note_files()
            followed = await self._follow()
        if followed:
            self._changed()

    async def _note_files(self) -> None:
        for persona in list(self._personas.good.values()):
            if self._numbers.get(persona.name, ("",))[0] != persona.text:
                await self._keep(persona.name, persona.text, "file")
        here = {*self._personas.good, *self._personas.problems}
        for name, version in (await self.versions.newest()).items():
            if name not in here and not version.deleted:
                await self._bury(name, None)

    async def _follow(self) -> bool:
        return self._follower is not None and await self._follower.follow()

    async def watch(self) -> None:
        """Follow the lead until it is cancelled. Where this one leads, a file that changed counts
        once it is the same at two looks; what is changed on the page counts at once."""
        before = handled = self._personas.seen  # it has caught up with these
        while self._follower is not None:
            await asyncio.sleep(LOOK_S)
            with suppress(StoreRefusal, OSError):  # the store and the follower tell of it
                now = self._personas.stats()
                if self.versions.read_only or (now == before and now != handled):
                    await self.catch_up()
                    handled = now
                before = now

    async def _keep(self, name: str, text: str, why: Why, by: Speaker | None = None) -> Version:
        version = await self.versions.note(name, text, why, by)
        self._numbers[name] = (text, version.number)
        return version

    async def _bury(self, name: str, by: Speaker | None) -> Version:
        """The text stays on record: a tombstone holds none, the version before it does."""
        self._numbers.pop(name, None)
        return await self.versions.note(name, "", "delete", by)

    # ── Editing ─────────────────────────────────────────────────────────────────────────

    async def save(
        self, name: str, text: str, base: str, by: Speaker, *, room: Room | None = None
    ) -> Version:
        """Write the file. base: the Sheet's that the edit began from; "": there was none.

        Raises Unsound, Conflict, or ConfigError when it can't be written.
        """
        check_name(name)
        await self.catch_up()
        self._refuse_unsound(name, text)
        return await self._write(name, text, base, by, room, "page")

    async def roll_back(
        self, name: str, number: int | None, by: Speaker, *, room: Room | None = None
    ) -> Version:
        """Write a version again; None: the one before the newest. Raises Unknown, ConfigError."""
        await self.catch_up()
        chosen = await self._chosen(check_name(name), number)
        data = self._now(name)
        return await self._write(
            name, chosen.text, digest(data) if data is not None else "", by, room, "rollback"
        )

    async def _chosen(self, name: str, number: int | None) -> Version:
        versions = await self.versions.of(name)
        if not versions:
            raise Unknown(later("there is no persona {name}", name=repr(name)))
        if number is None:
            known = [v for v in versions[1:] if not v.deleted]
            if not known:
                raise Unknown(
                    later("{name} has only one version; there is nothing to go back to", name=name)
                )
            return known[0]
        chosen = await self.version(name, number)
        if chosen.deleted:
            raise Unknown(
                later(
                    "version {number} of {name} is its deletion; choose one with a text",
                    number=number,
                    name=name,
                )
            )
        return chosen

    async def delete(
        self, name: str, base: str, by: Speaker, *, room: Room | None = None
    ) -> Version:
        """Take the file away; its versions stay. Raises Unknown, Conflict, ConfigError."""
        check_name(name)
        await self.catch_up()
        async with self._lock:
            data = self._now(name)
            if data is None:
                raise Unknown(later("there is no persona {name}", name=repr(name)))
            self._refuse_conflict(data, base, "")
            self._own()
            remove(self.folder, name)
            self._personas.refresh()
            version = await self._bury(name, by)
            await self._follow()
        await self._tell(name, "delete", version, by, room)
        return version

    async def _write(
        self, name: str, text: str, base: str, by: Speaker, room: Room | None, why: Why
    ) -> Version:
        async with self._lock:
            self._refuse_conflict(self._now(name), base, text)
            self._own()
            await asyncio.to_thread(write_text, self.folder, name, text)
            self._personas.refresh()
            version = await self._keep(name, text, why, by)
            await self._follow()
        await self._tell(name, why, version, by, room)
        return version

    async def _tell(
        self, name: str, how: str, version: Version, by: Speaker, room: Room | None
    ) -> None:
        await self._audit.note(
            "persona", by, persona=name, room=room, how=how, version=version.number
        )
        self._changed()

    def _refuse_unsound(self, name: str, text: str) -> None:
        checked = self.check(name, text)
        if checked.errors:
            raise Unsound(checked.findings)

    def _refuse_conflict(self, data: bytes | None, base: str, mine: str) -> None:
        now = digest(data) if data is not None else ""
        if now == base:
            return
        theirs = None if data is None else data.decode("utf-8-sig", errors="replace")
        diff = unified(theirs or "", mine, "the file now", "your edit")
        raise Conflict(theirs, now, diff)

    def _own(self) -> None:
        """See that edits don't go into the personas that come with Moot."""
        if self.folder == self._own_folder:
            return
        bring_shipped(self._own_folder, self.folder)
        self._personas.move(self._own_folder)
