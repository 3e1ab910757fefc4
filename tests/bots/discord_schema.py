"""What Discord's own OpenAPI says of a call's body and of its answer."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_FILE = Path(__file__).parent / "discord_openapi" / "openapi.json"


@cache
def _openapi() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


def _path(route: str) -> str | None:
    """The path of the OpenAPI for a route of the double: the names in braces differ."""
    bare = re.sub(r"\{\w+\}", "{}", route)
    return next((p for p in _openapi()["paths"] if re.sub(r"\{\w+\}", "{}", p) == bare), None)


def faults(method: str, route: str, value: Any, *, answer: bool) -> list[str] | None:
    """What is wrong with a body or an answer; None: the OpenAPI says nothing of it here."""
    path = _path(route)
    call = _openapi()["paths"].get(path or "", {}).get(method.lower())
    if call is None:
        return None
    part = call["responses"].get("200") if answer else call.get("requestBody")
    if not part or "content" not in part:
        return None
    schema = {
        **part["content"]["application/json"]["schema"],
        "components": _openapi()["components"],
    }
    return [_told(error) for error in Draft202012Validator(schema).iter_errors(value)]


def _told(error: Any) -> str:
    where = "/".join(map(str, error.absolute_path))
    inner = [_told(e) for e in error.context or ()]
    return f"{where}: {error.message[:200]}" + (f" <- {inner}" if inner else "")
