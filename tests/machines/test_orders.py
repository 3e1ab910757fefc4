"""Orders count at once, also at a gateway that took over: `!stop`, a button, a role taken away."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.slack import ASH, BOT_USER
from tests.machines.house import Machines, logged, machines, until
from tests.machines.test_blows import person


async def followed(house: Machines) -> None:
    """The gateway that leads is killed, and the other one leads."""
    await house.leader().kill()
    await until(lambda: logged(house.gateways[1], "bot.connected"), "the second one leads")
    await until(lambda: len(logged(house.gateways[1], "worker.heard")) >= 2, "it hears workers")


async def test_a_stop_ends_work_that_another_gateway_began(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await house.ask()
        await house.begun(question)
        await followed(house)
        await until(lambda: logged(house.gateways[1], "session.adopted"), "it is adopted")
        await house.slack.say(f"<@{BOT_USER}> !stop")
        await until(lambda: any("⏹️" in text for text in house.slack.texts()), "it is stopped")
        question.let_go()
        house.asked.remove(question)
        await house.ask(free=True)
        await house.check()
        assert house.posts(question) == []
        assert question.begun() == 1


async def test_a_button_counts_at_the_gateway_that_took_over(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2, agent="demo") as house:
        await house.ask_demo("permission", "Time passes", "the clock is fine")
        await until(house.buttons, "the room is asked")
        [(_, old)] = house.buttons()
        await followed(house)
        await until(lambda: {ts for _, ts in house.buttons()} - {old}, "it is asked again")
        assert old not in {ts for _, ts in house.buttons()}, "the old one is closed"
        async with person(house):
            await house.check()


async def test_a_button_that_reaches_a_gateway_that_was_stopped_counts_where_one_leads(
    tmp_path: Path,
) -> None:
    async with machines(tmp_path, gateways=2, agent="demo") as house:
        await house.ask_demo("permission", "Time passes", "the clock is fine")
        await until(house.buttons, "the room is asked")
        first, delivery = house.leader(), house.slack.delivery
        before = set(house.buttons())
        first.send(signal.SIGSTOP)
        await until(lambda: set(house.buttons()) - before, "it is asked again")
        [(channel, post)] = set(house.buttons()) - before
        delivery.turn = itertools.count()  # the press goes to the first one, whose socket is open
        await house.slack.press(channel, post, "Yes")
        await until(lambda: delivery.envelopes[-1].sent == 1, "the press is on its way")
        first.send(signal.SIGCONT)
        assert await first.ended() == 2
        await house.check(again=house.asked)


async def call(
    house: Machines, number: int, method: str, path: str, owner_of: int | None = None, **body: Any
) -> Any:
    """What a gateway's API answers its owner. owner_of: the secret is that one's."""
    url = f"http://127.0.0.1:{house.ports[number]}/api/access/{path}"
    headers = house.gateways[number if owner_of is None else owner_of].headers
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.request(method, url, json=body) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_role_given_at_one_gateway_is_taken_away_at_the_other(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2, access='rooms = "closed"') as house:
        given: dict[str, Any] = {
            "person_id": f"slack:{ASH}",
            "role": "member",
            "person_name": "Ash",
        }
        status, grant = await call(house, 0, "POST", "grants", **given)
        assert status == 201
        status, told = await call(house, 1, "POST", "grants", owner_of=0, **given)
        assert status == 503
        assert "another one leads" in told["error"]["message"]
        await house.answered(await house.ask(free=True, user=ASH))
        await followed(house)
        await house.answered(await house.ask(free=True, user=ASH))
        asked = house.count("agent.asked")
        assert (await call(house, 1, "DELETE", f"grants/{grant['seq']}"))[0] == 200
        refused = await house.ask(free=True, user=ASH)
        await house.slack.delivery.settled()
        house.asked.remove(refused)
        await house.check()
        assert house.count("agent.asked") == asked
        assert refused.begun() == 0
