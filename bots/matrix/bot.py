"""Matrix: a bot over the client-server API, in open and in encrypted rooms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog

from bots.bot import PlatformCapabilities, Receive
from bots.kit.inbound import Delivery
from bots.kit.platform_bot import MAX_MEMBERS, BotSetup, PlatformBot
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, SendBudget
from bots.matrix.backfill import Backfill, Cursor
from bots.matrix.check import (
    Account,
    Credentials,
    CredentialStore,
    is_signed_in,
    no_login,
    sign_in,
)
from bots.matrix.connection import SyncLoop
from bots.matrix.crypto.backup import KeyBackup
from bots.matrix.crypto.identity import Identity
from bots.matrix.crypto.secret_storage import KeptRecoveryKey
from bots.matrix.crypto.verification import Verifications
from bots.matrix.directory import Directory
from bots.matrix.encryption import Encryption
from bots.matrix.events import SOURCE
from bots.matrix.files import Files
from bots.matrix.inbound import EventHandler
from bots.matrix.invites import Invites, Welcome
from bots.matrix.keys import EncryptionKeys
from bots.matrix.posts import TOO_LARGE, Posts
from bots.matrix.reactions import Reactions
from bots.matrix.text import DIALECT
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError

log = structlog.stdlib.get_logger("moot.bots")

_MAX_FILE_BYTES = 20_000_000
_ELSEWHERE = (
    "it read on from where another machine was, whose keys are not here: what was said in "
    "encrypted rooms before is read once MATRIX_RECOVERY_KEY opens the backup of their keys"
)
_UNLISTED = (
    'nobody may invite it: list `people` under [access] ("matrix:@user:server"), or set '
    '`invites = "everybody"` for this bot'
)
# Synapse lets an account send one event in five seconds once a burst of ten is used up
# (rc_message), and each edit is one.
_CAPABILITIES = PlatformCapabilities(
    draft_interval_s=5.0, max_posts=10, buttons=False, thread_replies=True
)


class MatrixBot(PlatformBot):
    """One account on one homeserver.

    url: the homeserver's. credentials: a token, or a user and a password. encryption: it takes part
    in encrypted rooms.
    """

    platform = SOURCE
    own_ids: frozenset[str] = frozenset()

    _posts: Posts
    _reactions: Reactions

    def __init__(
        self,
        setup: BotSetup,
        url: str,
        credentials: Credentials,
        invites: Welcome,
        *,
        encryption: bool = True,
    ) -> None:
        given = credentials.token or (credentials.user and credentials.password)
        if not given and not is_signed_in(setup):
            raise no_login(setup.name)
        super().__init__(setup, DIALECT)
        self._credentials, self._welcome, self._encrypts = credentials, invites, encryption
        self._api = MatrixApi(url)
        self._directory = Directory(self._api, self._open_event, now=setup.now)
        budget = SendBudget(setup.now)
        self._posts = Posts(self._api, self._directory, encrypts=encryption, budget=budget)
        max_bytes = setup.max_file_bytes or _MAX_FILE_BYTES
        self._files = Files(self._api, setup.files_dir, max_bytes)
        self._reactions = Reactions(self._api, self._posts)

    @property
    def capabilities(self) -> PlatformCapabilities:
        """No drafts while the events that the server allows are needed for answers."""
        drafts = self._posts.budget.has_room(2)
        return _CAPABILITIES if drafts else replace(_CAPABILITIES, draft_interval_s=None)

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when the server won't have
        us (any more)."""
        began_ms = self.setup.now() * 1000
        if self._welcome.is_nobody:
            log.warning("bot.unlisted", bot=self.name, reason=_UNLISTED)
        try:
            was_here = await CredentialStore(self.setup.secrets).load() is not None
            own = await self._come_in()
            cursor = Cursor(self.setup.states, own.user_id)
            await cursor.load()
            if cursor.place.since and self._encrypts and not was_here:
                log.warning("bot.without_keys", bot=self.name, reason=_ELSEWHERE)
            delivery = Delivery(self.name)
            delivery.open(receive)
            handler = EventHandler(
                self.setup, delivery, cursor, self._directory, self._posts, self._files
            )
            loop = SyncLoop(
                self._api,
                self._directory,
                self._posts,
                cursor=cursor,
                backfill=Backfill(self._api, own.user_id, began_ms),
                handler=handler,
                bot=self.name,
            )
            follows = self._welcome.follows
            invites = Invites(self._api, self._directory, cursor, follows, self.name)
            async with invites.open():
                await loop.run(invites)
        finally:
            await self.close()

    async def _come_in(self) -> Account:
        store = CredentialStore(self.setup.secrets)
        own = await sign_in(self._api, store, self._credentials, self.name, self.setup.secret_found)
        await self._directory.introduce(own.user_id)
        self.own_ids = frozenset({f"{SOURCE}:{own.user_id}"})
        self._reactions.user_id = own.user_id
        if self._encrypts:
            await self._open_keys(own)
            assert self._posts.encryption is not None
            await self._posts.encryption.begin()
        return own

    async def _open_keys(self, own: Account) -> None:
        if not own.device_id:
            raise ConfigError(
                f"Matrix bot {self.name!r}: MATRIX_TOKEN belongs to no device, which encryption "
                "needs: log in with a password, or set `encryption = false`"
            )
        if self._posts.encryption is None:
            secrets = self.setup.secrets
            keys = await EncryptionKeys.open(self.setup.own_dir, own, secrets.rows)
            identity = Identity(
                self._api,
                keys,
                KeptRecoveryKey(secrets, self._credentials.recovery_key),
                password=self._credentials.password,
                learned=self.setup.secret_found,
            )
            backup = KeyBackup(self._api, keys, identity, self.setup.own_dir)
            verifications = Verifications(
                self._api,
                keys,
                identity,
                is_owner=self._welcome.is_owner,
                send=self._posts.send,
                now=self.setup.now,
            )
            self._posts.encryption = Encryption(self._api, keys, identity, backup, verifications)

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it again."""
        await self._posts.close()
        await self._directory.close()
        encryption, self._posts.encryption = self._posts.encryption, None
        if encryption is not None:
            await encryption.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """One line for each thing that the homeserver says is missing."""
        try:
            own = await sign_in(
                self._api,
                CredentialStore(self.setup.secrets),
                self._credentials,
                self.name,
                self.setup.secret_found,
            )
            return await self._missing(own)
        finally:
            await self.close()

    async def _missing(self, own: Account) -> list[str]:
        answer = await self._api.get(CLIENT + "/joined_rooms")
        rooms = [str(room) for room in answer.get("joined_rooms") or ()]
        missing = [f"{own.user_id}: {_UNLISTED}"] if self._welcome.is_nobody else []
        if not rooms:
            missing.append(f"{own.user_id} is in no room yet: invite it to one")
        if self._encrypts:
            await self._open_keys(own)
            assert self._posts.encryption is not None
            missing += await self._missing_keys(own, self._posts.encryption)
        else:
            closed = [room for room in rooms if (await self._directory.state(room)).encrypted]
            if closed:
                missing.append(
                    f"{len(closed)} of its rooms are encrypted and can't be read: set "
                    "`encryption = true`"
                )
        return missing

    async def _missing_keys(self, own: Account, encryption: Encryption) -> list[str]:
        if await encryption.on_server() is None:
            return []  # it never ran
        if await encryption.is_itself():
            if why := await encryption.identity.missing():
                return [f"Element refuses to talk with device {own.device_id}: {why}"]
            why = await encryption.backup.missing()
            return [f"its room keys are in no backup: {why}"] if why else []
        return [
            f"the keys of device {own.device_id} are lost and nobody can encrypt for it: log in "
            "again for a new MATRIX_TOKEN (with a password Moot does it by itself when "
            f"{self.setup.own_dir / 'account.json'} is gone)"
        ]

    async def _open_event(self, room_id: str, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return await self._posts.opened(room_id, raw)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its event id. What the server finds too long goes as a file."""
        try:
            return await self._posts.post(place, text, key)
        except MatrixRefused as error:
            if error.status != TOO_LARGE:
                raise
            log.warning("post.as_file", bot=self.name, reason=error)
            return await self.upload(place, "answer.md", text.encode("utf-8", "replace"), "", key)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The event id of the own message that `key` made. `known` isn't needed: each post carries
        its key."""
        return await self._posts.find(place, key, since)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment as its caption; return the event's id."""
        encrypted = await self._posts.is_encrypted(place.room.external_id)
        content = await self._files.content(name, data, comment, encrypted=encrypted)
        return await self._posts.post_content(place, content, key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question, with a keycap to press for each choice and `!1`, `!2` to type."""
        return await self._posts.ask(place, question, key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the order in which the homeserver told of both; events' times are their senders'."""
        return self._posts.follows(message_id, post_id)

    # ── Reactions and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """Show in the room that it types ("" ends it). Never raises."""
        await self._reactions.typing(place.room.external_id, status)

    async def roster(self, room: Room) -> Sequence[Speaker]:
        own = self._directory.own.user_id
        state = await self._directory.state(room.external_id)
        joined = [user for user, how in state.inside.items() if how == "join" and user != own]
        return [state.speaker(user) for user in joined[:MAX_MEMBERS]]
