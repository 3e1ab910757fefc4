"""The question that a typed choice means, by what stood in the room where it was typed. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import cycle
from typing import Literal

from bots.kit.questions import literal
from contract.chat import Room
from contract.language import say
from contract.looks import normalized
from contract.values import dataclass
from gateway.core.quoting import quoted
from gateway.questions.open_question import PendingQuestion
from store.rows import StoredMessage

LETTERS, DIGITS = "abcdefghjkmnpqrstuvwxyz", "23456789"  # none that looks like another
TITLE_CHARS = 60
_CODE = re.compile(r"[a-z][0-9]")
_MENTION = re.compile(r"<@[^<>]*>|@\S+")

Refused = Literal["early", "code", "several", "closed", "elsewhere"]
"""early: it stands before the question. code: only with its code is it sure which one is meant.
several: more than one waits. closed: it is answered already. elsewhere: it replies to a question of
another room."""


def codes() -> Iterator[str]:
    """Codes of questions: none comes again before all others were used, so that an old one is
    nobody's for long."""
    every = [f"{letter}{digit}" for letter in LETTERS for digit in DIGITS]
    random.SystemRandom().shuffle(every)
    return cycle(every)


@dataclass(frozen=True, slots=True)
class TypedChoice:
    """`!1` or `!1 k7`. personas: those whose questions it may answer. option: counted from 0. room:
    where it was typed."""

    option: int
    argument: str
    message: StoredMessage
    personas: Collection[str]
    room: Room

    @property
    def code(self) -> str:
        """What was typed behind the choice but for mentions, as codes are written."""
        words = normalized("NFKC", _MENTION.sub(" ", self.argument)).casefold()
        return "".join(filter(str.isalnum, words))

    def sees(self, entry: PendingQuestion) -> bool:
        """True if the question stands where this was typed: in its room, or its thread."""
        asked = self.message
        theirs = entry.turn.persona in self.personas
        return theirs and entry.is_seen_in(asked.room_id, asked.thread_id)

    def awaits(self, entry: PendingQuestion) -> bool:
        """True if the question is being posted where this was typed."""
        return not entry.standing.is_set() and entry.turn.room.id == self.message.room_id

    def follows(self, entry: PendingQuestion) -> bool | None:
        """True if it stands after the question, by the platform's order; None: nobody knows."""
        if self.message.seq <= entry.after_seq:
            return False
        if not entry.first_id:
            return None
        asked = self.message
        return entry.bot.follows(asked.message_id, asked.sent_at, entry.first_id)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a typed choice answers nothing. about: the questions that it is told of."""

    why: Refused
    about: Sequence[PendingQuestion]

    def line(self, typed: TypedChoice, who: str) -> str:
        """The sentence for whoever typed it, in Markdown."""
        match self.why:
            case "closed":
                return say("{who}, that question is closed already.", who=who)
            case "early":
                return say(
                    "{who}, your answer stands before that question: read it, and answer again.",
                    who=who,
                )
            case "elsewhere":
                return say("{who}, that question stands in another room: answer it there.", who=who)
        said = "; ".join(f"`!{typed.option + 1} {e.code}` answers {_title(e)}" for e in self.about)
        if self.why == "several":
            return say(
                "More than one question waits here: {said}. Or reply to the one you mean.",
                said=said,
            )
        return say("{who}, say which question you mean: {said}.", who=who, said=said)


def _title(entry: PendingQuestion) -> str:
    return f"@{entry.turn.persona}'s ({literal(quoted(entry.question.title, TITLE_CHARS))})"


def meant(
    typed: TypedChoice, waiting: Sequence[PendingQuestion], closed: Collection[PendingQuestion]
) -> PendingQuestion | Refusal | None:
    """The question that a choice means; None: nothing is asked where it was typed."""
    replied = typed.message.reply_to
    if replied and (found := _replied(typed, replied, (*waiting, *closed))):
        return found
    here = [entry for entry in waiting if typed.sees(entry)]
    if typed.code:
        return _coded(typed, here, [entry for entry in closed if typed.sees(entry)])
    if not here:
        return None
    after = [entry for entry in here if typed.follows(entry) is not False]
    if not after:
        return Refusal("early", here[-1:])
    if len(after) > 1:
        return Refusal("several", after)
    return Refusal("code", after) if _is_doubtful(typed, after[0]) else after[0]


def _replied(
    typed: TypedChoice, post: str, every: Sequence[PendingQuestion]
) -> PendingQuestion | Refusal | None:
    """The question whose post was replied to. post: its id."""
    named = [entry for entry in every if post in entry.all_ids]
    to = [entry for entry in named if entry.turn.room.id == typed.message.room_id]
    if not to and named:  # its post was quoted from there; some platforms' ids are a room's own
        return Refusal("elsewhere", named[:1])
    if not to:
        return None
    return Refusal("closed", to) if to[0].closed.is_set() else to[0]


def _coded(
    typed: TypedChoice, here: Sequence[PendingQuestion], closed: Sequence[PendingQuestion]
) -> PendingQuestion | Refusal | None:
    """The question with the code that was typed: whoever knows it has seen the question.

    Other words are a code that went wrong, or a condition that no agent would be told of: they may
    stand behind a no, and never behind what allows something.
    """
    if found := [entry for entry in here if entry.code == typed.code]:
        return Refusal("early", found) if typed.follows(found[0]) is False else found[0]
    if gone := [entry for entry in closed if entry.code == typed.code]:
        return Refusal("closed", gone[-1:])
    if not here:
        return None
    one = here[0] if len(here) == 1 else None
    if one and typed.option in one.ballot.refusing and not _CODE.fullmatch(typed.code):
        return Refusal("early", here) if typed.follows(one) is False else one
    return Refusal("code" if one else "several", here)


def _is_doubtful(typed: TypedChoice, one: PendingQuestion) -> bool:
    """True if another question stood there as well that it may have meant, or nobody knows if it
    was typed after this one. A no does no harm, whichever was meant."""
    if typed.follows(one) is None:
        return True
    if typed.option in one.ballot.refusing:
        return False
    return any(typed.sees(rival) and typed.follows(rival) is not False for rival in one.rivals)
