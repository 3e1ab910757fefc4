"""The bot of a platform, as the gateway sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from contract.agent import Question
from contract.chat import Deleted, Destination, Edited, Event, Room, Speaker
from contract.values import dataclass
from contract.work import Draft

if TYPE_CHECKING:
    from aiohttp import web

Receive = Callable[[Event], Awaitable[None]]
"""Takes one event; returns when it is on disk. Raises Rejected when the contract is broken."""

SecretSink = Callable[[str], None]
"""Told of a secret that no configuration names: a token that a login gave."""

Reaction = Literal["waiting", "working", "done", "failed"]
"""An acknowledgement on somebody's message: a reaction where the platform has them."""


def forget(_secret: str) -> None:
    """Nobody keeps it."""


@dataclass(frozen=True, slots=True)
class PlatformCapabilities:
    """The gateway reads these instead of asking which platform it is.

    draft_interval_s: the least time between two edits of one draft; None: no drafts.
    max_posts: an answer that needs more posts than this ends with a file that holds all of it.
    nests_fences: code may hold three backticks; elsewhere it is a file as well, to be copied.
    thread_replies: in a room, an answer begins a thread under the message that asked.
    file_bytes: the largest file that it takes; None: larger ones than Moot posts.
    whispers: a line of Moot's own on somebody's message can be shown to that person alone.
    notes: what was done for an answer is noted under it; elsewhere the answer shows it itself.
    """

    draft_interval_s: float | None
    max_posts: int = 10
    files: bool = True
    buttons: bool = True
    reactions: bool = True
    thread_replies: bool = False
    file_bytes: int | None = None
    whispers: bool = False
    notes: bool = True
    nests_fences: bool = True


class Bot(Protocol):
    """A platform. Texts are Markdown (CommonMark with tables); the bot writes its own markup.

    Every method raises PlatformError; its `outcome` tells whether the call may have happened.
    `key` names a post for ever: the same key twice must not make two posts where the platform
    has idempotent sends; elsewhere `find` looks for it.
    """

    @property
    def name(self) -> str:
        """Unique among the configured bots, e.g. "slack"."""

    @property
    def platform(self) -> str:
        """The `source` of its messages."""

    @property
    def personas(self) -> Sequence[str]:
        """Names; the first one answers when no name was said."""

    @property
    def capabilities(self) -> PlatformCapabilities:
        """The platform's limits, as they are now."""

    @property
    def own_ids(self) -> frozenset[str]:
        """Sender ids (`<source>:<external id>`) of its own account; empty until it has connected.

        What comes from them is never somebody's message, through whichever bot it is heard.
        """

    async def check(self) -> Sequence[str]:
        """One line with its remedy for each thing that is missing (a scope, an intent, a role).

        Asks the platform, and changes nothing there. Raises MootError when it won't have us at all.
        """

    def routes(self) -> Sequence[web.RouteDef]:
        """Routes that the gateway's server mounts for the platform; they check who calls."""

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. May raise; the gateway starts it again."""

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post; no code block, table row or grapheme is torn.

        A code block that must be divided has its fence closed and opened again.
        """

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return the platform's id of the message."""

    async def draft(self, place: Destination, draft: Draft, key: str) -> str:
        """Show what there is of an answer so far, as a post that `redraft` changes and that `edit`
        completes; return its id."""

    async def redraft(self, place: Destination, message_id: str, draft: Draft) -> None:
        """Show what there is by now."""

    async def note(self, place: Destination, text: str, key: str) -> str:
        """Post a plain line of Moot's own on the answer above it, as the least that the platform
        has; return its id. Nobody's words: it is never taken for a message."""

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace the text of an own message."""

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The id of the own message that `key` may have made, or None when there is none.

        since: when the question was sent, by the platform's clock; the answer is not older.
        known: ids of own messages that belong to other keys.
        """

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the id of the message or file."""

    async def typing(self, place: Destination, status: str) -> None:
        """Show that the agent works ("" ends it). Best effort: never raises."""

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Acknowledge somebody's message. Best effort: never raises."""

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with its choices as buttons or as `!1`, `!2`; return its id."""

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """True if somebody's message stands after an own post, by the platform's own order of both
        and by no clock of this machine; None: the platform doesn't say."""

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        """What became of somebody's message, where the platform may not have told it yet; None:
        nothing, or it isn't known. Never raises, and takes no longer than some seconds."""

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The people in the room, as far as the platform says; empty when it doesn't."""
