"""Rocket.Chat's messages, checked at the door: the fields that matter, the rest is ignored.

An optional field of a strange shape counts as absent: nobody's message is lost for it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    WrapValidator,
)

from bots.kit.wire import LENIENT, or_none


def moment(value: Any) -> datetime:
    """A time as DDP (`{"$date": ms}`) or REST (ISO 8601, or ms since 1970) writes it."""
    if isinstance(value, dict):
        value = value.get("$date")
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        at = datetime.fromisoformat(value.strip())
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("is no time")
    try:
        return datetime.fromtimestamp(float(value) / 1000, UTC)
    except (OverflowError, OSError):
        raise ValueError("is no time") from None


_IF_SOUND = WrapValidator(or_none)

Moment = Annotated[datetime, BeforeValidator(moment)]
MaybeMoment = Annotated[Moment | None, _IF_SOUND]
MaybeText = Annotated[str | None, _IF_SOUND]
MaybeCount = Annotated[int | None, _IF_SOUND]
MaybeFlag = Annotated[bool | None, _IF_SOUND]


class _Wire(BaseModel):
    model_config = LENIENT


class WireUser(_Wire):
    id: MaybeText = Field(None, alias="_id")
    username: MaybeText = None
    name: MaybeText = None


class WireSender(WireUser):
    id: str = Field(alias="_id", min_length=1)


class WireReaction(_Wire):
    usernames: Annotated[list[str] | None, _IF_SOUND] = None


class WireFile(_Wire):
    id: str = Field(alias="_id")
    name: MaybeText = None
    type: MaybeText = None
    size: MaybeCount = None
    kind: MaybeText = Field(None, alias="typeGroup")


class WireAttachment(_Wire):
    description: MaybeText = None
    title_link: MaybeText = None
    message_link: MaybeText = None
    text: MaybeText = None


MaybeUser = Annotated[WireUser | None, _IF_SOUND]


class WireMessage(_Wire):
    id: str = Field(alias="_id", min_length=1)
    rid: str = Field(min_length=1)
    ts: Moment
    u: WireSender
    msg: MaybeText = None
    updated_at: MaybeMoment = Field(None, alias="_updatedAt")
    t: MaybeText = None
    tmid: MaybeText = None
    alias: MaybeText = None
    bot: Any = None
    mentions: Annotated[list[MaybeUser] | None, _IF_SOUND] = None
    attachments: Annotated[list[Annotated[WireAttachment | None, _IF_SOUND]] | None, _IF_SOUND] = (
        None
    )
    files: Annotated[list[Annotated[WireFile | None, _IF_SOUND]] | None, _IF_SOUND] = None
    file: Annotated[WireFile | None, _IF_SOUND] = None
    reactions: Annotated[dict[str, WireReaction] | None, _IF_SOUND] = None
    edited_at: MaybeMoment = Field(None, alias="editedAt")
    edited_by: MaybeUser = Field(None, alias="editedBy")
    pinned: MaybeFlag = None
    pinned_at: MaybeMoment = Field(None, alias="pinnedAt")
    pinned_by: MaybeUser = Field(None, alias="pinnedBy")
    starred: Any = None
    replies: Any = None
    tcount: Any = None
    tlm: Any = None
    hidden: MaybeFlag = Field(None, alias="_hidden")


class WireRoom(_Wire):
    """A room of rooms.info or rooms.get, or a subscription, which names its room `rid`."""

    id: MaybeText = Field(None, alias="_id")
    rid: MaybeText = None
    t: MaybeText = None
    name: MaybeText = None
    fname: MaybeText = None
    prid: MaybeText = None
    usernames: Annotated[list[str] | None, _IF_SOUND] = None
    uids: Annotated[list[str] | None, _IF_SOUND] = None
    users_count: MaybeCount = Field(None, alias="usersCount")
    last_at: MaybeMoment = Field(None, alias="lm")


class WirePerson(WireUser):
    """A user of users.info, me or a list of members."""

    type: MaybeText = None
    roles: Annotated[list[str] | None, _IF_SOUND] = None


def message(raw: Any) -> WireMessage:
    """Raises ValueError naming the fields that no message can be read without."""
    try:
        return WireMessage.model_validate(raw)
    except ValidationError as error:
        fields = sorted({".".join(map(str, e["loc"])) or "its shape" for e in error.errors()})
        why = f"a message of Rocket.Chat's can't be read: {', '.join(fields)}"
        raise ValueError(why) from None
