"""A program's own words for what went wrong: the kind of a fault, and what to do. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contract.errors import AgentFault


@dataclass(frozen=True, slots=True)
class Fault:
    """remedy: a sentence for the chat, without its full stop."""

    kind: AgentFault
    remedy: str


AGAIN = "Ask again; if that fails too, say `!new`"
NEW = Fault("context", "Say `!new` to begin a new conversation")

# The first that is found counts: a limit on tokens a minute is no full context, and both words of
# a login and numbers of an HTTP status stand in longer messages.
_RULES = (
    (
        r"ENOSPC|EDQUOT|no space left on|disk (?:is )?full|disk quota|not enough (?:disk )?space",
        Fault("disk", "Free some space on its disk, then ask again"),
    ),
    (
        r"credit balance|insufficient[ _](?:credits?|balance|funds|quota)|billing|payment required"
        r"|\b402\b",
        Fault("limit", "Ask again later, or let an administrator look at its account"),
    ),
    (
        r"\b429\b|rate[ _-]?limit|too many requests|usage[ _]limit|quota|tokens per min"
        r"|resource[ _]?(?:has been )?exhausted",
        Fault("limit", "Ask again in a few minutes"),
    ),
    (r"\b529\b|overloaded|at capacity", Fault("limit", "Ask again in a moment")),
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
        Fault("login", "An administrator must log it in again, or check its key"),
    ),
    (
        r"model[ _](?:not[ _]found|.{0,60}does not exist)|unknown model|invalid model",
        Fault("api", "An administrator must choose another model"),
    ),
    (
        r"ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|fetch failed|getaddrinfo"
        r"|connection (?:error|refused|reset|closed|failed)|could not (?:resolve|connect)"
        r"|network (?:error|is unreachable)|timed?[ -]?out|stream disconnected|\b50[0234]\b"
        r"|internal server error|bad gateway|service unavailable",
        Fault("api", "The API of its model does not answer: ask again in a moment"),
    ),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), fault) for pattern, fault in _RULES)


def fault_in(text: str) -> Fault | None:
    """The meaning of a program's error text; None: nothing that is known.

    Only for what the program shows as an error of its own: an answer may hold the same words.
    """
    return next((fault for pattern, fault in _COMPILED if pattern.search(text)), None)
