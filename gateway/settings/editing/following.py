"""Tables of moot.toml follow the lead: each machine has a file, and all know one database.

The database has the tables that hold. A change on the page is put into it at once, one by hand at
the next start, by the machine that leads. Everywhere else they are taken from there, also into the
file; where that can't be written, they hold all the same.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import structlog
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from bots.kit.cursor import States
from contract.errors import ConfigError
from contract.refusals import why
from contract.values import dataclass
from gateway.settings.editing.agreeing import Holds, agreed_in, judge, note_agreed
from gateway.settings.editing.files import read, with_copy, write_all
from gateway.settings.editing.forms import form_of, table_in, with_table
from gateway.settings.editing.secrets import SecretFollower
from gateway.settings.personas.files import text_mark
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.settings")

FOLLOWED = ("access", "limits", "bots")
"""The tables that Moot itself changes. All others are each machine's own."""

AGREED = "tables.json"  # in the data directory
LOOK_S = 0.5
_ROW = "moot.toml"


@dataclass(frozen=True, slots=True)
class Side:
    """The followed tables of one side, by name, and their forms. faults: why others can't be
    read."""

    tables: dict[str, Any] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any], names: Iterable[str]) -> Side:
        """These tables, as they stand there."""
        side = cls()
        for name in names:
            try:
                side.tables[name] = table = table_in(values, name)
                side.forms[name] = form_of(table)
            except ValidationError as error:
                side.faults[name] = f"[{name}]: {error.errors()[0]['msg']}"
        return side


@dataclass(frozen=True, slots=True)
class Here:
    """What this machine has. text: of moot.toml; None: there is no file. agreed: marks of forms."""

    text: str | None
    side: Side
    agreed: Mapping[str, str]


Tables = Mapping[str, Any]
"""Tables by name, as fields of Config."""


def no_fault(tables: Tables) -> str:
    """They run already."""
    return ""


class TableFollower:
    """Brings moot.toml here and the database together, and before it the secrets of bots. Nothing
    is put into the database where another gateway leads."""

    def __init__(
        self,
        states: States,
        secrets: SecretFollower,
        *,
        leads: bool,
        file: Path,
        data_dir: Path,
        fault: Callable[[Tables], str] = no_fault,
    ) -> None:
        """states: the gateway's own in the database. file: moot.toml, which need not be there.
        fault: why bots of such tables can't run here; "": they can."""
        self._states = states
        self._secrets = secrets
        self._fault = fault
        self._tried: tuple[str, str] | None = None  # a form of bots, and its fault
        self._leads = leads
        self._file = file
        self._agreed = data_dir / AGREED
        self._told = ""
        self._is_cut_off = False  # the last look, by a database that was away
        self._settled: tuple[str | None, str | None] | None = None  # both sides, as they agree
        self._held: Tables = {}
        self._lock = asyncio.Lock()

    async def follow(self) -> Tables:
        """Look once; the tables that hold, of those that can be read. Raises StoreRefusal."""
        async with self._lock:
            self._is_cut_off = True
            kept = await self._states.read(_ROW)
            trouble = await self._follow_secrets()
            if trouble or not await asyncio.to_thread(self._is_as_it_was, kept):
                self._settled = None
                self._held = await self._compare(kept, trouble)
            self._is_cut_off = False
            return self._held

    async def _compare(self, kept: str | None, trouble: list[str]) -> Tables:
        """Bring both sides together. trouble: with the secrets."""
        there = _values(kept)
        theirs = Side.of(there, [name for name in FOLLOWED if name in there])
        here = await asyncio.to_thread(self._here)
        holds = _judged(here, theirs)
        self._check_bots(here.side, theirs, holds)
        edited = [name for name, side in holds.items() if self._leads and side == "ours"]
        if edited:
            await self._put(there, here.side, edited)
        same = [name for name, side in holds.items() if side == "both"]
        behind = [name for name, side in holds.items() if side == "theirs"]
        reasons = await asyncio.to_thread(self._bring, here, theirs, [*same, *edited], behind)
        reasons = [*trouble, *here.side.faults.values(), *theirs.faults.values(), *reasons]
        self._tell(reasons)
        if len(same) == len(FOLLOWED) and not reasons:
            self._settled = (kept, here.text)
        taken = {name: table for name, table in theirs.tables.items() if name not in edited}
        return here.side.tables | taken

    def _is_as_it_was(self, kept: str | None) -> bool:
        try:
            return self._settled == (kept, read(self._file))
        except ConfigError:
            return False

    async def watch(self, take: Callable[[Tables], object]) -> None:
        """Look until it is cancelled. take: given the tables that hold."""
        while True:
            await asyncio.sleep(LOOK_S)
            with suppress(StoreRefusal):  # the store tells of it
                take(await self.follow())

    async def catch_up(self) -> None:
        """Look again where a database that was away did not take what was changed."""
        if self._is_cut_off:
            with suppress(StoreRefusal):
                await self.follow()

    async def apart(self) -> dict[str, str]:
        """The tables here that are not as the database's, by name, each with the reason why that
        one can't be used here; "": it can. Nothing is changed. Raises StoreRefusal."""
        there = _values(await self._states.read(_ROW))
        theirs = Side.of(there, [name for name in FOLLOWED if name in there])
        ours = (await asyncio.to_thread(self._here)).side
        return {
            name: self._fault({**ours.tables, **theirs.tables}) if name == "bots" else ""
            for name, form in ours.forms.items()
            if theirs.forms.get(name, form) != form
        }

    # ── Bots ────────────────────────────────────────────────────────────────────────────

    async def _follow_secrets(self) -> list[str]:
        try:
            if await self._secrets.follow():
                self._tried = None
        except (ConfigError, OSError) as error:
            return [_reason(error)]
        return []

    def _check_bots(self, ours: Side, theirs: Side, holds: dict[str, Holds]) -> None:
        """Leave out the bots of the side that holds where they can't run here, e.g. without a
        secret; the other side's stay."""
        side = {"ours": ours if self._leads else None, "theirs": theirs}.get(holds.get("bots", ""))
        if side is None:
            return
        tables = {**ours.tables, **theirs.tables, "bots": side.tables["bots"]}
        form = side.forms["bots"]
        if self._tried is None or self._tried[0] != form:
            self._tried = (form, self._fault(tables))
        if fault := self._tried[1]:
            side.faults["bots"] = fault
            del side.tables["bots"], side.forms["bots"], holds["bots"]

    # ── The database ────────────────────────────────────────────────────────────────────

    async def _put(self, there: Mapping[str, Any], ours: Side, names: Collection[str]) -> None:
        new = {name: from_json(ours.forms[name]) for name in names}
        await self._states.write(_ROW, to_json({**there, **new}).decode())

    # ── This machine ────────────────────────────────────────────────────────────────────

    def _here(self) -> Here:
        try:
            text = read(self._file)
            agreed = {} if text is None else agreed_in(self._agreed)  # a file that was lost
            return Here(text, Side.of(tomllib.loads(text or ""), FOLLOWED), agreed)
        except (ConfigError, OSError, ValueError) as error:
            return Here(None, Side(faults={"": _reason(error)}), {})

    def _bring(
        self, here: Here, theirs: Side, same: Collection[str], behind: Collection[str]
    ) -> list[str]:
        """Bring the tables that are behind into the file, and note which forms it has now as the
        database has them; why that could not be done."""
        reasons: list[str] = []
        text, agreed = here.text, {name: text_mark(here.side.forms[name]) for name in same}
        try:
            for name in behind:
                text = with_table(text, name, theirs.forms[name])
            if behind and text is not None:
                write_all(with_copy(self._file, text, here.text))
                log.info("settings.followed", file=str(self._file), tables=[*behind])
            agreed |= {name: text_mark(theirs.forms[name]) for name in behind}
        except (ConfigError, OSError) as error:
            reasons.append(_reason(error))
        try:
            if (now := {**here.agreed, **agreed}) != here.agreed:
                note_agreed(self._agreed, now)
        except OSError as error:
            reasons.append(_reason(error))
        return reasons

    def _tell(self, reasons: Collection[str]) -> None:
        """Once each."""
        reason = "; ".join(dict.fromkeys(reasons))
        if reason and reason != self._told:
            log.warning("settings.not_followed", file=str(self._file), reason=reason)
        self._told = reason


def _values(kept: str | None) -> dict[str, Any]:
    return dict(from_json(kept)) if kept else {}


def _judged(here: Here, theirs: Side) -> dict[str, Holds]:
    """The side that holds of each table that both can be read of."""
    ours = here.side.forms
    found: dict[str, Holds] = {}
    for name in ours.keys() - theirs.faults.keys():
        form = theirs.forms.get(name)
        found[name] = judge(text_mark(ours[name]), here.agreed.get(name), form and text_mark(form))
    return found


def _reason(error: ConfigError | OSError | ValueError) -> str:
    if isinstance(error, ConfigError):
        return error.say
    if isinstance(error, OSError):
        return why(error)
    return f"it can't be read as TOML: {error}"
