"""A session that lives on a worker."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from contract.values import dataclass
from gateway.core.ledger import SessionKey
from gateway.core.private_folders import LENT
from gateway.sessions.homes.packing import pack
from gateway.sessions.sessions import LiveSession
from gateway.workers.link import Link
from gateway.workers.messages import Done, OfSession, Open, TerminalShown

log = structlog.stdlib.get_logger("moot.workers")

WATCHED_S = 5.0  # after the last time that somebody asked for the terminal
LOOK_S = 0.5


@dataclass(slots=True)
class HeldSession:
    """A session that lives here. turn: the newest that it was asked; seen_until: its terminal is
    shown until then."""

    lease: OfSession
    live: LiveSession
    close: Callable[[], Coroutine[Any, Any, None]]
    turn: str = ""
    asking: asyncio.Task[None] | None = None
    seen_until: float = 0.0
    seeing: asyncio.Task[None] | None = None

    def opened(self, *, otherwise: bool = False) -> Done:
        """How the gateway knows it. otherwise: see Done."""
        live = self.live
        return Done(
            session=self.lease.session,
            epoch=self.lease.epoch,
            agent=live.agent.session_id,
            resumed=live.agent.resumed,
            files=str((live.folder / LENT).absolute()),
            workspace=str(live.workspace),
            otherwise=otherwise,
        )

    def adopted(self, wanted: Open) -> Done:
        """The same for a gateway that didn't open it."""
        log.info("session.adopted", session=wanted.session, turn=self.turn)
        return self.opened(otherwise=self.live.began_as != wanted.whose().start)

    def works(self) -> bool:
        """Its newest turn goes on."""
        return self.asking is not None and not self.asking.done()

    async def record(self) -> str:
        """Its program's record as it is now, in Base64, see `pack`."""
        home, keeps = self.live.folder / "home", self.live.context.program.keeps
        packed = await asyncio.to_thread(pack, home, keeps, self.live.agent.session_id)
        return b64encode(packed).decode()

    def watched(self) -> bool:
        """Somebody asks for its terminal; True if nobody is shown it yet."""
        self.seen_until = time.monotonic() + WATCHED_S
        return self.seeing is None or self.seeing.done()

    async def show(self, link: Link, worker: str) -> None:
        """Send its terminal as often as it changes, while somebody asks for it."""
        shown: object = None
        while time.monotonic() < self.seen_until:
            rows = tuple(tuple(row) for row in self.live.agent.picture())
            if rows != shown:
                shown = rows
                seen = TerminalShown(session=self.lease.session, epoch=self.lease.epoch, rows=rows)
                await link.say(f"moot.from.{worker}.seen", seen.encoded())
            await asyncio.sleep(LOOK_S)


@dataclass(slots=True)
class OneSession:
    """The one session that an opener may resume."""

    session_id: str | None

    async def agent_session(self, key: SessionKey, agent: str) -> str | None:
        """See KnownSessions."""
        return self.session_id
