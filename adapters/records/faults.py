"""A program's own words for what went wrong: the kind of a fault, and the line for people. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from contract.errors import AgentFault
from contract.language import Phrase, later, phrase
from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """remedy: a sentence for the chat, with its full stop."""

    kind: AgentFault
    remedy: str


AGAIN = phrase("Ask again; if that fails too, say `!new`.")
IN_MINUTES = phrase("Ask again in a few minutes.")
IN_A_MOMENT = phrase("Ask again in a moment.")
BEGIN_NEW = phrase("Say `!new` to begin a new conversation.")
OTHER_MODEL = phrase("An administrator must choose another model.")
NEW = Fault("context", BEGIN_NEW)

# The first that is found counts: a limit on tokens a minute is no full context, and both words of
# a login and numbers of an HTTP status stand in longer messages.
_RULES = (
    (
        r"ENOSPC|EDQUOT|no space left on|disk (?:is )?full|disk quota|not enough (?:disk )?space",
        Fault("disk", phrase("Free some space on its disk, then ask again.")),
    ),
    (
        r"credit balance|insufficient[ _](?:credits?|balance|funds|quota)|billing|payment required"
        r"|\b402\b",
        Fault("limit", phrase("Ask again later, or let an administrator look at its account.")),
    ),
    (
        r"\b429\b|rate[ _-]?limit|too many requests|usage[ _]limit|quota|tokens per min"
        r"|resource[ _]?(?:has been )?exhausted",
        Fault("limit", IN_MINUTES),
    ),
    (r"\b529\b|overloaded|at capacity", Fault("limit", IN_A_MOMENT)),
    (
        r"prompt (?:is )?too long|request too large"
        r"|(?:input|conversation|context) (?:is )?too (?:long|large)"
        r"|context[ _-]?(?:length|window|size)|maximum context"
        r"|token count .{0,40}exceeds|too many (?:input )?tokens",
        NEW,
    ),
    (
        r"\b401\b|unauthori[sz]ed|not logged in|not authenticated|authentication"
        r"|log ?in (?:to|again|first)|please (?:log|sign) ?in"
        r"|(?:invalid|incorrect|missing|expired|no) (?:api[ _-]?)(?:key|token)"
        r"|api key (?:not|is|was)"
        r"|(?:token|credentials|session) (?:has |have )?expired",
        Fault("login", phrase("An administrator must log it in again, or check its key.")),
    ),
    (
        r"model[ _](?:not[ _]found|.{0,60}does not exist)|unknown model|invalid model",
        Fault("api", OTHER_MODEL),
    ),
    (
        r"ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|fetch failed|getaddrinfo"
        r"|connection (?:error|refused|reset|closed|failed)|could not (?:resolve|connect)"
        r"|network (?:error|is unreachable)|timed?[ -]?out|stream disconnected|\b50[0234]\b"
        r"|internal server error|bad gateway|service unavailable",
        Fault("api", phrase("The API of its model does not answer: ask again in a moment.")),
    ),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), fault) for pattern, fault in _RULES)


def fault_in(text: str) -> Fault | None:
    """The meaning of a program's error text; None: nothing that is known.

    Only for what the program shows as an error of its own: an answer may hold the same words.
    """
    return next((fault for pattern, fault in _COMPILED if pattern.search(text)), None)


# ── The line that people read ───────────────────────────────────────────────────────────

SAID_CHARS = 200  # a sentence or two; more is for the log
_DRAWN = re.compile("[\u2500-\u259f\u25a0-\u25ff\u2800-\u28ff\u2b1b-\u2b1e]+")  # bars and spinners
_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)*)')
_MEMBERS = ("details", "message", "error", "detail", "errorMessage")


def line(subject: str | Phrase, said: str, remedy: str) -> Phrase:
    """What went wrong and what to do, e.g. "Codex: It is too busy. Ask again in a moment."."""
    return later(
        "{subject}: {said} {remedy}", subject=subject, said=ended(said), remedy=Phrase(remedy)
    )


def reports(title: str) -> Phrase:
    """The subject where a program shows an error."""
    return later("{title} reports an error", title=title)


def ended(said: str) -> str:
    """A program's words for an error as a sentence."""
    said = sentence(said)
    return said if said.endswith(("…", "!", "?")) else f"{said}."


def sentence(said: str, most: int = SAID_CHARS) -> str:
    """A program's words for an error, on one line and without a full stop.

    Of an error as JSON the message in it, even if the end of that is cut off. What is too long is
    cut behind a word.
    """
    said = " ".join(_DRAWN.sub(" ", _unwrapped(said)).split()).rstrip(". ")
    if len(said) <= most and not said.endswith("…"):
        return said
    kept = said.removesuffix("…")
    kept = kept[: most - 1].rpartition(" ")[0] if len(said) > most or kept[-1:].isalnum() else kept
    return f"{(kept or said[: most - 1]).rstrip(' .,:;…')}…"


def _unwrapped(said: str) -> str:
    """The words before an error as JSON and in it, e.g. of `[API Error: {"message": "No"}]`."""
    before, brace, _ = said.partition("{")
    if not brace:
        return said
    found = dig(said[len(before) : said.rfind("}") + 1])
    if not found or found.startswith("{"):  # its end is missing
        match = _MESSAGE.search(said)
        found = _unescaped(match[1]) if match else ""
    return f"{before.lstrip('[')}{found}" if found else said


def _unescaped(inner: str) -> str:
    try:
        return str(json.loads(f'"{inner.rstrip(chr(92))}"'))
    except ValueError:
        return inner


def dig(value: object, depth: int = 8) -> str:
    """The most telling text in an error, which may hold another one as JSON."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value.lstrip().startswith("{") else None
        except (ValueError, RecursionError):
            inner = None
        return (dig(inner, depth - 1) if inner and depth else "") or value
    if isinstance(value, Mapping) and depth:
        return next((found for key in _MEMBERS if (found := dig(value.get(key), depth - 1))), "")
    return ""
