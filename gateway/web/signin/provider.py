"""A provider of OpenID Connect: where people are sent to sign in, and who it says came back.

The authorization code flow with PKCE, by Authlib. It takes a fifth of a second to import, so only
what is configured imports this.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from contract.language import later
from contract.values import dataclass
from gateway.settings.oidc import OidcTable
from gateway.web.signin.subjects import ProviderAway, ProviderRefused

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures by a key of the provider's own; what no key signed, or a shared one, is no proof."""

LEEWAY_S = 60
KNOWN_FOR_S = 3_600.0
MOST_BYTES = 1 << 20
MOST_SUBJECT = 255  # as the standard has it


@dataclass(frozen=True, slots=True)
class Begun:
    """What a sign-in that began must come back with. url: where the browser is sent."""

    url: str
    state: str
    nonce: str
    verifier: str
    redirect: str


class OidcProvider:
    """See OidcTable. Raises ProviderAway when it does not answer as it should."""

    def __init__(self, table: OidcTable, secret: str | None) -> None:
        self._table = table
        self._secret = secret
        self._metadata: Mapping[str, Any] = {}
        self._read_at = -KNOWN_FOR_S

    async def begin(self, redirect: str) -> Begun:
        """Begin a sign-in. redirect: our address to which the browser comes back."""
        async with self._speaking(redirect) as (client, metadata):
            verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
            url, state = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=secrets.token_urlsafe(24),
                code_verifier=verifier,
                nonce=nonce,
            )
            return Begun(url, state, nonce, verifier, redirect)

    async def finish(self, begun: Begun, query: str) -> Mapping[str, Any]:
        """The claims of who came back. query: of the address. Raises ProviderRefused."""
        async with self._speaking(begun.redirect) as (client, metadata):
            _check_answer(parse_qs(query), metadata)
            token = await client.fetch_token(
                metadata["token_endpoint"],
                authorization_response=f"{begun.redirect}?{query}",
                state=begun.state,
                code_verifier=begun.verifier,
            )
            keys: Any = await _json(client, metadata["jwks_uri"], signed=False)
            claims = self._checked(token, KeySet.import_key_set(keys), begun.nonce)
            if address := metadata.get("userinfo_endpoint"):
                more = await _json(client, address, signed=True)
                if more.get("sub") != claims["sub"]:
                    raise ProviderRefused(later("it spoke of two people at once"))
                claims = {**more, **claims}
            return claims

    def _checked(self, token: Mapping[str, Any], keys: KeySet, nonce: str) -> dict[str, Any]:
        """The claims of an ID token for us, of now, of this provider and this sign-in."""
        given = token.get("id_token")
        if not isinstance(given, str):
            raise ProviderRefused(later("it sent no ID token"))
        decoded = jwt.decode(given, keys, algorithms=ALGORITHMS)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": self._table.issuer},
                "aud": {"essential": True, "value": self._table.client_id},
                "sub": {"essential": True, "allow_blank": False},
            },
            params={
                "nonce": nonce,
                "client_id": self._table.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=LEEWAY_S)
        if len(claims["sub"]) > MOST_SUBJECT:
            raise ProviderRefused(later("its name for you is too long"))
        return dict(claims)

    @asynccontextmanager
    async def _speaking(
        self, redirect: str
    ) -> AsyncIterator[tuple[AsyncOAuth2Client, Mapping[str, Any]]]:
        """A client, and what the provider says of itself; its failures as ours."""
        try:
            async with (
                asyncio.timeout(self._table.timeout_s),
                AsyncOAuth2Client(
                    self._table.client_id,
                    self._secret,
                    scope=" ".join(self._table.scopes),
                    redirect_uri=redirect,
                    code_challenge_method="S256",
                    timeout=self._table.timeout_s,
                ) as client,
            ):
                metadata = await self._read(client)
                if self._secret:
                    client.token_endpoint_auth_method = _method(metadata)
                yield client, metadata
        except (JoseError, AuthlibBaseError) as fault:
            raise ProviderRefused(f"{fault}"[:200]) from None
        except (httpx2.HTTPError, TimeoutError, KeyError, TypeError, ValueError) as fault:
            raise ProviderAway(f"{type(fault).__name__} {fault}"[:200]) from None

    async def _read(self, client: AsyncOAuth2Client) -> Mapping[str, Any]:
        """What it says of itself, for an hour."""
        if time.monotonic() - self._read_at < KNOWN_FOR_S:
            return self._metadata
        issuer = self._table.issuer
        address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        found = await _json(client, address, signed=False)
        if found.get("issuer") != issuer:
            raise ValueError(f"it calls itself {found.get('issuer')!r}, not {issuer!r}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
            scheme = urlsplit(found.get(name, issuer)).scheme
            if scheme != "https" and scheme != urlsplit(issuer).scheme:
                raise ValueError(f"its {name} has no TLS")
        self._metadata, self._read_at = found, time.monotonic()
        return found


def _check_answer(given: Mapping[str, list[str]], metadata: Mapping[str, Any]) -> None:
    """Raise ProviderRefused for an answer of another provider (RFC 9207), or for none."""
    told = metadata.get("authorization_response_iss_parameter_supported")
    if (told or "iss" in given) and given.get("iss") != [metadata["issuer"]]:
        raise ProviderRefused(later("this answer is another provider's"))
    if "error" in given:
        raise ProviderRefused(" ".join(given["error"])[:100])
    if "code" not in given:
        raise ProviderRefused(later("it sent no code"))


def _method(metadata: Mapping[str, Any]) -> str:
    """How we prove ourselves to it."""
    known = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return "client_secret_basic" if "client_secret_basic" in known else "client_secret_post"


async def _json(client: AsyncOAuth2Client, address: str, *, signed: bool) -> dict[str, Any]:
    """An object that it answers. signed: ask as who signed in."""
    async with client.stream("GET", address, withhold_token=not signed) as response:
        response.raise_for_status()
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise ValueError(f"{address} answers without an end")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError(f"{address} answers no object")
    return found
