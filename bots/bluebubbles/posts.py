"""The bot's own messages: sent, changed, taken back, and found again after a doubt."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Annotated

import aiohttp
import structlog
from pydantic import BaseModel, ConfigDict, Field

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, part
from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import NewMessage, address_of, millis, native, read_message
from bots.bluebubbles.text import DIALECT
from bots.bluebubbles.wire import Millis, WireMessage
from bots.kit.cursor import State, States
from bots.kit.doubt import oldest
from bots.kit.recent import Recent
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


_TEMP = "temp-moot-"
_KEPT = 500
_ORDERED = 5_000  # messages whose place in the order is known
# Clocks differ, and iMessage takes up to two minutes; what the owner types after that is theirs.
_BEFORE_MS, _AFTER_MS = 120_000, 600_000
# The account may write to itself under an address that the server doesn't tell of: who says our
# very words (this many letters and more) a moment after us is ourselves, and answering would never
# end.
_ALIKE_LETTERS, _ALIKE_MS = 12, 60_000
_LETTERS = re.compile(r"[\W_]+")

_FIND_PAGES, _FIND_PAGE = 20, 100
_NEEDS = "it needs the server's private API"


class OwnPost(BaseModel):
    """A message that we sent, or tried to. mark: of its text (see `Echoes`); guid: "" until known.

    chat: the part of its chat's guid that stays.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    chat: str
    mark: str
    at_ms: Millis
    guid: str = ""


class OwnPosts(BaseModel):
    model_config = ConfigDict(frozen=True)

    posts: Annotated[list[OwnPost], Field()] = []


def temp_guid(key: str) -> str:
    """The name under which the server knows a post while it is under way; the same for one key."""
    return _TEMP + hashlib.sha256(key.encode()).hexdigest()[:32]


def mark_of(text: str) -> str:
    """A digest of what stays of a text when Messages has made its quotes curly and trimmed it:
    its letters and digits; where it has none, its signs."""
    plain = _LETTERS.sub("", text).casefold() or "".join(text.split())
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()[:32]


class OwnPostDetector:
    """Our own posts, the newest few hundred."""

    def __init__(self, states: States) -> None:
        self._state = State(states, "own_posts", OwnPosts)
        self._posts: Recent[str, OwnPost] = Recent(_KEPT)
        self._writing = asyncio.Lock()
        self._loaded = False

    async def load(self) -> None:
        """Read what an earlier process left, once. Raises MootError."""
        if not self._loaded:
            kept = await self._state.demand() or OwnPosts()
            newer = list(self._posts.values())
            for post in (*kept.posts, *newer):
                self._posts[post.key] = post
            self._loaded = True

    def of(self, key: str) -> OwnPost | None:
        return self._posts.get(key)

    @property
    def guids(self) -> Collection[str]:
        """Ids of our own messages."""
        return {post.guid for post in self._posts.values() if post.guid}

    async def sending(self, key: str, chat_guid: str, text: str, now_ms: int) -> None:
        """Note a post before it is sent; the first try's time stays."""
        await self.load()
        if key not in self._posts:
            post = OwnPost(key=key, chat=address_of(chat_guid), mark=mark_of(text), at_ms=now_ms)
            await self._keep(post)

    async def sent(self, key: str, guid: str) -> None:
        if (post := self._posts.get(key)) and post.guid != guid:
            await self._keep(post.model_copy(update={"guid": guid}))

    async def is_own(self, said: NewMessage, *, with_ourselves: bool) -> bool:
        """True if a message is a post of ours come back.

        with_ourselves: it stands in the account's chat with itself, where each message comes
        twice, from me and to me.
        """
        await self.load()
        if said.id in self.guids or (said.temp_guid or "").startswith(_TEMP):
            return True
        is_alike = len(_LETTERS.sub("", said.content)) >= _ALIKE_LETTERS
        if not said.from_me and not with_ourselves and not is_alike:
            return False
        for post, later_ms in self._alike(said):
            if said.from_me and not post.guid:
                await self.sent(post.key, said.id)
                return True
            if with_ourselves or (not said.from_me and abs(later_ms) <= _ALIKE_MS):
                return True
        return False

    def _alike(self, said: NewMessage) -> Iterator[tuple[OwnPost, int]]:
        """Posts in the same chat with the same text, and how much later the message came, in ms."""
        chat = address_of(said.room.guid) if said.room else None
        marks = {mark_of(said.content), *(mark_of(file.name) for file in said.files)}
        for post in tuple(self._posts.values()):
            later_ms = 0 if said.sent_ms is None else said.sent_ms - post.at_ms
            near = -_BEFORE_MS <= later_ms <= _AFTER_MS
            if post.chat == chat and post.mark in marks and near:
                yield post, later_ms

    def belongs_elsewhere(self, guid: str, key: str) -> bool:
        """True if a message is known to be the post of another key."""
        return any(post.guid == guid and post.key != key for post in self._posts.values())

    async def _keep(self, post: OwnPost) -> None:
        self._posts[post.key] = post
        async with self._writing:
            await self._state.save(OwnPosts(posts=list(self._posts.values())))


class Posts:
    def __init__(
        self,
        api: BlueBubblesApi,
        directory: Directory,
        own_posts: OwnPostDetector,
        *,
        now: Callable[[], float],
    ) -> None:
        self._api, self._directory, self._own_posts = api, directory, own_posts
        self._now = now
        self._rows: Recent[str, int] = Recent(_ORDERED)

    async def note(self, place: Destination, text: str, key: str) -> str:
        """Send a line like any other: there is nothing smaller."""
        return await self.post(place, DIALECT.write(text), key)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Send a plain text; return its guid."""
        chat = native(place.room.external_id)
        await self._own_posts.sending(key, chat, text, self._now_ms())
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
        await self._own_posts.sending(key, chat, name, self._now_ms())
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
        known = self._own_posts.of(key)
        if comment and not (known and known.guid):
            await self.post(place, comment, key)

    async def _sent(self, key: str, temp: str, answer: object) -> str:
        """The guid of what was sent; its temporary one where the server tells none, and where it
        came back to us already, as its history tells it."""
        guid = answer.get("guid") if isinstance(answer, dict) else None
        row = answer.get("originalROWID") if isinstance(answer, dict) else None
        if not isinstance(guid, str) or not guid:
            known = self._own_posts.of(key)
            return (known and known.guid) or temp
        await self._own_posts.sent(key, guid)
        self.came(guid, row if isinstance(row, int) else None)
        return guid

    def came(self, guid: str, row: int | None) -> None:
        """Note a message's number in the Mac's order. What is sent late comes late."""
        if row is not None:
            self._rows[guid] = row

    def follows(self, guid: str, post: str) -> bool | None:
        """True if a message came to the Mac after an own post; None: it didn't tell."""
        row, post_row = self._rows.get(guid), self._rows.get(post)
        return None if row is None or post_row is None else row > post_row

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace a text, where the private API is there."""
        if not await self._directory.has_private_api():
            raise PlatformError(f"a message can't be edited: {_NEEDS}", outcome="refused")
        body = {"editedMessage": text, "backwardsCompatibilityMessage": text, "partIndex": 0}
        await self._api.send(f"message/{part(message_id)}/edit", body)

    async def delete(self, place: Destination, message_id: str) -> None:
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
        await self._own_posts.load()
        if (post := self._own_posts.of(key)) is None:
            return None
        if post.guid:
            return post.guid
        chat, after = native(place.room.external_id), max(millis(oldest(since)), 0)
        for page in range(_FIND_PAGES):
            found = await self._page(chat, after, page)
            for message in found:
                marks = {mark_of(message.text or "")}
                marks |= {mark_of(file.transfer_name or "") for file in message.attachments}
                if post.mark in marks and self._may_be(message, key, known):
                    await self._own_posts.sent(key, message.guid)
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
            and not self._own_posts.belongs_elsewhere(message.guid, key)
        )

    async def _method(self) -> str:
        return "private-api" if await self._directory.has_private_api() else "apple-script"

    def _now_ms(self) -> int:
        return int(self._now() * 1000)
