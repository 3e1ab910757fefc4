"""Who may talk to the page and the API: by our own name, from no other site, with a credential.

Being on this machine is no proof: agents run here, and a browser here also runs other people's web
sites. So every caller is somebody who signed in, or a program with a token; the Host header must be
ours (a foreign name that resolves to 127.0.0.1 is DNS rebinding), and a call that another origin
started is refused.
"""

from __future__ import annotations

from aiohttp import web

from contract.language import later, phrase
from contract.values import dataclass
from gateway.web.page_address import PageAuth, host_name
from gateway.web.signin.caller import Caller, RequestRefused
from gateway.web.signin.people import PagePeople
from gateway.web.signin.rooms import RoomGuard
from gateway.web.signin.tokens import PageTokens

OPEN = frozenset(
    {
        *("GET /healthz", "GET /sign-in", "POST /api/sign-in"),
        *("GET /sign-in/oidc", "GET /api/sign-in", "POST /api/sign-in/oidc"),
    }
)
"""For a probe, and for whoever has yet to sign in: methods and paths. The files of the form to sign
in are open, too: their names change."""

FOR_EVERYBODY = frozenset(
    {
        *("GET /", "GET /static/{name}", "GET /api/schema", "GET /api/commands"),
        *("GET /api/start", "GET /api/me", "GET /api/me/sessions", "DELETE /api/me/sessions/{id}"),
        *("POST /api/sign-out", "POST /api/submit", "POST /api/passive"),
        *("GET /api/rooms", "POST /api/rooms", "GET /api/rooms/{room_id}/messages"),
        *("GET /api/search", "GET /api/unread", "PUT /api/rooms/{room_id}/read"),
        "PUT /api/rooms/{room_id}/messages/{message_id}",
        "DELETE /api/rooms/{room_id}/messages/{message_id}",
        *("GET /api/turns/{turn_id}", "GET /api/personas", "GET /api/people", "GET /api/sessions"),
        *("GET /api/events", "POST /api/questions/{question_id}"),
        *("POST /api/files", "GET /api/files/{file_id}"),
        *("GET /api/rooms/{room_id}/memory", "GET /api/rooms/{room_id}/memory/facts"),
        "GET /api/rooms/{room_id}/memory/observations",
        "GET /api/rooms/{room_id}/memory/observations/{observation_id}",
        "GET /api/rooms/{room_id}/memory/search",
    }
)
"""For whoever signed in, each asking which rooms they may read; everything else is an owner's."""

READS = {"metrics": frozenset({"GET /metrics"})}
"""The routes of tokens that are good for one thing alone."""

CSP = "Content-Security-Policy"
HEADERS = {
    CSP: "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NEEDED = phrase(
    "sign in first: `moot open` makes a link for the browser; programs send "
    "Authorization: Bearer with what `moot token` prints"
)


def cookie_name(request: web.Request) -> str:
    """The cookie's name. Browsers keep cookies by host without its port, and another Moot may be on
    this one."""
    ours = request.transport.get_extra_info("sockname") if request.transport else None
    return f"moot-{ours[1]}" if ours else "moot"


HOST = "__Host-"  # browsers take such a cookie over TLS alone, and from no other host


ROOM = "moot-room"  # the cookie: the room that this browser showed last; "": none


def session_cookie(request: web.Request) -> str:
    """The session's cookie that a browser sent; "": none. The plain name counts where the other one
    does not stand: it is that of a page without TLS, and of sessions from before there were two."""
    plain = cookie_name(request)
    return request.cookies.get(f"{HOST}{plain}", request.cookies.get(plain, ""))


@dataclass(frozen=True, slots=True)
class Credentials:
    """Finds out who sends a request, and whether they may. rooms: asks who is an owner."""

    access: PageAuth
    people: PagePeople
    tokens: PageTokens
    rooms: RoomGuard

    def check_site(self, request: web.Request) -> None:
        """Raise RequestRefused for a name that isn't ours, and for another web site's call."""
        if not self.access.knows(host_name(request)):
            raise RequestRefused(
                421, "this host name is not mine: add it to `hosts` under [gateway] in moot.toml"
            )
        _refuse_other_sites(request, self.access)

    def caller(self, request: web.Request, route: str) -> Caller:
        """Who sends it. route: method and path as they were written. Raises RequestRefused."""
        caller = self._known(request)
        if caller.is_person:
            if route not in FOR_EVERYBODY and not self.rooms.is_owner(caller):
                raise RequestRefused(403, "this is for owners of this Moot")
        elif caller.reads and route not in READS.get(caller.reads, ()):
            raise RequestRefused(
                403, later("this token is good for {reads} alone", reads=caller.reads)
            )
        return caller

    def is_live(self, caller: Caller) -> bool:
        """True while what the caller showed is still good."""
        if caller.is_person:
            return self.people.is_signed_in(caller)
        return self.tokens.is_good(caller)

    def _known(self, request: web.Request) -> Caller:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and given.strip():
            return self.tokens.by_bearer(given.strip(), self.access.proxies.address(request))
        caller = self.people.by_cookie(session_cookie(request))
        if caller is None:
            raise RequestRefused(401, NEEDED)
        return caller


def _refuse_other_sites(request: web.Request, access: PageAuth) -> None:
    """Browsers say who started a request; programs say nothing and pass."""
    reads = request.method in ("GET", "HEAD")
    site = request.headers.get("Sec-Fetch-Site", "none")
    visit = reads and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in ("same-origin", "none") and not visit:
        raise RequestRefused(403, "another web site started this request")
    origin = request.headers.get("Origin")
    if origin is not None and not _is_ours(origin, request.headers.get("Host", ""), access):
        raise RequestRefused(403, "another web site started this request")


def _is_ours(origin: str, host: str, access: PageAuth) -> bool:
    """The page's own origin, also when a proxy before it changed the Host header."""
    scheme, _, rest = origin.lower().partition("://")
    named = rest.partition(":")[0] in access.names
    return scheme in ("http", "https") and (named or rest == host.lower())
