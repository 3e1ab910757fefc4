"""What a worker does goes on when another gateway leads: it is adopted, and not asked again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.doubles.slack import BOT_USER, PRIVATE
from tests.machines.house import Machines, Question, logged, machines, until
from tests.machines.test_blows import person


async def attempts(house: Machines) -> list[int]:
    """Of each question's turn, how often its agent was asked, by its record."""
    rows = await house.sql("SELECT record FROM turns WHERE kind = 'ask' ORDER BY seq")
    return [json.loads(row[0]).get("attempt", 1) for row in rows]


async def adopted(house: Machines) -> None:
    await until(lambda: logged(house.gateways[1], "session.adopted"), "the second one adopts it")


async def work_began(house: Machines) -> Question:
    question = await house.ask()
    await house.begun(question)
    return question


async def test_work_goes_on_at_the_gateway_that_took_over(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await work_began(house)
        await house.leader().kill()
        await adopted(house)
        question.let_go()
        await house.answered(question)
        await house.ask(free=True)  # in the same session
        await house.check()
        assert await attempts(house) == [1, 1]
        assert not any("cut off" in text for text in house.slack.texts())
        assert len(logged(house.gateways[1], "session.opened")) == 0


async def test_work_that_outlasts_a_gateway_that_is_told_to_end_goes_on(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await work_began(house)
        first = house.leader()
        first.send(signal.SIGTERM)
        await until(lambda: logged(first, "gateway.stopping"), "it waits for what runs")
        first.send(signal.SIGTERM)  # and no longer
        await adopted(house)
        question.let_go()
        await house.check()
        assert await attempts(house) == [1]


async def test_a_gateway_that_loses_its_lead_ends_nothing_of_what_works(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await work_began(house)
        first, second = house.gateways
        house.links["g0-database"].fail("silent")
        await until(lambda: logged(second, "lead.taken"), "the second one leads")
        house.links["g0-database"].heal()  # before workers have heard of that
        assert await first.ended() == 2
        await adopted(house)
        question.let_go()
        await house.check()
        assert await attempts(house) == [1]


async def test_a_gateway_that_wakes_up_ends_nothing_that_another_one_adopted(
    tmp_path: Path,
) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await work_began(house)
        first = house.leader()
        first.send(signal.SIGSTOP)
        await adopted(house)
        first.send(signal.SIGCONT)
        assert await first.ended() == 2
        question.let_go()
        await house.check()
        assert await attempts(house) == [1]


async def test_a_question_of_adopted_work_is_put_again_and_its_old_buttons_go(
    tmp_path: Path,
) -> None:
    async with machines(tmp_path, gateways=2, agent="demo") as house:
        await house.ask_demo("permission", "Time passes", "the clock is fine")
        await until(house.buttons, "the room is asked")
        [(_, old)] = house.buttons()
        await house.leader().kill()
        await until(lambda: {ts for _, ts in house.buttons()} - {old}, "it is asked again")
        await until(lambda: old not in {ts for _, ts in house.buttons()}, "the old one is closed")
        async with person(house):
            await house.check()
        assert await attempts(house) == [1]


async def test_adopted_work_whose_worker_dies_is_begun_once_more(tmp_path: Path) -> None:
    async with machines(tmp_path, gateways=2) as house:
        question = await work_began(house)
        await house.leader().kill()
        await adopted(house)
        house.workers[house.busy()].end(signal.SIGKILL)
        await house.begun(question, 2)
        question.let_go()
        await house.check(again=[question])
        assert await attempts(house) == [2]


@pytest.mark.parametrize("ended", [False, True], ids=["nobody stops it", "it is stopped"])
async def test_of_two_sessions_each_goes_on_where_it_works(tmp_path: Path, ended: bool) -> None:
    async with machines(tmp_path, gateways=2) as house:
        one, two = await house.ask(), await house.ask(room=PRIVATE)
        await house.begun(one)
        await house.begun(two)
        await house.leader().kill()
        await until(lambda: len(logged(house.gateways[1], "session.adopted")) == 2, "both")
        if ended:
            await house.slack.say(f"<@{BOT_USER}> !stop")
            await until(lambda: any("⏹️" in text for text in house.slack.texts()), "it is stopped")
            house.asked.remove(one)
        one.let_go()
        two.let_go()
        await house.check()
        assert await attempts(house) == [1, 1]
