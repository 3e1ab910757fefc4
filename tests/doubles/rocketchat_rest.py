"""The double's REST API: who calls, how often, and what goes wrong; then `rocketchat_routes`."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.doubles.rocketchat_routes import ROUTES
from tests.doubles.rocketchat_wire import Refusal, body_of, failed, too_many

if TYPE_CHECKING:
    from tests.doubles.rocketchat import RocketChatDouble

Json = dict[str, Any]

_CALLS, _WINDOW_S = 10, 60.0


class Rest:
    def __init__(self, double: RocketChatDouble) -> None:
        self.double = double
        self._called: dict[tuple[str, str], list[float]] = defaultdict(list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        from tests.doubles.rocketchat import Call

        path = request.match_info["route"]
        name, *ids = path.split("/")
        user = self._user(request)
        try:
            args = await body_of(request)
            self.double.calls.append(Call(request.method, name, args, user or ""))
            queue = self.double.faults.get(name)
            fault = queue.pop(0) if queue else None
            if fault and (early := await failed(request, fault, "before")) is not None:
                return early
            if (wait_s := self._wait_s(name, user)) > 0:
                return too_many(wait_s)
            answer = self._answer(request.method, name, ids, args, user)
        except Refusal as refusal:
            return refusal.response()
        if fault and (late := await failed(request, fault, "after")) is not None:
            return late
        left = {"X-RateLimit-Limit": str(_CALLS)} if self._is_counted(user) else {}
        return web.json_response({**answer, "success": True}, headers=left)

    def _user(self, request: web.Request) -> str | None:
        user = self.double.tokens.get(request.headers.get("X-Auth-Token", ""))
        return user if user == request.headers.get("X-User-Id", "") else None

    def _is_counted(self, user: str | None) -> bool:
        if not self.double.limited or not user:
            return False
        return not self.double.may(user, "api-bypass-rate-limit")

    def _wait_s(self, route: str, user: str | None) -> float:
        """Ten calls a minute, for those without the permission."""
        if user is None or not self._is_counted(user):
            return 0.0
        now = time.time()
        calls = self._called[user, route]
        calls[:] = [at for at in calls if now - at < _WINDOW_S]
        if len(calls) >= _CALLS:
            return calls[0] + _WINDOW_S - now
        calls.append(now)
        return 0.0

    def _answer(self, method: str, name: str, ids: list[str], args: Json, user: str | None) -> Json:
        if name == "login":
            return self._login(args)
        if self.double.old_uploads and name == "rooms.media":
            raise Refusal("404", "Not Found", 404)
        route = ROUTES.get(name)
        if route is None or route.method != method:
            raise Refusal("404", "Not Found", 404)
        if name == "settings.public":
            user = user or "nobody"
        if user is None:
            raise Refusal("unauthorized", status=401)
        given = {**args, **{f"/{n}": id_ for n, id_ in enumerate(ids)}}
        unknown = args.keys() - {*route.needs, *route.takes}
        missing = [key for key in route.needs if key not in given]
        if unknown or missing:
            raise Refusal("error-invalid-params", f"unknown {sorted(unknown)}, missing {missing}")
        return route.work(self, user, given)

    def _login(self, args: Json) -> Json:
        username = args.get("user") or args.get("username")
        for user, password in self.double.passwords.items():
            if self.double.users[user]["username"] == username and args.get("password") == password:
                me = self.double.users[user]
                data = {"userId": user, "authToken": self.double.token_of(user), "me": me}
                return {"status": "success", "data": data}
        raise Refusal("unauthorized", status=401)

    async def download(self, request: web.Request) -> web.Response:
        from tests.doubles.rocketchat import Call

        user = self._user(request)
        file = self.double.files.get(request.match_info["file"])
        self.double.calls.append(Call("GET", "file-upload", dict(request.match_info), user or ""))
        if file is None:
            return web.Response(status=404)
        if user is None or not self.double.is_member(file.rid, user):
            return web.Response(status=403)
        return web.Response(body=file.data, content_type=file.mime)
