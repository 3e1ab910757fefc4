"""The events that platforms report alike, as values.

Of a message only the most is alike: each platform has a `NewMessage` of its own.
`R` is the platform's own value for where something happened, `P` that for a person.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

from pydantic import ValidationError

from contract.values import dataclass

R = TypeVar("R")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file beside a message.

    url: where its bytes are; "" when they aren't the platform's, None when another call tells.
    """

    id: str
    name: str
    mime: str
    size_bytes: int
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMessage:
    """A message. mentioned: it says itself that it is for us. mentions: external ids of the others
    whom it mentions, people, bots and groups.

    thread_id: its thread's first message. reply_to: what it visibly replies to. Both as far as the
    message says so.
    """

    id: str
    content: str
    at: datetime
    mentioned: bool
    mentions: tuple[str, ...] = ()
    thread_id: str | None = None
    reply_to: str | None = None
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedMessage(Generic[R]):
    """The message `id` has a new text. by: who edited it, where the platform says so."""

    room: R
    id: str
    content: str
    at: datetime
    by: str = ""


@dataclass(frozen=True, slots=True)
class DeletedMessage(Generic[R]):
    """The message `id` is gone. by: who removed it, where the platform says so."""

    room: R
    id: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class PinChange(Generic[R, P]):
    """Somebody pinned the message `id`, by the platform's pin or a 📌, or took the pin back."""

    room: R
    id: str
    by: P
    pinned: bool


@dataclass(frozen=True, slots=True)
class RenamedRoom:
    """The name that is known of this room is out of date."""

    room: str


def faulty_fields(error: ValidationError) -> str:
    """The fields of a payload that could not be read, without their values, for a log."""
    return ", ".join(sorted({".".join(map(str, e["loc"])) for e in error.errors()}))
