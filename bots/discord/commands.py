"""Slash commands: registered when their set has changed, and answered within Discord's 3 s."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

import structlog

from bots.discord.api import DiscordApi
from bots.discord.backfill import Cursors
from bots.kit.slash import SlashCommand, SlashOption
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")  # what all of ours are; Discord allows more
_DESCRIPTION, _CHOICES = 100, 25
_CHAT_INPUT, _STRING = 1, 3
_MESSAGE, _NOTHING = 4, 6  # kinds of an answer: a message; the post stays as it is
_EPHEMERAL = 1 << 6
_ACK_S = 3.0


def described(commands: Sequence[SlashCommand]) -> list[dict[str, Any]]:
    """The commands as Discord takes them."""
    return [
        {
            "name": command.name,
            "type": _CHAT_INPUT,
            "description": _plain(command.says) or command.name,
            "options": [_option(option) for option in command.options],
        }
        for command in sorted(commands, key=lambda command: command.name)
        if _NAME.fullmatch(command.name)
    ]


def _option(option: SlashOption) -> dict[str, Any]:
    told = {
        "type": _STRING,
        "name": option.name,
        "description": _plain(option.says) or option.name,
        "required": option.required,
    }
    choices = [{"name": choice, "value": choice} for choice in option.choices[:_CHOICES]]
    return {**told, "choices": choices} if choices else told


def _plain(text: str) -> str:
    return _cut(" ".join(text.replace("`", "").split()))


async def register(
    api: DiscordApi, application: str, commands: Sequence[SlashCommand], cursors: Cursors
) -> None:
    """Tell Discord our commands, if they aren't those that it was told last.

    It takes 200 new commands a day.
    """
    body = described(commands)
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest() if body else ""
    if digest == cursors.commands or not application:
        return
    try:
        await api.call(
            "PUT", "/applications/{application_id}/commands", body=body, application_id=application
        )
    except PlatformError as error:
        log.warning("commands.not_registered", reason=error)
        return
    cursors.registered(digest)
    log.info("commands.registered", count=len(body))


def in_order(given: Sequence[tuple[str, str]], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The options of a command that was run, as the command has them: Discord tells them as they
    were filled in."""
    place = {name: number for number, name in enumerate(names)}
    return tuple(sorted(given, key=lambda option: place.get(option[0], len(place))))


async def acknowledge(api: DiscordApi, interaction: str, token: str, text: str = "") -> None:
    """Tell Discord that an interaction was taken. text: shown to who ran it, to nobody else."""
    body: dict[str, Any] = {"type": _NOTHING}
    if text:
        data = {"content": text[:2_000], "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}}
        body = {"type": _MESSAGE, "data": data}
    try:
        await api.call(
            "POST",
            "/interactions/{interaction_id}/{interaction_token}/callback",
            body=body,
            timeout_s=_ACK_S,
            interaction_id=interaction,
            interaction_token=token,
        )
    except PlatformError as error:
        log.info("interaction.not_acknowledged", reason=error)


def _cut(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else text[: _DESCRIPTION - 1] + "…"
