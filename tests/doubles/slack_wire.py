"""What calls of the double's Web API look like on the wire, and how they go wrong."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one call. "429" before anything; "500" and "cut" (the connection
    drops) before or after the call was carried out; "hang": no answer until `release` is set;
    "garbled": 200 and no JSON; "error": ok false with `code`.
    """

    kind: Literal["429", "500", "cut", "hang", "garbled", "error"]
    when: Literal["before", "after"] = "before"
    code: str = ""
    retry_after_s: int = 1
    release: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    args: Json
    token: str


@dataclass(slots=True)
class StoredFile:
    name: str
    mime: str
    data: bytes
    shared: bool = False


async def failed(
    request: web.Request, fault: Fault, when: Literal["before", "after"]
) -> web.StreamResponse | None:
    """The answer of a call that goes wrong now, or None when it goes on."""
    if fault.when != when:
        return None
    match fault.kind:
        case "429":
            body = {"ok": False, "error": "ratelimited"}
            headers = {"Retry-After": str(fault.retry_after_s)}
            return web.json_response(body, status=429, headers=headers)
        case "500":
            return web.Response(text="<html>oops</html>", status=500, content_type="text/html")
        case "cut":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        case "hang":
            assert fault.release is not None
            await fault.release.wait()
            return None
        case "garbled":
            return web.Response(text="{nonsense", content_type="application/json")
        case "error":
            return web.json_response({"ok": False, "error": fault.code})


def token_of(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()


async def args_of(request: web.Request) -> Json:
    """Arguments from wherever a client puts them: query, form, multipart or JSON."""
    args: Json = dict(request.query)
    if request.method == "POST":
        if request.content_type == "application/json":
            args |= await request.json() if request.can_read_body else {}
        else:
            args |= {name: str(value) for name, value in (await request.post()).items()}
    return {name: _decoded(value) for name, value in args.items()}


def _decoded(value: Any) -> Any:
    """Nested arguments come as JSON strings in a form."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
