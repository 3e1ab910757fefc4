"""Answers in JSON that show no value of Moot's: an error, and what a probe is told."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from contract.language import Phrase, as_phrase

NO_STORE = {"Cache-Control": "no-store"}


def plain_answer(value: Any, status: int = 200) -> web.Response:
    """A JSON response that no cache keeps."""
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return web.Response(
        body=body, status=status, content_type="application/json", charset="utf-8", headers=NO_STORE
    )


def error(status: int, message: str | Phrase, field: str | None = None) -> web.Response:
    """The one shape of every error. message: in English; it is told in the caller's language."""
    return plain_answer({"error": {"field": field, "message": str(as_phrase(message))}}, status)
