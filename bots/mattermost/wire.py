"""Mattermost's payloads, checked at the door: the fields that matter, the rest is ignored.

Times are milliseconds since 1970, ids have 26 letters and digits; what isn't there is "" or 0.
(@mattermost/types 11.9 and the server's model, read 2026-11.)
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WrapValidator

from bots.kit.wire import LENIENT, none_as_list, or_none

_IF_SOUND = WrapValidator(or_none)
MaybeNumber = Annotated[int | None, _IF_SOUND]


class _Wire(BaseModel):
    model_config = LENIENT


class WireFile(_Wire):
    id: str
    name: str = ""
    mime_type: str = ""
    size: int = 0


class WireMetadata(_Wire):
    files: Annotated[list[WireFile], BeforeValidator(none_as_list)] = []


class WirePost(_Wire):
    """original_id: it is an earlier version of that post. edit_at: 0: never."""

    id: str = Field(min_length=1)
    channel_id: str = Field(min_length=1)
    user_id: str = Field(min_length=1)
    create_at: int
    update_at: int = 0
    edit_at: int = 0
    delete_at: int = 0
    root_id: str = ""
    original_id: str = ""
    message: str = ""
    message_source: str = ""
    type: str = ""
    props: Annotated[dict[str, Any] | None, _IF_SOUND] = None
    metadata: Annotated[WireMetadata | None, _IF_SOUND] = None

    def prop(self, name: str) -> str:
        """A property as text; "" where it isn't there."""
        return str((self.props or {}).get(name) or "")


class WireReaction(_Wire):
    user_id: str
    post_id: str
    emoji_name: str


class WireChannel(_Wire):
    """type: "O" public, "P" private, "D" direct, "G" a group's direct messages."""

    id: str
    type: str = ""
    name: str = ""
    display_name: str = ""


class WireUser(_Wire):
    id: str
    username: str
    nickname: str = ""
    first_name: str = ""
    last_name: str = ""
    is_bot: bool = False


class WireRules(_Wire):
    """The settings that matter; None where the server doesn't tell.

    edit_s: how long a post may be edited; -1: for ever. names: a post may bear another name.
    """

    most_chars: MaybeNumber = Field(default=None, alias="MaxPostSize")
    file_bytes: MaybeNumber = Field(default=None, alias="MaxFileSize")
    edit_s: MaybeNumber = Field(default=None, alias="PostEditTimeLimit")
    files: bool = Field(default=True, alias="EnableFileAttachments")
    names: bool = Field(default=True, alias="EnablePostUsernameOverride")


class WireFrame(_Wire):
    """An event of the websocket, or the answer to what was sent there. data: as the event has it;
    posts and reactions in it are JSON as text."""

    event: str = ""
    data: Annotated[dict[str, Any] | None, _IF_SOUND] = None
    broadcast: Annotated[dict[str, Any] | None, _IF_SOUND] = None
    seq: int | None = None
    status: str = ""

    def told(self, name: str) -> Any:
        return (self.data or {}).get(name) or ""


class WireChoice(_Wire):
    question: str
    option: int = Field(ge=0)
    digest: str = ""


class WirePress(_Wire):
    user_id: str
    channel_id: str
    context: WireChoice


class WireCommand(_Wire):
    command: str
    text: str = ""
    user_id: str
    channel_id: str
    response_url: str
    token: str = ""
