"""Rows of the tables as values of the program, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select

from contract.briefing import TranscriptLine
from contract.chat import Attachment, Speaker, through_of
from contract.values import dataclass
from store.timestamps import micros, moment
from store.together import run

T = TypeVar("T")
_UNDONE = "(taken back, it stands no more) "
_EDITED = "(edited) "


def from_row(kind: Callable[..., T], row: Row[*tuple[Any, ...]], **given: Any) -> T:
    """A dataclass made of a row: each field is the column of its name, unless it is given.

    A field that is declared a datetime is read from its microseconds, a tuple from a JSON list;
    what a model wrote in place of a list of texts becomes an empty one.
    """
    columns = row._asdict()
    for name, read in _read_by(kind):
        if name not in given:
            value = columns[name]
            if read is not None and (value is not None or read is not moment):
                value = read(value)
            given[name] = value
    return kind(**given)


def to_row(value: Any) -> dict[str, Any]:
    """A dataclass as the columns of a row, a datetime as its microseconds: the inverse of
    `from_row`."""
    named = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: micros(one) if isinstance(one, datetime) else one for name, one in named}


@cache
def _read_by(kind: Any) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    return tuple((field.name, _reader(str(field.type))) for field in fields(kind))


def _reader(declared: str) -> Callable[[Any], Any] | None:
    if declared.startswith("datetime"):
        return moment
    return _texts if declared.startswith("tuple[str") else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it lies on disk. seq orders all messages by their arrival."""

    seq: int
    room_id: str
    message_id: str
    scope: str
    thread_id: str | None
    reply_to: str | None
    by: Speaker
    persona: str | None
    turn_id: str | None
    hop: int
    content: str
    original: str | None
    sent_at: datetime
    edited_at: datetime | None
    deleted: bool
    attachments: tuple[Attachment, ...]
    meta: dict[str, Any]

    def line(self, *, edited: bool = False) -> TranscriptLine:
        """The message as the composer is given it. edited: its reader knows another text of it."""
        mark = _UNDONE if "undone" in self.meta else _EDITED if edited else ""
        text = f"{mark}{self.content}" if mark else self.content
        return TranscriptLine(str(self.seq), self.by, text, self.sent_at, self.attachments)


def messages_of(
    connection: Connection, query: Select[Any], where: Mapping[str, Any]
) -> list[StoredMessage]:
    """The messages that a query of store/window.py's columns finds."""
    return [
        StoredMessage(
            seq=row.seq,
            room_id=row.room_id,
            message_id=row.message_id,
            scope=row.scope,
            thread_id=row.thread_id,
            reply_to=row.reply_to,
            by=Speaker(
                row.sender_id,
                row.sender_name,
                row.sender_type,
                row.mention,
                through=through_of(row.meta),
            ),
            persona=row.persona,
            turn_id=row.turn_id,
            hop=row.hop,
            content=row.content,
            original=row.original,
            sent_at=moment(row.sent_at),
            edited_at=None if row.edited_at is None else moment(row.edited_at),
            deleted=row.deleted_at is not None,
            attachments=tuple(Attachment(**item) for item in row.attachments),
            meta=row.meta,
        )
        for row in run(connection, query, where)
    ]
