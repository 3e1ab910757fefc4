"""The base of a platform's bot."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from bots.bot import Reaction, SecretSink, forget
from bots.kit.cursor import FileSecrets, KeptSecrets, States
from bots.kit.naming import Named, by_names
from bots.kit.questions import question_markdown
from bots.markdown.writer import Dialect
from contract.agent import Question
from contract.chat import Deleted, Destination, Edited, Room, Speaker
from contract.errors import PlatformError
from contract.values import dataclass
from contract.work import Draft


@dataclass(frozen=True, slots=True)
class BotSetup:
    """Every bot is given this, whatever its platform."""

    name: str
    """Unique among the configured bots, e.g. "slack"."""

    personas: tuple[str, ...]
    """Names; the first one answers when no name was said."""

    files_dir: Path
    """Where files of people's messages are kept."""

    own_dir: Path
    """Where the bot keeps what belongs to this machine, as keys; made when it is needed."""

    states: States
    """Where it keeps what it must not forget over a restart, on whichever machine that is."""

    kept_secrets: KeptSecrets | None = None
    """Where it keeps what nobody else may read; None: in files of `own_dir`."""

    require_mention: bool = True
    """False: the gateway answers every message of the bot's rooms."""

    is_named: Named | None = None
    """True if a text names one of the personas; None: by the names above."""

    max_file_bytes: int | None = None
    """The largest file that is kept; None: the platform's own limit."""

    secret_found: SecretSink = forget

    now: Callable[[], float] = time.time
    """The time in seconds since 1970."""

    @property
    def secrets(self) -> KeptSecrets:
        """Keeps its login and its keys."""
        return self.kept_secrets or FileSecrets(self.own_dir)

    def names_us(self, text: str) -> bool:
        """True if a text names one of the personas as people type it."""
        return (self.is_named or by_names(self.personas))(text)


if TYPE_CHECKING:
    from aiohttp import web

log = structlog.stdlib.get_logger("moot.bots")

MAX_MEMBERS = 100
"""A roster is no longer than this."""


class OwnPosts(Protocol):
    """A bot's own messages."""

    async def post(self, place: Destination, text: str, key: str) -> str: ...
    async def edit(self, place: Destination, message_id: str, text: str) -> None: ...
    async def delete(self, place: Destination, message_id: str) -> None: ...
    async def note(self, place: Destination, text: str, key: str) -> str: ...


class OwnReactions(Protocol):
    """A bot's signs on somebody's messages. They never raise."""

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None: ...


class OpenPart(Protocol):
    """A part of a bot that holds something open."""

    async def close(self) -> None: ...


class OwnUploads(Protocol):
    """A bot's own files. comment: in the platform's dialect."""

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str: ...


class PlatformBot:
    """The parts that all bots have, and the answers that most of them give alike."""

    _posts: OwnPosts
    _uploads: OwnUploads
    _reactions: OwnReactions
    _parts: Sequence[OpenPart] = ()

    def __init__(self, setup: BotSetup, dialect: Dialect) -> None:
        self.setup, self._widest = setup, dialect
        self.name: str = setup.name
        self.personas: Sequence[str] = setup.personas
        self.speak(dialect)

    def speak(self, dialect: Dialect) -> None:
        """Cut and write posts in this dialect from now on."""
        self.dialect, self.split = dialect, dialect.split

    def fit(self, most_chars: int | None, spare_chars: int) -> None:
        """Cut posts so that they fit what the server takes; None: it doesn't tell.

        spare_chars: what it may add to a post of ours.
        """
        if most_chars:
            limit = max(min(self._widest.limit, most_chars - spare_chars), most_chars // 2)
            self.speak(replace(self._widest, limit=limit))

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it again."""
        for part in self._parts:
            await part.close()

    async def check(self) -> Sequence[str]:
        """One line with its remedy for each thing that is missing. Raises MootError."""
        try:
            return await self.findings()
        finally:
            await self.close()

    async def findings(self) -> Sequence[str]:
        """The same, from the platform; what is open then stays so."""
        raise NotImplementedError

    def routes(self) -> list[web.RouteDef]:
        """Nothing: most platforms are called, and never call."""
        return []

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its id."""
        return await self._posts.post(place, self.dialect.write(text), key)

    async def draft(self, place: Destination, draft: Draft, key: str) -> str:
        """Post a draft; return its id."""
        return await self.post(place, draft.text, key)

    async def redraft(self, place: Destination, message_id: str, draft: Draft) -> None:
        """Edit the draft."""
        await self.edit(place, message_id, draft.text)

    async def note(self, place: Destination, text: str, key: str) -> str:
        """Post a plain line on the answer above it, as the least that the platform has."""
        return await self._posts.note(place, text, key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._posts.edit(place, message_id, self.dialect.write(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the id of its message."""
        return await self._uploads.upload(place, name, data, self.dialect.write(comment), key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with `!1`, `!2` for its choices."""
        return await self.post(place, question_markdown(question), key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """None: nobody knows, so that a typed choice needs the question's code."""
        return None

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        """None: most platforms tell at once."""
        return None

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """A reaction on somebody's message. Never raises."""
        await self._reactions.react(place, message_id, reaction)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when the platform doesn't say."""
        try:
            return await self.roster(room)
        except PlatformError as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []

    async def roster(self, room: Room) -> Sequence[Speaker]:
        """The same, from the platform. Raises PlatformError."""
        raise NotImplementedError
