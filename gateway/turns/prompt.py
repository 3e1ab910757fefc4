"""The one place where a prompt is made: for a turn, for a dry run and for `moot header`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from adapters.agent import TurnContext
from bots.bot import Bot
from composer.contents import Contents, contents
from composer.header import compose, typable
from contract.briefing import Briefing, Budget, Header, ThreadMessage, TranscriptLine
from contract.chat import MOOT, Speaker, persona_speaker
from contract.errors import MootError
from contract.values import dataclass
from gateway.access.accounts import Accounts
from gateway.access.visibility import Asked
from gateway.core.ledger import Turn
from gateway.core.reading import Reading, reading_of
from gateway.core.redaction import Redactor
from gateway.core.sql_ledger import SessionThread, no_threads
from gateway.core.trace import Steps, untimed
from gateway.sessions.sessions import SessionContext
from gateway.settings.personas.personas import Personas
from gateway.turns.lent_files import copy_attachments, with_whole_messages
from gateway.turns.turn_context import turn_context_of
from gateway.turns.windows import Window, Windows
from memory.given import NOTHING, GivenText
from memory.layers import BriefRequest, LayerAnswers, Layers
from store.rows import StoredMessage
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text that an agent is given, and what it was made of; none of it holds a known secret.

    text: what is typed or sent. last_seq: the newest message that it shows; shown: all that it
    shows. given: the newest message that its agent knew.
    """

    text: str
    header: Header
    briefing: Briefing
    known: LayerAnswers
    last_seq: int
    redactor: Redactor
    given: int = 0
    shown: GivenText = NOTHING

    @property
    def context(self) -> TurnContext:
        """The circumstances that an agent is told beside it."""
        return self.redactor.clean(turn_context_of(self.briefing, self.given))

    def record(self) -> dict[str, object]:
        """The record that the page's "why" shows, as JSON values."""
        header, known, briefing = self.header, self.known, self.briefing
        scores = {  # of what was chosen by one, by the first word of its section's name
            "RECALL": [{"text": f.text, "score": f.score} for f in briefing.recall],
            "PINS": [{"text": n.text, "score": n.score} for n in briefing.pins],
            "RECOMMENDATIONS": [
                {"text": n.text, "score": n.score} for n in briefing.recommendations
            ],
        }
        return {
            "sections": [
                {
                    "name": section.name,
                    "text": section.text,
                    "source": section.source,
                    "items": scores.get(section.name.split(" ")[0], []),
                }
                for section in header.sections
            ],
            "trims": [
                {"section": trim.section, "what": trim.what, "chars": trim.chars}
                for trim in header.trims
            ],
            **self._whose(),
            "memory": {
                "missing": list(known.missing),
                "late": list(known.late),
                "ms": dict(known.ms),
            },
        }

    def _whose(self) -> dict[str, object]:
        """The names of those whom the facts that it shows are about, if they are known."""
        shown = (fact.about for fact in self.briefing.recall if fact.id in self.header.facts)
        names = list(dict.fromkeys(filter(None, shown)))
        return {"whose": names} if names else {}


def known_by(turn: Turn) -> Contents:
    """What a turn's agent was given, from its record."""
    texts = {section["name"]: section["text"] for section in turn.record.get("sections", ())}
    return contents(texts, tuple(turn.record.get("whose", ())))


_ON_LOOP_CHARS = 20_000  # of a prompt's messages: more are put together beside the loop


class MessageGone(MootError):
    """The message that asked was deleted meanwhile: nobody wants an answer any more."""


async def as_it_is(briefing: Briefing) -> Briefing:
    """All attachments are on this machine."""
    return briefing


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The configuration of prompts. timezone: IANA name; times are shown in it. session_thread: the
    thread whose session takes what stands in a thread of a room. placed: brings attachments to this
    machine."""

    timezone: str
    budget: Budget
    max_hops: int
    session_thread: SessionThread = no_threads
    placed: Callable[[Briefing], Awaitable[Briefing]] = as_it_is


def finished(
    briefing: Briefing, redactor: Redactor, names: Iterable[str] | None = None
) -> tuple[Briefing, Header, str]:
    """The last steps of every prompt: the briefing and the header without secrets, and the text.

    names: of the personas, when the text is typed into a terminal; None: it goes as it is.
    Redacted is twice: what the composer puts together may have been a secret in parts.
    """
    briefing = redactor.clean(briefing)
    header = redactor.clean(compose(briefing))
    if names is None:
        return briefing, header, header.text
    people = (*briefing.participants, briefing.triggered_by)
    speakers = (*briefing.participants, *(line.by for line in briefing.transcript))
    mentions = [one.mention for one in speakers if one.mention]
    text = typable(header.text, [*names, *(person.name for person in people)], mentions)
    return briefing, header, text


class Prompts:
    """Gathers what a prompt is made of from the room and from the memory, and makes it."""

    def __init__(
        self,
        *,
        transcript: Transcript,
        windows: Windows,
        layers: Layers,
        bots: Mapping[str, Bot],
        accounts: Accounts,
        personas: Personas,
        redactor: Redactor,
        settings: PromptSettings,
    ) -> None:
        self._transcript = transcript
        self._windows = windows
        self._layers = layers
        self._bots = bots
        self._accounts = accounts
        self._personas = personas
        self._redactor = redactor
        self._settings = settings

    def goes_on(self, session: SessionContext) -> bool:
        """True where a session's next prompt holds only what is new to its agent."""
        return self._windows.goes_on(session)

    async def window(self, turn: Turn, session: SessionContext) -> Window:
        """The window of its prompt: the message that asked is in it unless it was deleted."""
        return await self._windows.choose(turn, session)

    async def make(
        self,
        turn: Turn,
        asked: Asked,
        session: SessionContext,
        window: Window,
        step: Steps = untimed,
        reading: Reading | None = None,
    ) -> Prompt:
        """The prompt of a turn. reading: of its message when it came."""
        with step("brief") as brief:
            if session.rehearses:
                window = self._with(window, asked.message)
            if session.edited:
                window = await self._windows.with_edited(turn, session, window)
            briefing, known, window = await self._brief(turn, asked, session, window, reading)
            brief.made = (window, known)
        with step("compose") as composed:
            names = None
            if session.program.typed:
                names = [n for persona in self._personas.good.values() for n in persona.names]
            if session.files is not None:
                briefing = await self._settings.placed(briefing)
                if session.confined:
                    briefing = await copy_attachments(briefing, session.files)
                most = briefing.budget.message
                if any(len(line.text) > most for line in briefing.transcript):
                    briefing = await with_whole_messages(briefing, session.files, self._redactor)
            briefing, header, text = await self._finished(briefing, names)
            composed.made = header
        last, redactor = window.lines[-1].seq, self._redactor
        if session.rehearses:
            return Prompt(text, header, briefing, known, last, redactor)
        shown = await self._windows.shown(turn, window, briefing, header)
        return Prompt(text, header, briefing, known, last, redactor, session.given, shown)

    async def _finished(
        self, briefing: Briefing, names: Sequence[str] | None
    ) -> tuple[Briefing, Header, str]:
        finish = partial(finished, briefing, self._redactor, names)
        if sum(len(line.text) for line in briefing.transcript) > _ON_LOOP_CHARS:
            return await asyncio.to_thread(finish)
        return finish()

    def _with(self, window: Window, message: StoredMessage) -> Window:
        """A sample: a message that is stored nowhere stands last, and nothing was given before."""
        size = self._settings.budget.window_messages
        return Window([*window.lines, message][-size:], False, window.since, window.covered)

    async def _brief(
        self,
        turn: Turn,
        asked: Asked,
        session: SessionContext,
        window: Window,
        reading: Reading | None,
    ) -> tuple[Briefing, LayerAnswers, Window]:
        """All that the prompt is made of, the memory's part in it, and the window after all."""
        message = asked.message
        present = await self._present(turn, asked, window.lines)
        since = [m.by for m in window.lines if m.seq > message.seq and m.by.kind == "human"]
        thread = await self._thread(turn, message)
        known = await self._remembered(asked, session, window, thread)
        if window.covered and not known.summary:
            window = await self._windows.without_summary(turn, session, window)
            if session.rehearses:
                window = replace(window, lines=[*window.lines, message])
        tokens = session.program.context_tokens
        briefing = Briefing(
            room=asked.invocation.room,
            you=persona_speaker(turn.persona),
            agent=session.program.agent,
            triggered_by=message.by,
            at=message.sent_at,
            timezone=self._settings.timezone,
            participants=present,
            recall=known.recall,
            pins=known.pins,
            recommendations=known.recommendations,
            landmarks=known.landmarks,
            summary=known.summary,
            observations=known.observations,
            thread=tuple(ThreadMessage(m.by, m.content) for m in thread),
            thread_context="" if thread else message.meta.get("thread_context") or "",
            transcript=self._lines(turn, message, session, window),
            since_last_reply=window.again,
            trigger_ids=(str(message.seq),),
            spoke_since=tuple(since),
            only_mention=not (reading_of(message, reading).unaddressed or message.attachments),
            cut_off=turn.attempt > 1,
            hop=turn.hop,
            max_hops=self._settings.max_hops,
            budget=replace(self._settings.budget, agent_context_tokens=tokens),
        )
        return briefing, known, window

    async def _thread(self, turn: Turn, message: StoredMessage) -> Sequence[StoredMessage]:
        """The newest messages before it in its thread."""
        if message.thread_id is None:
            return ()
        room_id = turn.room.id
        return await self._transcript.thread(room_id, turn.scope, message.thread_id, message.seq)

    def _lines(
        self, turn: Turn, message: StoredMessage, session: SessionContext, window: Window
    ) -> tuple[TranscriptLine, ...]:
        """The window as the agent is shown it."""
        edited = session.edited - {message.seq}  # what is asked is new, however often it changed
        return tuple(
            line.line(edited=line.seq in edited)
            for line in window.lines
            if not (window.again and self._said_in_it(line, turn))
        )

    def _said_in_it(self, message: StoredMessage, turn: Turn) -> bool:
        """True for an answer of the turn's session: its agent knows it."""
        if message.persona != turn.persona:
            return False
        return turn.session_thread == self._settings.session_thread(turn.room, message.thread_id)

    async def _present(
        self, turn: Turn, asked: Asked, lines: Sequence[StoredMessage]
    ) -> tuple[Speaker, ...]:
        """The people, then the other personas in a shared room, to whom an answer can
        hand over to. People are those of the roster where it is known, else who spoke in the
        window and who asked; without ourselves."""
        known = self._accounts.introduced(asked.roster)
        if not known:
            others = (m for m in lines if m.persona != turn.persona and m.by.id != MOOT.id)
            known = [*(line.by for line in others), asked.message.by]
        found = {speaker.id: speaker for speaker in known}
        if turn.room.is_shared:
            for peer in await self._accounts.peers(turn.room, self._bots[turn.bot]):
                if peer.persona.name != turn.persona:
                    speaker = persona_speaker(peer.persona.name)
                    found.setdefault(speaker.id, speaker)
        return tuple(found.values())

    async def _remembered(
        self,
        asked: Asked,
        session: SessionContext,
        window: Window,
        thread: Sequence[StoredMessage],
    ) -> LayerAnswers:
        """The answers of every layer of the memory, within what may be seen here."""
        message = asked.message
        given = self._windows.to_show(message.seq, window, thread)
        return await self._layers.brief(
            BriefRequest(
                asked.invocation,
                text=message.content,
                at=message.sent_at,
                recalls=message.meta.get("trigger_rag", True),
                given=given | session.knows if window.again else given,
                covered=window.covered,
                peek=session.rehearses,
            )
        )
