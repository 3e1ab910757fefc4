"""An app in the double's workspace: who it is, what it may, and how it hears."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.doubles.slack_delivery import Delivery

TEAM, APP = "T0TEAM001", "A0APP0001"
BOT_USER, BOT_ID = "U0BOT0001", "B0BOT0001"

EVERY_SCOPE = frozenset(
    f"{kind}:{act}" for kind in ("channels", "groups", "im", "mpim") for act in ("history", "read")
) | {
    "app_mentions:read",
    "assistant:write",
    "chat:write",
    "chat:write.customize",
    "commands",
    "files:read",
    "files:write",
    "pins:read",
    "pins:write",
    "reactions:read",
    "reactions:write",
    "users:read",
}

# Events that an app only hears with a scope.
_HEARS = {"pin": "pins:read", "reaction": "reactions:read"}


@dataclass
class App:
    """One app, installed. user, bot: the ids of its account."""

    name: str = "claude"
    id: str = APP
    user: str = BOT_USER
    bot: str = BOT_ID
    bot_token: str = "xoxb-test"
    app_token: str = "xapp-test"
    signing_secret: str = "it-is-us"
    scopes: set[str] = field(default_factory=lambda: set(EVERY_SCOPE))

    is_agent: bool = False

    def __post_init__(self) -> None:
        self.delivery = Delivery(TEAM, self.id, self.user, self.signing_secret)

    def hears(self, event_type: str) -> bool:
        """Whether its scopes let it be told of events of this type."""
        needed = _HEARS.get(event_type.partition("_")[0])
        return needed is None or needed in self.scopes


def user_of(user_id: str, name: str, *, is_bot: bool = False) -> dict[str, Any]:
    """As users.info tells somebody."""
    profile = {"display_name": name, "real_name": f"{name} Example"}
    return {"id": user_id, "name": name.lower(), "is_bot": is_bot, "profile": profile}
