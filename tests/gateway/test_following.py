"""A thread goes on without a mention, and people who talk to each other are left alone."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.chat import Inbound
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.tables import Follow, RoomsTable
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms
from tests.gateway.test_accounts import texts, two

ASH = GrantTable(role="member", people=frozenset({"fake:ash"}))
CLOSED = AccessTable(rooms="closed", grants=(ASH,))
OPEN = AccessTable(rooms="open")


def rooms(follow: Follow) -> dict[str, Any]:
    return {"rooms": RoomsTable(follow=follow)}


def line(text: str, by: str = "ash", later: float = 0, **more: Any) -> Inbound:
    """A message in the thread t1, so many minutes from now."""
    reply_to = more.pop("reply_to", None)
    found = said(text, by=by, thread_id="t1", **more)
    return replace(found, reply_to=reply_to, sent_at=found.sent_at + timedelta(minutes=later))


async def answers(moot: Opened, *lines: Inbound) -> list[bool]:
    """Whether each was answered."""
    told = []
    for one in lines:
        before = len(moot.programs.prompts)
        await moot.receive(one)
        await moot.settle()
        told.append(len(moot.programs.prompts) > before)
    return told


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        ("asker", [False, True, True, False, True, False]),
        ("everybody", [False, True, True, True, True, False]),
        ("never", [False, True, False, False, False, False]),
    ],
)
async def test_who_goes_on_in_a_thread_with_an_answer(
    tmp_path: Path, follow: Follow, expected: list[bool]
) -> None:
    async with gateway(tmp_path, options=rooms(follow)) as moot:
        told = await answers(
            moot,
            line("why is it red?"),
            line("@demo why is it red?"),
            line("and since when?"),
            line("and on main?", by="budi"),
            line("and elsewhere?", later=29),
            line("by the way", later=61),
        )
        assert told == expected


async def test_a_thread_is_one_of_its_own_and_a_room_is_none(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        told = await answers(
            moot,
            line("@demo why?"),
            replace(line("and elsewhere?"), thread_id="t2"),
            replace(line("and here?"), thread_id=None),
            replace(line("and there?"), room=replace(ROOM, id="fake:other")),
        )
        assert told == [True, False, False, False]


@pytest.mark.parametrize(
    "aside",
    [
        [line("<@UB> what do you think?", mentions=["fake:budi"])],
        [line("@budi what do you think?")],
        [line("I think so", by="budi", message_id="b1"), line("really?", reply_to="b1")],
        [line("look", by="budi", mentions=["fake:ash"]), line("I do")],
        [line("where?", message_id="a1"), line("there", by="budi", reply_to="a1"), line("ah")],
        [
            line("<@UB> what do you think?", mentions=["fake:budi"]),
            line("I think so", by="budi"),
            line("really?"),
        ],
    ],
)
async def test_people_who_talk_to_each_other_are_left_alone(
    tmp_path: Path, aside: list[Inbound]
) -> None:
    async with gateway(tmp_path) as moot:
        assert await answers(moot, line("@demo why?")) == [True]
        told = await answers(moot, *aside)
        own = [one.message_id == "a1" for one in aside]
        assert told == own, "the one that goes on before somebody replies to it"
        assert await answers(moot, line("@demo and you?"), line("go on")) == [True, True]


async def test_others_who_talk_do_not_end_what_somebody_asks(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        told = await answers(
            moot,
            line("@demo why?"),
            line("<@UC> look", by="budi", mentions=["fake:carol"]),
            line("nice", by="carol"),
            line("since when?"),
        )
        assert told == [True, False, False, True]


async def test_what_is_added_while_the_agent_works_is_for_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.receive(line("@demo why?"))
        await moot.receive(line("and on main?"))
        await moot.receive(line("me too", by="budi"))
        await moot.settle()
        assert len(moot.programs.prompts) == 2


@pytest.mark.parametrize(("access", "expected"), [(OPEN, True), (CLOSED, False)])
async def test_whoever_may_not_ask_hears_nothing(
    tmp_path: Path, access: AccessTable, *, expected: bool
) -> None:
    options = rooms("everybody")
    async with gateway(tmp_path, access=access, options=options) as moot:
        told = await answers(moot, line("@demo why?"), line("and on main?", by="eve"))
        assert told == [True, expected]
        assert len(moot.texts()) == 1 + expected


async def test_a_bot_goes_on_with_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, options=rooms("everybody")) as moot:
        told = await answers(moot, line("@demo why?"), line("and?", by="ci", kind="bot"))
        assert told == [True, False]


async def test_a_reply_to_an_answer_is_for_who_gave_it_whoever_replies(tmp_path: Path) -> None:
    async with gateway(tmp_path, options=rooms("never"), personas=("claude", "codex")) as moot:
        await moot.receive(said("@codex why?"))
        await moot.settle()
        post = moot.bot.posted[0].id
        aside = said("look at that", by="budi", mentions=["fake:ash"])
        told = await answers(
            moot,
            replace(said("and now?", by="budi"), reply_to=post),
            replace(aside, reply_to=post),
            replace(said("and now?", by="budi"), reply_to="somebody's"),
        )
        assert told == [True, False, False]
        assert "You are: @codex" in moot.programs.prompts[-1]


@pytest.mark.parametrize(("by", "expected"), [("ash", True), ("budi", False)])
async def test_a_thread_that_begins_with_an_answer_goes_on_with_who_asked(
    tmp_path: Path, by: str, *, expected: bool
) -> None:
    async with gateway(tmp_path) as moot:
        await moot.receive(said("@demo why?"))
        await moot.settle()
        root = moot.bot.posted[0].id
        under = replace(said("and now?", by=by, thread_id=root), reply_to=root)
        assert await answers(moot, under) == [expected]


async def test_of_several_personas_the_last_that_answered_goes_on(tmp_path: Path) -> None:
    async with gateway(tmp_path, personas=("claude", "codex")) as moot:
        asked = []
        for text, by in (
            ("@codex why?", "ash"),
            ("and now?", "ash"),
            ("@claude why?", "budi"),
            ("and now?", "ash"),
            ("@claude and you?", "ash"),
            ("and now?", "ash"),
        ):
            assert await answers(moot, line(text, by=by)) == [True]
            asked.append("codex" if "You are: @codex" in moot.programs.prompts[-1] else "claude")
        assert asked == ["codex", "codex", "claude", "codex", "claude", "claude"]


async def test_of_several_accounts_one_goes_on(tmp_path: Path) -> None:
    async with two(tmp_path) as (platform, claude, codex):

        def counted() -> list[int]:
            return [len(texts(claude)), len(texts(codex))]

        await platform.say("@codex why?", thread_id="t1")
        await platform.say("and now?", thread_id="t1")
        assert counted() == [0, 2]
        await platform.say("@claude and you?", thread_id="t1")
        await platform.say("and now?", thread_id="t1")
        assert counted() == [2, 2]
        await platform.say("say, @codex and you?", thread_id="t1")
        assert counted() == [2, 3]


async def test_what_is_told_again_is_not_answered_again_and_what_was_missed_is(
    tmp_path: Path,
) -> None:
    bot = FakeBot()
    async with gateway(tmp_path, bot=bot) as moot:
        follow = line("and now?")
        assert await answers(moot, line("@demo why?"), follow) == [True, True]
        assert await answers(moot, follow) == [False]
    async with gateway(tmp_path, bot=bot) as moot:
        missed = line("and after the restart?")
        assert await answers(moot, follow, missed) == [False, True]


async def test_a_command_in_a_thread_is_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=ScriptedPrograms()) as moot:
        assert await answers(moot, line("@demo why?"), line("!status")) == [True, False]
        assert moot.texts()[-1].startswith("@demo: nothing to do")
