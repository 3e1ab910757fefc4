"""Words for the mistakes that Pydantic finds: no one reads its own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

from contract.language import phrase, say

KeyPath = tuple[str | int, ...]
"""The keys and list indexes that lead to a value."""

_TEXT = phrase('must be a text, in quotes: "…"')
_WHOLE = phrase("must be a whole number, without quotes")
_NUMBER = phrase("must be a number, without quotes")
_TRUTH = phrase("must be true or false, in lower case and without quotes")
_LIST = phrase('must be a list: ["…"]')

_WORDS: Mapping[str, str] = {
    "string_type": _TEXT,
    "string_unicode": _TEXT,
    "string_too_long": phrase("may have {max_length} characters at most"),
    "path_type": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": phrase("must be a smaller number"),
    "int_from_float": phrase("must be a whole number, without a point"),
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": phrase("must be a number that has an end"),
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "greater_than": phrase("must be more than {gt}"),
    "greater_than_equal": phrase("must be {ge} or more"),
    "less_than": phrase("must be less than {lt}"),
    "less_than_equal": phrase("must be {le} or less"),
    "multiple_of": phrase("must be a multiple of {multiple_of}"),
    "set_item_not_hashable": phrase('must be a list of texts: ["…"]'),
    "missing": phrase("is missing"),
    "union_tag_not_found": phrase("is missing"),
    "extra_forbidden": phrase("is not a key that Moot knows"),
    "invalid_key": phrase("must have texts as its keys"),
    "json_invalid": phrase("must be JSON"),
    "recursion_loop": phrase("must not hold itself"),
}
_LISTS = frozenset({"tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"})
_TABLES = frozenset({"dict_type", "mapping_type", "model_type", "model_attributes_type"})
_OWN = frozenset({"value_error", "assertion_error"})  # their sentences are ours
_PATTERNS: Mapping[str, str] = {  # by the key
    "room": phrase('must be a room\'s id, e.g. "slack:C06RY3YBSLE"'),
    "language": phrase('must be the code of a language, e.g. "en"'),
    "avatar": phrase('must be the address of a picture, e.g. "https://example.org/ada.png"'),
    "user_id": phrase("must be an id, without blanks or *"),
    "agent_id": phrase("must be an id, without blanks or *"),
    "run_id": phrase("must be an id, without blanks or *"),
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
        return say("must have {n} or more entries", n=context["min_length"])
    if kind == "too_long":
        return say("may have {n} entries at most", n=context["max_length"])
    if kind == "string_too_short":
        least = context.get("min_length", 1)
        if least <= 1:
            return say("must not be empty")
        return say("must have {n} characters or more", n=least)
    if kind == "string_pattern_mismatch":
        key = next((str(part) for part in reversed(path_of(error)) if isinstance(part, str)), "")
        return say(_PATTERNS.get(key) or _NAME_WORDS)
    return say(_WORDS.get(kind, _UNKNOWN), **context)


_UNKNOWN = phrase("is not what belongs here; see docs/configuration.md")
_NAME_WORDS = phrase(
    "must be a name: a lower-case letter, then at most 31 of a-z, 0-9, - and _, e.g. my-project"
)


def example_of(key: str) -> str:
    """A value that a key that must be there may have."""
    return _EXAMPLES.get(key, "…")


def _not_one_of(value: Any, options: str) -> str:
    near = difflib.get_close_matches(str(value).lower(), _QUOTED.findall(options), 1)
    told = {"value": repr(value), "options": options}
    if near:
        return say(
            "{value} is not one of {options}; did you mean {name}?", name=repr(near[0]), **told
        )
    return say("{value} is not one of {options}", **told)


def _of_another_form(error: ErrorDetails) -> str:
    name = ".".join(str(part) for part in path_of(error) if isinstance(part, str))
    given = error["input"]
    if error["type"] in _LISTS:
        two = isinstance(given, dict)
        return say("write [[{name}]], in two brackets", name=name) if two else say(_LIST)
    if isinstance(given, list):
        return say("write [{name}], in one bracket", name=name)
    return say("must be a table: [{name}], with its keys below it", name=name)
