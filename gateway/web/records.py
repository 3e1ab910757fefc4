"""Personas, sessions and turns' whole records as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from contract.agent import Answer
from contract.briefing import Trim
from contract.chat import Room
from gateway.core import views
from gateway.core.ledger import Post, Turn
from gateway.core.views import (
    PersonaView,
    PostRecord,
    Scored,
    SectionRecord,
    SessionView,
    StateChange,
    Timing,
    TurnRecord,
)
from gateway.sessions.sessions import AgentProgram, LiveSession
from gateway.settings.personas.personas import Persona
from gateway.turns.prompt import known_by
from store.rows import StoredMessage
from store.timestamps import moment


def persona_view(persona: Persona, program: AgentProgram, accounts: Iterable[str]) -> PersonaView:
    """A persona for a list, with what its agent wants when it can't answer."""
    hint = "" if program.available else str(program.hint)
    about = persona.front.description
    return PersonaView(persona.name, about, program.title, program.available, hint, tuple(accounts))


def session(live: LiveSession) -> SessionView:
    """A living session for a list."""
    return SessionView(
        id=live.key.id,
        persona=live.persona,
        room_id=live.room.id,
        state=live.state,
        pid=live.agent.pid,
        started_at=live.started_at,
        terminal=live.context.program.typed,
        worker=live.worker,
    )


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
        turn=views.turn_view(turn, message_id=asked.message_id),
        agent=agent,
        raw=raw(asked, turn.room),
        header=turn.header or "",
        sections=tuple(
            SectionRecord(s["name"], s["text"], s["source"], _scored(s.get("items", [])))
            for s in record.get("sections", [])
        ),
        knew=known_by(turn),
        trims=tuple(Trim(**item) for item in record.get("trims", [])),
        left_out=views.left_out(turn),
        timings=_timings(turn),
        states=tuple(StateChange(turn.shown_state(name), moment(at)) for name, at in turn.states),  # type: ignore[arg-type]
        answer=answer,
        posts=tuple(PostRecord(p.key, p.platform_id, p.state, moment(p.created_at)) for p in posts),
        hop=turn.hop,
        persona_version=record.get("persona_version"),
        retry_of=record.get("retry_of"),
        retried_as=record.get("retried_as"),
    )


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


def _scored(items: list[dict[str, object]]) -> tuple[Scored, ...]:
    return tuple(Scored(str(i["text"]), float(str(i["score"]))) for i in items)


def _timings(turn: Turn) -> tuple[Timing, ...]:
    """The steps in their order; each begins where the one before ended."""
    after_ms, timings = 0.0, []
    for name, ms in turn.record.get("timings", {}).items():
        timings.append(Timing(name, float(ms), after_ms))
        after_ms += ms
    return tuple(timings)
