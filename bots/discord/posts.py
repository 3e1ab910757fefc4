"""The bot's own messages in Discord: made, changed, removed, and found again after a doubt.

In a channel an answer is a reply to the message that asked, in a thread it stands in the thread;
`Place.thread_id` is either that message's id or the thread's.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import mimetypes
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bots.discord.api import PAGE, UNKNOWN_MESSAGE, DiscordApi, DiscordRefused
from bots.discord.buttons import buttons
from bots.discord.directory import FORUMS, THREADS, Directory
from bots.discord.events import moment
from bots.discord.text import LIMIT, size, written
from bots.discord.threads import OwnThreads
from bots.kit.doubt import oldest as oldest_of
from bots.kit.questions import question_markdown
from bots.kit.recent import Recent
from bots.markdown.split import split
from contract.agent import Question
from contract.chat import SLASH, Destination
from contract.errors import PlatformError
from contract.language import phrase, say
from contract.values import dataclass

Message = Mapping[str, Any]

# Discord's clock and ours may differ; a post with its own nonce is ours, however early it seems.
_PAGES = 20

# Discord knows a nonce for "the past few minutes": so long it makes no second message, and a post
# that is repeated is surer than a guess.
_NONCE_KNOWN = timedelta(seconds=120)

_SUPPRESS_EMBEDS = 1 << 2
_REMEMBERED = 5_000
_EPHEMERAL = 1 << 6
_TOLD_S = 5.0
_TOKEN_S = 14 * 60.0  # Discord: an interaction's token is good for 15 minutes
TOO_LATE = phrase(
    "That was for one person alone, and comes too late to be told so. Please ask again."
)

# Whoever may not read the history may not reply either; and some messages can't be replied to.
_NO_REPLY = {160002, 50035}


@dataclass(frozen=True, slots=True)
class PostFinder:
    """Finds the message that a post became, by what is known of the post.

    others: ids of messages that are not it. reply_to: the message that it answers. text: what it
    says, None after a restart.
    """

    since: datetime
    others: Collection[str]
    reply_to: str | None
    text: str | None

    def settle(self, own: Sequence[Message], now_s: float) -> str | None:
        """The id of the message among our own that it became, or None: say it (again)."""
        fitting = [m for m in own if self._fits(m)]
        first = min(fitting, key=lambda m: int(m["id"]), default=None)
        if first is None:
            return None
        sure = self.text is not None or self.reply_to is not None
        age = datetime.fromtimestamp(now_s, UTC) - time_of(first)
        return str(first["id"]) if sure or age > _NONCE_KNOWN else None

    def _fits(self, message: Message) -> bool:
        reference = (message.get("message_reference") or {}).get("message_id")
        if self.text is not None and str(message.get("content")).strip() != self.text.strip():
            return False
        return (
            str(message["id"]) not in self.others
            and (str(reference) if reference else None) == self.reply_to
            and (self.text is not None or not message.get("components"))
            and time_of(message) >= self.since
        )


async def own_since(api: DiscordApi, own_id: str, channel: str, since: datetime) -> list[Message]:
    """Our messages in a channel since then, and a little before."""
    own: list[Message] = []
    query: dict[str, object] = {"limit": PAGE}
    for _ in range(_PAGES):
        found = await api.call(
            "GET", "/channels/{channel_id}/messages", query=query, channel_id=channel
        )
        page = [m for m in found if isinstance(m, dict) and str(m.get("id", "")).isdigit()]
        own += [m for m in page if str((m.get("author") or {}).get("id")) == own_id]
        oldest = min(page, key=lambda m: int(m["id"]), default=None)
        if oldest is None or len(page) < PAGE or time_of(oldest) < oldest_of(since):
            return own
        query["before"] = oldest["id"]
    raise PlatformError("Discord's history is too long to look through", outcome="unknown")


def time_of(message: Message) -> datetime:
    return moment(message.get("timestamp"), str(message["id"]))


@dataclass(frozen=True, slots=True)
class _Target:
    """channel: a thread's id in a thread. reply_to: the message that the post answers."""

    channel: str
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class _Ran:
    """A command or a press. at: when it came; told: see `Posts.interacted`."""

    token: str
    at: float
    told: asyncio.Task[None]


class Posts:
    """threads: begun under questions, where that is wanted."""

    def __init__(
        self,
        api: DiscordApi,
        directory: Directory,
        threads: OwnThreads,
        *,
        now: Callable[[], float],
    ) -> None:
        self._api, self._directory, self._now = api, directory, now
        self.threads = threads
        self._plain: Recent[str, bool] = Recent(_REMEMBERED)  # messages that are no threads
        self._answered: Recent[str, bool] = Recent(_REMEMBERED)  # replied to, and so notified
        self._made: Recent[str, tuple[str, str]] = Recent(_REMEMBERED)  # id -> channel, nonce
        self.application_id = ""  # known once the bot has introduced itself
        self._tokens: Recent[str, _Ran] = Recent(_REMEMBERED)
        self._texts: Recent[str, str] = Recent(_REMEMBERED)  # nonce -> what was to be said

    def saw(self, message: str, *, exists: bool = True) -> None:
        """A message that stands in its channel, in no thread. exists: it can be replied to."""
        self._plain[message] = exists

    def exists(self, message: str) -> bool:
        """True if it can be marked and replied to; an interaction has an id, and no message."""
        return self._plain.get(message, True)

    def made(self, message: str) -> bool:
        """True if it is one of our own, as far as we remember."""
        return message in self._made

    def echoed(self, channel: str, message: str, nonce: str | None) -> None:
        """Discord told us of a message of our own."""
        if nonce or message not in self._made:
            self._made[message] = (channel, nonce or "")

    def answers_quietly(self, message: str) -> None:
        """Who wrote it didn't ask, and isn't notified of the reply."""
        self._answered[message] = True

    def interacted(self, interaction: str, token: str, told: asyncio.Task[None]) -> None:
        """Somebody ran a command or pressed a button; for a while they alone can be answered.

        told: acknowledges it, before which Discord takes no answer.
        """
        self._tokens[f"{SLASH}{interaction}"] = _Ran(token, self._now(), told)

    # ── Where ───────────────────────────────────────────────────────────────────────────

    async def target(self, place: Destination) -> _Target:
        channel, thread = place.room.external_id, place.thread_id
        if thread is None:
            return _Target(channel)
        if self._directory.is_thread(thread):
            return _Target(thread)
        if thread not in self._plain and await self._is_thread(thread):
            return _Target(thread)
        in_room = place.room.kind == "room" and self._plain.get(thread, True)
        return _Target(channel, thread if in_room else None)

    async def _opened(self, place: Destination) -> _Target:
        """The same for a post that may begin a thread under the message that it answers."""
        target = await self.target(place)
        under = target.reply_to if place.is_answer else None
        begun = under is not None and await self.threads.begun(target.channel, under)
        return _Target(under) if under is not None and begun else target

    async def _is_thread(self, thread: str) -> bool:
        """Asked after a restart, when nothing is known of it yet."""
        try:
            answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=thread)
        except DiscordRefused as error:
            if error.status not in (400, 403, 404):
                raise
            self.saw(thread)
            return False
        return isinstance(answer, dict) and answer.get("type") in THREADS

    async def channel_of(self, place: Destination, message: str) -> str:
        """The place of a message, ours or somebody's.

        A thread has the id of the message that it began under, which stands in the channel; in a
        forum it stands in the thread.
        """
        if made := self._made.get(message):
            return made[0]
        if message == place.thread_id:
            parent = self._directory.known(place.room.external_id)
            if parent is None or parent.type not in FORUMS:
                return place.room.external_id
        return (await self.target(place)).channel

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def post(
        self,
        place: Destination,
        text: str,
        key: str,
        components: list[dict[str, Any]] | None = None,
    ) -> str:
        """Post a text in Discord's markup; return its id."""
        if place.only_for is not None:
            known = self._tokens.get(place.only_for)
            if known is not None and self._now() - known.at < _TOKEN_S:
                await asyncio.wait({known.told}, timeout=_TOLD_S)
                return await self._whisper(known.token, text)
            text = say(TOO_LATE)
        target = await self._opened(place)
        body = self._body(target, text, key)
        if components:
            body["components"] = components
        return await self._send(target, body, None)

    async def note(self, place: Destination, text: str, key: str) -> str:
        target = await self.target(place)
        body = self._body(target, "", key) | {"embeds": [{"footer": {"text": text}}], "flags": 0}
        return await self._send(target, body, None)

    async def _whisper(self, token: str, text: str) -> str:
        """Post a text that only they see who ran a command."""
        body = {"content": text, "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}}
        answer = await self._api.call(
            "POST",
            "/webhooks/{application_id}/{interaction_token}",
            body=body,
            application_id=self.application_id,
            interaction_token=token,
        )
        return str(answer["id"]) if isinstance(answer, dict) else ""

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        target = await self._opened(place)
        body = self._body(target, comment, key) | {"attachments": [{"id": "0", "filename": name}]}
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        file = {"name": "files[0]", "value": data, "filename": name, "content_type": mime}
        return await self._send(target, body, file)

    def _body(self, target: _Target, text: str, key: str) -> dict[str, Any]:
        first = target.reply_to is not None and target.reply_to not in self._answered
        body: dict[str, Any] = {
            "content": text,
            "nonce": nonce_of(key),
            "enforce_nonce": True,
            "allowed_mentions": {"parse": [], "users": tagged(text), "replied_user": first},
            "flags": _SUPPRESS_EMBEDS,
        }
        if target.reply_to is not None:
            body["message_reference"] = {
                "message_id": target.reply_to,
                "channel_id": target.channel,
                "fail_if_not_exists": False,
            }
        return body

    async def _send(
        self, target: _Target, body: dict[str, Any], file: dict[str, Any] | None
    ) -> str:
        self._texts[str(body["nonce"])] = str(body["content"])
        try:
            answer = await self._create(target.channel, body, file)
        except DiscordRefused as error:
            if error.code not in _NO_REPLY or "message_reference" not in body:
                raise
            del body["message_reference"]
            answer = await self._create(target.channel, body, file)
        message = str(answer.get("id") or "") if isinstance(answer, dict) else ""
        if not message:
            raise PlatformError("Discord didn't say which message it made", outcome="unknown")
        if target.reply_to is not None:
            self._answered[target.reply_to] = True
        self._made[message] = (target.channel, str(body["nonce"]))
        return message

    async def _create(self, channel: str, body: dict[str, Any], file: dict[str, Any] | None) -> Any:
        path = "/channels/{channel_id}/messages"
        if file is None:
            return await self._api.call("POST", path, body=body, channel_id=channel)
        form = [{"name": "payload_json", "value": json.dumps(body, ensure_ascii=False)}, file]
        return await self._api.call("POST", path, form=form, channel_id=channel)

    async def edit(self, place: Destination, message: str, text: str) -> None:
        """Replace the text; the buttons of a question go."""
        await self._api.call(
            "PATCH",
            "/channels/{channel_id}/messages/{message_id}",
            body={
                "content": text,
                "components": [],
                "allowed_mentions": {"parse": [], "users": tagged(text)},
                "flags": _SUPPRESS_EMBEDS,
            },
            channel_id=await self.channel_of(place, message),
            message_id=message,
        )

    async def delete(self, place: Destination, message: str) -> None:
        try:
            await self._api.call(
                "DELETE",
                "/channels/{channel_id}/messages/{message_id}",
                channel_id=await self.channel_of(place, message),
                message_id=message,
            )
        except DiscordRefused as error:
            if error.code != UNKNOWN_MESSAGE and error.status != 404:
                raise

    # ── After a doubt ───────────────────────────────────────────────────────────────────

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own message with this key's nonce; else the one that the key must have made.

        Discord tells a nonce in the event only, not in the history.
        """
        nonce, target = nonce_of(key), await self.target(place)
        if made := next((id_ for id_, (_, own) in self._made.items() if own == nonce), None):
            return made
        own = await own_since(self._api, self._directory.own_id, target.channel, since)
        if told := next((m for m in own if str(m.get("nonce")) == nonce), None):
            return str(told["id"])
        others = {*known, *(id_ for id_, (_, other) in self._made.items() if other)}
        doubt = PostFinder(since, others, target.reply_to, self._texts.get(nonce))
        return doubt.settle(own, self._now())

    # ── Questions ───────────────────────────────────────────────────────────────────────

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        text = question_markdown(question)
        fitting = text if size(text) <= LIMIT else split(text, LIMIT, size)[0]
        return await self.post(place, written(fitting), key, buttons(question))


def nonce_of(key: str) -> str:
    """24 characters for a key; Discord takes 25."""
    return base64.b32encode(hashlib.sha256(key.encode()).digest()[:15]).decode().lower()


def tagged(text: str) -> list[str]:
    """The people whom a text tags, at most the hundred that Discord takes. Nobody else is told."""
    return list(dict.fromkeys(re.findall(r"<@!?([0-9]{1,20})>", text)))[:100]
