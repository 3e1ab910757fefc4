"""The documents of the page, its files, and what a machine asks of it."""

from __future__ import annotations

import html
from collections.abc import Callable

from aiohttp import web

from contract.values import dataclass
from gateway.web.auth import CSP, Credentials
from gateway.web.body import answer
from gateway.web.front.assets import Assets
from gateway.web.monitor import Monitor
from gateway.web.plain_json import error
from gateway.web.signin.caller import RequestRefused, set_caller
from gateway.web.signin.oidc_api import BACK

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' text format
WORKER = "service_worker-"
FRAMED = {
    CSP: "sandbox allow-scripts; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""For a document that stands in a frame of the page: what else it may do, it says itself."""
FAULT = '<p class="fault" id="fault" role="alert">'  # in signin.html, for a reason


@dataclass(frozen=True, slots=True)
class Front:
    """The page itself, its files, and what a machine asks of it."""

    monitor: Monitor
    credentials: Credentials
    assets: Assets
    tells_metrics: bool = True

    @property
    def open(self) -> frozenset[str]:
        """Paths of the files that the form to sign in is made of."""
        return frozenset(f"/static/{name}" for name in self.assets.parts["signin.html"])

    def routes(self) -> list[web.RouteDef]:
        """Every route outside /api but the page's own document."""
        return [
            web.get("/sign-in", self.sign_in),
            web.get("/static/{name:.+}", self.static),
            web.get("/healthz", self.health),
            web.get("/metrics", self.metrics),
        ]

    def document(self, request: web.Request, name: str, fill: Callable[[str], str]) -> web.Response:
        """A document with what `fill` puts into it for whoever asks: nobody keeps it."""
        themed = self.assets.themed(name, request)
        return web.Response(
            text=fill(self.assets.files[themed].body.decode()), content_type="text/html",
            headers={"Cache-Control": "no-store", CSP: self.assets.policies[name]},
        )  # fmt: skip

    async def _document(self, request: web.Request, name: str, status: int = 200) -> web.Response:
        return await self.assets.answer(request, self.assets.themed(name, request), status)

    async def sign_in(self, request: web.Request) -> web.Response:
        return await self._document(request, "signin.html")

    async def static(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.assets.files or self.assets.is_document(name):
            return error(404, "there is no such file")
        response = await self.assets.answer(request, name)
        if name.endswith(".html"):
            response.headers.update(FRAMED)
        if name.startswith(WORKER):
            response.headers["Service-Worker-Allowed"] = "/"  # the whole page is in its care
        return response

    async def health(self, request: web.Request) -> web.Response:
        health = await self.monitor.health()
        status = 200 if health.ok else 503
        told = {"store": health.store} if health.store else {}
        try:
            caller = self.credentials.caller(request, "GET /healthz detail")
        except RequestRefused:
            return answer({"ok": health.ok, **told}, status)
        set_caller(request, caller)
        return answer({"ok": health.ok, **told, "detail": health.detail}, status)

    async def metrics(self, request: web.Request) -> web.Response:
        if not self.tells_metrics:
            return error(404, "the figures are off: [telemetry] metrics in moot.toml")
        headers = {"Content-Type": METRICS_TYPE, "Cache-Control": "no-store"}
        return web.Response(body=await self.monitor.metrics(), headers=headers)

    def refusal(self, refused: RequestRefused) -> web.Response:
        """The form to sign in, with the reason in it."""
        page, said = (
            self.assets.files["signin.html"].body.decode(),
            html.escape(f"{refused.phrase}."),
        )
        return web.Response(
            text=page.replace(FAULT, FAULT + said), status=refused.status,
            content_type="text/html",
            headers={"Cache-Control": "no-store", CSP: self.assets.policies["signin.html"]},
        )  # fmt: skip

    async def turn_away(self, request: web.Request, refused: RequestRefused) -> web.Response:
        """The answer to somebody who may not come in: a person gets the form to sign in."""
        person = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
        if person and request.path == BACK:
            return self.refusal(refused)
        if refused.status == 401 and person and not request.path.startswith("/api/"):
            return await self._document(request, "signin.html", 401)
        return await plainly(request, refused)


async def plainly(request: web.Request, refused: RequestRefused) -> web.Response:
    """The answer to somebody who may not come in, as one JSON error."""
    response = error(refused.status, refused.phrase)
    if refused.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="moot"'
    if refused.retry_s is not None:
        response.headers["Retry-After"] = str(refused.retry_s)
    return response
