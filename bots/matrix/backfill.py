"""What was said in a room since the bot last heard it, without holes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bots.matrix.api import MatrixApi
from bots.matrix.wire import WireJoined

_LIMIT = 50  # events of a room in one sync; the rest is fetched
_PAGES, _PAGE = 100, 100
_INVITE_PAGES = 5  # what was said between an invitation and the bot's coming

_QUIET: dict[str, Any] = {"presence": {"types": []}, "account_data": {"types": ["m.direct"]}}
_NOT_SAID: dict[str, Any] = {"ephemeral": {"types": []}, "account_data": {"types": []}}
FILTER = json.dumps({**_QUIET, "room": {**_NOT_SAID, "timeline": {"limit": _LIMIT}}})
FIRST_FILTER = json.dumps(
    {**_QUIET, "room": {**_NOT_SAID, "timeline": {"limit": _LIMIT}, "state": {"not_types": ["*"]}}}
)
"""Of the first sync: rooms' states are asked for when somebody speaks in them."""


class Backfill:
    """began_ms: when the bot was started; what is older is history for one that was never here."""

    def __init__(self, api: MatrixApi, user_id: str, began_ms: float) -> None:
        self._api, self._user_id, self._began_ms = api, user_id, began_ms

    async def heard(
        self, room_id: str, joined: WireJoined, since: str | None, *, is_new: bool
    ) -> Sequence[Mapping[str, Any]]:
        """The room's events, oldest first.

        since: the token of the sync before; None: this is the first one ever, and only what was
        said since the start counts. is_new: the bot has come since: what was said since it was
        invited counts. Raises PlatformError.
        """
        events: list[Mapping[str, Any]] = list(joined.timeline.events)
        if since is None:
            return [e for e in events if _time_ms(e) >= self._began_ms]
        if is_new:
            start = _invited(events, self._user_id)
            if start is None and joined.timeline.limited:
                events = [*await self._missed(room_id, joined, None), *events]
                start = _invited(events, self._user_id)
            return events[(0 if start is None else start) :]
        if joined.timeline.limited:
            return [*await self._missed(room_id, joined, since), *events]
        return events

    async def _missed(
        self, room_id: str, joined: WireJoined, since: str | None
    ) -> list[Mapping[str, Any]]:
        """What lies before the timeline, back to the sync before or to the invitation."""
        if joined.timeline.prev_batch is None:
            return []
        pages = _PAGES if since else _INVITE_PAGES
        start = joined.timeline.prev_batch
        found = self._api.back(room_id, start=start, stop=since, pages=pages, page=_PAGE)
        events: list[Mapping[str, Any]] = []
        try:
            async for event in found:
                events.insert(0, event)
                if since is None and _invited([event], self._user_id) is not None:
                    break
        finally:
            await found.aclose()
        return events


def _invited(events: Sequence[Mapping[str, Any]], user_id: str) -> int | None:
    """Where the events begin that come after the last invitation (or a coming without one)."""
    start = None
    for number, event in enumerate(events, 1):
        if event.get("type") != "m.room.member" or event.get("state_key") != user_id:
            continue
        before = ((event.get("unsigned") or {}).get("prev_content") or {}).get("membership")
        now = (event.get("content") or {}).get("membership")
        if now == "invite" or (now == "join" and before not in ("invite", "join")):
            start = number
    return start


def _time_ms(event: Mapping[str, Any]) -> float:
    at = event.get("origin_server_ts")
    return float(at) if isinstance(at, (int, float)) else 0.0
