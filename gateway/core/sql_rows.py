"""The ledger's statements, and its rows as values. Statements are built once: building one costs
more than running it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, update

from contract.chat import Room
from contract.work import recorded_files
from gateway.core.ledger import Post, SessionKey, State, Turn, UnusedSession
from memory.layers import EndedSession
from store.database import Store, insert_of
from store.gateway_schema import figures
from store.schema import decisions, messages, posts, rooms, sessions, turns
from store.timestamps import micros
from store.together import Written, run
from store.turn_metrics import STEPS

TURNS = (
    select(
        turns,
        rooms.c.name.label("room_name"),
        rooms.c.kind.label("room_kind"),
        rooms.c.project,
        messages.c.sent_at.label("asked_at"),
    )
    .join(rooms, rooms.c.id == turns.c.room_id)
    .join(messages, messages.c.seq == turns.c.message_seq)
)
ASKED = (
    select(messages.c.seq, messages.c.sent_at, messages.c.scope, rooms)
    .add_columns(rooms.c.id.label("room_id"))
    .join(rooms, rooms.c.id == messages.c.room_id)
    .where(messages.c.seq == bindparam("of"))
)
TURN = TURNS.where(turns.c.id == bindparam("of"))
OPEN = ("queued", "running", "answered")
OPEN_TURNS = TURNS.where(turns.c.state.in_(OPEN)).order_by(turns.c.seq)
_IN_THREAD = bindparam("thread_id", type_=turns.c.session_thread.type)
LAST_TURN = (
    TURNS.where(turns.c.scope == bindparam("scope"), turns.c.answer_source.is_not(None))
    .where(or_(_IN_THREAD == "", turns.c.session_thread == _IN_THREAD))
    .where(turns.c.state == "posted")
    .order_by(turns.c.seq.desc())
    .limit(1)
)
_THREAD = bindparam("thread", type_=turns.c.thread_id.type)
LAST_QUESTION = (
    TURNS.where(turns.c.scope == bindparam("scope"), turns.c.persona == bindparam("persona"))
    .where(turns.c.kind == "ask", turns.c.state != "dropped", messages.c.deleted_at.is_(None))
    .where(or_(_THREAD.is_(None), turns.c.thread_id == _THREAD))
    .order_by(turns.c.seq.desc())
    .limit(1)
)
_SESSION = turns.c.record["session"].as_string().label("session")
_RECENT = (  # of a persona in a scope; so many that reading their records takes no time
    select(turns.c.seq, _SESSION)
    .where(turns.c.scope == bindparam("scope"), turns.c.persona == bindparam("persona"))
    .where(turns.c.session_thread == bindparam("thread_id"))
    .where(turns.c.kind == "ask", turns.c.state == "posted")
    .order_by(turns.c.seq.desc())
    .limit(1_000)
    .subquery()
)
_PAST = (
    select(_RECENT.c.session, func.min(_RECENT.c.seq).label("first"), func.count().label("number"))
    .where(_RECENT.c.session.is_not(None))
    .group_by(_RECENT.c.session)
    .order_by(func.max(_RECENT.c.seq).desc())
    .limit(bindparam("most"))
    .subquery()
)
PAST_SESSIONS = (
    TURNS.add_columns(_PAST.c.number.label("turns_taken"))
    .join(_PAST, _PAST.c.first == turns.c.seq)
    .order_by(turns.c.seq.desc())
)
TURNS_OF = TURNS.where(turns.c.message_seq == bindparam("seq"))
SAVE = (
    update(turns)
    .where(turns.c.id == bindparam("of"))
    .values(
        {
            name: bindparam(name)
            for name in (
                "state",
                "states",
                "header",
                "record",
                "answer",
                "answer_source",
                "ended_by",
                "fault",
            )
        }
    )
)
POSTS = (
    select(posts)
    .where(posts.c.turn_id == bindparam("turn"), posts.c.kind != "question")
    .order_by(posts.c.number)
)
MARK = (
    update(posts)
    .where(posts.c.key == bindparam("of"))
    .values(platform_id=bindparam("platform_id"), state=bindparam("state"))
)
FORGET_UNSENT = delete(posts).where(
    posts.c.turn_id == bindparam("turn"),
    posts.c.kind != "question",
    posts.c.platform_id.is_(None),
)
NEWEST_MESSAGE = select(func.max(messages.c.seq))
CLOSE_QUESTION = update(posts).where(posts.c.key == bindparam("of")).values(state="closed")
LEFT_QUESTIONS = select(posts.c.key, posts.c.platform_id, posts.c.text).where(
    posts.c.turn_id == bindparam("turn"), posts.c.kind == "question", posts.c.state != "closed"
)
QUESTION_OF = select(posts.c.key).where(
    posts.c.platform_id == bindparam("post"), posts.c.kind == "question"
)
KNOWN_POSTS = (
    select(posts.c.platform_id)
    .join(turns, turns.c.id == posts.c.turn_id)
    .where(turns.c.room_id == bindparam("room"), posts.c.platform_id.is_not(None))
)
ANSWER_WITH = (
    select(messages.c.message_id)
    .join(posts, posts.c.turn_id == messages.c.turn_id)
    .where(messages.c.room_id == bindparam("room"), posts.c.platform_id == bindparam("post"))
    .where(posts.c.kind != "question")
)
SESSION = select(sessions.c.agent_session_id).where(
    sessions.c.persona == bindparam("persona"),
    sessions.c.scope == bindparam("scope"),
    sessions.c.thread_id == bindparam("thread_id"),
    sessions.c.agent == bindparam("agent"),
)
_LAST_ROOM = (
    select(turns.c.room_id)
    .where(turns.c.scope == sessions.c.scope, turns.c.persona == sessions.c.persona)
    .order_by(turns.c.seq.desc())
    .limit(1)
    .correlate(sessions)
    .scalar_subquery()
)
_UNENDED = sessions.c.ended_at.is_(None)
_ENDS = select(sessions, rooms.c.id, rooms.c.name, rooms.c.kind, rooms.c.project).select_from(
    sessions.join(rooms, rooms.c.id == _LAST_ROOM)
)
IDLE_SESSIONS = _ENDS.where(_UNENDED, sessions.c.used_at <= bindparam("since")).order_by(
    sessions.c.used_at
)
USED_FIRST = select(func.min(sessions.c.used_at)).where(_UNENDED)
_THIS = (
    sessions.c.persona == bindparam("of_persona"),
    sessions.c.scope == bindparam("of_scope"),
    sessions.c.thread_id == bindparam("of_thread"),
)
ONE_SESSION = _ENDS.where(*_THIS, _UNENDED, sessions.c.agent != "")
RETIRE_SESSION = update(sessions).where(*_THIS).values(agent="")
END_SESSION = (
    update(sessions)
    .where(*_THIS, sessions.c.used_at == bindparam("last_used_at"))
    .values(ended_at=bindparam("at"))
)
DECIDE = insert(decisions)
DECISIONS = (
    select(decisions).where(decisions.c.turn_id == bindparam("turn")).order_by(decisions.c.seq)
)


def of_key(key: SessionKey) -> dict[str, str]:
    """The key of the row that a statement finds."""
    return {"of_persona": key.persona, "of_scope": key.scope, "of_thread": key.thread_id}


def turn_of(row: Row[Any]) -> Turn:
    return Turn(
        id=row.id,
        seq=row.seq,
        message_seq=row.message_seq,
        asked_at=row.asked_at,
        persona=row.persona,
        scope=row.scope,
        room=Room(row.room_id, row.room_name, row.room_kind, row.project),
        thread_id=row.thread_id,
        bot=row.bot,
        hop=row.hop,
        kind=row.kind,
        state=row.state,
        states=tuple((name, at) for name, at in row.states),
        header=row.header,
        record=row.record or {},
        answer=row.answer,
        answer_source=row.answer_source,
        ended_by=row.ended_by,
        fault=row.fault,
        again=row.again,
        session_thread=row.session_thread,
    )


def ended_of(row: Row[Any]) -> UnusedSession:
    room = Room(row.id, row.name, row.kind, row.project)
    return UnusedSession(
        EndedSession(row.scope, row.persona, room, row.agent_session_id or ""),
        row.used_at,
        row.thread_id,
    )


_NAMES = ("at", "state", "command", "persona", "room_id", "total_ms", "queued_ms", *STEPS)
_ASKER = select(messages.c.sender_id).where(messages.c.seq == bindparam("message_seq"))


def put_figure(store: Store) -> Any:
    """Writes a turn's figure, or overwrites it."""
    new = insert_of(store)(figures).values(
        {
            "seq": bindparam("seq"),
            "person_id": _ASKER.scalar_subquery(),
            **{name: bindparam(name) for name in _NAMES},
        }
    )
    return new.on_conflict_do_update(
        index_elements=["seq"], set_={name: new.excluded[name] for name in _NAMES}
    )


def entered(turn: Turn, state: State, now: datetime) -> Turn:
    """The turn in its next state."""
    return replace(turn, state=state, states=(*turn.states, (state, micros(now))))


def save(connection: Connection, turn: Turn) -> None:
    """Write its row."""
    run(connection, *saved(turn))


def saved(turn: Turn) -> Written:
    """How its row is written."""
    values = {
        "of": turn.id,
        "state": turn.state,
        "states": [list(item) for item in turn.states],
        "header": turn.header,
        "record": turn.record,
        "answer": turn.answer,
        "answer_source": turn.answer_source,
        "ended_by": turn.ended_by,
        "fault": turn.fault,
    }
    return SAVE, values


def posts_of(connection: Connection, turn_id: str) -> list[Post]:
    """The posts of a turn in their order."""
    return [
        Post(
            key=row.key,
            turn_id=row.turn_id,
            number=row.number,
            kind=row.kind,
            text=row.text,
            state=row.state,
            platform_id=row.platform_id,
            created_at=row.created_at,
            drafted=row.drafted,
            uncertain=row.drafted and row.platform_id is None,
        )
        for row in run(connection, POSTS, {"turn": turn_id})
    ]


OF_POST = (
    "key",
    "turn_id",
    "number",
    "kind",
    "text",
    "state",
    "platform_id",
    "drafted",
    "created_at",
)


def marked(post: Post) -> Written:
    """How it is written that a post is where it is."""
    return MARK, {"of": post.key, "platform_id": post.platform_id, "state": post.state}


def beside(turn: Turn) -> dict[str, Any]:
    """The columns of an answer's message beside its words: what was done, why it is no answer, and
    files."""
    told = {"work": turn.record.get("work"), "fault": turn.fault}
    meta, columns = {name: value for name, value in told.items() if value}, dict[str, Any]()
    if meta:
        columns["meta"] = meta
    if "files" in turn.record:
        columns["attachments"] = [asdict(one.file) for one in recorded_files(turn.record)]
    return columns
