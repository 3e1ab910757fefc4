"""A permission question while it waits, and what the audit log is told of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime

from bots.bot import Bot
from contract.agent import Question
from contract.chat import Destination, Speaker
from contract.errors import MootError
from contract.language import say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.core.ledger import Turn
from gateway.core.views import OpenQuestion
from gateway.questions.ballot import Ballot
from gateway.settings.access import EVERYBODY

POSTED_S = 2.0  # platforms answer a post within that
TITLE_CHARS = 200
LINE_CHARS = 200  # of what it is about: enough for a command, and no file's body


@dataclass(slots=True)
class PendingQuestion:
    """A question, where it was asked, and what was chosen.

    message_ids: of its posts, the last one is open. all_ids: of its posts, open or not. standing:
    it may be seen in the room. agreed: who allowed it first, where two must. why: why two must.
    danger: why it is a dangerous one. code: what may be typed behind a choice. after_seq: of the
    newest message on disk before it was posted. rivals: what waited in its room beside it.
    """

    question: Question
    turn: Turn
    bot: Bot
    place: Destination
    at: datetime
    expires_at: datetime
    ballot: Ballot
    why: str | None = None
    danger: str | None = None
    code: str = ""
    after_seq: int = 0
    rivals: list[PendingQuestion] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)
    all_ids: list[str] = field(default_factory=list)
    standing: asyncio.Event = field(default_factory=asyncio.Event)
    agreed: tuple[int, Speaker] | None = None
    voters: dict[str, Speaker] = field(default_factory=dict)  # whose role it hung on
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # agreed, or closed
    answer: asyncio.Future[tuple[int, Speaker, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def first_id(self) -> str:
        """The id of its first post; "": it isn't known yet."""
        return self.all_ids[0] if self.all_ids else ""

    @property
    def shown(self) -> Question:
        """The question as it is asked: who agreed already, or that two must; with its code where
        another one waits in the same place."""
        before = say("Two people must agree: ") if self.ballot.needs > 1 else ""
        if self.agreed is not None:
            before = say("{agreed} agreed, one more person must: ", agreed=self.agreed[1].name)
        crowded = any(rival.place.thread_id == self.place.thread_id for rival in self.rivals)
        title = f"{before}{self.question.title}"
        return replace(self.question, title=title, code=self.code, crowded=crowded)

    def beside(self, others: Iterable[PendingQuestion]) -> None:
        """Other questions that wait, and this one, may be taken for each other in one room."""
        for other in others:
            if other.turn.room.id == self.turn.room.id:
                other.rivals.append(self)
                self.rivals.append(other)

    def is_seen_in(self, room_id: str, thread_id: str | None) -> bool:
        """True if who writes there has it before their eyes."""
        return (
            self.standing.is_set()
            and self.turn.room.id == room_id
            and thread_id in (None, self.place.thread_id)
        )

    def card(self, access: Access, name_of: Callable[[str], str]) -> OpenQuestion:
        """The question as the page shows it. name_of: gives an account's name."""
        turn, may_answer = self.turn, None
        who = access.approvers(turn.room, turn.persona)
        if EVERYBODY not in who:
            accounts = sorted(who & access.page_users)
            may_answer = tuple(Speaker(one, name_of(one)) for one in accounts)
        return OpenQuestion(
            self.shown,
            turn.room.id,
            turn.id,
            turn.persona,
            self.at,
            may_answer,
            expires_at=self.expires_at,
            danger=self.danger,
        )

    def close(self) -> None:
        """Nobody can answer it any more."""
        self.rivals.clear()  # those that still wait know of this one
        self.closed.set()
        self.moved.set()


def told(question: Question) -> Mapping[str, str | None]:
    """The part of a question that the audit log keeps: its title, the first line of its
    detail, and a hash of all of that, which proves it to whoever has the text."""
    first = next((line for line in question.detail.splitlines() if line.strip()), "")
    whole = hashlib.sha256(question.detail.encode(errors="replace")).hexdigest()
    return {
        "question": question.id,
        "title": _line(question.title, TITLE_CHARS),
        "first_line": _line(first, LINE_CHARS) or None,
        "sha256": whole if question.detail else None,
    }


def label(question: Question, option: int) -> str:
    """An option in one line."""
    return _line(question.options[option].label, LINE_CHARS)


def _line(text: str, most: int) -> str:
    line = " ".join(text.encode(errors="replace").decode().split())
    return line if len(line) <= most else f"{line[:most]}…"


def refusing(question: Question) -> int:
    """The option that says no; the last one when none says so."""
    if not question.options:
        raise MootError(f"a question without options: {question.id}")
    marked = (i for i, option in enumerate(question.options) if option.refuses)
    return next(marked, len(question.options) - 1)


async def all_stand(entries: Sequence[PendingQuestion]) -> None:
    """Return when they are posted, or after a while: who reads a question may answer it before its
    platform has told that it is there."""
    with suppress(TimeoutError):
        async with asyncio.timeout(POSTED_S):
            for entry in entries:
                await entry.standing.wait()
