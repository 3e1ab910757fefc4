"""JSON in and out of the HTTP API: a request's object, and a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.errors import Rejected
from contract.language import later, phrase
from gateway.web.plain_json import plain_answer
from gateway.web.rendering import FileId, no_file, to_json
from gateway.web.signin.speaker import Chooser


def answer(value: Any, status: int = 200, file_id: FileId = no_file) -> web.Response:
    """A JSON response that no cache keeps. value: whatever `to_json` takes."""
    return plain_answer(to_json(value, file_id), status)


async def read_object(request: web.Request) -> dict[str, Any]:
    """The body as a JSON object. Raises Rejected, or the HTTP errors 413 and 415."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(
            text=phrase("send JSON, with Content-Type: application/json")
        )
    body = await request.read()
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Rejected("body", "is not UTF-8") from None
    except RecursionError:
        raise Rejected("body", "is nested too deeply") from None
    except ValueError as fault:
        raise Rejected("body", later("is not JSON: {fault}", fault=fault)) from None
    if not isinstance(value, dict):
        raise Rejected("body", "must be a JSON object")
    if b"\\u" in body:
        _refuse_half_characters(value, "body")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse_half_characters(value: object, field: str) -> None:
    """A lone surrogate is half a character: it cannot be written to disk as UTF-8."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Rejected(field, "has half a character (a lone surrogate)") from None
        case list():
            for item in value:
                _refuse_half_characters(item, field)
        case dict():
            for key, item in value.items():
                _refuse_half_characters(key, field)
                _refuse_half_characters(item, key)


class ChoosingBody(BaseModel):
    """Something that somebody decides. by: a sender id, or an object with one."""

    model_config = ConfigDict(strict=True)

    by: str | Chooser


class ChoiceBody(ChoosingBody):
    """An answer to a question. option: index from 0. digest: of the question that was seen."""

    option: int = Field(ge=0)
    digest: str | None = Field(None, max_length=64)


class RoomNameBody(BaseModel):
    """A new room's name."""

    name: str = Field(max_length=80)


Body = TypeVar("Body", bound=BaseModel)


def parse(model: type[Body], raw: Mapping[str, Any]) -> Body:
    """A body of this shape. Raises Rejected naming the first field that is wrong."""
    try:
        return model.model_validate(raw)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        reason = "is required" if first["type"] == "missing" else first["msg"]
        raise Rejected(str(first["loc"][0]), reason) from None
