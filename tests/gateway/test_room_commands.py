"""`!mention` and `!follow`: an owner chooses for a room which messages are answered."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.chat import Room
from gateway.settings.access import AccessTable
from gateway.settings.config import Config
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway
from tests.gateway.test_following import answers, line

OWNED = AccessTable(rooms="open", dms="open", owners=frozenset({"fake:olivia"}))


async def told(moot: Opened, text: str, by: str = "olivia", **more: Any) -> str:
    await moot.receive(said(text, by=by, **more))
    await moot.settle()
    return moot.texts()[-1]


async def test_who_goes_on_in_threads_is_chosen_and_stays_so_over_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await answers(moot, line("@demo why?"), line("and?", by="budi")) == [True, False]
        said_so = await told(moot, "!follow everybody")
        assert said_so.startswith("From now on: a message here needs a mention; in a thread")
        assert "everybody goes on without one for 30 minutes" in said_so
        assert await answers(moot, line("and?", by="budi")) == [True]
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await answers(moot, line("and?", by="budi")) == [True]
        assert "everybody goes on" in await told(moot, "!status")
        assert await told(moot, "!follow never") == (
            "From now on: a message here needs a mention; also in threads."
        )
        assert await answers(moot, line("and?", by="budi")) == [False]
        assert "who asked goes on" in await told(moot, "!follow default")
        other = replace(line("@demo why?"), room=Room("fake:other", "other"))
        assert await answers(moot, other, replace(line("and?"), room=other.room)) == [True, True]


async def test_a_room_needs_no_mention_while_an_owner_says_so(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await answers(moot, said("good morning")) == [False]
        assert await told(moot, "!mention off") == (
            "From now on: every message here is answered, with or without a mention."
        )
        assert await answers(moot, said("good morning")) == [True]
        other = Room("fake:other", "other")
        assert await answers(moot, said("good morning", room=other)) == [False]
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await answers(moot, said("good morning")) == [True]
        await told(moot, "!mention on")
        assert await answers(moot, said("good morning")) == [False]


async def test_a_room_of_a_bot_that_answers_everything_may_need_mentions(tmp_path: Path) -> None:
    free = {"platform": "slack", "name": "fake", "personas": ["demo"], "require_mention": False}
    options = {"bots": Config.model_validate({"bots": [free]}).bots}
    async with gateway(tmp_path, access=OWNED, options=options) as moot:
        assert await answers(moot, said("good morning")) == [True]
        await told(moot, "!mention on")
        assert await answers(moot, said("good morning")) == [False]
        await told(moot, "!mention default")
        assert await answers(moot, said("good morning")) == [True]


@pytest.mark.parametrize("text", ["!mention off", "!follow everybody", "!follow default"])
async def test_only_owners_choose_it(tmp_path: Path, text: str) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert "for owners" in await told(moot, text, by="ash")
        assert await told(moot, text.split()[0], by="ash") == (
            "A message here needs a mention; in a thread, who asked goes on without one "
            "for 30 minutes after the last answer."
        )


async def test_what_cannot_be_chosen_is_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await told(moot, "!follow me") == (
            "'me' is none of `asker`, `everybody`, `never`, `default`."
        )
        dm = Room("fake:d1", "Olivia", "dm")
        assert await told(moot, "!mention off", room=dm) == (
            "In a direct message everything is answered."
        )
