"""What lies in the store, as the values that the page is given."""

from __future__ import annotations

from typing import Literal

from contract.agent import Answer
from contract.briefing import Trim
from contract.chat import Inbound, Room, Speaker
from gateway.core.cards import (
    LeftOut,
    Message,
    PersonaCard,
    PostRecord,
    Scored,
    SectionRecord,
    SessionCard,
    StateChange,
    Timing,
    TurnCard,
    TurnRecord,
    TurnState,
)
from gateway.core.ledger import Post, State, Turn
from gateway.sessions.sessions import AgentProgram, LiveSession
from gateway.settings.personas.personas import Persona
from store.timestamps import moment
from store.transcript import StoredMessage

ENDED: frozenset[TurnState] = frozenset({"posted", "failed", "stopped"})


def message(stored: StoredMessage) -> Message:
    """A stored message for a list."""
    return Message(
        id=stored.message_id,
        room_id=stored.room_id,
        by=stored.by,
        text=stored.content,
        at=stored.sent_at,
        edited_at=stored.edited_at,
        thread_id=stored.thread_id,
        reply_to=stored.reply_to,
        attachments=stored.attachments,
        turn_id=stored.turn_id,
    )


def inbound(inbound: Inbound) -> Message:
    """A message that was just stored, for a list."""
    return Message(
        id=inbound.message_id,
        room_id=inbound.room.id,
        by=inbound.meta.speaker(),
        text=inbound.content,
        at=inbound.sent_at,
        thread_id=inbound.thread_id,
        reply_to=inbound.reply_to,
        attachments=inbound.attachments,
    )


def answer(turn: Turn, first: Post, by: Speaker) -> Message:
    """A posted answer for a list. first: its first post, whose id the whole answer bears."""
    return Message(
        id=first.platform_id or first.key,
        room_id=turn.room.id,
        by=by,
        text=turn.answer or "",
        at=moment(turn.states[-1][1]),
        thread_id=turn.thread_id,
        turn_id=turn.id,
    )


def state(turn: Turn, name: State) -> TurnState:
    """A turn's state in the page's words: one that ended without an answer says how."""
    if name == "dropped" or (name == "posted" and turn.fault == "stopped"):
        return "stopped"
    if name == "posted" and turn.fault is not None:
        return "failed"
    return name


def turn_card(
    turn: Turn, *, message_id: str | None = None, ahead: int = 0, draft: str = ""
) -> TurnCard:
    """A turn for a list."""
    return TurnCard(
        id=turn.id,
        room_id=turn.room.id,
        persona=turn.persona,
        state=state(turn, turn.state),
        at=moment(turn.states[0][1]),
        message_id=message_id,
        thread_id=turn.thread_id,
        session_id=session_id(turn.persona, turn.scope),
        ahead=ahead,
        draft=draft,
        error=(turn.answer or "") if turn.fault else "",
    )


def persona_card(persona: Persona, program: AgentProgram) -> PersonaCard:
    """A persona for a list, with what its agent wants when it can't answer."""
    hint = "" if program.available else program.hint
    about = persona.front.description
    return PersonaCard(persona.name, about, program.title, program.available, hint)


def session_id(persona: str, scope: str) -> str:
    """The id of a persona's session in a scope."""
    return f"{persona}@{scope}"


def raw(stored: StoredMessage, room: Room) -> dict[str, object]:
    """A message as it was accepted: what the person typed, and the metadata."""
    return {
        "content": stored.content if stored.original is None else stored.original,
        "metadata": stored.meta,
        "room": {"id": room.id, "name": room.name, "kind": room.kind, "project": room.project},
        "message_id": stored.message_id,
        "thread_id": stored.thread_id,
        "sent_at": stored.sent_at.isoformat(),
    }


def turn_record(turn: Turn, asked: StoredMessage, agent: str, posts: list[Post]) -> TurnRecord:
    """All that is on record of a turn."""
    record = turn.record
    answer = None
    if turn.answer is not None and turn.fault is None:
        source: Literal["record", "screen"] = (
            "screen" if turn.answer_source == "screen" else "record"
        )
        answer = Answer(turn.answer, source, turn.ended_by or "", tuple(record.get("tools", ())))
    return TurnRecord(
        card=turn_card(turn, message_id=asked.message_id),
        agent=agent,
        raw=raw(asked, turn.room),
        header=turn.header or "",
        sections=tuple(
            SectionRecord(s["name"], s["text"], s["source"], _scored(s.get("items", [])))
            for s in record.get("sections", [])
        ),
        trims=tuple(Trim(**item) for item in record.get("trims", [])),
        left_out=left_out(turn),
        timings=_timings(turn),
        states=tuple(StateChange(state(turn, name), moment(at)) for name, at in turn.states),  # type: ignore[arg-type]
        answer=answer,
        posts=tuple(PostRecord(p.key, p.platform_id, p.state, moment(p.created_at)) for p in posts),
        hop=turn.hop,
        persona_version=record.get("persona_version"),
    )


def _scored(items: list[dict[str, object]]) -> tuple[Scored, ...]:
    return tuple(Scored(str(i["text"]), float(str(i["score"]))) for i in items)


def left_out(turn: Turn) -> tuple[LeftOut, ...]:
    """The layers of the memory that gave nothing for a turn, and why."""
    memory = turn.record.get("memory", {})
    late = memory.get("late", ())
    return tuple(
        LeftOut(layer, "took too long" if layer in late else "failed")
        for layer in memory.get("missing", ())
    )


def _timings(turn: Turn) -> tuple[Timing, ...]:
    """The steps in their order; each begins where the one before ended."""
    after_ms, timings = 0.0, []
    for name, ms in turn.record.get("timings", {}).items():
        timings.append(Timing(name, ms, after_ms))
        after_ms += ms
    return tuple(timings)


def session(live: LiveSession) -> SessionCard:
    """A living session for a list."""
    return SessionCard(
        id=session_id(live.persona, live.scope),
        persona=live.persona,
        room_id=live.room.id,
        state=live.state,
        pid=live.agent.pid,
        started_at=live.started_at,
        terminal=live.program.typed,
    )
