"""The sentences for those who answer a permission question. Pure."""

from __future__ import annotations

from typing import Literal

from contract.language import phrase, say

Choice = Literal["taken", "agreed", "alone", "closed", "changed", "forbidden", "token", "unknown"]
"""taken: it counts; agreed: likewise, and one more person must choose the same; alone: agreed, and
who agreed before may not answer any more; closed: answered or timed out before; changed: the button
stood under another detail; forbidden: this person may not; token: two people must agree, and a
program is none, in whosever name it speaks."""

IN_PERSON = phrase("answer in the room, or signed in on the page")

_LINES: dict[Choice, str] = {
    "taken": "",
    "forbidden": phrase("you may not answer that: see `approvers` under `[access]`."),
    "closed": phrase("that question is closed already."),
    "unknown": phrase("that question is closed already."),
    "token": phrase("two people must agree to that, and a token is nobody: {in_person}."),
    "changed": phrase(
        "that button is of an earlier form of the question: read its newest post, and answer there."
    ),
    "agreed": phrase("you agreed; one more person must choose the same."),
    "alone": phrase(
        "you agreed; who agreed before may not answer any more, so one more "
        "person must choose the same."
    ),
}


def line_of(choice: Choice, who: str) -> str:
    """The line, in Markdown; "": nothing need be said."""
    if not _LINES[choice]:
        return ""
    return f"{who}, {say(_LINES[choice], in_person=say(IN_PERSON))}"
