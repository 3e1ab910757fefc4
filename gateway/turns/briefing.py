"""All that a turn's prompt is made of, gathered from the room and from the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bots.bot import Bot
from contract.briefing import Briefing, Budget, ThreadMessage
from contract.chat import MOOT, Speaker
from gateway.access.accounts import Accounts
from gateway.access.roster import Rosters
from gateway.core.addressing import unaddressed
from gateway.core.ledger import Turn
from gateway.sessions.sessions import LiveSession
from gateway.turns.window import Window, Windows
from memory.layers import BriefRequest, LayerAnswers, Layers
from memory.members import Members
from memory.scopes import Invocation
from store.transcript import StoredMessage, Transcript


@dataclass(frozen=True, slots=True)
class BriefingMaker:
    """Where a briefing's parts come from."""

    transcript: Transcript
    windows: Windows
    layers: Layers
    members: Members
    bots: Mapping[str, Bot]
    accounts: Accounts
    rosters: Rosters
    timezone: str
    budget: Budget
    max_hops: int

    async def brief(
        self,
        turn: Turn,
        asked: StoredMessage,
        window: Window,
        live: LiveSession,
        *,
        peek: bool = False,
    ) -> tuple[Briefing, LayerAnswers]:
        """All that the prompt is made of, and what the memory had a part in.

        peek: nobody is asked with it; the memory stays as it is.
        """
        lines, again = window.lines, window.again
        thread = await self._thread(turn, asked)
        roster = self.rosters.known(turn.room, self.bots[turn.bot])
        since = [m.by for m in lines if m.seq > asked.seq and m.by.kind == "human"]
        known_here = _participants(self.accounts.introduced(roster), lines, asked, turn.persona)
        participants = _with(known_here, await self._peers(turn))
        known = await self._remembered(turn, asked, window, live, roster, peek=peek)
        if window.covered and not known.summary:
            lines = (await self.windows.without_summary(turn, live, window)).lines
            lines = [*lines, asked] if peek else lines  # which is stored nowhere
        shown = [m for m in lines if m.persona != turn.persona] if again else lines
        briefing = Briefing(
            room=turn.room,
            you=speaker(turn.persona),
            agent=live.program.agent,
            triggered_by=asked.by,
            at=asked.sent_at,
            timezone=self.timezone,
            participants=participants,
            recall=known.recall,
            pins=known.pins,
            recommendations=known.recommendations,
            landmarks=known.landmarks,
            summary=known.summary,
            observations=known.observations,
            thread=tuple(ThreadMessage(m.by, m.content) for m in thread),
            thread_context="" if thread else asked.meta.get("thread_context") or "",
            transcript=tuple(m.line() for m in shown),
            since_last_reply=again,
            trigger_ids=(str(asked.seq),),
            spoke_since=tuple(since),
            only_mention=not unaddressed(asked.content) and not asked.attachments,
            hop=turn.hop,
            max_hops=self.max_hops,
            budget=replace(self.budget, agent_context_tokens=live.program.context_tokens),
        )
        return briefing, known

    async def _peers(self, turn: Turn) -> list[Speaker]:
        """The other personas in the room: whom an answer can hand over to."""
        if turn.room.kind not in ("room", "gdm"):
            return []
        peers = await self.accounts.peers(turn.room, self.bots[turn.bot])
        names = [peer.persona.name for peer in peers]
        return [speaker(name) for name in names if name != turn.persona]

    async def _thread(self, turn: Turn, asked: StoredMessage) -> list[StoredMessage]:
        """What was said before in the thread of the question."""
        if asked.thread_id is None:
            return []
        return await self.transcript.thread(turn.room.id, turn.scope, asked.thread_id, asked.seq)

    async def _remembered(
        self,
        turn: Turn,
        asked: StoredMessage,
        window: Window,
        live: LiveSession,
        roster: Sequence[Speaker],
        *,
        peek: bool,
    ) -> LayerAnswers:
        """What every layer of the memory has to say, for what may be seen here."""
        members = await self._members(turn, roster)
        invocation = Invocation(turn.room, asked.by.id, turn.persona, members)
        live.admission.invocation = invocation
        return await self.layers.brief(
            BriefRequest(
                invocation,
                text=asked.content,
                at=asked.sent_at,
                recalls=asked.meta.get("trigger_rag", True),
                shown_from=(live.given_from if window.again else 0) or window.lines[0].seq,
                covered=window.covered,
                peek=peek,
            )
        )

    async def _members(self, turn: Turn, roster: Sequence[Speaker]) -> tuple[str, ...]:
        """Ids of the people who take part in a room: its roster, else who has spoken in it."""
        if turn.room.kind != "room":
            return ()
        if roster:
            return tuple(person.id for person in roster if person.kind == "human")
        return await self.members.spoke(turn.scope)


def speaker(persona: str) -> Speaker:
    """A persona as one who speaks."""
    return Speaker(f"bot:{persona}", persona, "bot")


def _with(known: Sequence[Speaker], more: Sequence[Speaker]) -> tuple[Speaker, ...]:
    """Those who are not among them yet come last."""
    ids = {speaker.id for speaker in known}
    return (*known, *(speaker for speaker in more if speaker.id not in ids))


def _participants(
    roster: Sequence[Speaker], lines: Sequence[StoredMessage], asked: StoredMessage, persona: str
) -> tuple[Speaker, ...]:
    """The roster where known, else who spoke in the window and who asked; without ourselves."""
    if roster:
        return tuple(roster)
    others = (line for line in lines if line.persona != persona and line.by.id != MOOT.id)
    speakers = [*(line.by for line in others), asked.by]
    return tuple({speaker.id: speaker for speaker in speakers}.values())
