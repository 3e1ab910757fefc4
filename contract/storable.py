"""Text that every database can hold: PostgreSQL takes no NUL, and UTF-8 no half of a pair."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Halves of surrogate pairs joined, and lone ones as U+FFFD: text that UTF-8 can hold."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(text: str) -> str:
    """The same without NUL."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else whole(text)  # a hundred texts a turn, most of them in ASCII


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
    """A value as JSON that can be stored and looked into: in ASCII, other letters as escapes."""
    try:
        text = to_json(value, ensure_ascii=True)
    except PydanticSerializationError:  # half of a pair
        text = b""
    if not text or b"\\u0000" in text:
        text = to_json(storable_value(value), ensure_ascii=True)
    return text.decode()
