"""Posts in a persona's name, where one app speaks for several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import structlog

from bots.slack.api import SlackApi, SlackRefused
from bots.slack.events import Account
from contract.chat import PersonaIdentity

log = structlog.stdlib.get_logger("moot.bots")

_NAME = 80  # the longest name that Slack gives people

# What Slack says where the app lacks chat:write.customize, or a workspace's rules forbid a name.
_NOT_ALLOWED = {"missing_scope", "invalid_arguments", "invalid_arg_name", "restricted_action"}


class PersonaPosts:
    """Calls that carry a name and a picture, as long as Slack takes them.

    own: whose calls these are; without the scope for names none is tried.
    """

    def __init__(self, api: SlackApi, own: Callable[[], Account]) -> None:
        self._api, self._own = api, own
        self._allowed = True

    async def call(
        self, method: str, voice: PersonaIdentity | None, **args: object
    ) -> Mapping[str, Any]:
        """The call in the persona's name; in the app's own where that is not allowed."""
        may = self._allowed and self._own().may("chat:write.customize")
        if voice is None or not voice.name.strip() or not may:
            return await self._api.call(method, **args)
        dress = {"username": " ".join(voice.name.split())[:_NAME], "icon_url": voice.avatar}
        try:
            return await self._api.call(method, **args, **dress)
        except SlackRefused as error:
            if error.code not in _NOT_ALLOWED:
                raise
            answer = await self._api.call(method, **args)  # what else was wrong is raised here
            log.info("voice.own_name", reason=error)
            self._allowed = False
            return answer
