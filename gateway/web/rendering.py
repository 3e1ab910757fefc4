"""Values as the JSON of the HTTP API: the one place that decides how a value is shown.

A `View` shows all its fields, in their order. Of other values the fields listed here are shown; one
that is not listed is an error, so that nothing is shown only because somebody added a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

from composer.attribution import strip_baked_prefix
from composer.contents import Contents, GivenKind
from contract.agent import Answer, Option
from contract.briefing import Trim
from contract.chat import Attachment, Room, Speaker
from gateway.core.events import AppEvent
from gateway.core.views import MessageView, OpenQuestion, RoomView, TurnRecord, View
from gateway.personas.choices import AgentChoice, FolderChoice
from gateway.personas.versions import Version
from gateway.settings.personas.check import PersonaFinding
from gateway.setup.agents import KnownAgent
from gateway.setup.connecting import Connected
from gateway.setup.trial import Tried
from gateway.web.admin.values import RoomLine, SessionLine
from gateway.web.uploads import SAFE_IMAGES
from memory.browse.view_rows import (
    AgentSessionRow,
    EpisodeRow,
    FactRow,
    InsightRow,
    LandmarkRow,
    Page,
    TitleRow,
)
from memory.observations.rows import StoredObservation

FileId = Callable[[Attachment], str | None]
"""The id under which the page keeps a file; None: it is not kept here."""

_TITLE = ("seq", "id", "kind", "title", "persona", "at")
SHOWN: Mapping[type, Sequence[str]] = {
    Speaker: ("id", "name", "kind", "role"),
    Room: ("id", "name", "kind", "project"),
    Option: ("label", "refuses"),
    Answer: ("text", "source", "ended_by", "tools"),
    Trim: ("section", "what", "chars"),
    Contents: ("people", "given", "whose", "first_at", "last_at", "since_reply", "files"),
    GivenKind: ("kind", "n", "items"),
    Version: ("number", "why", "by", "at"),
    PersonaFinding: (
        "severity", "line", "column", "end_line", "end_column", "message", "suggestion", "key",
    ),
    FolderChoice: ("name", "path"),
    AgentChoice: (
        "name", "title", "installed", "takes_model", "models", "workspace", "folders",
    ),
    LandmarkRow: ("seq", "kind", "text", "by_name", "message_id", "at"),
    EpisodeRow: ("seq", "text", "record", "persona", "plain", "first_at", "last_at", "at"),
    FactRow: (
        "seq", "kind", "text", "person", "person_name", "origin", "shared", "said_at",
        "replaced_by",
    ),
    TitleRow: _TITLE,
    StoredObservation: (
        *_TITLE, "subtitle", "facts", "narrative", "concepts", "files", "session_id", "turn_id",
    ),
    InsightRow: ("kind", "text", "used_at"),
    AgentSessionRow: (
        "id", "persona", "title", "subtitle", "overview", "started_at", "ended_at",
    ),
    Page: ("items", "next_before"),
    KnownAgent: (
        "name", "title", "installed", "install", "needs", "remedy", "keys", "has_key", "shares",
        "login", "works_in_folder",
    ),
    Connected: ("name", "agent", "workspace", "shares_login"),
    Tried: ("answer", "asked", "seconds", "trouble"),
}  # fmt: skip
INLINE: Mapping[type, str] = {
    RoomView: "room",
    TurnRecord: "turn",
    RoomLine: "room",
    SessionLine: "session",
}
"""A field of these is itself a value, whose fields are shown as if they were their own."""


def no_file(attachment: Attachment) -> None:
    """No file is kept here: see FileId."""


def to_json(value: Any, file_id: FileId = no_file) -> Any:
    """A value as plain JSON values; times in ISO 8601 with zone."""
    match value:
        case None | str() | bool() | int() | float():
            return value
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case Mapping():
            return {key: to_json(item, file_id) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item, file_id) for item in value]
        case Attachment():
            return _file(value, file_id)
        case OpenQuestion():
            return to_json(_question(value), file_id)
        case MessageView():
            return _message(value, file_id)
    return _fields(value, shown_names(type(value)), file_id)


def event_json(event: AppEvent, file_id: FileId) -> dict[str, Any]:
    """An event: its type, its room, and what changed."""
    names = [field.name for field in fields(event)]
    return {"type": event.type, "room_id": event.room_id} | _fields(event, names, file_id)


def shown_names(kind: type) -> Sequence[str]:
    """The fields of a value of this class that are shown. Raises TypeError: none may be."""
    if (names := SHOWN.get(kind)) is not None:
        return names
    if not (is_dataclass(kind) and issubclass(kind, View)):
        raise TypeError(f"{kind.__name__} is not listed as something that is shown")
    return [field.name for field in fields(kind)]


def _fields(value: Any, names: Sequence[str], file_id: FileId) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name in names:
        item = to_json(getattr(value, name), file_id)
        shown |= item if INLINE.get(type(value)) == name else {name: item}
    return shown


def _file(attachment: Attachment, file_id: FileId) -> dict[str, Any]:
    """A file without the path where it lies. id, url: None where the page does not keep it."""
    known = file_id(attachment)
    return {
        "id": known,
        "name": attachment.name,
        "mime": attachment.mime,
        "size_bytes": attachment.size_bytes,
        "url": f"/api/files/{known}" if known else None,
        "image": known is not None and attachment.mime in SAFE_IMAGES,
    }


def _message(message: MessageView, file_id: FileId) -> dict[str, Any]:
    """A message as people see it: an old row without the prefix that was baked into its text."""
    shown = _fields(message, shown_names(MessageView), file_id)
    if shown.pop("legacy"):
        shown["text"] = strip_baked_prefix(message.text)
    return shown


def _question(asked: OpenQuestion) -> dict[str, Any]:
    question = asked.question
    return {
        "id": question.id,
        "room_id": asked.room_id,
        "turn_id": asked.turn_id,
        "persona": asked.persona,
        "title": question.title,
        "detail": question.detail,
        "options": question.options,
        "digest": question.digest,
        "may_answer": asked.may_answer,
        "at": asked.at,
        "expires_at": asked.expires_at,
        "danger": asked.danger,
    }
