"""One prompt sent in the Agent Client Protocol, and what comes of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import structlog
from acp.exceptions import RequestError
from acp.schema import RequestPermissionRequest, SessionNotification

from adapters.acp.fault import circles, fault_of, stopped_because, worded
from adapters.acp.peer import AcpPeer, Json
from adapters.acp.question import CANCELLED, question_of, selected
from adapters.acp.turn import AcpTurn
from adapters.agent import Reply
from adapters.cli_profile import Profile
from adapters.images import Picture
from adapters.session.causes import exit_of
from adapters.session.session import BREAK_OFF_S, DRAFT_S, EXIT_S, RoomQuestions, chosen, readable
from contract.agent import Answer, Usage
from contract.errors import AgentError
from contract.language import later

log = structlog.stdlib.get_logger("moot.adapters.acp")


class AcpRun:
    """Sends a prompt, shows drafts, lets the room answer questions. `run` is called once."""

    def __init__(
        self,
        profile: Profile,
        peer: AcpPeer,
        session_id: str,
        parts: Sequence[str | Picture],
        reply: Reply,
    ) -> None:
        self.turn = AcpTurn(profile.acp.again, last_message=profile.acp.last_message)
        self._profile = profile
        self._peer = peer
        self._session_id = session_id
        self._parts = parts
        self._reply = reply
        self._asking = RoomQuestions(reply)
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()
        self._prompting: asyncio.Task[str] | None = None
        self._circling: asyncio.Future[None] = self._loop.create_future()
        self._broken_off = False
        self._drafting: asyncio.TimerHandle | None = None
        self._drafted = ""

    async def run(self) -> Answer:
        """The answer. Raises AgentError. Cancelled, it leaves the program working."""
        prompt = self._peer.prompt(self._session_id, self._parts)
        self._prompting = asyncio.create_task(prompt, name=f"prompt-{self._session_id}")
        self._prompting.add_done_callback(_heard)
        try:
            ends: set[asyncio.Future[Any]] = {self._prompting, self._circling}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._broken_off = not self._prompting.done()
            if self._drafting:
                self._drafting.cancel()
            await self._asking.close()
        if self._broken_off:
            raise circles(self._profile)
        return self._answer(await self._reason(self._prompting))

    async def _reason(self, prompting: asyncio.Task[str]) -> str:
        try:
            return prompting.result()
        except RequestError as error:
            fault = fault_of(error, self._profile)
        except ConnectionError:
            fault = await self._crash()
        fault.partial = self.partial()
        raise fault

    def _answer(self, reason: str) -> Answer:
        turn = self.turn
        fault = stopped_because(reason, self._profile)
        text = readable(turn.text())
        sign = self._profile.acp.fault
        if fault is None and sign and (match := sign.search(text)):
            raise worded(match[0], self._profile)
        if fault:
            fault.partial = self.partial()
            raise fault
        return Answer(text, "record", reason, turn.tools(), turn.uses())

    async def _crash(self) -> AgentError:
        profile, talk = self._profile, self._peer.talk
        await asyncio.wait({talk.ended}, timeout=EXIT_S)
        say = later(
            "{title} ended unexpectedly ({code}). Ask again: its session goes on.",
            title=profile.title,
            code=exit_of(talk.code),
        )
        return AgentError("crash", f"{profile.name}: ended with code {talk.code}", say=say)

    # ── What it tells and asks ──────────────────────────────────────────────────────────

    def note(self, told: SessionNotification) -> None:
        """Something that it told; sessions beside this one are its own affair."""
        if told.session_id != self._session_id:
            return
        self.turn.note(told.update)
        if self.turn.work.changed:
            self._reply.work(self.turn.work.told())
        if self.turn.circles() and not self._circling.done():
            self._circling.set_result(None)
        if self._drafting is None and not self._broken_off:
            self._drafting = self._loop.call_later(DRAFT_S, self._draft)

    def _draft(self) -> None:
        self._drafting = None
        text = self.turn.draft()
        if text and text != self._drafted:
            self._drafted = text
            self._reply.draft(readable(text))

    async def decide(self, request: RequestPermissionRequest) -> Json:
        """The room's decision, as the response."""
        call = self.turn.ask(request.tool_call)
        if not request.options or self._broken_off:
            return CANCELLED
        question = question_of(request, call)
        task = self._asking.ask(question)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if self._broken_off or (self._prompting and self._prompting.done()):
            return CANCELLED
        index = chosen(task, question)
        refused = task.cancelled() or task.exception() is not None
        if refused and not question.options[index].refuses:
            return CANCELLED  # it offers no way to refuse
        return selected(request, index)

    # ── Its end ─────────────────────────────────────────────────────────────────────────

    def partial(self) -> str:
        """The agent's words so far."""
        return readable(self.turn.draft())

    def usage(self) -> Usage | None:
        """None: what it takes is not counted."""
        return None

    def unfinished(self) -> bool:
        """True while the program still works on it."""
        return self._prompting is not None and not self._prompting.done()

    async def break_off(self) -> bool:
        """Have it stop; True when it did, within its time, and said so.

        A prompt that ends in an error then is a program's that lost its way: hermes 0.19.0 takes
        every later prompt for one that must wait.
        """
        if self._prompting is None or self._prompting.done():
            return True
        with contextlib.suppress(ConnectionError):
            await self._peer.cancel(self._session_id)
        await asyncio.wait({self._prompting}, timeout=BREAK_OFF_S)
        stopped = self._prompting.done()
        if not stopped:
            self._prompting.cancel()
        elif self._prompting.cancelled() or self._prompting.exception() is None:
            await self._peer.talk.end_younger(self._begin)
            return True
        log.warning("program.not_idle", agent=self._profile.name, after="cancel")
        return False


def _heard(prompting: asyncio.Task[str]) -> None:
    """Nobody may be left to hear of its error, when the program is ended in mid-answer."""
    if not prompting.cancelled():
        prompting.exception()
