"""A schedule, and the message that a run of it is, as if its author had just written it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from contract.chat import SCHEDULED, Inbound, IngestMetadata, Room, Speaker, through_as
from contract.values import dataclass

CONFIGURED = "schedule"  # the name of who wrote moot.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Something that a persona is asked again and again, or once.

    seq: what people type. key: of moot.toml's; None: a person's. cron: see Cron; "" when it runs
    once. due_at: its next run; None: none. ran_at: the moment for which it ran last. why: it is
    paused, for people; None: somebody said so. Moments are aware, in UTC.
    """

    seq: int = 0
    key: str | None = None
    room_id: str
    thread_id: str | None = None
    bot: str
    persona: str
    words: str = ""
    cron: str = ""
    timezone: str
    text: str = ""
    missed: Literal["once", "skip"] = "once"
    by: Speaker
    created_at: datetime
    due_at: datetime | None = None
    ran_at: datetime | None = None
    paused: bool = False
    why: str | None = None


def is_owned(one: Schedule) -> bool:
    """True if a person made it in a chat, and not a program with an owner's token."""
    return one.key is None and one.by.id.partition(":")[0] not in ("web", "moot")


def run_id(one: Schedule, due: datetime) -> str:
    """The id of the run for a moment: the same for ever, so that it is taken once."""
    return f"{SCHEDULED}{one.seq}:{due.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def run_message(one: Schedule, room: Room, due: datetime, now: datetime) -> Inbound:
    """The run as a message. Said day by day, it teaches the memory nothing."""
    meta = IngestMetadata(
        source=one.by.id.partition(":")[0],
        sender_id=one.by.id,
        sender_display_name=one.by.name,
        sender_type="human",
        recipient_id=f"bot:{one.persona}",
        trigger_rag=True,
        include_in_memory=False,
        **through_as(one.by.through),
    )
    return Inbound(
        content=one.text,
        meta=meta,
        room=room,
        message_id=run_id(one, due),
        sent_at=now,
        thread_id=one.thread_id,
        mentioned=True,
    )
