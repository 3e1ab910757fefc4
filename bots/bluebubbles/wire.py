"""BlueBubbles' payloads, checked at the door: the fields that matter, the rest is ignored.

The server leaves fields out by version of macOS and by occasion (an update has no chats), and
writes null where it knows nothing: everything but a message's guid is optional.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from bots.kit.wire import LENIENT, none_as_list

# Milliseconds since 1970; the year 5000 bounds what a clock can be made of.
Millis = Annotated[int, Field(ge=0, le=95_617_584_000_000)]
Guid = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class _Wire(BaseModel):
    model_config = LENIENT


class WireHandle(_Wire):
    address: str | None = None
    service: str | None = None


class WireAttachment(_Wire):
    guid: Guid
    mime_type: str | None = Field(default=None, alias="mimeType")
    transfer_name: str | None = Field(default=None, alias="transferName")
    total_bytes: int | None = Field(default=None, alias="totalBytes", ge=0, le=2**53)
    hidden: bool | None = Field(default=None, alias="hideAttachment")


class WireChat(_Wire):
    """style: 43 a group, 45 two people."""

    guid: Guid
    style: int | None = None
    identifier: str | None = Field(default=None, alias="chatIdentifier")
    display_name: str | None = Field(default=None, alias="displayName")
    participants: Annotated[list[WireHandle], BeforeValidator(none_as_list)] = []


class WireMessage(_Wire):
    guid: Guid
    row: int | None = Field(default=None, alias="originalROWID")
    text: str | None = None
    subject: str | None = None
    handle: WireHandle | None = None
    chats: Annotated[list[WireChat], BeforeValidator(none_as_list)] = []
    attachments: Annotated[list[WireAttachment], BeforeValidator(none_as_list)] = []
    is_from_me: bool | None = Field(default=None, alias="isFromMe")
    error: int | None = None
    item_type: int | None = Field(default=None, alias="itemType")
    group_action: int | None = Field(default=None, alias="groupActionType")
    group_title: str | None = Field(default=None, alias="groupTitle")
    tapback: str | None = Field(default=None, alias="associatedMessageType")
    thread_guid: str | None = Field(default=None, alias="threadOriginatorGuid")
    temp_guid: str | None = Field(default=None, alias="tempGuid")
    created: Millis | None = Field(default=None, alias="dateCreated")
    edited: Millis | None = Field(default=None, alias="dateEdited")
    retracted: Millis | None = Field(default=None, alias="dateRetracted")


class WireWebhook(_Wire):
    """A registered webhook. events: names, or objects with the name as `value`."""

    id: int
    url: str
    events: Any = None

    @property
    def event_names(self) -> frozenset[str]:
        listed = self.events if isinstance(self.events, list) else []
        names = (event.get("value") if isinstance(event, dict) else event for event in listed)
        return frozenset(str(name) for name in names)


class WireInfo(_Wire):
    """GET server/info. The account's own addresses, as far as the server knows them."""

    server_version: str | None = None
    private_api: bool | None = None
    helper_connected: bool | None = None
    detected_imessage: str | None = None
    detected_icloud: str | None = None


class WireAddress(_Wire):
    address: str | None = None


class WireContact(_Wire):
    display_name: str | None = Field(default=None, alias="displayName")
    first_name: str | None = Field(default=None, alias="firstName")
    last_name: str | None = Field(default=None, alias="lastName")
    phones: Annotated[list[WireAddress | str], BeforeValidator(none_as_list)] = Field(
        default=[], alias="phoneNumbers"
    )
    emails: Annotated[list[WireAddress | str], BeforeValidator(none_as_list)] = []

    @property
    def name(self) -> str:
        whole = " ".join(part.strip() for part in (self.first_name, self.last_name) if part)
        return (self.display_name or "").strip() or whole

    @property
    def addresses(self) -> list[str]:
        listed = (a if isinstance(a, str) else a.address for a in (*self.phones, *self.emails))
        return [address for address in listed if address]
