"""The subject of a question, as much of it as people will read. Pure."""

from __future__ import annotations

from os.path import commonprefix

DETAIL_CHARS = 1500  # of a command or a file: the beginning and the end


def excerpt(text: str, limit: int = DETAIL_CHARS) -> str:
    """The beginning and the end: what is dangerous may stand in either."""
    if len(text) <= limit + 100:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    return f"{head}\n… ({len(text) - len(head) - len(tail)} characters left out) …\n{tail}"


def changes(old: str, new: str) -> str:
    """The lines that are taken out of a text and put in, between those that stay around them."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    first = len(commonprefix([before, after]))  # noqa: RUF071 - of lines, not characters
    return "\n".join([*(f"-{x}" for x in before[first:]), *(f"+{x}" for x in after[first:])])
