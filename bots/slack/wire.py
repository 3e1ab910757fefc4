"""Slack's payloads, checked at the door: the fields that matter, the rest is ignored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, StringConstraints

from bots.kit.wire import LENIENT

# Seconds since 1970, a point, microseconds; unique in its channel.
TS = r"^[0-9]{1,11}(\.[0-9]{1,6})?$"
Ts = Annotated[str, StringConstraints(pattern=TS)]


class _Wire(BaseModel):
    model_config = LENIENT


class WireFile(_Wire):
    id: str
    name: str | None = None
    title: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str | None = None
    is_external: bool | None = None
    url_private_download: str | None = None
    url_private: str | None = None


class WireNamed(_Wire):
    name: str | None = None


class WireAttached(_Wire):
    fallback: str | None = None
    text: str | None = None


class WireEdit(_Wire):
    ts: Ts


class WireEvent(_Wire):
    type: str = "message"
    subtype: str | None = None
    channel: str | None = None
    channel_type: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    bot_profile: WireNamed | None = None
    text: str | None = None
    ts: Ts | None = None
    event_ts: Ts | None = None
    thread_ts: Ts | None = None
    deleted_ts: Ts | None = None
    edited: WireEdit | None = None
    files: list[WireFile] | None = None
    attachments: list[WireAttached] | None = None
    message: WireEvent | None = None
    previous_message: WireEvent | None = None


class WireRef(_Wire):
    id: str


class WireRename(_Wire):
    type: str
    channel: WireRef


class WireItem(_Wire):
    """The thing that a pin or a reaction is on: a message, or a file, which has no ts."""

    channel: str | None = None
    ts: Ts | None = None
    message: WireEvent | None = None


class WireFlag(_Wire):
    type: str
    user: str | None = None
    channel_id: str | None = None
    reaction: str | None = None
    item: WireItem


class WireCommand(_Wire):
    command: str
    text: str = ""
    user_id: str
    channel_id: str
    trigger_id: str


class WireHome(_Wire):
    """Somebody opened a tab of the app's."""

    user: str
    channel: str | None = None
    tab: str = ""


class WireStop(_Wire):
    """Somebody pressed Slack's stop button under an agent's work."""

    channel: str
    thread_ts: Ts
    user: str
    event_ts: Ts


class WireMessageAction(_Wire):
    """Somebody chose "Ask Moot" at a message."""

    callback_id: str
    trigger_id: str
    user: WireRef
    channel: WireRef
    message: WireEvent


class WireInput(_Wire):
    value: str | None = None


class WireState(_Wire):
    values: dict[str, dict[str, WireInput]] = {}


class WireView(_Wire):
    id: str
    callback_id: str = ""
    private_metadata: str = ""
    state: WireState = WireState()


class WireSubmission(_Wire):
    """Somebody sent a modal off."""

    user: WireRef
    view: WireView


class WireAction(_Wire):
    action_id: str
    value: str | None = None


class WirePressed(_Wire):
    thread_ts: Ts | None = None


class WirePress(_Wire):
    """message: the one with the buttons."""

    type: str
    user: WireRef
    actions: list[WireAction]
    channel: WireRef | None = None
    message: WirePressed | None = None
