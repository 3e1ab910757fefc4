"""`!why`: what the last answer here was made from, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

from composer import headings
from composer.contents import Contents
from contract.language import phrase, say, say_count
from contract.values import dataclass
from gateway.commands.status import lasting
from gateway.core import views
from gateway.core.ledger import Turn
from gateway.core.quoting import quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.turns.commands import CommandRequest
from gateway.turns.prompt import known_by

NAMED_CHARS = 200  # of people, and of files

_REMEMBERED: Mapping[str, Callable[[int], str]] = {
    headings.RECALL: lambda n: say_count(n, "{n} fact", "{n} facts"),
    headings.PINS: lambda n: say_count(
        n, "{n} thing from earlier conversations", "{n} things from earlier conversations"
    ),
    headings.RECOMMENDATIONS: lambda n: say_count(n, "{n} recommendation", "{n} recommendations"),
    headings.LANDMARKS: lambda n: say_count(n, "{n} pinned decision", "{n} pinned decisions"),
    headings.SUMMARY: lambda n: say("a summary of the last session"),
    headings.OBSERVATIONS: lambda n: say_count(
        n, "{n} note on its own earlier work", "{n} notes on its own earlier work"
    ),
}
_TRIMMED = {
    headings.SESSION: phrase("some of the people"),
    headings.RECALL: phrase("the facts that fit least"),
    headings.PINS: phrase("some of the earlier conversations"),
    headings.RECOMMENDATIONS: phrase("some recommendations"),
    headings.LANDMARKS: phrase("the oldest pinned decisions"),
    headings.SUMMARY: phrase("the end of the summary"),
    headings.OBSERVATIONS: phrase("some notes on its own work"),
    headings.THREAD: phrase("the thread's oldest messages"),
    headings.TRANSCRIPT: phrase("the oldest messages"),
}
_LAYERS = {
    "recall": phrase("facts"),
    "sources": phrase("memories from elsewhere"),
    "insights": phrase("earlier conversations"),
    "landmarks": phrase("pinned decisions"),
    "episodes": phrase("the summary of the last session"),
    "observations": phrase("notes on its own earlier work"),
}
_REASONS = {"took too long": phrase("took too long"), "failed": phrase("failed")}


@dataclass(frozen=True, slots=True)
class WhyCommand:
    """Handles it. public_url: the page's address for people; "": it has none."""

    ledger: SqlLedger
    public_url: str

    async def run(self, request: CommandRequest) -> str:
        """The reply: at most eight lines."""
        last = await self.ledger.last_turn(request.turn.scope, request.thread_id)
        if last is None:
            return say("No agent has answered here yet.")
        lines = [f"- {line}" for line in (*_given(known_by(last)), *_left_out(last), _took(last))]
        if self.public_url:
            url = self.public_url.rstrip("/")
            lines.append(say("- All of it: {url}/#turn/{id}", url=url, id=last.id))
        return "\n".join([_of(last), *lines])


def _of(last: Turn) -> str:
    if number := last.record.get("persona_version"):
        return say(
            "@{persona}'s last answer, with version {number} of its persona, was made from:",
            persona=last.persona,
            number=number,
        )
    return say("@{persona}'s last answer was made from:", persona=last.persona)


def _given(known: Contents) -> Iterator[str]:
    """What the agent was given, a line for each kind."""
    if not known.given:
        yield say("What it was given is not on record any more.")
        return
    if known.people:
        yield say("Who was there: {people}", people=quoted(known.people, NAMED_CHARS))
    if messages := _messages(known):
        yield say("What was said: {messages}", messages=messages)
    if known.files:
        names = quoted(", ".join(known.files), NAMED_CHARS)
        yield say("Files: {names}", names=names)
    remembered = _remembered(known) or say("nothing that fits")
    yield say("What was remembered: {listed}", listed=remembered)


def _messages(known: Contents) -> str:
    counts = {one.kind: one.n for one in known.given}
    told = []
    if n := counts.get(headings.TRANSCRIPT, 0):
        told.append(_in_room(n, known))
    if n := counts.get(headings.THREAD, 0):
        told.append(
            say_count(n, "{n} earlier message of the thread", "{n} earlier messages of the thread")
        )
    return ", ".join(told)


def _in_room(n: int, known: Contents) -> str:
    times = {"first": known.first_at, "last": known.last_at}
    if known.since_reply:
        return say_count(
            n,
            "the message of {last}; it knew the earlier ones from its session",
            "the {n} messages since its answer before, {first} to {last}; it knew the earlier ones "
            "from its session",
            **times,
        )
    return say_count(
        n, "the message of {last}", "the last {n} messages, {first} to {last}", **times
    )


def _remembered(known: Contents) -> str:
    told = []
    for one in known.given:
        if words := _REMEMBERED.get(one.kind):
            what = words(one.n)
            if one.kind == headings.RECALL and known.whose:
                names = quoted(", ".join(known.whose), NAMED_CHARS)
                what = say("{what} about {names}", what=what, names=names)
            told.append(what)
    return ", ".join(told)


def _left_out(last: Turn) -> Iterator[str]:
    """What it was not given, and why."""
    if trimmed := _trimmed(last.record.get("trims", ())):
        yield say("Left out, because a prompt has a limit: {listed}", listed=trimmed)
    missing = [
        f"{say(_LAYERS.get(one.layer, one.layer))} ({say(_REASONS.get(one.reason, one.reason))})"
        for one in views.left_out(last)
    ]
    if missing:
        yield say("Left out of what is remembered: {listed}", listed=", ".join(missing))


def _trimmed(trims: Sequence[Mapping[str, str]]) -> str:
    told: dict[str, None] = {}
    for trim in trims:
        part = trim["what"].startswith("of a ")  # a text that was shortened
        what = phrase("parts of long texts") if part else _TRIMMED.get(trim["section"])
        if what:
            told[say(what)] = None
    return ", ".join(told)


def _took(last: Turn) -> str:
    began, ended = last.states[0][1], last.states[-1][1]
    took = timedelta(microseconds=ended - began)
    if took < timedelta(seconds=1):
        return say("It took less than a second.")
    return say("It took {lasting}.", lasting=lasting(took))
