"""The summary of a thread's earlier messages, as a platform hands it on. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from contract.chat import Speaker

HEADING = "[Thread context — prior messages in this thread, newest last]"
SHOWN, CHARS = 15, 400


def thread_block(lines: Sequence[tuple[Speaker, str]]) -> str | None:
    """The summary of a thread's earlier messages, oldest first; None when there are none."""
    shown = []
    for by, text in lines[-SHOWN:]:
        name = " ".join(by.name.split())
        label = f"{name} ({by.mention})" if by.mention else name
        cut = text if len(text) <= CHARS else text[: CHARS - 1] + "…"
        shown.append(f"- {label}: " + "\n  ".join(cut.splitlines()))
    return "\n".join([HEADING, *shown]) if shown else None
