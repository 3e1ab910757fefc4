"""Signs that the bot is there: reactions on a message, typing in a room. Best effort.

Each reaction, and each one taken back, is an event that counts against the account's rate limit:
marks are left out while answers need what is left of it.
"""

from __future__ import annotations

import asyncio
from uuid import uuid4

import structlog

from bots.bot import Reaction
from bots.kit.reactions import BEFORE, EMOJI
from bots.kit.recent import Recent
from bots.matrix.api import CLIENT, RELATIONS, MatrixApi, MatrixRefused, path
from bots.matrix.posts import Posts
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_TYPING_MS = 20_000  # the gateway renews the sign every 8 s
_LONGEST_WAIT_S = 25  # the gateway gives a mark 30 s
_REMEMBERED = 1_000
# Events that a mark brings with it: itself, those that take its place, each one's removal.
_EVENTS: dict[Reaction, int] = {"waiting": 5, "working": 3, "done": 1, "failed": 1}


class Reactions:
    def __init__(self, api: MatrixApi, posts: Posts) -> None:
        self._api, self._posts = api, posts
        self.user_id = ""
        self._silent: set[str] = set()  # rooms in which signs are refused
        self._shown: Recent[str, tuple[Reaction, str]] = Recent(
            _REMEMBERED
        )  # and the reaction's id

    async def typing(self, room_id: str, status: str) -> None:
        where = CLIENT + path("rooms", room_id, "typing", self.user_id)
        body: dict[str, object] = {"typing": bool(status)}
        if status:
            body["timeout"] = _TYPING_MS
        try:
            await self._api.put(where, body)
        except PlatformError as error:
            log.info("sign.failed", reason=error)

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        room_id = place.room.external_id
        before = self._shown.get(message_id)
        if room_id in self._silent or (before and before[0] == reaction):
            return
        try:
            if before and reaction in ("done", "failed"):
                await self._wait_for_room(2)  # else a message would look unfinished for ever
            if self._posts.budget.has_room(_EVENTS[reaction] + bool(before)):
                await self._replace(room_id, message_id, reaction)
        except MatrixRefused as error:
            log.info("sign.given_up", room=room_id, reason=error)
            self._silent.add(room_id)
        except PlatformError as error:
            log.info("sign.failed", reason=error)

    async def _wait_for_room(self, events: int) -> None:
        for _ in range(_LONGEST_WAIT_S):
            if self._posts.budget.has_room(events):
                return
            await asyncio.sleep(1.0)

    async def _replace(self, room_id: str, message_id: str, reaction: Reaction) -> None:
        before = self._shown.get(message_id)
        event_id = await self._posts.react(room_id, message_id, EMOJI[reaction], uuid4().hex)
        self._shown[message_id] = reaction, event_id
        for old in [before[1]] if before else await self._earlier(room_id, message_id, reaction):
            await self._posts.redact(room_id, old)

    async def _earlier(self, room_id: str, message_id: str, reaction: Reaction) -> list[str]:
        """Reactions of ours that an earlier process put there."""
        olds = {EMOJI[old] for old in BEFORE[reaction]}
        if not olds:
            return []
        annotations = path("rooms", room_id, "relations", message_id, "m.annotation", "m.reaction")
        answer = await self._api.get(RELATIONS + annotations, limit=50)
        return [
            str(event.get("event_id"))
            for event in answer.get("chunk") or ()
            if event.get("sender") == self.user_id
            and ((event.get("content") or {}).get("m.relates_to") or {}).get("key") in olds
        ]
