"""The sentences for those who answer a permission question. Pure."""

from __future__ import annotations

from typing import Literal

Choice = Literal["taken", "agreed", "alone", "closed", "changed", "forbidden", "token", "unknown"]
"""taken: it counts; agreed: likewise, and one more person must choose the same; alone: agreed, and
who agreed before may not answer any more; closed: answered or timed out before; changed: the button
stood under another detail; forbidden: this person may not; token: two people must agree, and a
program is none, in whosever name it speaks."""

IN_PERSON = "answer in the room, or signed in on the page"

_LINES: dict[Choice, str] = {
    "taken": "",
    "forbidden": "you may not answer that: see `approvers` under `[access]`.",
    "closed": "that question is closed already.",
    "unknown": "that question is closed already.",
    "token": f"two people must agree to that, and a token is nobody: {IN_PERSON}.",
    "changed": "that button is of an earlier form of the question: read its newest post, and "
    "answer there.",
    "agreed": "you agreed; one more person must choose the same.",
    "alone": "you agreed; who agreed before may not answer any more, so one more person must "
    "choose the same.",
}


def line_of(choice: Choice, who: str) -> str:
    """The line, in Markdown; "": nothing need be said."""
    return f"{who}, {_LINES[choice]}" if _LINES[choice] else ""
