"""Each platform's part of `moot init`: its secrets, whose ids it asks for, the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.settings.bots import TABLES

PAGE = "page"
"""Chosen instead of a platform: Moot's own page alone."""


@dataclass(frozen=True, slots=True)
class Value:
    """One variable. looks: what a right one matches, so that two are not mixed up."""

    key: str
    title: str
    looks: str = r"\S+"
    hidden: bool = True

    def fault(self, value: str) -> str:
        """The mistake in it, without quoting it; "": none."""
        if re.fullmatch(self.looks, value):
            return ""
        return f"{self.key} looks wrong: it is {self.title}"


@dataclass(frozen=True, slots=True)
class Way:
    """One way in. table: what it adds to the platform's table."""

    title: str
    values: tuple[Value, ...]
    table: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlatformForm:
    """A platform. url_key: the key of its table that takes an address; needs_url: there is no
    default for it. person: what an id of a person looks like, and where one finds it."""

    platform: str
    title: str
    ways: tuple[Way, ...]
    prefix: str
    person: str
    invite: str
    url_key: str = "url"
    needs_url: bool = True

    @property
    def docs(self) -> str:
        """Where its setup is told step by step."""
        return f"docs/{self.platform}.md"


_BOT_TOKEN = Value("SLACK_BOT_TOKEN", "the bot token, xoxb-...", r"xox[a-z]-\S+")

SLACK = PlatformForm(
    "slack",
    "Slack",
    (
        Way(
            "Socket Mode: Moot calls Slack",
            (_BOT_TOKEN, Value("SLACK_APP_TOKEN", "the app-level token, xapp-...", r"xapp-\S+")),
            {"mode": "socket"},
        ),
        Way(
            "HTTP: Slack calls Moot",
            (_BOT_TOKEN, Value("SLACK_SIGNING_SECRET", "the signing secret")),
            {"mode": "http"},
        ),
    ),
    "slack",
    "slack:U06STGBF4Q0 — your profile, ⋮, Copy member ID",
    "in a channel: /invite @{name}, then: @{name} hello",
    url_key="api_url",
    needs_url=False,
)
ROCKETCHAT = PlatformForm(
    "rocketchat",
    "Rocket.Chat",
    (
        Way(
            "a personal access token",
            (
                Value("ROCKETCHAT_USER_ID", "the account's user id", hidden=False),
                Value("ROCKETCHAT_TOKEN", "its personal access token"),
            ),
        ),
        Way(
            "a user name and its password",
            (
                Value("ROCKETCHAT_USER", "the account's user name", hidden=False),
                Value("ROCKETCHAT_PASSWORD", "its password", r".+"),
            ),
        ),
    ),
    "rocketchat",
    "rocketchat:rbAXPnMktTFbNpwtJ — Administration, Users, you: the last part of the address",
    "in a channel: /invite @{name}, then: @{name} hello",
)
DISCORD = PlatformForm(
    "discord",
    "Discord",
    (Way("a bot token", (Value("DISCORD_TOKEN", "the bot's token"),)),),
    "discord",
    "discord:80351110224678912 — Settings, Advanced, Developer Mode; then right-click your name, "
    "Copy User ID",
    "invite it to your server ({docs}), then in a channel: @{name} hello",
    url_key="api_url",
    needs_url=False,
)
MATRIX = PlatformForm(
    "matrix",
    "Matrix",
    (
        Way(
            "a user name and its password",
            (
                Value("MATRIX_USER", "the account: claude, or @claude:example.org", hidden=False),
                Value("MATRIX_PASSWORD", "its password", r".+"),
            ),
        ),
        Way("an access token", (Value("MATRIX_TOKEN", "the account's access token"),)),
    ),
    "matrix",
    "matrix:@olivia:example.org — your full Matrix id",
    "invite it to a room, then: @{name} hello",
)
BLUEBUBBLES = PlatformForm(
    "bluebubbles",
    "iMessage (BlueBubbles)",
    (Way("the password", (Value("BLUEBUBBLES_PASSWORD", "the server's password", r".+"),)),),
    "bb",
    "bb:+15550001111 — the number or address you write from",
    "write to its account in Messages; in a group: @{name} hello",
)

FORMS: Mapping[str, PlatformForm] = {
    form.platform: form for form in (SLACK, ROCKETCHAT, DISCORD, MATRIX, BLUEBUBBLES)
}
assert FORMS.keys() == TABLES.keys()
