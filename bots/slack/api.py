"""Slack's Web API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from bots.kit.http_pool import HttpPool, file_errors, read_file, reason_of, unreachable
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

# The SDK's log holds message texts (DEBUG), forged bodies (INFO) and tickets (ERROR). What matters
# of it we say ourselves.
SDK_LOG = logging.getLogger("moot.bots.slack_sdk")
SDK_LOG.setLevel(logging.CRITICAL)

# `ok: false` with one of these says nothing about whether the call was carried out.
_UNSURE = {"internal_error", "fatal_error", "request_timeout", "service_unavailable"}
_LATER = {"ratelimited", "rate_limited"}
DEAD_TOKEN = {
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
}
NO_METHOD = {"unknown_method", "method_not_allowed", "HTTP 404", "HTTP 405"}
_REMEDY = {
    "not_in_channel": "invite the bot: /invite @its-name",
    "channel_not_found": "invite the bot to the channel: /invite @its-name",
    "is_archived": "the channel is archived",
    "msg_too_long": "the text is too long for one message",
    "restricted_action": "a workspace setting forbids it",
}


class SlackRefused(PlatformError):
    """Slack said no. `code` is its own word for why, e.g. "channel_not_found"."""

    def __init__(self, method: str, code: str, needed: str = "") -> None:
        why = f"it needs the scope {needed}" if needed else _REMEDY.get(code, "")
        super().__init__(
            f"Slack refused {method}: {code}" + (f" ({why})" if why else ""), outcome="refused"
        )
        self.code = code


class SlackApi:
    """Calls with one token, over one pool of connections that opens at the first call."""

    def __init__(
        self,
        token: str,
        api_url: str,
        *,
        now: Callable[[], float],
        timeout_s: float = 20.0,
    ) -> None:
        self._token, self._url = token, api_url if api_url.endswith("/") else api_url + "/"
        self._now, self._timeout_s = now, timeout_s
        self._pool = HttpPool()
        self._client: AsyncWebClient | None = None
        self._closed_until: dict[tuple[str, object], float] = {}

    async def close(self) -> None:
        self._client = None
        await self._pool.close()

    async def call(self, method: str, /, **args: object) -> Mapping[str, Any]:
        """Slack's answer. Raises PlatformError.

        A call that Slack put off (429) isn't made again before its time, per method and channel.
        """
        data = (await self._answer(method, args)).data
        return data if isinstance(data, dict) else {}

    async def identity(self) -> tuple[Mapping[str, Any], frozenset[str]]:
        """auth.test's answer, and the scopes of the token; none where Slack doesn't tell."""
        answer = await self._answer("auth.test", {})
        headers = {name.lower(): text for name, text in answer.headers.items()}
        scopes = headers.get("x-oauth-scopes", "").replace(",", " ").split()
        return answer.data if isinstance(answer.data, dict) else {}, frozenset(scopes)

    async def _answer(self, method: str, args: Mapping[str, object]) -> AsyncSlackResponse:
        place = (method, args.get("channel"))
        wait_s = self._closed_until.get(place, 0.0) - self._now()
        if wait_s > 0:
            raise PlatformError(
                f"Slack asked to wait with {method}", outcome="retry", retry_after_s=wait_s
            )
        self._closed_until.pop(place, None)
        # The one shape of arguments that every method takes.
        form = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in args.items()
            if value is not None
        }
        try:
            async with asyncio.timeout(self._timeout_s):
                client = self._client or self._opened()
                return await client.api_call(method, data=form)
        except SlackApiError as error:
            failed = _failure(method, error)
            if failed.outcome == "retry":
                self._closed_until[place] = self._now() + failed.retry_after_s
            raise failed from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise unreachable("Slack", error) from error
        except (aiohttp.ClientError, SlackClientError, OSError) as error:
            why = f"Slack: {method}: {reason_of(error)}"
            raise PlatformError(why, outcome="unknown") from error

    async def pages(
        self, method: str, field: str, *, pages: int, **args: object
    ) -> AsyncGenerator[Any, None]:
        """The entries under `field`, page after page. More pages than told: PlatformError."""
        cursor = ""
        for _ in range(pages):
            answer = await self.call(method, **args, cursor=cursor or None)
            for entry in answer.get(field) or ():
                yield entry
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return
        raise PlatformError(f"Slack: {method} has more than {pages} pages", outcome="unknown")

    async def read(self, url: str, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """A private file's bytes and MIME type. The token travels to Slack's own hosts only."""
        if (target := self._own_url(url)) is None:
            raise PlatformError("not a file of Slack's", outcome="refused")
        headers = {"Authorization": f"Bearer {self._token}"}
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self._pool.session().get(target, headers=headers) as answer,
            ):
                return await read_file(answer, max_bytes)

    async def send(self, url: str, data: bytes) -> None:
        """Bytes to an upload URL that Slack gave. Nothing is seen of them yet: safe to repeat."""
        with file_errors("an upload"):
            async with (
                asyncio.timeout(self._timeout_s + len(data) / 100_000),
                self._pool.session().post(url, data=data) as answer,
            ):
                if answer.status != 200:
                    raise PlatformError(f"an upload: HTTP {answer.status}", outcome="retry")

    def _own_url(self, text: str) -> URL | None:
        """The URL if it leads to Slack."""
        try:
            url = URL(text)
            host = url.host or ""
            if url.origin() == URL(self._url).origin():
                return url
        except ValueError:
            return None
        own = host == "slack.com" or host.endswith(".slack.com")
        return url if own and url.scheme == "https" else None

    def _opened(self) -> AsyncWebClient:
        # No retry handlers: the SDK's own repeats a post whose connection was reset after Slack
        # had taken it, and the post is there twice.
        session = self._pool.session()
        self._client = AsyncWebClient(
            self._token, self._url, session=session, retry_handlers=[], logger=SDK_LOG
        )
        return self._client


def _failure(method: str, error: SlackApiError) -> PlatformError:
    answer = error.response
    if not isinstance(answer, AsyncSlackResponse):  # an answer that is no JSON
        return PlatformError(f"Slack: {method}: a garbled answer", outcome="unknown")
    data = answer.data if isinstance(answer.data, dict) else {}
    code = str(data.get("error") or "")
    if answer.status_code == 429 or code in _LATER:
        return PlatformError(
            f"Slack asked to wait with {method}",
            outcome="retry",
            retry_after_s=retry_after_s(answer.headers),
        )
    if answer.status_code >= 500 or code in _UNSURE or (answer.status_code == 200 and not code):
        why = code or f"HTTP {answer.status_code}"
        return PlatformError(f"Slack: {method}: {why}", outcome="unknown")
    needed = str(data.get("needed") or "")
    return SlackRefused(method, code or f"HTTP {answer.status_code}", needed)
