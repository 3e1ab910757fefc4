"""What calls of the double's REST API look like on the wire, and how they go wrong."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from typing import Any, Literal

from aiohttp import web

from tests.doubles.slack_wire import Fault

__all__ = ["Fault", "Refusal", "checked", "ddp_form", "failed", "iso", "parsed", "too_many"]

Json = dict[str, Any]

DATES = ("ts", "_updatedAt", "editedAt", "tlm", "pinnedAt", "lm", "_deletedAt")


class Refusal(Exception):
    """`success: false` with this error type."""

    def __init__(self, code: str, text: str = "", status: int = 400) -> None:
        super().__init__(code)
        self.code, self.text, self.status = code, text or code, status

    def response(self) -> web.Response:
        if self.status == 401:
            told = {"status": "error", "message": "You must be logged in to do this."}
            return web.json_response(told, status=401)
        if not self.code:
            return web.json_response({"success": False}, status=self.status)
        error = f"{self.text} [{self.code}]"
        told = {"success": False, "error": error, "errorType": self.code}  # type: ignore[dict-item]
        return web.json_response(told, status=self.status)


def iso(seconds: float) -> str:
    at = datetime.fromtimestamp(seconds, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed(text: str) -> float:
    """Seconds since 1970 of an ISO time."""
    return datetime.fromisoformat(text).timestamp()


def ddp_form(value: Json) -> Json:
    """The same with its dates as DDP writes them."""
    return {k: {"$date": round(parsed(v) * 1000)} if k in DATES else v for k, v in value.items()}


_ACTION = {
    **dict.fromkeys(("type", "text", "url", "image_url", "msg", "webview_height_ratio"), str),
    **dict.fromkeys(("is_webview", "msg_in_chat_window"), bool),
}


def checked(attachments: list[Json]) -> list[Json]:
    """functions/sendMessage.ts, validateAttachmentsActions: known keys have their types."""
    for attachment in attachments:
        for action in attachment.get("actions", ()):
            for name, kind in _ACTION.items():
                if action.get(name) is not None and not isinstance(action[name], kind):
                    raise Refusal("Match error: Failed Match.Where validation")
    return attachments


def too_many(wait_s: float) -> web.Response:
    """ApiClass.ts, enforceRateLimit."""
    text = (
        "Error, too many requests. Please slow down. You must wait "
        f"{int(wait_s)} seconds before trying this endpoint again. [error-too-many-requests]"
    )
    headers = {
        "X-RateLimit-Limit": "10",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(round((time.time() + wait_s) * 1000)),
    }
    return web.json_response({"success": False, "error": text}, status=429, headers=headers)


async def failed(
    request: web.Request, fault: Fault, when: Literal["before", "after"]
) -> web.StreamResponse | None:
    """The answer of a call that goes wrong now, or None when it goes on."""
    if fault.when != when:
        return None
    match fault.kind:
        case "429":
            return too_many(fault.retry_after_s)
        case "500":
            return web.Response(text="<html>oops</html>", status=502, content_type="text/html")
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
            return Refusal(fault.code).response()


async def body_of(request: web.Request) -> Json:
    """Arguments of a call: its query, or its JSON or form."""
    args: Json = dict(request.query)
    if request.method == "POST" and request.can_read_body:
        if request.content_type == "application/json":
            told = json.loads(await request.text() or "{}")
            if not isinstance(told, dict):
                raise Refusal("error-invalid-params", "must be object")
            args |= told
        else:
            args |= dict(await request.post())
    return args


async def pause() -> None:
    """Let others run."""
    await asyncio.sleep(0)
