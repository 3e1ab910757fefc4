"""Words for the mistakes that Pydantic finds: no one reads its own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

KeyPath = tuple[str | int, ...]
"""The keys and list indexes that lead to a value."""

_TEXT = 'must be a text, in quotes: "…"'
_WHOLE = "must be a whole number, without quotes"
_NUMBER = "must be a number, without quotes"
_TRUTH = "must be true or false, in lower case and without quotes"
_LIST = 'must be a list: ["…"]'

_WORDS: Mapping[str, str] = {
    "string_type": _TEXT,
    "string_unicode": _TEXT,
    "string_too_long": "may have {max_length} characters at most",
    "path_type": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number, without a point",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a number that has an end",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "multiple_of": "must be a multiple of {multiple_of}",
    "set_item_not_hashable": 'must be a list of texts: ["…"]',
    "missing": "is missing",
    "union_tag_not_found": "is missing",
    "extra_forbidden": "is not a key that Moot knows",
    "invalid_key": "must have texts as its keys",
    "json_invalid": "must be JSON",
    "recursion_loop": "must not hold itself",
}
_LISTS = frozenset({"tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"})
_TABLES = frozenset({"dict_type", "mapping_type", "model_type", "model_attributes_type"})
_OWN = frozenset({"value_error", "assertion_error"})  # their sentences are ours
_PATTERNS: Mapping[str, str] = {  # by the key
    "room": 'must be a room\'s id, e.g. "slack:C06RY3YBSLE"',
    "language": 'must be the code of a language, e.g. "en"',
    "avatar": 'must be the address of a picture, e.g. "https://example.org/ada.png"',
    "user_id": "must be an id, without blanks or *",
    "agent_id": "must be an id, without blanks or *",
    "run_id": "must be an id, without blanks or *",
}
_EXAMPLES: Mapping[str, str] = {  # of keys that must be there
    "platform": '"slack"',
    "personas": '["claude"]',
    "persona": '"claude"',
    "agent": "claude-code",
    "room": '"slack:C06RY3YBSLE"',
    "when": '"weekdays 9:00"',
    "text": '"What is left to do?"',
    "people": '["slack:U06STGBF4Q0"]',
    "role": '"member"',
    "url": '"https://chat.example.org"',
    "issuer": '"https://login.example.org"',
    "client_id": '"moot"',
    "kind": '"server"',
    "scope": '"room:slack:C06RY3YBSLE"',
    "input": "3.0",
    "output": "15.0",
}
_QUOTED = re.compile(r"'([^']*)'")


def path_of(error: ErrorDetails) -> KeyPath:
    """Where a mistake is, e.g. ("bots", 0, "platform")."""
    loc = error["loc"]
    if loc[:1] == ("bots",):
        missing = ("platform",) if error["type"].startswith("union_tag") else ()
        loc = (*loc[:2], *loc[3:], *missing)  # without the platform, which chose the table
    return tuple(part for part in loc if part != "[key]")  # the key itself is the mistake


def place_of(error: ErrorDetails) -> str:
    """The key of a mistake, e.g. bots.0.platform."""
    return ".".join(str(part) for part in path_of(error))


def reason_of(error: ErrorDetails) -> str:
    """The mistake as the second half of a sentence, with what to write."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _OWN:
        said = str(context.get("error") or error["msg"].partition(", ")[2])
        return said if said.startswith(("Moot", "I ")) else said[:1].lower() + said[1:]
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        options = context.get("expected") or context.get("expected_tags", "")
        return _not_one_of(context.get("tag", error["input"]), str(options))
    if kind in _LISTS or kind in _TABLES:
        return _of_another_form(error)
    if kind == "too_short":
        return f"must have {context['min_length']} or more entries"
    if kind == "too_long":
        return f"may have {context['max_length']} entries at most"
    if kind == "string_too_short":
        least = context.get("min_length", 1)
        return "must not be empty" if least <= 1 else f"must have {least} characters or more"
    if kind == "string_pattern_mismatch":
        key = next((str(part) for part in reversed(path_of(error)) if isinstance(part, str)), "")
        return _PATTERNS.get(key) or _NAME_WORDS
    return _WORDS.get(kind, "is not what belongs here; see docs/configuration.md").format(**context)


_NAME_WORDS = (
    "must be a name: a lower-case letter, then at most 31 of a-z, 0-9, - and _, e.g. my-project"
)


def example_of(key: str) -> str:
    """A value that a key that must be there may have."""
    return _EXAMPLES.get(key, "…")


def _not_one_of(value: Any, options: str) -> str:
    near = difflib.get_close_matches(str(value).lower(), _QUOTED.findall(options), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{value!r} is not one of {options}{hint}"


def _of_another_form(error: ErrorDetails) -> str:
    name = ".".join(str(part) for part in path_of(error) if isinstance(part, str))
    given = error["input"]
    if error["type"] in _LISTS:
        return f"write [[{name}]], in two brackets" if isinstance(given, dict) else _LIST
    if isinstance(given, list):
        return f"write [{name}], in one bracket"
    return f"must be a table: [{name}], with its keys below it"
