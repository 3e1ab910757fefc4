"""The double's side of the wire: its Web API, sockets, uploads and downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.doubles.slack_app import App
from tests.doubles.slack_scopes import Refusal, needed_scopes
from tests.doubles.slack_web import METHODS
from tests.doubles.slack_wire import Call, args_of, failed, token_of
from tests.doubles.uploads import bytes_of

if TYPE_CHECKING:
    from tests.doubles.slack import SlackDouble

Json = dict[str, Any]


def carried_out(slack: SlackDouble, method: str, args: Json, token: str) -> Json:
    """The call's answer, after what it does."""
    try:
        app = _caller(slack, method, token)
        if method not in METHODS:
            raise Refusal("unknown_method")
        if missing := sorted(needed_scopes(slack, method, args) - app.scopes):
            provided = ",".join(sorted(app.scopes))
            raise Refusal("missing_scope", needed=missing[0], provided=provided)
        return {"ok": True, **METHODS[method](slack, app, args)}
    except Refusal as refusal:
        return {"ok": False, "error": refusal.code, **refusal.more}


def _caller(slack: SlackDouble, method: str, token: str) -> App:
    """The app that calls, with the right one of its tokens."""
    if not token:
        raise Refusal("not_authed")
    for app in slack.apps:
        right = app.app_token if method == "apps.connections.open" else app.bot_token
        if token == right:
            return app
        if token in (app.app_token, app.bot_token):
            raise Refusal("not_allowed_token_type")
    raise Refusal("invalid_auth")


class Server:
    """What listens for one double."""

    def __init__(self, slack: SlackDouble) -> None:
        self._slack = slack

    def routes(self) -> list[web.RouteDef]:
        """All of them."""
        return [
            web.route("*", "/api/{method}", self._api),
            web.get("/link", self._link),
            web.post("/upload/{file}", self._upload),
            web.get("/files/{file}/{name}", self._download),
        ]

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method, args, token = (
            request.match_info["method"],
            await args_of(request),
            token_of(request),
        )
        token = token or str(args.pop("token", ""))
        scopes = next((app.scopes for app in self._slack.apps if app.bot_token == token), set())
        self._slack.calls.append(Call(method, args, token))
        queue = self._slack.faults.get(method)
        fault = queue.pop(0) if queue else None
        if fault and (early := await failed(request, fault, "before")) is not None:
            return early
        answer = self._slack.answer(method, args, token)
        if fault and (late := await failed(request, fault, "after")) is not None:
            return late
        return web.json_response(answer, headers={"X-OAuth-Scopes": ",".join(sorted(scopes))})

    async def _link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        app = next(
            (a for a in self._slack.apps if ticket in a.delivery.tickets), self._slack.apps[0]
        )
        return await app.delivery.link(request)

    async def _upload(self, request: web.Request) -> web.Response:
        file = self._slack.files[request.match_info["file"]]
        if request.content_type.startswith("multipart/"):
            part = next(iter((await request.post()).values()))
            file.data = bytes_of(part) if isinstance(part, web.FileField) else str(part).encode()
        else:
            file.data = await request.read()
        return web.Response(text=f"OK - {len(file.data)}")

    async def _download(self, request: web.Request) -> web.Response:
        file = self._slack.files[request.match_info["file"]]
        token = token_of(request)
        self._slack.downloads.append(token)
        if not any(
            token == app.bot_token and "files:read" in app.scopes for app in self._slack.apps
        ):
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        return web.Response(body=file.data, content_type=file.mime)
