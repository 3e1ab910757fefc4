"""The person in whose name a program acts."""

from __future__ import annotations

from pydantic import BaseModel, Field

from contract.chat import EXTERNAL_ID, SOURCE, Speaker
from contract.errors import Rejected


class Chooser(BaseModel):
    """The person who answers a question."""

    id: str
    name: str = Field("", max_length=200)


def speaker_of(given: str | Chooser) -> Speaker:
    """The person who does it. Raises Rejected when the id is none."""
    by = Chooser(id=given, name="") if isinstance(given, str) else given
    source, _, external = by.id.partition(":")
    if not (SOURCE.fullmatch(source) and EXTERNAL_ID.fullmatch(external)):
        raise Rejected("by", "must be <source>:<external id>, without blanks or *")
    return Speaker(by.id, by.name.strip() or external)
