"""Slack in moot.toml and in `moot init`."""

from __future__ import annotations

from typing import Literal

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm


class SlackTable(BotTable):
    """mode: "socket" needs SLACK_APP_TOKEN, "http" SLACK_SIGNING_SECRET and POST /slack/events."""

    platform: Literal["slack"]
    api_url: str = "https://slack.com/api/"
    mode: Literal["socket", "http"] = "socket"


def _make(setup: BotSetup, table: SlackTable, host: Host) -> Bot:
    from bots.slack.bot import SlackApp, SlackBot

    socket, secrets = table.mode == "socket", host.secrets
    app = SlackApp(
        token=secrets.required("SLACK_BOT_TOKEN"),
        app_token=secrets.required("SLACK_APP_TOKEN") if socket else "",
        signing_secret="" if socket else secrets.required("SLACK_SIGNING_SECRET"),
        mode=table.mode,
        api_url=table.api_url,
    )
    return SlackBot(setup, app)


_BOT_TOKEN = SecretField("SLACK_BOT_TOKEN", "the bot token, xoxb-...", r"xox[a-z]-\S+")
_APP_TOKEN = SecretField("SLACK_APP_TOKEN", "the app-level token, xapp-...", r"xapp-\S+")

_FORM = SetupForm(
    logins=(
        Login("Socket Mode: Moot calls Slack", (_BOT_TOKEN, _APP_TOKEN), {"mode": "socket"}),
        Login(
            "HTTP: Slack calls Moot",
            (_BOT_TOKEN, SecretField("SLACK_SIGNING_SECRET", "the signing secret")),
            {"mode": "http"},
        ),
    ),
    prefix="slack",
    person="slack:U06STGBF4Q0 — your profile, ⋮, Copy member ID",
    person_looks=r"[UW][A-Z0-9]+",
    invite="in a channel: /invite @{name}, then: @{name} hello",
    url_key="api_url",
    needs_url=False,
    url_end="/",  # slack-sdk appends a method's name to it
)

PLATFORM = PlatformSpec("slack", "Slack", SlackTable, _FORM, _make)
