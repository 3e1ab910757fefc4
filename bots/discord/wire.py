"""Discord's objects, checked at the door: the fields that matter, the rest is ignored.

Discord leaves out fields, writes null for others, and ids as strings.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from bots.kit.wire import LENIENT, none_as_list, or_none

Snowflake = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}$")]
"""An id: the time since 2015 and a count, so that a later one is greater."""


def _readable(model: type[BaseModel]) -> WrapValidator:
    """The entries of a list that can be read. At once, as long as all of them can."""

    def keep(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
        if not value:
            return []
        try:
            return read(value)
        except ValidationError:
            return read([entry for entry in value if _reads(model, entry)])

    return WrapValidator(keep)


def _reads(model: type[BaseModel], entry: Any) -> bool:
    try:
        model.model_validate(entry)
    except ValidationError:
        return False
    return True


class _Wire(BaseModel):
    model_config = LENIENT


class WireUser(_Wire):
    id: Snowflake
    username: str | None = None
    global_name: str | None = None
    bot: bool | None = None


class WireMember(_Wire):
    user: WireUser | None = None
    nick: str | None = None
    roles: Annotated[list[Snowflake], BeforeValidator(none_as_list)] = []


class WireAttachment(_Wire):
    id: Snowflake
    filename: str = "file"
    content_type: str | None = None
    size: int = 0
    url: str = ""


class WireReference(_Wire):
    type: int | None = None
    message_id: Snowflake | None = None
    channel_id: Snowflake | None = None


class WireEmbed(_Wire):
    title: str | None = None
    description: str | None = None


class WireMessage(_Wire):
    """The data of MESSAGE_CREATE, MESSAGE_UPDATE (where most can be missing) and of the history."""

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    channel_type: int | None = None
    type: int | None = None
    author: WireUser | None = None
    member: Annotated[WireMember | None, WrapValidator(or_none)] = None
    webhook_id: Snowflake | None = None
    content: str | None = None
    timestamp: str | None = None
    edited_timestamp: str | None = None
    nonce: str | int | None = None
    pinned: bool | None = None
    mentions: Annotated[list[WireUser], _readable(WireUser)] = []
    mention_roles: Annotated[list[Snowflake], BeforeValidator(none_as_list)] = []
    mention_everyone: bool | None = None
    attachments: Annotated[list[WireAttachment], _readable(WireAttachment)] = []
    embeds: Annotated[list[WireEmbed], _readable(WireEmbed)] = []
    message_reference: Annotated[WireReference | None, WrapValidator(or_none)] = None
    referenced_message: Annotated[WireMessage | None, WrapValidator(or_none)] = None


class WireDelete(_Wire):
    """The data of MESSAGE_DELETE, and of MESSAGE_DELETE_BULK with its ids."""

    id: Snowflake | None = None
    ids: list[Snowflake] = []
    channel_id: Snowflake
    guild_id: Snowflake | None = None


class WireEmoji(_Wire):
    id: Snowflake | None = None
    name: str | None = None


class WireReaction(_Wire):
    user_id: Snowflake
    channel_id: Snowflake
    message_id: Snowflake
    guild_id: Snowflake | None = None
    member: WireMember | None = None
    emoji: WireEmoji


class WireOption(_Wire):
    """focused: it is being written."""

    name: str = ""
    focused: bool | None = None
    value: str | int | float | bool | None = None


class WireResolved(_Wire):
    """What a command is about, by the ids."""

    messages: dict[Snowflake, Annotated[WireMessage | None, WrapValidator(or_none)]] = {}


class WireData(_Wire):
    """type: 1 a slash command, 3 one in a message's menu, which is about `target_id`."""

    name: str = ""
    type: int | None = None
    target_id: Snowflake | None = None
    resolved: Annotated[WireResolved | None, WrapValidator(or_none)] = None
    custom_id: str = ""
    options: Annotated[list[WireOption], _readable(WireOption)] = []


class WireInteraction(_Wire):
    """type: 2 a command, 3 a button, 4 a command that is being written."""

    id: Snowflake
    token: str
    type: int
    channel_id: Snowflake | None = None
    guild_id: Snowflake | None = None
    member: WireMember | None = None
    user: WireUser | None = None
    data: WireData | None = None


class WireRole(_Wire):
    id: Snowflake
    name: str = ""
    position: int = 0
    permissions: str = "0"
    tags: dict[str, Any] | None = None


class WireOverwrite(_Wire):
    id: Snowflake
    type: int | str = 0
    allow: str = "0"
    deny: str = "0"


_OVERWRITES = TypeAdapter[list[WireOverwrite]](
    Annotated[list[WireOverwrite], _readable(WireOverwrite)]
)


class WireThreadMetadata(_Wire):
    archive_timestamp: datetime | None = None


class WireChannel(_Wire):
    """A channel, a thread (its parent is a channel) or a direct message.

    permission_overwrites: not yet read; a guild has thousands, and few are asked for.
    """

    id: Snowflake
    type: int = 0
    guild_id: Snowflake | None = None
    parent_id: Snowflake | None = None
    name: str | None = None
    last_message_id: Snowflake | None = None
    thread_metadata: Annotated[WireThreadMetadata | None, WrapValidator(or_none)] = None
    permission_overwrites: Annotated[list[Any], BeforeValidator(none_as_list)] = []

    @property
    def overwrites(self) -> list[WireOverwrite]:
        """The roles and people that may do more or less here than in the guild, if readable."""
        return _OVERWRITES.validate_python(self.permission_overwrites)

    @property
    def archived_at(self) -> datetime | None:
        """The time at which a thread was archived or taken out of the archive."""
        return self.thread_metadata.archive_timestamp if self.thread_metadata else None

    @property
    def tells_newest(self) -> bool:
        """True if `last_message_id` says something, be it that there is none."""
        return "last_message_id" in self.model_fields_set


class WireGuild(_Wire):
    """members: not yet read; there may be thousands."""

    id: Snowflake
    name: str | None = None
    unavailable: bool | None = None
    channels: Annotated[list[WireChannel], _readable(WireChannel)] = []
    threads: Annotated[list[WireChannel], _readable(WireChannel)] = []
    roles: Annotated[list[WireRole], _readable(WireRole)] = []
    members: Annotated[list[Any], BeforeValidator(none_as_list)] = []


class WireThreadList(_Wire):
    guild_id: Snowflake | None = None
    threads: Annotated[list[WireChannel], _readable(WireChannel)] = []


class WireRoleChange(_Wire):
    guild_id: Snowflake
    role: WireRole


class WireMemberChange(_Wire):
    guild_id: Snowflake
    user: WireUser
    nick: str | None = None
    roles: Annotated[list[Snowflake], BeforeValidator(none_as_list)] = []
