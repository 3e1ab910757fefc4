"""Ids of people and rooms, `<source>:<external id>`; a person's may have a source's alias there."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

from contract.chat import EXTERNAL_ID, SOURCE, SOURCE_ALIASES

EXAMPLE = "an id is <platform>:<external id>, e.g. slack:U06STGBF4Q0"
_SOURCES = {alias: source for source, alias in SOURCE_ALIASES.items()}


@lru_cache(4096)  # every message asks for the same few, some ten times
def unaliased(person_id: str) -> str:
    """A person's id by its source's full name."""
    prefix, colon, external = person_id.partition(":")
    return f"{_SOURCES.get(prefix, prefix)}{colon}{external}"


def is_person_id(text: str) -> bool:
    """True if it is the id of one person: no `*`, no white space, nothing empty."""
    source, colon, external = text.partition(":")
    return bool(colon and SOURCE.fullmatch(source) and EXTERNAL_ID.fullmatch(external))


def room_fault(text: str) -> str:
    """The reason why it is not the id of one room; "": it is."""
    if is_person_id(text):  # of the same form
        return ""
    return f"{text!r} is no room's id, e.g. slack:C06RY3YBSLE"


def _rooms(ids: frozenset[str]) -> frozenset[str]:
    for fault in filter(None, map(room_fault, sorted(ids))):
        raise ValueError(fault)
    return ids


RoomIds = Annotated[frozenset[str], AfterValidator(_rooms)]
"""Rooms in moot.toml."""
