"""Signs that the bot is there: reactions on a message, a status under a thread. Best effort."""

from __future__ import annotations

import structlog

from bots.bot import Reaction
from bots.kit.reactions import SHORT_NAMES, ShownReactions
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
_SKEW_S = 5.0  # Slack's clock and ours may differ


class Reactions:
    """began: when this process did, in seconds since 1970. No earlier one has marked what was said
    after that.
    """

    def __init__(self, api: SlackApi, *, began: float = 0.0) -> None:
        self._api, self._began = api, began
        self._refused: set[str] = set()  # methods
        self._silent: set[str] = set()  # channels in which a status is refused
        self._shown: ShownReactions[tuple[str, str]] = ShownReactions()

    async def status(self, place: Destination, status: str) -> None:
        """The status line under a thread; channels have none outside of threads."""
        channel = place.room.external_id
        if place.thread_id is None or channel in self._silent:
            return
        method = "assistant.threads.setStatus"
        if not await self._tried(
            method, channel_id=channel, thread_ts=place.thread_id, status=status
        ):
            self._silent.add(channel)

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        channel = place.room.external_id
        message = (channel, message_id)
        is_bare = message not in self._shown and self._is_new(message_id)
        if (before := self._shown.change(message, reaction)) is None:
            return
        await self._react("reactions.add", message, reaction)
        for old in () if is_bare else before:
            await self._react("reactions.remove", message, old)

    def _is_new(self, message_id: str) -> bool:
        """True if no earlier process can have marked a message. An id that isn't Slack's: no."""
        try:
            return float(message_id) > self._began + _SKEW_S
        except ValueError:
            return False

    async def _react(self, method: str, message: tuple[str, str], reaction: Reaction) -> None:
        channel, ts = message
        await self._tried(method, channel=channel, timestamp=ts, name=SHORT_NAMES[reaction])

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
