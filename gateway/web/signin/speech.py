"""The body of a message whose sender signed in: who says it follows from the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contract.chat import THROUGH, through_as
from contract.errors import Rejected
from contract.language import later
from gateway.web.signin.caller import Caller, RequestRefused, check_same
from gateway.web.submission import DIRECT

KEPT = ("message_id", "thread_id", "reply_to", "attachments", "wait")
METADATA = ("recipient_id", "channel_external_id", "passive", "trigger_rag", "include_in_memory")


def in_own_name(caller: Caller, raw: Mapping[str, Any], *, owner: bool) -> dict[str, Any]:
    """A person's body, without what only programs may say: another sender, another time.

    owner: they may also say what kind of room a new one is, and of which project. Raises
    RequestRefused and Rejected.
    """
    metadata = raw.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise Rejected("metadata", "must be an object")
    given = {**raw, **metadata}
    if (sender := given.get("sender_id")) is not None:
        check_same(caller, str(sender))
    said = {name: raw[name] for name in KEPT if name in raw}
    if "content" in raw:
        said["content"] = raw["content"]
    if (room := raw.get("room")) is not None:
        said["room"] = room if owner or not isinstance(room, Mapping) else _plain(room)
    _check_here(said.get("room"))
    said["attachments"] = _uploaded(raw.get("attachments"))
    said["metadata"] = {name: given[name] for name in METADATA if name in given} | {
        "source": "web",
        "sender_id": caller.person.id,
        "sender_display_name": caller.person.name,
        "sender_type": "human",
    }
    return said


def in_others_name(caller: Caller, raw: Mapping[str, Any]) -> dict[str, Any]:
    """A program's body, with the program itself on record beside the sender that it names."""
    metadata = raw.get("metadata")
    said = {key: value for key, value in raw.items() if key != THROUGH}
    if metadata is None or isinstance(metadata, Mapping):
        said["metadata"] = {**(metadata or {}), **through_as(caller.person)}
    return said


def room_id_of(said: Mapping[str, Any]) -> str | None:
    """The room that a body names; None: none, or it makes no sense."""
    room = said.get("room")
    told = room.get("id") if isinstance(room, Mapping) else room
    metadata = said.get("metadata")
    given = {**said, **metadata} if isinstance(metadata, Mapping) else said
    if told is None and (channel := given.get("channel_external_id")) is not None:
        told = f"{given.get('source')}:{channel}"
    return told if isinstance(told, str) else None


def _plain(room: Mapping[str, Any]) -> dict[str, Any]:
    """Without its name: a message renames no room."""
    kept = ("id", "name") if DIRECT.fullmatch(str(room.get("id"))) else ("id",)
    return {name: room[name] for name in kept if name in room}


def _check_here(room: object) -> None:
    told = room.get("id") if isinstance(room, Mapping) else room
    source, colon, _ = str(told).partition(":")
    if colon and source != "web":
        refusal = later(
            "this room lives on {source}: write there, Moot shows it here", source=source
        )
        raise RequestRefused(403, refusal)


def _uploaded(attachments: object) -> object:
    """Files that were uploaded. A path on Moot's machine is for programs there."""
    if not isinstance(attachments, list):
        return attachments or []
    for number, one in enumerate(attachments):
        if isinstance(one, Mapping) and one.get("id") is None and one.get("path") is not None:
            raise Rejected(f"attachments.{number}.path", "is for programs; upload the file")
    return attachments
