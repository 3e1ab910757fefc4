"""Matrix's events, checked at the door: the fields that matter, the rest is ignored.

Any member of a room may send any JSON as content: what has the wrong shape counts as absent.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticUseDefault, ValidationError


def _or_absent(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    try:
        return check(value)
    except ValidationError:
        raise PydanticUseDefault from None


Lax = WrapValidator(_or_absent)
Text = Annotated[str | None, Lax]
Number = Annotated[int | None, Lax]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class WireReply(_Wire):
    event_id: Text = None


class WireRelation(_Wire):
    rel_type: Text = None
    event_id: Text = None
    key: Text = None
    is_falling_back: Annotated[bool, Lax] = False
    in_reply_to: Annotated[WireReply | None, Lax] = Field(None, alias="m.in_reply_to")


class WireMentions(_Wire):
    user_ids: Annotated[list[str], Lax] = []
    room: Annotated[bool, Lax] = False


class WireKey(_Wire):
    k: str


class WireEncryptedFile(_Wire):
    url: str
    key: WireKey
    iv: str
    hashes: dict[str, str]


class WireInfo(_Wire):
    mimetype: Text = None
    size: Number = None


class WireContent(_Wire):
    """The content of a message, of a reaction, or of a redaction."""

    msgtype: Text = None
    body: Text = None
    filename: Text = None
    format: Text = None
    formatted_body: Text = None
    url: Text = None
    file: Annotated[WireEncryptedFile | None, Lax] = None
    info: Annotated[WireInfo | None, Lax] = None
    relates_to: Annotated[WireRelation | None, Lax] = Field(None, alias="m.relates_to")
    new_content: Annotated[WireContent | None, Lax] = Field(None, alias="m.new_content")
    mentions: Annotated[WireMentions | None, Lax] = Field(None, alias="m.mentions")
    redacts: Text = None
    key: Text = Field(None, alias="moot.key")


class WireState(_Wire):
    """The content of a state event."""

    membership: Text = None
    displayname: Text = None
    is_direct: Annotated[bool, Lax] = False
    name: Text = None
    alias: Text = None
    algorithm: Text = None
    pinned: Annotated[list[str], Lax] = []
    users: Annotated[dict[str, Any], Lax] = {}
    users_default: Annotated[int, Lax] = 0
    room_version: Text = None
    replacement_room: Text = None


class WireUnsigned(_Wire):
    prev_content: Annotated[WireState | None, Lax] = None
    redacted_because: Annotated[dict[str, Any] | None, Lax] = None


class WireEvent(_Wire):
    """An event. Its content is read by its type."""

    type: str
    event_id: Text = None
    sender: str
    origin_server_ts: int = 0
    state_key: Text = None
    content: dict[str, Any] = {}
    unsigned: Annotated[WireUnsigned, Lax] = WireUnsigned()
    redacts: Text = None

    def said(self) -> WireContent:
        return WireContent.model_validate(self.content)

    def state(self) -> WireState:
        return WireState.model_validate(self.content)


class _WireEvents(_Wire):
    events: Annotated[list[dict[str, Any]], Lax] = []


class WireTimeline(_WireEvents):
    limited: Annotated[bool, Lax] = False
    prev_batch: Text = None


class WireJoined(_Wire):
    state: _WireEvents = _WireEvents()
    timeline: WireTimeline = WireTimeline()


class WireInvited(_Wire):
    invite_state: _WireEvents = _WireEvents()


class WireRooms(_Wire):
    join: dict[str, WireJoined] = {}
    invite: dict[str, WireInvited] = {}
    leave: dict[str, Any] = {}


class WireLists(_Wire):
    changed: Annotated[list[str], Lax] = []
    left: Annotated[list[str], Lax] = []


class WireSync(_Wire):
    next_batch: str
    rooms: WireRooms = WireRooms()
    account_data: _WireEvents = _WireEvents()
    to_device: _WireEvents = _WireEvents()
    device_lists: WireLists = WireLists()
    device_one_time_keys_count: Annotated[dict[str, int], Lax] = {}
