"""Attribution for agents called by API: one chat message a turn, and who said it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from composer import headings
from composer.guard import indent, lines
from composer.labels import bare, tagged
from composer.thread import block_items
from contract.chat import IngestMetadata
from contract.values import dataclass

_HEADING = headings.HEADINGS[headings.THREAD].replace("THREAD CONTEXT", "Thread context")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of an API conversation. meta: who said it, for user turns.

    rendered: the text holds its attribution already; text alone never tells.
    """

    role: Literal["user", "assistant"]
    text: str
    meta: IngestMetadata | None = None
    rendered: bool = False


def attribute(turn: Turn) -> Turn:
    """The turn as the model gets it: thread block, prefix, text. Only user turns change, once."""
    if turn.rendered or turn.role != "user" or turn.meta is None:
        return turn
    said = f"{compose_attribution_prefix(turn.meta)} {indent(lines(turn.text))}".rstrip()
    block = compose_thread_context_block(turn.meta)
    return replace(turn, text=f"{block}\n{said}" if block else said, rendered=True)


def compose_attribution_prefix(meta: IngestMetadata) -> str:
    """`[Olivia]:`, or `[Olivia (<@U06STGBF4Q0>)]:` where the platform has mentions."""
    speaker = meta.speaker()
    return f"[{tagged(bare(speaker), speaker)}]:"


def compose_thread_context_block(meta: IngestMetadata) -> str:
    """The thread's earlier messages under their heading; nothing when there are none."""
    items = [f"- {indent(item)}" for item in block_items(meta.thread_context or "")]
    return "\n".join((_HEADING, *items)) if items else ""


_BAKED = re.compile(
    r"\[[A-Z][A-Za-z. ]{0,31} channel:\S+ user:.+?\](?: |$)"  # [Slack channel:C1 user:Name (<@U1>)]
    r"|\[[^\[\]\n]{1,128}\]:(?: |$)"  # [Name]:
)


def strip_baked_prefix(text: str) -> str:
    """Remove one baked prefix, for display only, and only of rows older than the contract.

    In newer rows such a text was typed by its sender and must stay.
    """
    found = _BAKED.match(text)
    return text[found.end() :] if found else text
