"""The bot's own events in Matrix: made, changed, removed, and found again after a doubt."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from hashlib import sha256
from html import unescape
from itertools import count
from typing import Any
from uuid import uuid4

import structlog

from bots.kit.doubt import oldest
from bots.kit.questions import question_markdown
from bots.kit.reactions import DIGITS
from bots.kit.recent import Recent
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, RateLimited, SendBudget, path
from bots.matrix.directory import NOTE, Directory
from bots.matrix.encryption import Encryption
from bots.matrix.text import plain, written
from contract.agent import Question
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


KEY = "moot.key"  # in a post's content, encrypted with it: `find` looks for it
_PROFILE = "com.beeper.per_message_profile"  # MSC4144, not yet in the specification

# The server counts 65,536 bytes with all that it adds to an event (ids, hashes, signatures).
_EVENT_BYTES = 62_000
_CUT_CHARS = 500  # of an edit's text for clients that know no edits, when the whole has no room
_MOST_MENTIONS = 50

_PILL = re.compile(r'<a href="https://matrix\.to/#/(@[^"?]+)')

_FIND_PAGES, _FIND_PAGE = 50, 100
_REMEMBERED, _ORDERED = 1_000, 10_000  # own posts, and events whose place is known
_OFFER_TRIES = 5
_ASK_S = 300.0  # a question that can't be posted for so long is not asked
TOO_LARGE = 413


def transaction(key: str) -> str:
    """The transaction id of a post: the same key makes the same event, once."""
    return sha256(key.encode()).hexdigest()[:40]


def text_content(text: str, *, msgtype: str = "m.text") -> dict[str, Any]:
    """A Markdown text: as it is, as HTML, and whom it mentions; never a whole room."""
    html = written(text)
    mentioned = list(dict.fromkeys(unescape(user) for user in _PILL.findall(html)))[:_MOST_MENTIONS]
    return {
        "msgtype": msgtype,
        "body": plain(text),
        "format": "org.matrix.custom.html",
        "formatted_body": html,
        "m.mentions": {"user_ids": mentioned} if mentioned else {},
    }


def placed(
    content: Mapping[str, Any], place: Destination, key: str, *, last: str | None
) -> dict[str, Any]:
    """The content for its place. last: the thread's newest event, shown as the message replied to
    where threads are unknown."""
    made = {**content, KEY: key}
    if place.thread_id:
        made["m.relates_to"] = {
            "rel_type": "m.thread",
            "event_id": place.thread_id,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": last or place.thread_id},
        }
    if place.voice:
        made[_PROFILE] = {"id": place.voice.name, "displayname": place.voice.name}
    return made


def replacing(message_id: str, new: Mapping[str, Any], told: Collection[str]) -> dict[str, Any]:
    """An edit. told: whom the message mentioned before; they are not notified again."""
    body = str(new["body"])
    shown = body if len(body.encode()) * 3 < _EVENT_BYTES / 2 else body[:_CUT_CHARS] + "…"
    mentioned = [user for user in new["m.mentions"].get("user_ids", []) if user not in told]
    return {
        "msgtype": new["msgtype"],
        "body": f"* {shown}",
        "m.mentions": {"user_ids": mentioned} if mentioned else {},
        "m.new_content": dict(new),
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    }


def fitted(content: Mapping[str, Any], *, encrypted: bool) -> Mapping[str, Any]:
    """The content, without its HTML when it has no room in an event."""
    size = len(json.dumps(content, ensure_ascii=encrypted).encode())
    if size * (4 / 3 if encrypted else 1) <= _EVENT_BYTES:
        return content
    return without_html(content)


def without_html(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its plain text alone."""
    made = {k: v for k, v in content.items() if k not in ("format", "formatted_body")}
    if isinstance(inner := made.get("m.new_content"), dict):
        made["m.new_content"] = without_html(inner)
    return made


class Posts:
    """encrypts: whether it takes part in encrypted rooms; `encryption` is there while connected."""

    def __init__(
        self, api: MatrixApi, directory: Directory, *, encrypts: bool, budget: SendBudget
    ) -> None:
        self._api, self._directory, self._encrypts = api, directory, encrypts
        self.budget = budget
        self.encryption: Encryption | None = None
        self._questions: Recent[str, Question] = Recent(_REMEMBERED)
        self._own_order: Recent[str, int] = Recent(_REMEMBERED)
        self._order: Recent[str, int] = Recent(_ORDERED)
        self._numbers = count()
        self._mentioned: Recent[str, set[str]] = Recent(_REMEMBERED)
        self._newest: Recent[str, str] = Recent(_REMEMBERED)  # by thread
        self._offers: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._offers:
            task.cancel()
        await asyncio.gather(*self._offers, return_exceptions=True)

    # ── Out ─────────────────────────────────────────────────────────────────────────────

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post a Markdown text once for a key; return the event's id."""
        return await self.post_content(place, text_content(text), key)

    async def note(self, place: Destination, text: str, key: str) -> str:
        """Post a notice, which clients show pale and no bot answers."""
        content = text_content(text, msgtype="m.notice") | {NOTE: True}
        return await self.post_content(place, content, key)

    async def post_content(self, place: Destination, content: Mapping[str, Any], key: str) -> str:
        """Post once for a key; return the event's id."""
        self._connected()
        last = self._newest.get(place.thread_id or "")
        made = placed(content, place, key, last=last)
        event_id = await self.send(place.room.external_id, "m.room.message", made, transaction(key))
        self.budget.answered()
        self.heard_in_thread(place.thread_id, event_id)
        self._mentioned[event_id] = _mentioned(content)
        self._directory.wrote(event_id, self._directory.own.user_id)
        return event_id

    def _connected(self) -> None:
        if not self._directory.own.user_id:
            raise PlatformError("the bot isn't connected yet", outcome="retry")

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        new = text_content(text)
        told = self._mentioned.get(message_id, set())
        made = replacing(message_id, new, told)
        await self.send(place.room.external_id, "m.room.message", made, uuid4().hex)
        self._mentioned[message_id] = told | _mentioned(new)

    async def delete(self, place: Destination, message_id: str) -> None:
        await self.redact(place.room.external_id, message_id)

    async def redact(self, room_id: str, event_id: str) -> None:
        """Remove an own event; no error when it is gone already."""
        try:
            where = CLIENT + path("rooms", room_id, "redact", event_id, uuid4().hex)
            await self._put(where, {})
        except MatrixRefused as error:
            if error.code != "M_NOT_FOUND":
                raise

    async def react(self, room_id: str, event_id: str, emoji: str, transaction_id: str) -> str:
        """Put a reaction; return its id. Reactions are not encrypted, by custom: servers count
        them."""
        relation = {"rel_type": "m.annotation", "event_id": event_id, "key": emoji}
        where = CLIENT + path("rooms", room_id, "send", "m.reaction", transaction_id)
        answer = await self._put(where, {"m.relates_to": relation})
        return str(answer.get("event_id") or "")

    async def send(
        self, room_id: str, event_type: str, content: Mapping[str, Any], transaction_id: str
    ) -> str:
        """Send an event, encrypted where the room is; never openly there. Returns its id.

        One that is too large for the server is sent again without its HTML.
        """
        encrypted = await self.is_encrypted(room_id)
        content = fitted(content, encrypted=encrypted)
        try:
            return await self._sent(room_id, event_type, content, transaction_id, encrypted)
        except MatrixRefused as error:
            if error.status != TOO_LARGE or (plain := without_html(content)) == content:
                raise
            return await self._sent(room_id, event_type, plain, transaction_id, encrypted)

    async def _sent(
        self,
        room_id: str,
        event_type: str,
        content: Mapping[str, Any],
        transaction_id: str,
        encrypted: bool,
    ) -> str:
        if encrypted:
            content = await self._encrypted(room_id, event_type, content)
            event_type = "m.room.encrypted"
        where = CLIENT + path("rooms", room_id, "send", event_type, transaction_id)
        answer = await self._put(where, content)
        event_id = answer.get("event_id")
        if not event_id:
            raise PlatformError("the homeserver told no event's id", outcome="unknown")
        return str(event_id)

    async def _put(self, where: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """A call that makes an event."""
        try:
            answer = await self._api.put(where, content)
        except RateLimited:
            self.budget.refused()
            raise
        self.budget.sent()
        return answer

    async def is_encrypted(self, room_id: str) -> bool:
        """Raises PlatformError, never with an unknown outcome."""
        try:
            return (await self._directory.state(room_id)).encrypted
        except PlatformError as error:
            if error.outcome == "unknown":
                raise PlatformError(str(error), outcome="retry") from error
            raise

    async def _encrypted(
        self, room_id: str, event_type: str, content: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if self.encryption is None and self._encrypts:
            raise PlatformError("the bot isn't connected", outcome="retry")
        if self.encryption is None:
            raise PlatformError(
                "the room is encrypted: set `encryption = true` for this bot", outcome="refused"
            )
        users = sorted((await self._directory.state(room_id)).inside)
        return await self.encryption.encrypted(room_id, users, event_type, content)

    async def opened(self, room_id: str, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """An event of the room, decrypted if need be; None when it can't be."""
        if event.get("type") != "m.room.encrypted":
            return event
        return await self.encryption.decrypt(room_id, event) if self.encryption else None

    def heard_in_thread(self, thread_id: str | None, event_id: str) -> None:
        """Remember a thread's newest event."""
        if thread_id:
            self._newest[thread_id] = event_id

    # ── Found again ─────────────────────────────────────────────────────────────────────

    async def find(self, place: Destination, key: str, since: datetime) -> str | None:
        """The own event with this key."""
        self._connected()
        room_id, oldest_ms = place.room.external_id, oldest(since).timestamp() * 1000
        found = self._api.back(room_id, start=None, pages=_FIND_PAGES, page=_FIND_PAGE)
        try:
            async for raw in found:
                if int(raw.get("origin_server_ts") or 0) < oldest_ms:
                    return None
                if raw.get("sender") != self._directory.own.user_id:
                    continue
                plain = await self.opened(room_id, raw)
                if plain and (plain.get("content") or {}).get(KEY) == key:
                    return str(raw.get("event_id"))
        finally:
            await found.aclose()
        return None

    # ── Questions ───────────────────────────────────────────────────────────────────────

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question, and begin to put a keycap under it for each choice."""
        event_id = await self._asked(place, text_content(question_markdown(question)), key)
        self._questions[event_id] = question
        choices = min(len(question.options), len(DIGITS))
        offer = self._offer(place.room.external_id, event_id, choices)
        task = asyncio.create_task(offer, name=f"offer choices {question.id}")
        self._offers.add(task)
        task.add_done_callback(self._offers.discard)
        return event_id

    async def _asked(self, place: Destination, content: Mapping[str, Any], key: str) -> str:
        """Post a question over rate limits and outages: nobody else would try again. The same
        transaction makes it once."""
        wait_s, until = 0.5, asyncio.get_running_loop().time() + _ASK_S
        while True:
            try:
                return await self.post_content(place, content, key)
            except PlatformError as error:
                if error.outcome == "refused" or asyncio.get_running_loop().time() > until:
                    raise
                log.warning("question.postponed", reason=error)
                wait_s = min(wait_s * 2, 30.0)
                await asyncio.sleep(error.retry_after_s or wait_s)

    async def _offer(self, room_id: str, event_id: str, count: int) -> None:
        """Best effort: a choice can be typed too."""
        for digit in DIGITS[:count]:
            for _ in range(_OFFER_TRIES):
                try:
                    await self.react(room_id, event_id, digit, transaction(event_id + digit))
                    break
                except PlatformError as error:
                    if error.outcome == "refused":
                        log.info("choice.not_offered", reason=error)
                        return
                    await asyncio.sleep(error.retry_after_s)

    def question(self, event_id: str) -> Question | None:
        """The question that an own post asks."""
        return self._questions.get(event_id)

    def came(self, event_id: str, sender: str) -> None:
        """Note an event's place in the room, as the homeserver told it first."""
        order = self._own_order if sender == self._directory.own.user_id else self._order
        if event_id not in order:
            order[event_id] = next(self._numbers)

    def follows(self, event_id: str, post_id: str) -> bool:
        """True if a message came after an own post. One that came while the post hadn't come back
        stands before it, and so does one that an earlier process heard."""
        post, message = self._own_order.get(post_id), self._order.get(event_id)
        return post is not None and message is not None and post < message


def _mentioned(content: Mapping[str, Any]) -> set[str]:
    return set((content.get("m.mentions") or {}).get("user_ids") or ())
