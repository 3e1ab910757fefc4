"""Moot's own page as a platform. What its personas say lies in the gateway's own store, and the
page is told of it by the gateway's events: so a post needs no sending, and its key is its id."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime

from aiohttp import web

from bots.bot import PlatformCapabilities, Reaction, Receive
from contract.agent import Question
from contract.chat import Deleted, Destination, Edited, Room, Speaker
from contract.work import Draft


class WebBot:
    """The page's bot. Messages of its people come in by the HTTP API."""

    name = "web"
    platform = "web"
    capabilities = PlatformCapabilities(
        draft_interval_s=None,  # the page is told every snapshot as it happens
        max_posts=1,
        files=False,  # a page scrolls: nothing is too long for it
        reactions=False,  # it shows the turn itself,
        notes=False,  # and what was done in it
    )

    def __init__(self, personas: Sequence[str]) -> None:
        self.personas = personas

    own_ids: frozenset[str] = frozenset()

    async def check(self) -> Sequence[str]:
        """Nothing to check: the page needs no one's permission."""
        return ()

    def routes(self) -> Sequence[web.RouteDef]:
        """The page and the API are the gateway's own."""
        return ()

    async def run(self, receive: Receive) -> None:
        """Nothing comes in this way."""
        await asyncio.Event().wait()

    def split(self, text: str) -> list[str]:
        """One piece, whatever its length."""
        return [text] if text else []

    async def post(self, place: Destination, text: str, key: str) -> str:
        """The key is the id: the same key twice is one message."""
        return key

    async def draft(self, place: Destination, draft: Draft, key: str) -> str:
        """The page has drafts of its own; see `capabilities`."""
        return key

    async def redraft(self, place: Destination, message_id: str, draft: Draft) -> None:
        """The page has drafts of its own; see `capabilities`."""

    async def note(self, place: Destination, text: str, key: str) -> str:
        """The page shows the work itself; see `capabilities`."""
        return key

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """The store has the new text."""

    async def delete(self, place: Destination, message_id: str) -> None:
        """The store knows."""

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """Posting again makes the same message: there is nothing to look for."""
        return None

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Answers are never files here; see `capabilities`."""
        return key

    async def typing(self, place: Destination, status: str) -> None:
        """The page shows the turn's state."""

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """The page shows the turn's state."""

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """The page is told of the question by an event."""
        return key

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """What was on disk before a question was asked is known; all else was said after it."""
        return True

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        """The page's own messages are changed in the store itself."""
        return None

    async def members(self, room: Room) -> Sequence[Speaker]:
        """Whoever opens the page is there; nobody is told of."""
        return ()
