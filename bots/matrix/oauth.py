"""Signing in by OAuth 2.0, as homeservers with the Matrix Authentication Service want it.

A person allows the bot in their browser (device authorization grant, RFC 8628); tokens last some
minutes, and each refresh token is good for one time. Matrix: client-server API 1.15, OAuth 2.0 API.
"""

from __future__ import annotations

import asyncio
import secrets
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from bots.kit.http_pool import CONNECT_S, call_errors
from bots.matrix.api import MatrixApi, MatrixRefused, TokenRefused
from contract.errors import ConfigError, PlatformError
from contract.values import dataclass

CLIENT_NAME = "Moot"
_METADATA = "/_matrix/client/v1/auth_metadata"  # since 1.15
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SCOPE = "urn:matrix:client:api:* urn:matrix:client:device:"
_DEVICE_SIGNS = 10
_CALL_S = 20.0
_SLOWER_S = 5.0  # RFC 8628, 3.5: what slow_down adds

Say = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


class Server(BaseModel):
    """The endpoints that signing in needs, of all that the homeserver says of its OAuth 2.0."""

    registration_endpoint: str
    token_endpoint: str
    device_authorization_endpoint: str


class _Code(BaseModel):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float
    interval: float = 5.0


class Tokens(BaseModel):
    access_token: str
    refresh_token: str = ""


_Answer = TypeVar("_Answer", _Code, Tokens)


@dataclass(frozen=True, slots=True)
class Grant:
    """What somebody allowed. token_url: where the next tokens are."""

    token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    client_id: str
    token_url: str


class OAuthRefused(PlatformError):
    """code: the server's own word, e.g. "access_denied"."""

    def __init__(self, what: str, code: str) -> None:
        super().__init__(f"the sign-in server refused {what}: {code}", outcome="refused")
        self.code = code


async def found_at(api: MatrixApi) -> Server:
    """The homeserver's OAuth 2.0. Raises ConfigError where it has none for us."""
    try:
        return Server.model_validate(await api.get(_METADATA))
    except (MatrixRefused, ValidationError) as error:
        raise ConfigError(
            f"{api.url} signs nobody in by OAuth 2.0 with a code: set MATRIX_USER and "
            "MATRIX_PASSWORD"
        ) from error


async def registered(server: Server, homeserver_url: str) -> str:
    """The id of a client that was registered for this bot."""
    body = {
        "client_name": CLIENT_NAME,
        "client_uri": homeserver_url,
        "application_type": "native",
        "grant_types": [_DEVICE_GRANT, "refresh_token"],
        "response_types": [],
        "token_endpoint_auth_method": "none",
    }
    answer = await _post("registration", server.registration_endpoint, json=body)
    return str(answer.get("client_id") or "")


async def allowed(
    server: Server, client_id: str, device_id: str, say: Say, *, sleep: Sleep = asyncio.sleep
) -> Tokens:
    """Show a code, and wait until somebody has allowed it in their browser.

    Raises ConfigError when nobody does.
    """
    asked = {"client_id": client_id, "scope": _SCOPE + device_id}
    answer = await _post("a sign-in", server.device_authorization_endpoint, data=asked)
    code = _read(_Code, answer)
    where = code.verification_uri_complete or code.verification_uri
    say(f"Open {where} as the bot's account, and allow it there. The code is {code.user_code}")
    waited_s, pause_s = 0.0, code.interval
    form = {"grant_type": _DEVICE_GRANT, "device_code": code.device_code, "client_id": client_id}
    while waited_s < code.expires_in:
        await sleep(pause_s)
        waited_s += pause_s
        try:
            return _read(Tokens, await _post("a token", server.token_endpoint, data=form))
        except OAuthRefused as error:
            if error.code == "slow_down":
                pause_s += _SLOWER_S
            elif error.code != "authorization_pending":
                raise ConfigError(f"nobody is signed in: {error.code}") from error
    raise ConfigError("nobody is signed in: the code has expired")


async def refreshed(token_url: str, client_id: str, refresh_token: str) -> Mapping[str, Any]:
    """The next tokens. Raises TokenRefused when the sign-in has been ended."""
    form = {
        "grant_type": "refresh_token",
        "refresh_token": refresh_token,
        "client_id": client_id,
    }
    try:
        return await _post("a token", token_url, data=form)
    except OAuthRefused as error:
        raise TokenRefused(error.code) from error


async def signed_in(api: MatrixApi, device_id: str, say: Say) -> Grant:
    """Sign in from the beginning; `api` uses the token from now on. device_id: "": a new one.

    Raises ConfigError when nobody allows it, or the homeserver has no OAuth 2.0.
    """
    server = await found_at(api)
    client_id = await registered(server, api.url)
    device_id = device_id or "".join(
        secrets.choice(string.ascii_uppercase) for _ in range(_DEVICE_SIGNS)
    )
    tokens = await allowed(server, client_id, device_id, say)
    return Grant(tokens.access_token, tokens.refresh_token, client_id, server.token_endpoint)


def _read(model: type[_Answer], answer: Mapping[str, Any]) -> _Answer:
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        raise PlatformError("the sign-in server: a garbled answer", outcome="unknown") from error


async def _post(
    what: str,
    url: str,
    *,
    data: Mapping[str, str] | None = None,
    json: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    timeout = aiohttp.ClientTimeout(total=_CALL_S, sock_connect=CONNECT_S)
    with call_errors("the sign-in server", what):
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.post(url, data=data, json=json) as answer,
        ):
            status = answer.status
            try:
                found = await answer.json(content_type=None)
            except ValueError:
                found = None
    if status >= 500 or not isinstance(found, Mapping):
        raise PlatformError(f"the sign-in server fails at {what}: HTTP {status}", outcome="retry")
    if status >= 400:
        raise OAuthRefused(what, str(found.get("error") or f"HTTP {status}"))
    return found
