"""A briefing as JSON, and the JSON Schema of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from composer.cuts import cut_end
from composer.guard import flat
from composer.scene import zone
from contract.briefing import Briefing
from contract.errors import ConfigError
from contract.storable import whole

PATH_CHARS = 200

_SAID = {
    "missing": "is missing",
    "extra_forbidden": "is no field of a briefing",
    "unexpected_keyword_argument": "is no field of a briefing",
    "timezone_aware": "needs its offset from UTC, e.g. 2026-04-21T14:02:00+07:00",
    "string_type": "must be a text",
    "dataclass_type": "must be an object",
}


@cache
def _adapter() -> TypeAdapter[Briefing]:
    return TypeAdapter(Briefing)


def parse_briefing(text: str | bytes) -> Briefing:
    """The briefing that a JSON text holds. Raises ConfigError: one sentence naming the field.

    A lone surrogate escape becomes U+FFFD, as JSON cannot tell it from a typing error.
    """
    try:
        given = json.loads(text, parse_constant=_refuse_constant)
        again = whole(json.dumps(given, ensure_ascii=False))
    except RecursionError:
        raise ConfigError("briefing: is nested too deeply") from None
    except UnicodeDecodeError:
        raise ConfigError("briefing: is not UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"briefing: is not JSON: {error}") from None
    try:
        briefing = _adapter().validate_json(again, strict=True)
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from None
    zone(briefing.timezone)
    return briefing


def briefing_schema() -> dict[str, Any]:
    """The JSON Schema of a briefing."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter().json_schema(),
    }


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _sentence(error: ValidationError) -> str:
    first, *others = error.errors(include_url=False, include_context=False)
    path = [str(part) for part in first["loc"] if not str(part).startswith("literal[")]
    where = cut_end(flat(".".join(path)), PATH_CHARS) or "briefing"
    reason = _SAID.get(first["type"]) or first["msg"][:1].lower() + first["msg"][1:]
    more = f" (and {len(others)} more)" if others else ""
    return f"{where}: {reason}{more}"
