"""The body of a submitted message, as the HTTP API takes it: checked, and made into values.

The metadata may stand in `metadata` or flat at the top level; the room may be an id, an object,
or follow from `source` and `channel_external_id`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from contract.chat import (
    EXTERNAL_ID,
    REQUIRED_METADATA,
    SOURCE,
    Attachment,
    IngestMetadata,
    Room,
    parse_metadata,
)
from contract.errors import Rejected
from contract.language import later, phrase
from contract.values import dataclass

DIRECT = re.compile(r"web:dm-(?P<person>[^-]+)-(?P<persona>.+)")
"""Room id of one person's DM with one persona on the page. A person's slug holds no hyphen."""

_TOKEN = r"^[^\x00-\x1f\x7f]{1,255}$"  # noqa: S105  (a pattern, not a secret)


class RoomBody(BaseModel):
    """A room told in full. An unknown `kind` is treated like a DM."""

    id: str = Field(description="`<source>:<external id>`", examples=["slack:C06RY3YBSLE"])
    name: str | None = Field(None, max_length=200)
    kind: str | None = Field(None, max_length=32, examples=["room", "dm", "gdm"])
    project: str | None = Field(None, pattern=r"^[^\s*\x00-\x1f\x7f]{1,255}$")


class AttachmentBody(BaseModel):
    """A file: `id` as POST /api/files gave it, or what is known of a file kept elsewhere."""

    id: str | None = Field(None, description="of an uploaded file; the rest is then known")
    name: str = Field("file", min_length=1, max_length=255)
    mime: str = Field(
        "application/octet-stream",
        max_length=127,
        validation_alias=AliasChoices("mime", "mime_type"),
    )
    size_bytes: int = Field(0, ge=0, validation_alias=AliasChoices("size_bytes", "size"))
    path: str | None = Field(None, description="on the gateway's machine; from there only")


def _form(room: object) -> str:
    return "text" if isinstance(room, str) else "object"


RoomForm = Annotated[
    Annotated[str, Tag("text")] | Annotated[RoomBody, Tag("object")], Discriminator(_form)
]
Metadata = Annotated[dict[str, Any], WithJsonSchema(IngestMetadata.model_json_schema())]
Wait = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "number"}, {"type": "null"}]})
]


class SubmitBody(BaseModel):
    """A message. `metadata` fields may also stand at the top level; unknown ones are kept."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "anyOf": [{"required": ["metadata"]}, {"required": list(REQUIRED_METADATA)}]
        },
    )

    content: str = Field(description="exactly what the person typed")
    metadata: Metadata = Field(default_factory=dict)
    room: RoomForm | None = Field(
        None, description="else `<source>:<channel_external_id>`", examples=["slack:C06RY3YBSLE"]
    )
    message_id: str | None = Field(
        None, pattern=_TOKEN, description="the platform's own; the same one twice is one message"
    )
    thread_id: str | None = Field(None, pattern=_TOKEN)
    reply_to: str | None = Field(None, pattern=_TOKEN, description="id of the message replied to")
    session_id: str | None = Field(None, pattern=_TOKEN, description="inject: into this session")
    sent_at: str | None = Field(
        None, description="ISO 8601 with zone", examples=["2026-04-21T14:02:00+07:00"]
    )
    attachments: list[AttachmentBody] = Field(default_factory=list, max_length=100)
    wait: Wait = Field(
        None, description="true or seconds: answer with the replies; false: answer at once"
    )

    @field_validator("metadata", "attachments", mode="before")
    @classmethod
    def _absent(cls, value: object, info: ValidationInfo) -> object:
        if value is not None:
            return value
        return {} if info.field_name == "metadata" else []

    @field_validator("sent_at")
    @classmethod
    def _instant(cls, value: str | None) -> str | None:
        if value is not None:
            instant(value)
        return value


@dataclass(frozen=True, slots=True)
class RoomRef:
    """A room as a caller named it. What they left out is None."""

    id: str
    name: str | None = None
    kind: str | None = None
    project: str | None = None

    def resolve(self, known: Room | None) -> Room:
        """The room, given what the store knows of it: a caller may not change its kind."""
        if known is None:
            kind = "dm" if DIRECT.fullmatch(self.id) else self.kind or "room"
            name = self.name or self.id.partition(":")[2]
            return Room(self.id, name, kind, self.project)
        return Room(self.id, self.name or known.name, known.kind, known.project or self.project)


@dataclass(frozen=True, slots=True)
class Submission:
    """A message that fits the contract. sent_at: aware, UTC."""

    content: str
    meta: IngestMetadata
    room: RoomRef
    message_id: str
    sent_at: datetime
    thread_id: str | None = None
    reply_to: str | None = None
    session_id: str | None = None
    attachments: tuple[Attachment, ...] = ()


def parse_submission(
    raw: Mapping[str, Any], *, now: datetime, new_id: Callable[[], str] = lambda: uuid4().hex
) -> Submission:
    """Check a body and make it into values. Raises Rejected with the field's name."""
    body = _body(raw)
    meta = parse_metadata({**(body.model_extra or {}), **body.metadata})
    room = _room(body.room, meta)
    _check_direct(room, meta)
    return Submission(
        content=body.content,
        meta=meta,
        room=room,
        message_id=body.message_id or meta.message_guid or new_id(),
        sent_at=instant(body.sent_at) if body.sent_at else now.astimezone(UTC),
        thread_id=body.thread_id,
        reply_to=body.reply_to,
        session_id=body.session_id,
        attachments=tuple(
            Attachment(a.name, a.mime, a.size_bytes, a.path) for a in body.attachments
        ),
    )


def wait_seconds(raw: Mapping[str, Any], *, default_s: float, most_s: float) -> float | None:
    """The time that the caller wants to wait: None when not at all. Raises Rejected."""
    wait = raw.get("wait")
    if wait is None or wait is False:
        return None
    if wait is True:
        return default_s
    if not isinstance(wait, int | float) or not 0 < wait <= most_s:
        raise Rejected(
            "wait", later("must be true, false, or seconds up to {most}", most=f"{most_s:g}")
        )
    return float(wait)


def instant(text: str) -> datetime:
    """An ISO 8601 time with zone, in UTC. Raises ValueError."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError("must be ISO 8601 with a zone, e.g. 2026-04-21T14:02:00+07:00")


_REASONS = {
    "missing": phrase("is required"),
    "string_type": phrase("must be a string"),
    "int_type": phrase("must be a whole number"),
    "list_type": phrase("must be a list"),
    "dict_type": phrase("must be an object"),
    "model_type": phrase("must be a string or an object"),
    "model_attributes_type": phrase("must be an object"),
    "string_pattern_mismatch": phrase("has characters that an id may not have, or too many"),
}


def _body(raw: Mapping[str, Any]) -> SubmitBody:
    try:
        return SubmitBody.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"] if part not in ("text", "object"))
        plain = first["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
        raise Rejected(name, _REASONS.get(first["type"], plain)) from None


def _room(told: str | RoomBody | None, meta: IngestMetadata) -> RoomRef:
    name = "room"
    match told:
        case RoomBody():
            ref = RoomRef(told.id, told.name or None, told.kind or None, told.project)
        case str():
            ref = RoomRef(told)
        case None if meta.channel_external_id:
            name = "channel_external_id"
            ref = RoomRef(f"{meta.source}:{meta.channel_external_id}")
        case None:
            raise Rejected("room", "is required: an id like slack:C1, or channel_external_id")
    source, colon, external = ref.id.partition(":")
    if not (colon and SOURCE.fullmatch(source) and EXTERNAL_ID.fullmatch(external)):
        raise Rejected(name, "must be <source>:<external id>, without blanks or *")
    return ref


def _check_direct(room: RoomRef, meta: IngestMetadata) -> None:
    direct = DIRECT.fullmatch(room.id)
    if direct and meta.sender_type == "human" and meta.sender_id != f"web:{direct['person']}":
        raise Rejected("room", "is somebody else's direct message")
