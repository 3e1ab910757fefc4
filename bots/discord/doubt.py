"""Which of the bot's own messages a post became whose outcome nobody told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bots.discord.api import PAGE, DiscordApi
from bots.discord.events import moment
from contract.errors import PlatformError

Message = Mapping[str, Any]

# Discord's clock and ours may differ; a post with its own nonce is ours, however early it seems.
_SKEW = timedelta(seconds=120)
_PAGES = 20

# Discord knows a nonce for "the past few minutes": so long it makes no second message, and a post
# that is repeated is surer than a guess.
_NONCE_KNOWN = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class PostFinder:
    """What is known of a post.

    others: ids of messages that are not it. reply_to: the message that it answers. text: what it
    says, None after a restart.
    """

    since: datetime
    others: Collection[str]
    reply_to: str | None
    text: str | None

    def settle(self, own: Sequence[Message], now_s: float) -> str | None:
        """The id of the message among our own that it became, or None: say it (again)."""
        fitting = [m for m in own if self._fits(m)]
        first = min(fitting, key=lambda m: int(m["id"]), default=None)
        if first is None:
            return None
        sure = self.text is not None or self.reply_to is not None
        age = datetime.fromtimestamp(now_s, UTC) - time_of(first)
        return str(first["id"]) if sure or age > _NONCE_KNOWN else None

    def _fits(self, message: Message) -> bool:
        reference = (message.get("message_reference") or {}).get("message_id")
        if self.text is not None and str(message.get("content")).strip() != self.text.strip():
            return False
        return (
            str(message["id"]) not in self.others
            and (str(reference) if reference else None) == self.reply_to
            and (self.text is not None or not message.get("components"))
            and time_of(message) >= self.since
        )


async def own_since(api: DiscordApi, own_id: str, channel: str, since: datetime) -> list[Message]:
    """Our messages in a channel since then, and a little before."""
    own: list[Message] = []
    query: dict[str, object] = {"limit": PAGE}
    for _ in range(_PAGES):
        found = await api.call(
            "GET", "/channels/{channel_id}/messages", query=query, channel_id=channel
        )
        page = [m for m in found if isinstance(m, dict) and str(m.get("id", "")).isdigit()]
        own += [m for m in page if str((m.get("author") or {}).get("id")) == own_id]
        oldest = min(page, key=lambda m: int(m["id"]), default=None)
        if oldest is None or len(page) < PAGE or time_of(oldest) < since - _SKEW:
            return own
        query["before"] = oldest["id"]
    raise PlatformError("Discord's history is too long to look through", outcome="unknown")


def time_of(message: Message) -> datetime:
    return moment(message.get("timestamp"), str(message["id"]))
