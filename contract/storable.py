"""Text that every database can hold: PostgreSQL takes no NUL, and UTF-8 no half of a pair."""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Halves of surrogate pairs joined, and lone ones as U+FFFD: text that UTF-8 can hold."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(text: str) -> str:
    """The same without NUL."""
    return whole(text.replace("\0", "") if "\0" in text else text)


def storable_value(value: Any) -> Any:
    """A value of JSON with its texts so."""
    match value:
        case str():
            return storable(value)
        case list() | tuple():
            return [storable_value(item) for item in value]
        case dict():
            return {storable_value(key): storable_value(item) for key, item in value.items()}
    return value


def storable_json(value: Any) -> str:
    """A value as JSON that can be stored and looked into."""
    text = json.dumps(value)
    if "\\u0000" in text or "\\ud" in text:
        text = json.dumps(storable_value(value))
    return text
