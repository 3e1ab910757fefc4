"""A slice of chat as a model is given it: data that can't close its own block."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from memory.readable import MessageRange, ReadableMessage

MESSAGE_CHARS = 8_000  # of one message: its first 60 % and its last 30 %


def conversation(slice_: MessageRange) -> str:
    """The messages, a JSON object a line with its number, the speaker's name and the text.

    Numbers count from 1 within the slice: nothing tells how much is said elsewhere. `<` and `>`
    are escaped, so that no text ends the block.
    """
    names = labels(slice_)
    lines = [
        json.dumps({"n": n, "name": names[item.by.id], "text": _cut(item.text)}, ensure_ascii=False)
        for n, item in enumerate(slice_.spoken, 1)
    ]
    block = "\n".join(lines).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<conversation>\n{block}\n</conversation>"


def labels(slice_: MessageRange) -> Mapping[str, str]:
    """Each speaker's name by id, told apart where several have the same."""
    newest = {item.by.id: " ".join(item.by.name.split()) for item in slice_.spoken}
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    for sender, name in newest.items():
        seen[name.casefold()] += 1
        count = seen[name.casefold()]
        names[sender] = name if count == 1 else f"{name} ({count})"
    return names


def tokens(messages: Sequence[ReadableMessage]) -> int:
    """An estimate: four characters a token."""
    return sum(len(item.text) for item in messages) // 4


def _cut(text: str) -> str:
    if len(text) <= MESSAGE_CHARS:
        return text
    first, last = MESSAGE_CHARS * 6 // 10, MESSAGE_CHARS * 3 // 10
    return f"{text[:first]} [... {len(text) - first - last} characters left out ...] {text[-last:]}"
