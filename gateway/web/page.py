"""Moot's own page and its HTTP API as one aiohttp server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Protocol

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from contract.errors import MootError, Rejected
from contract.language import accepted, known, phrase, speaking
from contract.values import dataclass
from gateway.core.redaction import Redactor
from gateway.web import auth
from gateway.web.access.api import AccessApi
from gateway.web.admin.api import AdminApi
from gateway.web.admin.connect import ConnectApi
from gateway.web.audit_api import AuditApi
from gateway.web.auth import Credentials
from gateway.web.chat_api import ChatApi
from gateway.web.front.assets import Assets
from gateway.web.front.front import Front, plainly
from gateway.web.front.standby import Standby
from gateway.web.front.start_api import StartApi
from gateway.web.listening.connection import ConnectionLimits
from gateway.web.listening.held import HeldOpen
from gateway.web.listening.listener import is_cut_short, listening
from gateway.web.memory.api import MemoryApi
from gateway.web.messages.api import MessagesApi
from gateway.web.page_address import PageAuth
from gateway.web.persona_api import PersonaApi
from gateway.web.plain_json import error
from gateway.web.rendering import event_json
from gateway.web.schedules_api import SchedulesApi
from gateway.web.services import Services
from gateway.web.settings.api import SettingsApi
from gateway.web.signin.api import SignInApi
from gateway.web.signin.caller import RequestRefused, set_caller
from gateway.web.signin.oidc_api import OidcApi
from gateway.web.signin.owner_api import PagePeopleApi
from gateway.web.signin.rooms import RoomGuard
from gateway.web.stream import Hub
from gateway.web.uploads import Uploads
from gateway.web.usage_api import UsageApi

log = structlog.stdlib.get_logger("moot.gateway")

_MADE_HERE = ("application/json", "text/plain")
LANGUAGE = "moot-language"  # the cookie: what somebody chose on the page
HEALTH = "GET /healthz"
SHUTDOWN_S = 3.0  # a caller who waits for a reply is let go; their message is on disk


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How the page is served. port 0: any free one. Sizes bound one request. redactor: takes
    secrets out of whatever is answered. metrics: serve /metrics. webhooks: where platforms' calls
    come in, host and port; None: where the page is. shutdown_s: requests may
    take so long at the end.
    """

    files: Path
    fetch: Callable[[str], Awaitable[None]] | None = None  # see Uploads
    host: str = "127.0.0.1"
    port: int = 0
    access: PageAuth = field(default_factory=PageAuth)
    most_body_bytes: int = 2 << 20
    most_file_bytes: int = 25 << 20
    wait_s: float = 300.0
    redactor: Redactor = field(default_factory=Redactor)
    metrics: bool = True
    webhooks: tuple[str, int] | None = None
    shutdown_s: float = SHUTDOWN_S
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)


@asynccontextmanager
async def open_page(
    services: Services,
    settings: PageSettings,
    webhooks: Sequence[web.RouteDef] = (),
    standby: Standby | None = None,
) -> AsyncIterator[str]:
    """Serve until the block ends; gives the page's address. Raises ConfigError.

    webhooks: what platforms call; these routes check their callers themselves. standby: of a
    gateway that doesn't lead.
    """
    own = settings.webhooks
    app = make_app(services, settings, () if own else webhooks, standby)
    async with _served(app, settings, "listen", settings.host, settings.port) as url:
        if own is None:
            yield url
            return
        hooks = _webhooks_app(settings, webhooks)
        async with _served(hooks, settings, "webhooks_listen", *own) as at:
            log.info("webhooks.listening", url=at)
            yield url


@asynccontextmanager
async def _served(
    app: web.Application, settings: PageSettings, key: str, host: str, port: int
) -> AsyncIterator[str]:
    """Serve an application; gives its address. key: which names it under [gateway]."""
    limits, shutdown_s = settings.connections, settings.shutdown_s
    async with listening(app, f"gateway.{key}", host, port, limits, shutdown_s=shutdown_s) as at:
        host, port = at
        yield f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _webhooks_app(settings: PageSettings, webhooks: Sequence[web.RouteDef]) -> web.Application:
    """What platforms call, and nothing else."""
    app = web.Application(
        middlewares=[_cleaning(settings.redactor), _answering(plainly)],
        client_max_size=settings.most_body_bytes,
    )
    app.add_routes(webhooks)
    app.on_response_prepare.append(_add_headers)
    return app


def make_app(
    services: Services,
    settings: PageSettings,
    webhooks: Sequence[web.RouteDef] = (),
    standby: Standby | None = None,
) -> web.Application:
    """The application. standby: see `open_page`."""
    files = Uploads(
        settings.files.absolute(), most_bytes=settings.most_file_bytes, fetch=settings.fetch
    )
    redactor = settings.redactor
    hub = Hub(services.events, lambda told: redactor.clean(event_json(told, files.id_of)))
    visitors = services.visitors
    chat = services.chat
    rooms = RoomGuard(visitors.people, visitors.access, chat.room, chat.is_used)
    credentials = Credentials(settings.access, visitors.people, visitors.tokens, rooms)
    front = Front(services.monitor, credentials, Assets.load(), settings.metrics)
    guard = _guarded(credentials, frozenset(route.path for route in webhooks), front.open)
    held = HeldOpen(settings.connections.of_person).middleware()
    reading = [standby.middleware()] if standby is not None else []
    answering = _answering(front.turn_away)
    app = web.Application(
        middlewares=[_speaking, _cleaning(redactor), answering, *reading, guard, held],
        client_max_size=settings.most_body_bytes,
    )
    app.add_routes(webhooks)
    for api in _apis(services, hub, files, settings, front):
        app.add_routes(api.routes())
    app.add_routes(front.routes())
    app.on_response_prepare.append(_add_headers)

    async def end_streams(_app: web.Application) -> None:
        hub.close()

    app.on_shutdown.append(end_streams)
    return app


@web.middleware
async def _speaking(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers in the language that somebody chose on the page, else in that of their browser."""
    chosen = known(request.cookies.get(LANGUAGE, ""))
    with speaking(chosen or accepted(request.headers.get("Accept-Language", ""))):
        return await handler(request)


class _Routes(Protocol):
    def routes(self) -> list[web.RouteDef]: ...


def _apis(
    services: Services, hub: Hub, files: Uploads, settings: PageSettings, front: Front
) -> Sequence[_Routes]:
    """Every group of routes below /api, and the page's document, which answers the first of them
    ahead."""
    credentials = front.credentials
    visitors, rooms = services.visitors, credentials.rooms
    chat = ChatApi(
        services.inbox,
        services.chat,
        services.agents,
        hub,
        files,
        credentials,
        wait_s=settings.wait_s,
        mask=settings.redactor.mask,
    )
    signin = SignInApi(credentials, visitors.attempts)
    messages = MessagesApi(services.talk, rooms, files.id_of)
    return (
        chat,
        StartApi(chat, signin, messages, front, settings.redactor.clean),
        messages,
        MemoryApi(services.memory, rooms),
        AuditApi(services.audit),
        UsageApi(services.usage),
        AccessApi(services.access),
        PersonaApi(services.personas, services.dry_runs, rooms, services.choices),
        AdminApi(services.admin, rooms),
        ConnectApi(services.connecting),
        SchedulesApi(services.schedules, rooms),
        signin,
        OidcApi(settings.access, visitors.audit, visitors.oidc),
        PagePeopleApi(settings.access, visitors.people, visitors.tokens),
        *([SettingsApi(services.settings)] if services.settings else []),
    )


def _guarded(
    credentials: Credentials, open_paths: frozenset[str], open_files: frozenset[str]
) -> Middleware:
    """Turns away who may not come in. open_paths: whoever is behind them asks for a proof of its
    own. open_files: what the form to sign in is made of."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        path = _pattern(request)
        method = "GET" if request.method == "HEAD" else request.method
        route = f"{method} {path}"
        if path in open_paths or route == HEALTH:
            return await handler(request)
        credentials.check_site(request)
        is_open = method == "GET" and request.path in open_files
        if not is_open and f"{method} {request.path}" not in auth.OPEN:
            set_caller(request, credentials.caller(request, route))
        return await handler(request)

    return guarded


TurnAway = Callable[[web.Request, RequestRefused], Awaitable[web.Response]]


def _answering(turn_away: TurnAway) -> Middleware:
    """Makes every failure one JSON error."""

    @web.middleware
    async def answering(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except RequestRefused as refused:
            return await turn_away(request, refused)
        except Rejected as rejected:
            return error(400, rejected.phrase, rejected.field)
        except MootError as fault:
            log.warning("request.failed", method=request.method, path=request.path, reason=fault)
            return error(503, fault.phrase)
        except web.HTTPException as fault:
            return fault if fault.status < 400 else _http_error(fault)
        except Exception as fault:  # the last door: a caller never sees a traceback
            if isinstance(fault, web.RequestPayloadError) or is_cut_short(request):
                return error(400, phrase("the body did not arrive whole"), "body")
            log.exception("request.crashed", method=request.method, path=request.path)
            return error(500, phrase("something went wrong here; the log says what"))

    return answering


def _pattern(request: web.Request) -> str:
    """The path as its route was written: a webhook's may end in a secret."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else request.path


def _http_error(fault: web.HTTPException) -> web.Response:
    plain = {
        404: phrase("there is nothing here"),
        405: phrase("this method is not for this address"),
        413: phrase("the body is too large"),
    }
    response = error(fault.status, plain.get(fault.status, fault.text or fault.reason))
    if "Allow" in fault.headers:
        response.headers["Allow"] = fault.headers["Allow"]
    return response


def _cleaning(clean: Callable[[str], str]) -> Middleware:
    """The last step of every answer of text that is made here; a file stays as it is."""

    @web.middleware
    async def cleaned(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not isinstance(response, web.Response) or response.content_type not in _MADE_HERE:
            return response
        if isinstance(body := response.body, bytes):
            text = body.decode("utf-8", "replace")
            if (new := clean(text)) != text:
                response.body = new.encode("utf-8", "replace")
        return response

    return cleaned


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in auth.HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "moot"  # the library would tell its version
