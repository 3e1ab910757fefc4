"""The owner's part of `moot init`: an id that is typed, or whoever mentions it first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bots.kit.platform_spec import PlatformSpec
from bots.platforms import SPECS
from contract.errors import ConfigError
from gateway.access.claims import OPEN_MINUTES
from gateway.cli.init.asking import Asker

FIRST = "first"
"""Chosen instead of an id: who mentions it first, and is confirmed."""

OFFERED = (
    f"Who mentions it first, within {OPEN_MINUTES} minutes of its start, is offered to you as its "
    "owner: on the terminal of `moot run`, and on the page"
)
_MEANING = (
    f"who mentions it first, within {OPEN_MINUTES} minutes of `moot run`, which asks you whether "
    "that is you"
)


def ask_owners(
    ask: Asker, given: Sequence[str], platforms: Sequence[PlatformSpec], *, listed: bool, rooms: str
) -> list[str]:
    """Ids, or FIRST alone. listed: somebody is an owner already. Raises ConfigError."""
    for owner in given:
        if owner != FIRST and (wrong := person_fault(owner)):
            raise ConfigError(f"--owner: {wrong}")
    if given or not platforms or listed:
        return list(given)
    if ask.quiet:
        raise ConfigError(
            "moot init --yes: say who its owner is: --owner slack:U06STGBF4Q0, or --owner first: "
            "who mentions it first, once you have confirmed that"
        )
    ask.say("Who is its owner? An owner approves people and answers agents' permission questions.")
    by_id = ("id", "somebody whose id I know")
    needs_id = any(platform.form.open_to_all and rooms != "open" for platform in platforms)
    options = [by_id] if needs_id else [(FIRST, _MEANING), by_id]
    if ask.choose("Which way?", options, "--owner") == FIRST:
        return [FIRST]
    for platform in platforms:
        ask.say(f"  your id there: {platform.form.person}")
    return [ask.text("Your id", "--owner", fault=person_fault)]


def person_fault(person: str) -> str:
    """The reason why it can't be somebody's id; "": it can."""
    prefix, _, own = person.partition(":")
    form = next((spec.form for spec in SPECS.values() if spec.form.prefix == prefix), None)
    if form is None:
        return f"{person!r} is not somebody's id, e.g. slack:U06STGBF4Q0"
    if not re.fullmatch(form.person_looks, own) or "*" in own:
        return f"{person!r} is not somebody's id there, e.g. {form.person}"
    return ""
