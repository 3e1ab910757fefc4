"""Telling our own posts from what the owner of the account types: both come back as "from me".

A post is noted on disk before it is sent, so that it is known again whatever happens: its answer
may be lost, and the process with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Collection

from bots.bluebubbles.events import NewMessage, address_of
from bots.bluebubbles.state import BlueBubblesState, OwnPost, OwnPosts

_TEMP = "temp-moot-"
_KEPT = 500
# Clocks differ, and iMessage takes up to two minutes; what the owner types after that is theirs.
_BEFORE_MS, _AFTER_MS = 120_000, 600_000
# The account may write to itself under an address that the server doesn't tell of: who says our
# very words (this many letters and more) a moment after us is ourselves, and answering would never
# end.
_ALIKE_LETTERS, _ALIKE_MS = 12, 60_000
_LETTERS = re.compile(r"[\W_]+")


def temp_guid(key: str) -> str:
    """The name under which the server knows a post while it is under way; the same for one key."""
    return _TEMP + hashlib.sha256(key.encode()).hexdigest()[:32]


def mark_of(text: str) -> str:
    """What stays of a text when Messages has made its quotes curly and trimmed it, as a digest:
    its letters and digits; where it has none, its signs."""
    plain = _LETTERS.sub("", text).casefold() or "".join(text.split())
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()[:32]


class OwnPostDetector:
    """Our own posts, the newest few hundred."""

    def __init__(self, store: BlueBubblesState) -> None:
        self._store = store
        self._posts: OrderedDict[str, OwnPost] = OrderedDict()
        self._writing = asyncio.Lock()
        self._loaded = False

    async def load(self) -> None:
        """From disk, once. Raises ConfigError."""
        if not self._loaded:
            kept = await self._store.own_posts()
            self._posts = OrderedDict((post.key, post) for post in kept.posts) | self._posts
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
        """Whether a message is a post of ours come back.

        with_ourselves: it stands in the account's chat with itself, where each message comes
        twice, from me and to me.
        """
        await self.load()
        if said.guid in self.guids or (said.temp_guid or "").startswith(_TEMP):
            return True
        is_alike = len(_LETTERS.sub("", said.content)) >= _ALIKE_LETTERS
        if not said.from_me and not with_ourselves and not is_alike:
            return False
        chat = address_of(said.chat.guid) if said.chat else None
        marks = {mark_of(said.content), *(mark_of(file.name) for file in said.files)}
        for post in self._posts.values():
            later_ms = 0 if said.sent_ms is None else said.sent_ms - post.at_ms
            near = -_BEFORE_MS <= later_ms <= _AFTER_MS
            if post.chat != chat or post.mark not in marks or not near:
                continue
            if said.from_me and not post.guid:
                await self.sent(post.key, said.guid)
                return True
            if with_ourselves or (not said.from_me and abs(later_ms) <= _ALIKE_MS):
                return True
        return False

    def belongs_elsewhere(self, guid: str, key: str) -> bool:
        """Whether a message is known to be the post of another key."""
        return any(post.guid == guid and post.key != key for post in self._posts.values())

    async def _keep(self, post: OwnPost) -> None:
        self._posts[post.key] = post
        while len(self._posts) > _KEPT:
            self._posts.popitem(last=False)
        async with self._writing:
            kept = OwnPosts(posts=list(self._posts.values()))
            await self._store.keep_own_posts(kept)
