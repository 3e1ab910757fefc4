"""Makes the values that the page shows from what lies in the store."""

from __future__ import annotations

from contract.chat import Inbound, Speaker
from gateway.core.cards import (
    LeftOut,
    Message,
    TurnCard,
    TurnState,
)
from gateway.core.ledger import Post, State, Turn
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
        persona=turn.speaker_name,
        state=state(turn, turn.state),
        at=moment(turn.states[0][1]),
        message_id=message_id,
        thread_id=turn.thread_id,
        session_id=session_id(turn.speaker_name, turn.scope),
        ahead=ahead,
        draft=draft,
        error=(turn.answer or "") if turn.fault else "",
    )


def session_id(persona: str, scope: str) -> str:
    """The id of a persona's session in a scope."""
    return f"{persona}@{scope}"


def left_out(turn: Turn) -> tuple[LeftOut, ...]:
    """The layers of the memory that gave nothing for a turn, and why."""
    memory = turn.record.get("memory", {})
    late = memory.get("late", ())
    return tuple(
        LeftOut(layer, "took too long" if layer in late else "failed")
        for layer in memory.get("missing", ())
    )
