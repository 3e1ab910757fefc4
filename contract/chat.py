"""People, rooms and messages: the ingest contract that every platform and the HTTP API keep."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from datetime import datetime
from operator import not_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass

SenderType = Literal["human", "bot"]
RoomKind = Literal["room", "dm", "gdm"]
Count = Annotated[int, Field(ge=0, le=2**53)]  # the greatest that every JSON reader keeps exact


@dataclass(frozen=True, slots=True)
class Speaker:
    """Somebody in a room.

    id: `<source>:<external id>`, stable. mention: what tags this person on the platform,
    e.g. `<@U06STGBF4Q0>`, or None. role: e.g. "backend lead", or None. through: the program that
    speaks in this person's name with a token of its own; None: they do it themselves.
    """

    id: str
    name: str
    kind: SenderType = "human"
    mention: str | None = None
    role: str | None = None
    through: Speaker | None = field(default=None, compare=False)

    @property
    def proven(self) -> Speaker:
        """Whose credential it was."""
        return self.through or self


MOOT = Speaker("bot:moot", "moot", "bot")
"""Moot itself, which answers commands."""


def persona_speaker(name: str) -> Speaker:
    """A persona as one who speaks."""
    return Speaker(f"bot:{name}", name, "bot")


@dataclass(frozen=True, slots=True)
class Room:
    """A room, a direct message or a group DM. id: `<source>:<external id>`."""

    id: str
    name: str
    kind: RoomKind | str = "room"
    project: str | None = None

    @property
    def is_shared(self) -> bool:
        """Several people talk in it, and are not spoken to one by one; a kind that nobody knows is
        treated like a direct message."""
        return self.kind in ("room", "gdm")

    @property
    def external_id(self) -> str:
        """The platform's own id of the room."""
        return self.id.partition(":")[2]

    @property
    def source(self) -> str:
        """The platform."""
        return self.id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class PersonaIdentity:
    """The speaker of a post. avatar: address of a picture (http or https), or None."""

    name: str
    avatar: str | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """The place of an answer: a room, and the thread in it if there is one.

    voice: the persona that speaks, for a bot's account that serves several of them; None: the
    account itself. only_for: id of a slash command, or of a person: who gave it, or is it, is the
    only one to see the answer, where the platform can do that. is_answer: what is posted is an
    agent's, and no reply of Moot's own.
    """

    room: Room
    thread_id: str | None = None
    voice: PersonaIdentity | None = None
    only_for: str | None = None
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file beside a message. path: where its bytes are on this machine, or None if not kept.
    missing: why not, as the person is told; "": nobody is.
    """

    name: str
    mime: str
    size_bytes: Count
    path: str | None = None
    missing: str = ""


SOURCE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
EXTERNAL_ID = re.compile(r"[^\s*\x00-\x1f\x7f]{1,255}")
SOURCE_ALIASES = {"bluebubbles": "bb"}  # `bb:` is valid for source `bluebubbles`


class IngestMetadata(BaseModel):
    """Everything about a message but its text. Only the first four fields are validated.

    Extra keys are kept. An optional field of the wrong shape counts as absent and its name
    is in `ignored`. mentions: sender ids of those whom it mentions by the platform's own means,
    the bot's own account left out; what calls many is one, e.g. `slack:here`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    source: str
    sender_id: str
    sender_display_name: str = Field(min_length=1)
    sender_type: SenderType

    channel_external_id: str | None = None
    mention_token: str | None = None
    mentions: list[str] = Field(default_factory=list, exclude_if=not_)
    thread_context: str | None = None
    is_from_me: bool = False
    passive: bool = False
    trigger_rag: bool = True
    include_in_memory: bool = True
    recipient_id: str | None = None
    message_guid: str | None = None

    @field_validator("source")
    @classmethod
    def _source(cls, value: str) -> str:
        if not SOURCE.fullmatch(value):
            raise ValueError("a platform's name in lower case, e.g. slack")
        return value

    def speaker(self) -> Speaker:
        """The sender as the header shows them."""
        mention = None if self.sender_type == "bot" else self.mention_token
        return Speaker(
            self.sender_id,
            self.sender_display_name,
            self.sender_type,
            mention,
            through=through_of(self.model_extra or {}),
        )


THROUGH = "through"
"""A key of the metadata that Moot alone writes: the program that said it in the sender's name."""


def through_as(program: Speaker | None) -> dict[str, Any]:
    """The part of the metadata that names it; nothing where there is none."""
    return {THROUGH: {"id": program.id, "name": program.name}} if program else {}


def through_of(metadata: Mapping[str, Any]) -> Speaker | None:
    """The program that said it; None: the sender did."""
    told = metadata.get(THROUGH)
    if not (isinstance(told, Mapping) and isinstance(told.get("id"), str)):
        return None
    return Speaker(told["id"], str(told.get("name")))


REQUIRED_METADATA = ("source", "sender_id", "sender_display_name", "sender_type")


def parse_metadata(raw: Mapping[str, Any]) -> IngestMetadata:
    """Validate the metadata of an ingest message, from a platform or from the API.

    Raises Rejected naming the first required field that is missing or wrong. Optional fields
    of the wrong shape are dropped: they are metadata, and the person's message is not lost
    for them.
    """
    kept = dict(raw)
    for _ in range(len(IngestMetadata.model_fields)):
        try:
            meta = IngestMetadata.model_validate(kept, strict=True)
            break
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if name in REQUIRED_METADATA:
                reason = "is required" if first["type"] == "missing" else first["msg"]
                raise Rejected(name, reason) from None
            kept.pop(name)
    prefixes = {meta.source, SOURCE_ALIASES.get(meta.source, meta.source)}
    prefix, colon, external = meta.sender_id.partition(":")
    if not colon or prefix not in prefixes or not EXTERNAL_ID.fullmatch(external):
        raise Rejected(
            "sender_id",
            later("must be {source}:<external id>, without blanks or *", source=meta.source),
        )
    return meta


@dataclass(frozen=True, slots=True)
class Inbound:
    """One message as a platform delivered it.

    content: exactly what the person typed. message_id: the platform's own id. mentioned: the
    bot's account was addressed by the platform's own means (a mention, a DM).
    files: attachments whose bytes are on disk. hop: 0 from a person; n for the n-th answer in
    a chain of bots. reply_to: platform id of the message replied to.
    """

    content: str
    meta: IngestMetadata
    room: Room
    message_id: str
    sent_at: datetime
    thread_id: str | None = None
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    mentioned: bool = False


SCHEDULED, SLASH = "schedule:", "slash:"
"""Prefixes of the ids of messages that stand on no platform: scheduled runs, slash commands."""


def stands(message_id: str) -> bool:
    """Return True if a message is to be seen on its platform: it can be replied and reacted to."""
    return not message_id.startswith((SCHEDULED, SLASH))


def was_command(message_id: str) -> bool:
    """Return True for a slash command, a menu's or the like: its sender can be told something that
    nobody else sees."""
    return message_id.startswith(SLASH)


MENTION = r"<@!?([\w.-]+)(?:\|[^<>\n]*)?>"
"""Somebody's external id, as Slack and Discord write a mention: `<@U06STGBF4Q0>`, `<@!80351>`."""

_LEADING = re.compile(
    r"\s*(?:<@[!&]?[\w|]+>"
    r"|@[a-z0-9._=/+-]+:(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::\d+)?"  # Matrix: @user:server
    r"|@[\w.-]+"
    r"|\w[\w .-]{0,63}:(?=\s*!\w))[,:]?\s*"  # a client's `Name: !stop`
)


def unaddressed(text: str) -> str:
    """A text without the mentions it begins with: they say who is asked, not what."""
    at = 0
    while match := _LEADING.match(text, at):
        at = match.end()
    return text[at:].strip()


@dataclass(frozen=True, slots=True)
class Edited:
    """A stored message's text was changed on the platform."""

    room: Room
    message_id: str
    content: str
    edited_at: datetime


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message was deleted on the platform."""

    room: Room
    message_id: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """Somebody pressed a button of a question. option: index into its options, from 0.

    digest: of the question that it stood under (`Question.digest`); "": the button doesn't tell.
    place: where it was pressed, as far as the platform tells. post_id: of the own message that it
    stood under, where nothing else tells the question; then `question_id` is "".
    """

    question_id: str
    option: int
    by: Speaker
    digest: str
    place: Destination | None = None
    post_id: str = ""

    @property
    def room(self) -> Room | None:
        """The room in which it was pressed, as far as the platform tells."""
        return self.place.room if self.place else None

    @property
    def is_private(self) -> bool:
        """Return True if whoever pressed it can be told something that nobody else sees."""
        return self.place is not None and self.place.only_for is not None


@dataclass(frozen=True, slots=True)
class Pinned:
    """Somebody pinned a message by the platform's own means, or with a 📌, or took the pin back."""

    room: Room
    message_id: str
    by: Speaker
    pinned: bool = True


ShowHome = Callable[[Mapping[str, str]], Awaitable[None]]
"""Shows a person texts in Markdown, each below its heading. Raises PlatformError."""


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """Somebody opened the bot's own tab, which they alone see. room: their direct message."""

    room: Room
    by: Speaker
    show: ShowHome = field(compare=False)


Event = Inbound | Edited | Deleted | Chosen | Pinned | HomeOpened
