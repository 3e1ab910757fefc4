"""Platforms' payloads, checked at the door: how their models read, and ways to bear faults."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler

from contract.errors import PlatformError

Outcome = Literal["refused", "retry", "unknown"]
M = TypeVar("M", bound=BaseModel)


LENIENT = ConfigDict(
    extra="ignore",
    frozen=True,
    coerce_numbers_to_str=True,
    populate_by_name=True,
    defer_build=True,
)
"""Of a platform's models: they hold the fields that matter, and the rest is ignored. A start makes
the validators of none but those that something came for."""


def none_as_list(value: object) -> object:
    return [] if value is None else value


def or_none(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Nothing, where it can't be read: the rest of the payload counts."""
    try:
        return read(value)
    except ValidationError:
        return None


def demanded(model: type[M], found: object, what: str, outcome: Outcome = "retry") -> M:
    """The value of an answer that is good for nothing without it. Raises PlatformError.

    what: the answer, for the log. outcome: of a call that gave another one.
    """
    try:
        return model.model_validate(found)
    except ValidationError:
        raise PlatformError(f"{what} can't be read", outcome=outcome) from None


def readable(model: type[M], found: object) -> list[M]:
    """The entries of a list that can be read; none where it is no list."""
    entries = []
    for entry in found if isinstance(found, list) else ():
        try:
            entries.append(model.model_validate(entry))
        except ValidationError:
            continue
    return entries
