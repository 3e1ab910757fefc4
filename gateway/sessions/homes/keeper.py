"""Keeps what programs recorded of the gateway's own sessions for a machine that takes over.

A record is packed and put behind an answer that was posted; while the store is away, the sessions
wait, and what is put later is their newest record. A file in a session's folder has the word of its
record, where that was made of what lies there: any other one is newer, and brought from the store.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import tarfile
from contextlib import suppress
from pathlib import Path

import structlog

from contract.errors import MootError
from gateway.core.ledger import SessionKey
from gateway.files.store import FileStoreFailed
from gateway.sessions.homes.packing import pack, unpack
from gateway.sessions.homes.records import Records, record_of
from gateway.sessions.sessions import AgentProgram, LiveSession, digest
from gateway.settings.whole_file import put

log = structlog.stdlib.get_logger("moot.sessions")

MARK = "record"  # in a session's folder
AT_ONCE = 4
PUT_S = 30.0
FETCH_S = 5.0  # so long the first turn after a takeover waits
FORGET_S = 3.0  # so long somebody waits to hear that it is gone
SETTLE_S = 3.0  # so long the end of Moot waits for what is put
AGAIN_S, MOST_AGAIN_S = 1.0, 30.0  # until a store that is away is tried once more


class HomeKeeper:
    """place: the store's name for people; "": the workers' broker."""

    def __init__(self, records: Records, place: str = "") -> None:
        self._records, self._place = records, place
        self._own: dict[str, str] = {}  # words of records that were made of what lies here
        self._due: dict[str, LiveSession] = {}
        self._putting: dict[str, asyncio.Task[bool]] = {}
        self._dropped: set[str] = set()
        self._collects = True  # behind the first record that is put
        self._again_s = 0.0  # until a store that is away is tried once more
        self._wanted, self._settled = asyncio.Event(), asyncio.Event()
        self._settled.set()

    # ── What is put ─────────────────────────────────────────────────────────────────────

    def keep(self, live: LiveSession) -> None:
        """Put a session's record soon."""
        if live.context.program.keeps and not live.retire:
            self._due[record_of(live.key)] = live
            self._want()

    def drop(self, key: SessionKey) -> None:
        """Keep nothing more of a session, soon."""
        session = record_of(key)
        self._let_go(session)
        self._dropped.add(session)
        self._want()

    async def forget(self, scope: str) -> tuple[str, ...]:
        """Keep nothing of a scope; returns the place where it is still to go. Raises
        StoreRefusal."""
        one = digest(scope)
        of_it = [s for s in {*self._due, *self._putting, *self._own} if s.startswith(f"{one}.")]
        if ending := [task for session in of_it if (task := self._let_go(session))]:
            await asyncio.wait(ending)
        await self._records.forget([one])
        try:
            async with asyncio.timeout(FORGET_S):
                await self._records.delete([one])
        except (FileStoreFailed, TimeoutError):
            self._collects = True
            self._want()
            return (self._place,)
        return ()

    def _let_go(self, session: str) -> asyncio.Task[bool] | None:
        """Put it no more; the task that did, which is being ended."""
        self._due.pop(session, None)
        self._own.pop(session, None)
        if (task := self._putting.get(session)) is not None:
            task.cancel()
        return task

    def _want(self) -> None:
        self._settled.clear()
        self._wanted.set()

    async def settle(self) -> None:
        """Return when nothing is to be put any more, when the store is away, or after a moment."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), SETTLE_S)

    async def run(self) -> None:
        """Put what is due, for ever."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                if not await self._round():
                    self._wanted.set()
                self._settled.set()
                await asyncio.sleep(self._again_s)
        finally:
            for task in self._putting.values():
                task.cancel()

    async def _round(self) -> bool:
        """Do all that there is to do; False: the store is away."""
        while self._due or self._dropped or self._collects:
            if not (await self._put_some() and await self._tidied()):
                return False
        if self._again_s:
            log.info("home.kept_again")
        self._again_s = 0.0
        return True

    async def _tidied(self) -> bool:
        try:
            while self._dropped:
                await self._records.drop(session := min(self._dropped))
                self._dropped.discard(session)
            if self._collects:
                await self._records.collect()
                self._collects = False
        except (MootError, OSError, TimeoutError) as error:
            return self._failed(error)
        return True

    async def _put_some(self) -> bool:
        some = list(self._due)[:AT_ONCE]
        self._putting = {
            session: asyncio.create_task(
                self._put(session, self._due.pop(session)), name="record of a session"
            )
            for session in some
        }
        if some:
            await asyncio.wait(self._putting.values())
        done, self._putting = self._putting, {}
        return all(task.cancelled() or task.result() for task in done.values())

    async def _put(self, session: str, live: LiveSession) -> bool:
        """False: the store does not take it; it is due again."""
        keeps, agent_session = live.context.program.keeps, live.agent.session_id
        try:
            data = await asyncio.to_thread(pack, live.folder / "home", keeps, agent_session)
        except OSError as error:
            log.warning("home.not_packed", error=type(error).__name__)
            return True
        if not data or live.retire:
            return True
        own = self._own.get(session)
        word = own or secrets.token_hex(8)
        try:
            async with asyncio.timeout(PUT_S):
                await self._records.put(session, word, data)
            if own is None:
                self._own[session] = word
                await asyncio.to_thread(_mark, live.folder, word)
        except (MootError, OSError, TimeoutError) as error:
            self._due.setdefault(session, live)
            return self._failed(error)
        return True

    def _failed(self, error: Exception) -> bool:
        if not self._again_s:
            log.warning("home.not_kept", reason=str(error) or type(error).__name__)
        self._again_s = min(max(2 * self._again_s, AGAIN_S), MOST_AGAIN_S)
        return False

    # ── What is brought ─────────────────────────────────────────────────────────────────

    async def bring(
        self, key: SessionKey, folder: Path, program: AgentProgram, *, resumes: bool
    ) -> None:
        """Have the newest record of a session in its HOME, where it is to be resumed and another
        machine went on with it."""
        if not program.keeps:
            return
        session = record_of(key)
        newest = await self._records.newest(session)
        if newest and newest == await asyncio.to_thread(_marked, folder):
            self._own[session] = newest
            return
        self._own.pop(session, None)
        if not newest or not resumes:
            return
        try:
            async with asyncio.timeout(FETCH_S):
                data = await self._records.get(session, newest)
            if data is None:
                log.warning("home.not_brought", reason="it is gone")
                return
            home = folder / "home"
            await asyncio.to_thread(unpack, data, home, program.keeps, newest=True)
            log.info("home.brought", bytes=len(data))
        except (FileStoreFailed, TimeoutError) as error:
            log.warning("home.not_brought", reason=str(error) or type(error).__name__)
        except (OSError, tarfile.TarError, ValueError) as error:
            log.warning("home.not_unpacked", error=type(error).__name__)


def _mark(folder: Path, word: str) -> None:
    put(folder / MARK, _marking(word), 0o600)


def _marked(folder: Path) -> str:
    """The word of the record that was made of what lies here; "": none."""
    try:
        marking = (folder / MARK).read_bytes()
    except OSError:
        return ""
    word = marking.decode("ascii", "replace").partition(" ")[0]
    return word if marking == _marking(word) else ""


def _marking(word: str) -> bytes:
    """The word with the machine's name: the folder may be a copy of another one's."""
    return f"{word} {socket.gethostname()}".encode("ascii", "replace")
