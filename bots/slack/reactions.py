"""Signs that the bot is there: reactions on a message, a status under a thread. Best effort."""

from __future__ import annotations

import re

import structlog

from bots.bot import Reaction
from bots.kit.reactions import SHORT_NAMES, ShownReactions
from bots.kit.recent import Recent
from bots.slack.api import SlackApi, SlackRefused
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

# Refusals about one message or thread; any other is about the app, and it stops asking.
_PASSING = {
    "already_reacted",
    "no_reaction",
    "message_not_found",
    "bad_timestamp",
    "too_many_reactions",
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "thread_not_found",
    "thread_locked",
    "not_reactable",
}
_SESSIONS = 1_000
_SKEW_S = 5.0  # Slack's clock and ours may differ
_TS = re.compile(r"[0-9]+\.[0-9]+")  # the id of a message; a slash command has another


class Reactions:
    """began: when this process did, in seconds since 1970. No earlier one has marked what was said
    after that.
    """

    def __init__(self, api: SlackApi, *, began: float = 0.0) -> None:
        self._api, self._began = api, began
        self._refused: set[str] = set()  # methods
        self._silent: set[str] = set()  # channels in which a status is refused
        self._shown: ShownReactions[tuple[str, str]] = ShownReactions()
        self._sessions: Recent[tuple[str, str], str] = Recent(_SESSIONS)

    async def status(self, place: Destination, status: str) -> None:
        """The status line under a thread; channels have none outside of threads."""
        channel = place.room.external_id
        if place.thread_id is None or channel in self._silent:
            return
        if await self._in_session(channel, place.thread_id, "processing" if status else "active"):
            return
        method = "assistant.threads.setStatus"
        if not await self._tried(
            method, channel_id=channel, thread_ts=place.thread_id, status=status
        ):
            self._silent.add(channel)

    async def _in_session(self, channel: str, thread: str, state: str) -> bool:
        """True if Slack shows the agent's work itself, with a button that stops it: for apps with
        `agent_view`."""
        method = "agents.sessions.setStatus"
        if method not in self._refused and self._sessions.get((channel, thread)) != state:
            self._sessions[channel, thread] = state
            await self._tried(method, channel_id=channel, thread_ts=thread, status=state)
        return method not in self._refused

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        channel = place.room.external_id
        message = (channel, message_id)
        # No earlier process can have marked a message that is newer than this one.
        is_bare = message not in self._shown and (
            _TS.fullmatch(message_id) is not None and float(message_id) > self._began + _SKEW_S
        )
        if (before := self._shown.change(message, reaction)) is None:
            return
        where = {"channel": channel, "timestamp": message_id}
        await self._tried("reactions.add", **where, name=SHORT_NAMES[reaction])
        for old in () if is_bare else before:
            await self._tried("reactions.remove", **where, name=SHORT_NAMES[old])

    async def _tried(self, method: str, **args: object) -> bool:
        """True if it is worth another try in this place. Stops for good where the app may not."""
        if method in self._refused:
            return True
        try:
            await self._api.call(method, **args)
        except SlackRefused as error:
            if error.code in _PASSING:
                return error.code in ("already_reacted", "no_reaction")
            log.warning("sign.given_up", reason=error)
            self._refused.add(method)
        except PlatformError as error:
            log.info("sign.failed", reason=error)
        return True
