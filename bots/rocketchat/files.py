"""Files beside Rocket.Chat's messages: theirs kept on disk, ours uploaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import RootModel

from bots.kit.cursor import State, States
from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, KeptFiles
from bots.kit.rest import unseen
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.backfill import HISTORY, iso
from bots.rocketchat.directory import Directory
from bots.rocketchat.wire import WireMessage, message
from contract.chat import Destination
from contract.errors import PlatformError

_REMEMBERED = 200
_FIND_PAGES, _PAGE = 20, 100


class _Made(RootModel[dict[str, str]]):
    """Key to file id, or to name where no id is known."""


class Files(KeptFiles[FileRef]):
    """folder: for files of people's messages. states: keep which file a key made."""

    def __init__(
        self, api: RocketApi, directory: Directory, folder: Path, states: States, max_bytes: int
    ) -> None:
        super().__init__(folder, max_bytes)
        self._api, self._directory = api, directory
        self._kept = State(states, "uploads", _Made)
        self._known: dict[str, str] | None = None
        self._old_server = False

    # ── Theirs ──────────────────────────────────────────────────────────────────────────

    async def _fetched(self, file: FileRef) -> bytes:
        data, mime = await self._api.read(_path(file), self._max_bytes, PATIENCE_S)
        if mime == "text/html" and file.mime != "text/html":
            raise PlatformError("the server sends its login page instead", outcome="refused")
        return data

    # ── Ours ────────────────────────────────────────────────────────────────────────────

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Share a file with a comment in Rocket.Chat's Markdown; return the message's id.

        Nothing is seen in the room before the last call: only its outcome can be unknown.
        """
        rid, told = place.room.external_id, _told(place, comment)
        if not self._old_server:
            try:
                return await self._in_two(rid, name, data, told, key)
            except _NoSuchRoute:
                self._old_server = True
        await self._note(key, name)
        return _made(await self._api.send(f"rooms.upload/{rid}", name, data, told))

    async def _in_two(
        self, rid: str, name: str, data: bytes, told: Mapping[str, str], key: str
    ) -> str:
        try:
            with unseen():
                answer = await self._api.send(f"rooms.media/{rid}", name, data, {})
        except RocketRefused as error:
            if error.status in (404, 405):
                raise _NoSuchRoute from error
            raise
        file_id = str((answer.get("file") or {}).get("_id") or "")
        if not file_id:
            raise PlatformError("Rocket.Chat: rooms.media: a garbled answer", outcome="retry")
        await self._note(key, file_id)
        return _made(await self._api.post(f"rooms.mediaConfirm/{rid}/{file_id}", told))

    async def _note(self, key: str, file: str) -> None:
        made = await self._made()
        made[key] = file
        for old in list(made)[:-_REMEMBERED]:
            del made[old]
        await self._kept.save(_Made(made))

    async def _made(self) -> dict[str, str]:
        if self._known is None:
            read = await self._kept.load(otherwise="uploads of before are not found again")
            self._known = self._known or (read.root if read else {})
        return self._known

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own message since then with the file that this key made, if one was begun."""
        file = (await self._made()).get(key)
        if file is None:
            return None
        async for told in self._own_since(place, since):
            files = [told.file, *(told.files or ())]
            made = {name for f in files if f for name in (f.id, f.name)}
            if file in made and told.id not in known:
                return told.id
        return None

    async def _own_since(self, place: Destination, since: datetime) -> AsyncIterator[WireMessage]:
        rid = place.room.external_id
        kind = await self._directory.type_of(rid)
        route = HISTORY.get(kind, "channels.history")
        for page in range(_FIND_PAGES):
            answer = await self._api.get(
                route, roomId=rid, oldest=iso(since), count=_PAGE, offset=page * _PAGE
            )
            entries = answer.get("messages") or ()
            for entry in entries:
                told = _sound(entry)
                if told and told.u.id == self._directory.own.user_id:
                    yield told
            if len(entries) < _PAGE:
                return


def _path(file: FileRef) -> str:
    """The address at which the server serves a file."""
    return f"/file-upload/{quote(file.id, safe='')}/{quote(file.name, safe='')}"


class _NoSuchRoute(Exception):
    """The server is older than 6.10, which knows only rooms.upload."""


def _told(place: Destination, comment: str) -> dict[str, str]:
    thread = {"tmid": place.thread_id} if place.thread_id else {}
    return {**({"msg": comment} if comment else {}), **thread}


def _made(answer: Mapping[str, Any]) -> str:
    told = answer.get("message")
    if not isinstance(told, dict) or not told.get("_id"):
        raise PlatformError("Rocket.Chat: an upload: a garbled answer", outcome="unknown")
    return str(told["_id"])


def _sound(entry: Any) -> WireMessage | None:
    try:
        return message(entry)
    except ValueError:
        return None
