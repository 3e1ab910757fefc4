"""What people and owners did at the first gateway holds at the second once it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import aiohttp

from tests.doubles.approvals import until
from tests.doubles.service import Service
from tests.doubles.slack import ASH, GENERAL, OLIVIA, SlackDouble
from tests.doubles.two import made, two
from tests.test_api_whole import say
from tests.test_approvals_whole import CLOSED, allowed, asked, open_questions, whispered
from tests.test_commands import moot
from tests.test_people_whole import Headers, Visitor
from tests.test_recall_whole import FACT, known, talk

CONFIG = """
[access]
owners = ["web:andi"]
[limits.person]
questions_a_day = 2
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
SLACK = """
[access]
rooms = "open"
approvers = ["slack:{olivia}", "slack:{ash}"]
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""

YES = {"delete-person": ("--yes",)}


def there(at: Service, headers: Headers) -> Mapping[str, str]:
    """The same cookie, by the name that it has at another port."""
    port = at.url.rstrip("/").rpartition(":")[2]
    return {"Cookie": f"moot-{port}={headers['Cookie'].partition('=')[2]}"}


async def replied(visitor: Visitor, by: Headers, number: int) -> str:
    """Ask the persona in #general as somebody of the page; the reply."""
    body = {"content": f"@demo echo word {number}", "room": "web:general", "wait": 60}
    answer = await visitor.send("POST", "/api/submit", by, body)
    return str(answer["replies"][0]["text"])


async def command(at: Service, *words: str) -> str:
    """What a command of `moot` prints there."""
    done = await asyncio.to_thread(moot, *words, cwd=at.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def test_roles_people_tokens_choices_limits_and_memory_follow(tmp_path: Path) -> None:
    async with two(tmp_path, CONFIG) as house:
        async with aiohttp.ClientSession(house.first.url) as client:
            first = Visitor(house.first, client)
            ana, cai = await first.person("Ana", "member"), await first.person("Cai", "member")
            dan = await first.invited("Dan", "member")
            assert [await replied(first, ana, n) for n in (1, 2)] == ["word 1", "word 2"]
            assert await replied(first, cai, 1) == "word 1"
            await say(house.first.url, 1, "!language de")
            await talk(house.first.url, FACT)
            await known(house.first.url, FACT)
            await command(house.first, "access", "revoke", "web:cai")
            token = await command(house.first, "token", "--name", "ci")
        third = made(tmp_path / "third", CONFIG, house.url, 0, {})  # nothing runs there
        for words in (("access", "revoke", "web:ana"), ("memory", "delete-person", "web:ana")):
            told = await asyncio.to_thread(moot, *words, *YES.get(words[1], ()), cwd=third.folder)
            assert f":{house.first.pid}:" in told.stderr
            assert "leads on this database: run this on its machine" in told.stderr
        await house.take_over()
        async with aiohttp.ClientSession(house.second.url) as client:
            second, at = Visitor(house.second, client), house.second
            me = await second.send("GET", "/api/me", there(at, ana))
            assert (me["id"], me["role"]) == ("web:ana", "member")
            assert "Limit von 2 Fragen pro Tag" in await replied(second, there(at, ana), 3)
            assert "einlassen" in await replied(second, there(at, cai), 2)
            assert await replied(second, await second.enter(dan), 1) == "word 1"
            await known(at.url, FACT)
            program = {"Authorization": f"Bearer {token}"}
            tokens = await second.send("GET", "/api/page/tokens", program)
            assert [one["name"] for one in tokens["tokens"]] == ["ci"]
            shown = await asyncio.to_thread(moot, "token", "--name", "ci", cwd=at.folder)
            assert shown.stderr.startswith("moot: name: ci was made on another machine")
        assert "audit.broken" not in house.second.log()
        assert "Traceback" not in house.second.log()


async def test_a_button_of_the_first_is_closed_and_the_second_asks_again(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = SLACK.format(api_url=slack.api_url, olivia=OLIVIA, ash=ASH)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with two(tmp_path, config, **secrets) as house:
            await slack.delivery.connected()
            first = await asked(slack)
            buttons = deepcopy(first["blocks"])
            await house.take_over()
            await slack.delivery.connected()
            await until(lambda: [p["ts"] for p in open_questions(slack)] not in ([], [first["ts"]]))
            first["blocks"] = buttons  # somebody's client still shows them
            await slack.press(GENERAL, first["ts"], "Yes")
            await until(lambda: CLOSED in whispered(slack))
            assert allowed(slack) == 0
            first["blocks"] = []
            (again,) = open_questions(slack)
            await slack.press(GENERAL, again["ts"], "Yes", ASH)
            await until(lambda: allowed(slack) == 1)
