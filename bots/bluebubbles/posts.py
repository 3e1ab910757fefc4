"""The bot's own messages: sent, changed, taken back, and found again after a doubt."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

import aiohttp
import structlog

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, part
from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import millis, read_message
from bots.bluebubbles.messages import native
from bots.bluebubbles.own_posts import OwnPostDetector, mark_of, temp_guid
from bots.bluebubbles.wire import WireMessage
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

# The server's clock and ours may differ.
_SKEW_MS = 120_000
_FIND_PAGES, _FIND_PAGE = 20, 100
_NEEDS = "it needs the server's private API"


class Posts:
    def __init__(
        self,
        api: BlueBubblesApi,
        directory: Directory,
        echoes: OwnPostDetector,
        *,
        now: Callable[[], float],
    ) -> None:
        self._api, self._directory, self._echoes = api, directory, echoes
        self._now = now

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Send a plain text; return its guid."""
        chat = native(place.room.external_id)
        await self._echoes.sending(key, chat, text, self._now_ms())
        body = {
            "chatGuid": chat,
            "tempGuid": temp_guid(key),
            "message": text,
            "method": await self._method(),
        }
        return await self._sent(key, body["tempGuid"], await self._api.send("message/text", body))

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Send a file, after its comment if there is one; return the guid of the file's message."""
        await self._comment(place, comment, f"{key}/comment")
        chat = native(place.room.external_id)
        await self._echoes.sending(key, chat, name, self._now_ms())
        form = aiohttp.FormData()
        form.add_field("chatGuid", chat)
        form.add_field("tempGuid", temp_guid(key))
        form.add_field("name", name)
        form.add_field("method", await self._method())
        form.add_field("attachment", data, filename=name, content_type="application/octet-stream")
        answer = await self._api.send_form("message/attachment", form, len(data))
        return await self._sent(key, temp_guid(key), answer)

    async def _comment(self, place: Destination, comment: str, key: str) -> None:
        """Once, however often the file is tried."""
        known = self._echoes.of(key)
        if comment and not (known and known.guid):
            await self.post(place, comment, key)

    async def typing(self, place: Destination, *, begins: bool) -> None:
        """Show or end the three dots, where the private API is there. Never raises."""
        try:
            if await self._directory.has_private_api():
                path = f"chat/{part(native(place.room.external_id))}/typing"
                await (self._api.send(path) if begins else self._api.delete(path))
        except PlatformError as error:
            log.info("sign.failed", reason=error)

    async def _sent(self, key: str, temp: str, answer: object) -> str:
        """The guid of what was sent; its temporary one where the server tells none, and where it
        came back to us already, as its history tells it."""
        guid = answer.get("guid") if isinstance(answer, dict) else None
        if not isinstance(guid, str) or not guid:
            known = self._echoes.of(key)
            return (known and known.guid) or temp
        await self._echoes.sent(key, guid)
        return guid

    async def edit(self, message_id: str, text: str) -> None:
        """Replace a text, where the private API is there."""
        if not await self._directory.has_private_api():
            raise PlatformError(f"a message can't be edited: {_NEEDS}", outcome="refused")
        body = {"editedMessage": text, "backwardsCompatibilityMessage": text, "partIndex": 0}
        await self._api.send(f"message/{part(message_id)}/edit", body)

    async def delete(self, message_id: str) -> None:
        """Take a message back, where the private API is there."""
        if not await self._directory.has_private_api():
            raise PlatformError(f"a message can't be taken back: {_NEEDS}", outcome="refused")
        try:
            await self._api.send(f"message/{part(message_id)}/unsend", {"partIndex": 0})
        except BlueBubblesRefused as error:
            if error.status != 404 and "does not exist" not in str(error):
                raise

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own message with this key's text; None where we never tried to send it.

        The server forgets a temporary guid once a message is sent: the text is what remains.
        """
        await self._echoes.load()
        if (post := self._echoes.of(key)) is None:
            return None
        if post.guid:
            return post.guid
        chat, after = native(place.room.external_id), max(millis(since) - _SKEW_MS, 0)
        for page in range(_FIND_PAGES):
            found = await self._page(chat, after, page)
            for message in found:
                marks = {mark_of(message.text or "")}
                marks |= {mark_of(file.transfer_name or "") for file in message.attachments}
                if post.mark in marks and self._may_be(message, key, known):
                    await self._echoes.sent(key, message.guid)
                    return message.guid
            if len(found) < _FIND_PAGE:
                return None
        return None

    async def _page(self, chat: str, after: int, page: int) -> list[WireMessage]:
        body = {
            "chatGuid": chat,
            "after": after,
            "sort": "ASC",
            "offset": page * _FIND_PAGE,
            "limit": _FIND_PAGE,
            "with": ["chat", "attachment"],
        }
        rows = await self._api.query("message/query", body)
        found = []
        for row in rows if isinstance(rows, list) else ():
            try:
                found.append(read_message(row if isinstance(row, dict) else {}))
            except ValueError:
                found.append(WireMessage(guid="?"))
        return found

    def _may_be(self, message: WireMessage, key: str, known: Collection[str]) -> bool:
        return (
            bool(message.is_from_me)
            and not message.error
            and not message.tapback
            and message.guid not in known
            and not self._echoes.belongs_elsewhere(message.guid, key)
        )

    async def _method(self) -> str:
        return "private-api" if await self._directory.has_private_api() else "apple-script"

    def _now_ms(self) -> int:
        return int(self._now() * 1000)
