"""What was changed in moot.toml on the page where the first leads holds at the second, too."""

from __future__ import annotations

import asyncio
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from store.database import Store
from store.gateway_schema import bot_states
from tests.doubles import postgres
from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.credentials import program_at, served
from tests.doubles.rocketchat import CLAUDE, RocketChatDouble
from tests.doubles.service import Service
from tests.doubles.two import Two, logged, made, two
from tests.test_api_whole import get, say
from tests.test_commands import moot
from tests.test_rocketchat_whole import SECRETS, answered, answers

ACCESS = """
[access] # who may ask
people = ["fake:ann", "fake:ben"]
[[access.grants]]
role = "member"
people = ["fake:cay"]
[access.personas.demo]
invoke = "member"
"""
OPEN = """
[access]
rooms = "open"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
AT = "/api/settings"
BY = {"id": "web:ana", "name": "Ana"}


async def change(at: Service, **tables: object) -> None:
    """Save other settings on its page."""
    base = (await get(at.url, AT))["base"]
    body = {"change": tables, "base": base, "by": BY}
    async with program_at(at.url) as client, client.put(AT, json=body) as response:
        assert response.status == 200, await response.text()


def written(at: Service, table: str = "access") -> Any:
    """That table in its file."""
    return tomllib.loads((at.folder / "moot.toml").read_text(encoding="utf-8"))[table]


async def roles_of(url: str, person: str) -> list[str]:
    """The roles that somebody has, as the page tells."""
    told = await get(url, "/api/access")
    return [one["role"] for one in told["configured"] if person in one["people"]]


def standby(both: Two) -> str:
    """The page of the one that stands by."""
    address = f"http://127.0.0.1:{both.port}/"
    served(address, both.second.folder)
    return address


async def test_who_was_taken_away_on_the_page_is_refused_by_the_one_that_takes_over(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, ACCESS) as both:
        first, second = both.first, both.second
        page = standby(both)
        assert await roles_of(page, "fake:ben")
        await change(first, access={"people": ["fake:ann"], "owners": ["fake:ola"]})
        await asyncio.sleep(1)
        assert await roles_of(page, "fake:ben") == []
        assert await roles_of(page, "fake:ola") == ["owner"]
        there = written(second)
        assert (there["people"], there["owners"]) == (["fake:ann"], ["fake:ola"])
        assert there["grants"] == [{"role": "member", "people": ["fake:cay"]}]
        assert there["personas"] == {"demo": {"invoke": "member"}}
        text = (second.folder / "moot.toml").read_text(encoding="utf-8")
        assert "[access] # who may ask" in text
        assert "fake:ben" in (second.folder / "moot.toml.bak").read_text(encoding="utf-8")
        await both.take_over()
        assert await roles_of(second.url, "fake:ben") == []
        await change(second, access={"owners": ["fake:ola", "fake:pia"]})
        await first.begin()
        await second.kill()
        await first.serving()
        assert await roles_of(first.url, "fake:pia") == ["owner"]
        assert written(first)["owners"] == ["fake:ola", "fake:pia"]
        for at in (first, second):
            assert "Traceback" not in at.log()


async def test_what_was_edited_by_hand_counts_from_when_that_machine_leads(tmp_path: Path) -> None:
    async with two(tmp_path, ACCESS) as both:
        first, second = both.first, both.second
        page = standby(both)
        assert await roles_of(page, "fake:ben")  # it has looked
        file = second.folder / "moot.toml"
        file.write_text(file.read_text().replace('"fake:ben"', '"fake:bob"'), encoding="utf-8")
        await asyncio.sleep(1)
        assert await roles_of(page, "fake:bob") == []
        assert "fake:bob" not in str(written(first))
        told = await asyncio.to_thread(moot, "doctor", "--offline", cwd=second.folder)
        assert "[access] of this moot.toml is not as it is where Moot leads" in told.stdout
        await both.take_over()
        assert await roles_of(second.url, "fake:bob")
        assert await roles_of(second.url, "fake:ben") == []
        await first.begin()
        await second.kill()
        await first.serving()
        assert written(first)["people"] == ["fake:ann", "fake:bob"]


async def test_a_question_beyond_a_limit_of_the_page_is_refused_by_the_one_that_takes_over(
    tmp_path: Path,
) -> None:
    async def answer(at: Service, number: int, room: str) -> str:
        told = await say(at.url, number, f"@demo question {number}", room)
        return " ".join(one["text"] for one in told["replies"])

    def a_day(questions: int) -> dict[str, object]:
        return {"person": {"questions_a_day": questions}}

    async with two(tmp_path, '[limits]\nowners = "all"\n') as both:
        first, second = both.first, both.second
        page = standby(both)
        assert "is reached" not in await answer(first, 1, "web:one")
        await change(first, limits=a_day(1))
        assert "limit of 1 questions a day is reached" in await answer(first, 2, "web:one")
        await asyncio.sleep(1)
        assert written(second, "limits") == {"owners": "all", **a_day(1)}
        assert (await get(page, AT))["limits"]["person"] == {"questions_a_day": 1}
        await both.take_over()
        assert (await get(second.url, AT))["restart"] == []
        assert "limit of 1 questions a day is reached" in await answer(second, 3, "web:two")
        await change(second, limits=a_day(2))
        assert "is reached" not in await answer(second, 4, "web:two")
        await first.begin()
        await second.kill()
        await first.serving()
        assert "limit of 2 questions a day is reached" in await answer(first, 5, "web:one")
        assert written(first, "limits") == {"owners": "all", **a_day(2)}
        for at in (first, second):
            assert "Traceback" not in at.log()


async def test_a_bot_that_was_added_on_the_page_is_connected_where_the_second_leads(
    tmp_path: Path,
) -> None:
    token = SECRETS["ROCKETCHAT_TOKEN"]
    async with RocketChatDouble.open() as rocketchat, two(tmp_path, OPEN) as both:
        first, second = both.first, both.second
        bot = {
            "platform": "rocketchat", "name": "team", "personas": ["demo"],
            "url": rocketchat.base, "secrets": SECRETS,
        }  # fmt: skip
        await change(first, new_bot=bot)
        await asyncio.sleep(1)
        assert [one["name"] for one in written(second, "bots")] == ["team"]
        secrets = second.folder / "moot.env"
        assert secrets.stat().st_mode & 0o777 == 0o600
        assert f"ROCKETCHAT_TOKEN_TEAM={token}\n" in secrets.read_text()
        await both.take_over()
        await rocketchat.sockets.listening(CLAUDE)
        rocketchat.say("@claude echo word 1")
        await answered(rocketchat, {"word 1"})
        assert (await get(second.url, AT))["restart"] == []
        await first.begin()
        await logged(first, "gateway.stands_by")
        await change(second, bots={"team": {"require_mention": False}})
        assert (await get(second.url, AT))["restart"] == ["bots"]
        await second.kill()
        await first.serving()
        await rocketchat.sockets.listening(CLAUDE)
        rocketchat.say("echo word 2")
        await answered(rocketchat, {"word 1", "word 2"})
        assert answers(rocketchat) == Counter({"word 1": 1, "word 2": 1})
        for at in (first, second):
            assert "Traceback" not in at.log()
            assert token not in at.log() + (at.folder / "moot.toml").read_text()
        told = await asyncio.to_thread(moot, "audit", "show", cwd=first.folder)
        assert "bots.team (new)" in told.stdout
        assert token not in told.stdout


async def test_a_bot_whose_token_the_second_lacks_is_left_out_and_told_of(tmp_path: Path) -> None:
    async with RocketChatDouble.open() as rocketchat, two(tmp_path, OPEN) as both:
        first, second = both.first, both.second
        await first.stop()
        await second.serving()
        first.environment.update(SECRETS)
        table = (
            f'[[bots]]\nplatform = "rocketchat"\npersonas = ["demo"]\nurl = "{rocketchat.base}"\n'
        )
        file = first.folder / "moot.toml"
        file.write_text(file.read_text() + table)
        await first.begin()
        await second.stop()
        await first.serving()
        await rocketchat.sockets.listening(CLAUDE)
        await second.begin()
        await logged(second, "settings.not_followed")
        assert "set ROCKETCHAT_TOKEN" in second.log()
        assert "bots" not in tomllib.loads((second.folder / "moot.toml").read_text())
        told = await asyncio.to_thread(moot, "doctor", "--offline", cwd=second.folder)
        assert "[bots] of this moot.toml is not as it is where Moot leads" in told.stdout
        assert "ROCKETCHAT_TOKEN" in told.stdout
        await both.take_over()
        assert (await say(second.url, 1, "@demo echo word 1"))["replies"]
        assert "Traceback" not in second.log()


async def test_what_was_changed_while_the_database_was_away_is_in_it_afterwards(
    tmp_path: Path,
) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    async with postgres.own_server() as (server, url):
        one = made(tmp_path / "only", "", url, 0, {})
        try:
            await one.start()
            base = (await get(one.url, AT))["base"]
            server.kill()
            body = {"change": {"access": {"people": ["fake:ann"]}}, "base": base, "by": BY}
            async with program_at(one.url) as client, client.put(AT, json=body) as response:
                assert response.status == 503, await response.text()
            server.start()
            await server.answers()
            query = select(bot_states.c.value).where(bot_states.c.name == "moot.toml")
            async with Store.open(url, read_only=True) as store, asyncio.timeout(20):
                while "fake:ann" not in str(await store.read(lambda c: c.execute(query).scalar())):
                    await asyncio.sleep(0.1)
            assert "Traceback" not in one.log()
        finally:
            await one.stop()


async def test_an_agent_that_was_connected_by_a_key_answers_where_the_second_leads(
    tmp_path: Path,
) -> None:
    async with BareAPI.open() as api:
        api.when("expiry", "It is 15 minutes.")
        async with two(tmp_path, "", ANTHROPIC_BASE_URL=api.url) as both:
            wish = {
                "persona": "claude", "agent": "anthropic", "way": "key",
                "key": "ANTHROPIC_API_KEY", "value": KEY, "by": BY,
            }  # fmt: skip
            async with (
                program_at(both.first.url) as client,
                client.post("/api/admin/connect", json=wish) as response,
            ):
                assert response.status == 200, await response.text()
            await asyncio.sleep(1)
            secrets = both.second.folder / "moot.env"
            assert secrets.read_text() == f"ANTHROPIC_API_KEY={KEY}\n"
            assert secrets.stat().st_mode & 0o777 == 0o600
            await both.take_over()
            told = await say(both.second.url, 1, "@claude what is the expiry?")
            assert [one["text"] for one in told["replies"]] == ["It is 15 minutes."]
            assert KEY not in both.first.log() + both.second.log()
