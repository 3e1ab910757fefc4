"""The room's side of a turn as the driver on a worker sees it: all goes to the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.agent import TurnContext
from contract.agent import Question
from contract.work import Work
from gateway.core.redaction import Redactor
from gateway.workers.held import call
from gateway.workers.link import Link
from gateway.workers.messages import Ask, ChoiceMade, DraftShown, QuestionPut

EVERY_S = 0.1  # the page shows no more of them


class RemoteReply:
    """A `Reply`: of drafts the newest is sent, a question is asked until there is a choice."""

    def __init__(self, link: Link, name: str, asked: Ask, redactor: Redactor) -> None:
        self._redactor = redactor
        self._link = link
        self._from = f"moot.from.{name}"
        self._asked = asked
        self._text: str | None = None
        self._work: Work | None = None
        self._changed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, link: Link, name: str, asked: Ask, redactor: Redactor
    ) -> AsyncIterator[RemoteReply]:
        """Send what is shown while this is open, without what is secret on this machine."""
        reply = cls(link, name, asked, redactor)
        sending = asyncio.create_task(reply._send(), name="drafts")
        try:
            yield reply
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending

    @property
    def occasion(self) -> TurnContext:
        """See Reply."""
        return TurnContext(self._asked.context, self._asked.small_talk, turn=self._asked.turn)

    def draft(self, text: str) -> None:
        """See Reply."""
        self._text = self._redactor.unfinished(text)
        self._changed.set()

    def work(self, work: Work) -> None:
        """See Reply."""
        self._work = self._redactor.clean(work)
        self._changed.set()

    async def choose(self, question: Question) -> int:
        """See Reply."""
        lease = self._asked
        asked = QuestionPut(
            session=lease.session,
            epoch=lease.epoch,
            turn=lease.turn,
            question=self._redactor.clean(question),
        )
        try:
            told = await call(self._link, f"{self._from}.asked", asked.encoded())
        except asyncio.CancelledError:
            gone = asked.model_copy(update={"gone": True})
            await self._link.say(f"{self._from}.asked", gone.encoded())
            raise
        return ChoiceMade.model_validate_json(told).option

    async def _send(self) -> None:
        lease, number = self._asked, 0
        while True:
            await self._changed.wait()
            self._changed.clear()
            number += 1
            shown = DraftShown(
                session=lease.session,
                epoch=lease.epoch,
                turn=lease.turn,
                number=number,
                text=self._text,
                work=self._work,
            )
            await self._link.say(f"{self._from}.shown", shown.encoded())
            await asyncio.sleep(EVERY_S)
