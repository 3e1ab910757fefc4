"""Previews a persona's prompt for a message, and its answer to it; nothing is kept."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bots.bot import Bot
from composer.header import untyped
from contract.agent import Answer
from contract.briefing import Header
from contract.chat import Room, Speaker
from contract.errors import AgentError, Busy, Rejected
from contract.language import later
from contract.values import dataclass
from gateway.access.visibility import Visibility
from gateway.core.ledger import SessionKey, Turn
from gateway.questions.unwatched import UnwatchedReply
from gateway.sessions.opener import SessionOpener
from gateway.sessions.sessions import AgentProgram, SessionContext
from gateway.settings.personas.personas import Persona
from gateway.turns.prompt import Prompt, Prompts
from memory.scopes import home_scope
from store.rows import StoredMessage
from store.timestamps import micros
from store.transcript import Transcript

NEVER = 1 << 62  # the seq of a message that is not stored: behind all that are
ANSWER_S = 120.0  # for one answer; somebody sits before the page and waits


@dataclass(frozen=True, slots=True)
class Preview:
    """system: the persona's part of the system prompt. missing: layers that gave nothing."""

    system: str
    header: Header
    program: AgentProgram
    missing: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DryRun:
    """asked: titles of the permission questions that were refused. trouble: why there is no
    answer; "": there is one."""

    preview: Preview
    answer: str
    asked: Sequence[str]
    tools: Sequence[str]
    seconds: float
    trouble: str = ""


class DryRuns:
    """Previews and dry runs, of a persona as it is or as it would be. One dry run at a time."""

    def __init__(
        self,
        *,
        visibility: Visibility,
        prompts: Prompts,
        transcript: Transcript,
        bots: Mapping[str, Bot],
        opener: SessionOpener,
        data_dir: Path,
        clock: Callable[[], datetime],
        answer_s: float = ANSWER_S,
    ) -> None:
        self._visibility = visibility
        self._prompts = prompts
        self._transcript = transcript
        self._bots = bots
        self._opener = opener
        self._data_dir = data_dir
        self._clock = clock
        self.answer_s = answer_s
        self._stage = asyncio.Lock()

    async def preview(self, persona: Persona, room_id: str, by: Speaker, text: str) -> Preview:
        """The prompt it would get if `by` wrote `text` in a room now."""
        return (await self._prepared(persona, room_id, by, text))[0]

    async def dry_run(self, persona: Persona, room_id: str, by: Speaker, text: str) -> DryRun:
        """The same, and the answer of its agent, asked in a HOME and a workspace that are gone
        afterwards. Raises Busy when another one is under way."""
        if self._stage.locked():
            raise Busy("another dry run is under way; wait for its end")
        async with self._stage:
            preview, prompt, room = await self._prepared(persona, room_id, by, text)
            reply = UnwatchedReply(prompt.context)
            began = time.perf_counter()
            answer, trouble = Answer(""), ""
            try:
                async with asyncio.timeout(self.answer_s):
                    answer = await self._ask(persona, room, prompt.text, reply)
            except AgentError as error:
                answer, trouble = Answer(error.partial), error.say
            except TimeoutError:
                answer = Answer(reply.said)
                trouble = f"No end after {self.answer_s:g} s."
            seconds = time.perf_counter() - began
            said = untyped(answer.text)
            return DryRun(preview, said, reply.asked, answer.tools, seconds, trouble)

    async def _prepared(
        self, persona: Persona, room_id: str, by: Speaker, text: str
    ) -> tuple[Preview, Prompt, Room]:
        program = self._opener.programs(persona.front.agent)
        room = await self._room(room_id, persona, by)
        bot = self._bot(room, persona)
        message = self._message(room, persona, by, text)
        turn = self._turn(message, room, persona, bot)
        shown = replace(room, project=room.project or persona.front.project)
        asked = await self._visibility.of(turn, shown, message)
        session = SessionContext(program, rehearses=True)
        window = await self._prompts.window(turn, session)
        prompt = await self._prompts.make(turn, asked, session, window)
        preview = Preview(persona.body, prompt.header, program, prompt.known.missing)
        return preview, prompt, room

    async def _room(self, room_id: str, persona: Persona, by: Speaker) -> Room:
        """The room, as it is known; a direct message with the page when none is named."""
        if not room_id:
            slug = by.id.partition(":")[2]
            return Room(f"web:dm-{slug}-{persona.name}", persona.name, "dm")
        room = await self._transcript.room(room_id)
        if room is None:
            raise Rejected("room_id", later("there is no room {room_id}", room_id=room_id))
        return room

    def _bot(self, room: Room, persona: Persona) -> Bot:
        """Through which account it would speak there."""
        there = [bot for bot in self._bots.values() if bot.platform == room.source]
        serving = (bot for bot in there if persona.name in bot.personas)
        return next(serving, there[0] if there else self._bots["web"])

    def _message(self, room: Room, persona: Persona, by: Speaker, text: str) -> StoredMessage:
        return StoredMessage(
            seq=NEVER, room_id=room.id, message_id="", scope=home_scope(room, by.id, persona.name),
            thread_id=None, reply_to=None, by=by, persona=None, turn_id=None, hop=0, content=text,
            original=None, sent_at=self._clock(), edited_at=None, deleted=False, attachments=(),
            meta={},
        )  # fmt: skip

    def _turn(self, asked: StoredMessage, room: Room, persona: Persona, bot: Bot) -> Turn:
        return Turn(
            id="", seq=NEVER, message_seq=NEVER, asked_at=micros(asked.sent_at),
            persona=persona.name, scope=asked.scope, room=room, thread_id=None, bot=bot.name,
            hop=0, state="queued",
        )  # fmt: skip

    async def _ask(
        self, persona: Persona, room: Room, prompt: str, reply: UnwatchedReply
    ) -> Answer:
        """Raises AgentError. Nothing of the program is left when this returns."""
        self._data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix="dry-run-", dir=self._data_dir))
        opener = self._opener.apart(folder)
        try:
            key = SessionKey(persona.name, "dm:web:dry-run:rehearsal")
            live = await opener.open(persona, key, room)
            try:
                return await live.agent.ask(prompt, reply)
            finally:
                await opener.close(live)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
