"""iMessage through a BlueBubbles server: webhooks in, REST out, plain text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from aiohttp import web

from bots.bluebubbles.api import BlueBubblesApi, WrongPassword
from bots.bluebubbles.backfill import POLL_S, Backfill, CatchUp, OwnAddress
from bots.bluebubbles.check import findings
from bots.bluebubbles.connection import Webhook
from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import (
    ALIAS,
    SOURCE,
    Deletion,
    Edit,
    NewMessage,
    PlatformEvent,
    external,
    parse_events,
)
from bots.bluebubbles.files import Files
from bots.bluebubbles.inbound import EventConverter
from bots.bluebubbles.posts import OwnPostDetector, Posts
from bots.bluebubbles.reactions import Reactions
from bots.bluebubbles.text import DIALECT
from bots.bot import PlatformCapabilities, Receive
from bots.kit.events import EditedMessage, RenamedRoom
from bots.kit.inbound import Delivery
from bots.kit.platform_bot import BotSetup, PlatformBot
from bots.kit.recent import Recent
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError

log = structlog.stdlib.get_logger("moot.bots")

_MAX_FILE_BYTES = 50_000_000
_SEEN = 5_000


class BlueBubblesBot(PlatformBot):
    """The iMessage account of one Mac.

    url: the server's. own: how the server reaches us; without a port its history is asked often
    instead. secret: of the webhook; without it one is made and kept. poll_s: how often the history
    is read while nobody talks.
    """

    platform = SOURCE
    capabilities = PlatformCapabilities(
        draft_interval_s=None, max_posts=10, buttons=False, reactions=False
    )

    _posts: Posts
    _reactions: Reactions

    def __init__(
        self,
        setup: BotSetup,
        url: str,
        password: str,
        own: OwnAddress = OwnAddress(),  # noqa: B008 - frozen
        *,
        secret: str | None = None,
        poll_s: float = POLL_S,
    ) -> None:
        if not password:
            raise ConfigError(f"BlueBubbles bot {setup.name!r}: the server's password is missing")
        super().__init__(setup, DIALECT)
        now = setup.now
        self._api = BlueBubblesApi(url, password)
        self._directory = Directory(self._api, now=now)
        self._own_posts = OwnPostDetector(setup.states)
        files = Files(self._api, setup.files_dir, setup.max_file_bytes or _MAX_FILE_BYTES)
        self._converter = EventConverter(setup, self._directory, self._own_posts, files)
        self._posts = Posts(self._api, self._directory, self._own_posts, now=now)
        self._uploads = self._posts
        self._reactions = Reactions(self._api, self._directory)
        self._delivery = Delivery(setup.name)
        self._parts = (self._delivery, self._directory, self._api)
        history = Backfill(self._api, setup.states, self._hand_on, now=now)
        self._webhook = Webhook(setup, secret, self._take, lambda: self._catch_up.missed())
        self._catch_up = CatchUp(
            setup.name, self._api, history, self._webhook, own, poll_s=poll_s, now=now
        )
        self._seen: Recent[tuple[object, ...], None] = Recent(_SEEN)

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
            await self._own_posts.load()
            await self._webhook.open()
            self._delivery.open(receive)
            await self._directory.is_own_address("")  # asks the server who we are
            await self._catch_up.follow()
        except WrongPassword:
            raise self._wrong_password() from None
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of what is open. A call after that opens it again."""
        self._catch_up.end()
        await super().close()

    async def findings(self) -> Sequence[str]:
        """One line for each thing that is missing at the server. It changes nothing there."""
        try:
            base = await self._catch_up.own_address()
            return await findings(self._api, self._directory, base, self._webhook.folder)
        except WrongPassword:
            raise self._wrong_password() from None

    def _wrong_password(self) -> ConfigError:
        return ConfigError(
            f"BlueBubbles bot {self.name!r}: the server refuses the password: set "
            "BLUEBUBBLES_PASSWORD to the one in its settings"
        )

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def _take(self, payload: Mapping[str, Any]) -> None:
        """Hand one payload of the webhook on; return when it is on disk."""
        with self._delivery.taking():
            await self._catch_up.in_turn()
            for found in parse_events(payload):
                await self._hand_on(found)

    async def _hand_on(self, found: PlatformEvent) -> None:
        """Hand on what wasn't yet; what the contract rejects is left out."""
        if isinstance(found, RenamedRoom):
            self._directory.forget_chat(found.room)
            return
        if isinstance(found, NewMessage):
            self._posts.came(found.id, found.row)
        chat = found.room or await self._directory.chat_of_message(found.id)
        if chat is None:
            log.warning("message.skipped", bot=self.name, reason="it is left out: no chat of it")
            return
        self._directory.stands_in(found.id, chat)
        async with self._delivery.in_room(chat.guid):
            if (fingerprint := _fingerprint(found)) in self._seen:
                return
            try:
                if (event := await self._converter.event(found, chat)) is not None:
                    await self._delivery.give(event)
                    self._catch_up.heard()
            except ValueError as error:
                self._delivery.skip(error)
            self._seen[fingerprint] = None

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The guid of the own message with the text that was sent under `key`."""
        return await self._posts.find(place, key, since, known)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the numbers that the Mac gives both as they come; times are their senders'."""
        return self._posts.follows(message_id, post_id)

    # ── Reactions and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """The three dots, where the private API is there ("" ends them). Never raises."""
        await self._reactions.typing(place, begins=bool(status))

    async def roster(self, room: Room) -> Sequence[Speaker]:
        return await self._directory.members(room)


def _fingerprint(found: NewMessage | Edit | Deletion) -> tuple[object, ...]:
    """The same for two deliveries of one event."""
    return type(found), found.id, found.at if isinstance(found, EditedMessage) else None
