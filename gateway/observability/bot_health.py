"""The health of each bot: written by its supervisor, read by the page and the metrics."""

from __future__ import annotations

from datetime import datetime

from bots.bot import Bot
from contract.values import dataclass


@dataclass(slots=True)
class BotHealth:
    """The health of a bot.

    since: when its present run began; None: it waits for its next start. event_at: when the last
    event came in. error: why the last run ended, one line, and when. restarts: since Moot started.
    """

    bot: Bot
    since: datetime | None = None
    event_at: datetime | None = None
    error: str = ""
    error_at: datetime | None = None
    restarts: int = 0

    @property
    def up(self) -> bool:
        """True if it runs and knows its own account; the page's own bot needs none."""
        connected = bool(self.bot.own_ids) or self.bot.platform == "web"
        return self.since is not None and connected

    @property
    def state(self) -> str:
        """A word for it: up, connecting, down."""
        if self.since is None:
            return "down"
        return "up" if self.up else "connecting"
