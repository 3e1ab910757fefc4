"""iMessage through a BlueBubbles server: webhooks in, REST out, plain text."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from bots.bluebubbles.api import BlueBubblesApi, WrongPassword
from bots.bluebubbles.backfill import POLL_S, Backfill, CatchUp
from bots.bluebubbles.check import findings
from bots.bluebubbles.connection import Webhook
from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import (
    ALIAS,
    SOURCE,
    DeletedMessage,
    EditedMessage,
    NewMessage,
    PlatformEvent,
    RenamedRoom,
    external,
    heard,
)
from bots.bluebubbles.files import Files
from bots.bluebubbles.inbound import EventConverter
from bots.bluebubbles.posts import OwnPostDetector, Posts
from bots.bluebubbles.state import SECRET, BlueBubblesState
from bots.bluebubbles.text import LIMIT, size, written
from bots.bot import PlatformCapabilities, Reaction, Receive, SecretSink, forget
from bots.kit.naming import Named, by_names
from bots.kit.questions import question_markdown
from bots.markdown.split import split
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError, PlatformError, Rejected

log = structlog.stdlib.get_logger("moot.bots")

_GRACE_S = 2.0  # for events under way when it is stopped; the rest is read from the history
_SEEN = 5_000


class BlueBubblesBot:
    """The iMessage account of one Mac.

    url: the server's. own_dir: where the bot keeps what it must not forget. webhook_url: our own
    address as the server reaches it; without it, it is made from listen_host and listen_port (0:
    not known, and the history is asked often instead). secret: of the webhook; else one is made
    and kept. is_named: whether a text names one of the personas; default: by the names above. now:
    the time in seconds since 1970.
    """

    platform = SOURCE
    manners = PlatformCapabilities(draft_interval_s=None, max_posts=10, buttons=False, marks=False)

    def __init__(
        self,
        *,
        personas: Sequence[str],
        url: str,
        password: str,
        files_dir: Path,
        own_dir: Path,
        name: str = SOURCE,
        webhook_url: str | None = None,
        listen_host: str = "127.0.0.1",
        listen_port: int = 0,
        secret: str | None = None,
        require_mention: bool = True,
        is_named: Named | None = None,
        most_file_bytes: int = 50_000_000,
        poll_s: float = POLL_S,
        now: Callable[[], float] = time.time,
        learned: SecretSink = forget,
    ) -> None:
        if not password:
            raise ConfigError(f"BlueBubbles bot {name!r}: the server's password is missing")
        if secret is not None and not SECRET.fullmatch(secret):
            raise ConfigError(
                f"BlueBubbles bot {name!r}: BLUEBUBBLES_SECRET must be 16 to 128 letters, digits, "
                "_ or -: it stands in an address"
            )
        self.name = name
        self.personas: Sequence[str] = tuple(personas)
        self._secret, self._learned = secret, learned
        self._api = BlueBubblesApi(url, password)
        self._store = BlueBubblesState(own_dir)
        self._directory = Directory(self._api, now=now)
        self._echoes = OwnPostDetector(self._store)
        self._reader = EventConverter(
            self._directory,
            self._echoes,
            Files(self._api, files_dir, most_file_bytes),
            self.personas,
            is_named=is_named or by_names(self.personas),
            require_mention=require_mention,
            now=now,
        )
        self._posts = Posts(self._api, self._directory, self._echoes, now=now)
        self._history = Backfill(self._api, self._store, self._hand_on, now=now)
        self._webhook = Webhook(name, self._take, lambda: self._watch.missed())
        self._watch = CatchUp(
            name,
            self._api,
            self._history,
            self._webhook,
            base=webhook_url,
            listen=(listen_host, listen_port),
            poll_s=poll_s,
            now=now,
        )
        self._receive: Receive | None = None
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._taking: set[asyncio.Task[Any]] = set()
        self._seen: OrderedDict[tuple[object, ...], None] = OrderedDict()

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's addresses: how another account in a group hears what this one posts.

        Its owner's own words have other ids (`bb:me`); `OwnPostDetector` knows which are ours.
        """
        return frozenset(f"{ALIAS}:{external(one)}" for one in self._directory.own_addresses)

    # ── Life ────────────────────────────────────────────────────────────────────────────

    def routes(self) -> list[web.RouteDef]:
        """The webhook; its path ends in the secret."""
        return self._webhook.routes()

    async def run(self, receive: Receive) -> None:
        """Deliver events until cancelled. Raises ConfigError when the password is wrong."""
        try:
            await self._echoes.load()
            if self._secret is None:
                self._secret = await asyncio.to_thread(self._store.secret)
                self._learned(self._secret)
            self._webhook.open(self._secret)
            self._receive = receive
            await self._directory.is_own_address("")  # asks the server who we are
            await self._watch.follow()
        except WrongPassword:
            raise self._wrong_password() from None
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of what is open. A call after that opens it anew."""
        self._receive = None
        self._watch.end()
        if self._taking:
            await asyncio.wait(self._taking, timeout=_GRACE_S)
        await self._directory.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """What is missing at the server; asks it, and changes nothing."""
        try:
            base = await self._watch.own_address()
            return await findings(self._api, self._directory, base, self._webhook.folder)
        except WrongPassword:
            raise self._wrong_password() from None
        finally:
            await self.close()

    def _wrong_password(self) -> ConfigError:
        return ConfigError(
            f"BlueBubbles bot {self.name!r}: the server refuses the password: set "
            "BLUEBUBBLES_PASSWORD to the one in its settings"
        )

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def _take(self, payload: Mapping[str, Any]) -> None:
        """Hand one payload of the webhook on; return when it is on disk."""
        task = asyncio.current_task()
        if self._receive is None or task is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        self._taking.add(task)
        try:
            await self._watch.in_turn()
            for found in heard(payload):
                await self._hand_on(found)
        finally:
            self._taking.discard(task)

    async def _hand_on(self, found: PlatformEvent) -> None:
        """Hand on what wasn't yet; what the contract rejects is left out."""
        if isinstance(found, RenamedRoom):
            self._directory.forget_chat(found.guid)
            return
        chat = found.chat or await self._directory.chat_of_message(found.guid)
        if chat is None:
            log.warning("message.skipped", bot=self.name, reason="it is left out: no chat of it")
            return
        self._directory.stands_in(found.guid, chat)
        async with self._turns[chat.guid]:  # in a chat, one after the other
            if (sign := _sign(found)) in self._seen:
                return
            receive = self._receive
            if receive is None:
                raise PlatformError("the bot isn't running", outcome="retry")
            try:
                if (event := await self._reader.event(found, chat)) is not None:
                    await receive(event)
                    self._watch.heard()
            except (Rejected, ValueError) as error:
                log.warning("event.skipped", bot=self.name, reason=f"it is left out: {error}")
            self._seen[sign] = None
            if len(self._seen) > _SEEN:
                self._seen.popitem(last=False)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one message."""
        return split(text, LIMIT, size)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Send one piece as plain text; return its guid."""
        return await self._posts.post(place, written(text), key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; refused where the private API isn't there."""
        await self._posts.edit(message_id, written(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Take an own message back; refused where the private API isn't there."""
        await self._posts.delete(message_id)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The guid of the own message with the text that was sent under `key`."""
        return await self._posts.find(place, key, since, known)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Send a file, after its comment as a message of its own; return the file's guid."""
        return await self._posts.upload(place, name, data, written(comment), key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with `!1`, `!2` for its choices."""
        return await self.post(place, question_markdown(question), key)

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """The three dots, where the private API is there ("" ends them). Never raises."""
        await self._posts.typing(place, begins=bool(status))

    async def mark(self, place: Destination, message_id: str, mark: Reaction) -> None:
        """None: a tapback would stay on the person's message and notify them."""

    async def members(self, room: Room) -> Sequence[Speaker]:
        """Those in the chat beside the account; empty when the server doesn't tell."""
        try:
            return await self._directory.members(room)
        except PlatformError as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []


def _sign(found: NewMessage | EditedMessage | DeletedMessage) -> tuple[object, ...]:
    """What tells one delivery from another."""
    return type(found), found.guid, found.at if isinstance(found, EditedMessage) else None
