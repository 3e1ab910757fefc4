"""Slack's histories, page after page, at a pace that leaves room for people who wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import structlog

from bots.slack.api import SlackApi, SlackRefused
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

Message = Mapping[str, Any]
T = TypeVar("T")

# How far behind the cursor roots are looked at for replies that came after it.
_LOOK_BACK_S = 2 * 24 * 3600.0
_PAGE, _PAGES = 200, 25
# conversations.history, .replies and users.conversations are of tier 3, at least 50 calls a minute;
# the rest is left to people who wait for an answer.
_CALLS, _PER_S = 30, 60.0
_TRIES, _LONGEST_REST_S = 6, 60.0


class HistoryPages:
    """now: the time in seconds since 1970."""

    def __init__(
        self,
        api: SlackApi,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api, self._now, self._sleep = api, now, sleep
        self._calls: deque[float] = deque(maxlen=_CALLS)

    async def messages(self, channel: str, since: str) -> list[Message]:
        """The room's messages after `since`, and on the same pages some from before.

        Raises PlatformError.
        """
        found: list[Message] = []
        args: dict[str, object] = {"oldest": earlier(since, _LOOK_BACK_S), "limit": _PAGE}
        for _ in range(_PAGES):
            page = await self._call("conversations.history", channel=channel, **args)
            found += page.get("messages") or ()
            args["cursor"] = _next(page)
            if not args["cursor"] or not all(after(ts, since) for ts in stamps(page)):
                return found
        log.warning("history.cut", channel=channel, messages=len(found))
        return found

    async def before(self, channel: str, latest: str) -> Mapping[str, Any]:
        """The page of the room's messages that ends at `latest`. Raises PlatformError."""
        return await self._call(
            "conversations.history", channel=channel, latest=latest, limit=_PAGE
        )

    async def replies(self, channel: str, root: str, since: str) -> list[Message]:
        """The thread's replies after `since`, behind its root; nothing where it is gone.

        Raises PlatformError.
        """
        found: list[Message] = []
        args: dict[str, object] = {"ts": root, "oldest": since, "limit": _PAGE}
        try:
            for _ in range(_PAGES):
                page = await self._call("conversations.replies", channel=channel, **args)
                found += page.get("messages") or ()
                if not (cursor := _next(page)):
                    break
                args["cursor"] = cursor
        except SlackRefused as error:
            if error.code not in ("thread_not_found", "message_not_found"):
                raise
        return [m for m in found if m.get("ts") == root or after(str(m.get("ts") or 0), since)]

    async def _call(self, method: str, /, **args: object) -> Mapping[str, Any]:
        return await self.answered(lambda: self._api.call(method, **args))

    async def answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, within the pace; asked again when Slack put it off or gave none."""
        for attempt in range(_TRIES):
            await self._pace()
            try:
                return await ask()
            except SlackRefused:
                raise
            except PlatformError as error:
                if attempt == _TRIES - 1:
                    raise
                rest_s = error.retry_after_s if error.outcome == "retry" else 2.0**attempt
                log.info("history.retry", in_s=round(rest_s, 0), reason=error)
                await self._sleep(min(rest_s, _LONGEST_REST_S))
        raise AssertionError("the last try returns or raises")

    async def _pace(self) -> None:
        if len(self._calls) == _CALLS:
            rest_s = self._calls[0] + _PER_S - self._now()
            await self._sleep(min(max(rest_s, 0.0), _PER_S))
        self._calls.append(self._now())


def stamps(page: Mapping[str, Any]) -> list[str]:
    return [str(message["ts"]) for message in page.get("messages") or () if message.get("ts")]


def _next(page: Mapping[str, Any]) -> str | None:
    return str((page.get("response_metadata") or {}).get("next_cursor") or "") or None


def after(ts: str, since: str) -> bool:
    return float(ts) > float(since)


def earlier(ts: str, by_s: float) -> str:
    return f"{max(float(ts) - by_s, 0.0):.6f}"
