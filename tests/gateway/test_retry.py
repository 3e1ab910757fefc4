"""`!retry`: the last question is asked again, once, by whoever may ask."""

import asyncio
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from adapters.agent import Reply
from contract.chat import Deleted, Edited
from gateway.core.clock import clock
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.limits import LimitsTable
from store.schema import turns
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms


def counting() -> ScriptedPrograms:
    """Answers with the number of the prompt."""

    async def script(prompt: str, reply: Reply) -> str:
        return f"answer {len(made.prompts)}"

    made = ScriptedPrograms(script)
    return made


async def say(moot: Opened, *texts: str, by: str = "ash", thread: str | None = None) -> str:
    for text in texts:
        await moot.hear(said(text, by=by, thread_id=thread))
        await moot.settle()
    return moot.texts()[-1]


async def test_the_last_question_is_asked_again_and_the_record_links_both(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=counting()) as moot:
        assert await say(moot, "@demo one", "@demo why is it red?", "so it is", "!retry") == (
            "answer 3"
        )
        assert "@demo why is it red?" in moot.programs.prompts[2]
        assert "Ash" in moot.programs.prompts[2].rstrip().rsplit("\n", 1)[-1], "the one who asked"
        [first, again] = [one for one in await moot.house.ledger.turns_of(3) if one.kind == "ask"]
        assert first.record["retried_as"] == again.id
        assert again.record["retry_of"] == first.id
        assert again.thread_id == first.thread_id
        assert await say(moot, "!retry demo") == "answer 4", "the retry can be retried"
        assert len(await moot.house.ledger.turns_of(3)) == 3


async def test_it_is_refused_while_the_question_is_open_and_where_there_is_none(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow)) as moot:
        assert await say(moot, "!retry") == "Nothing was asked here that could be asked again."
        assert await say(moot, "!retry nobody") == "There is no persona 'nobody' here."
        await moot.hear(said("@demo why?"))
        await until(lambda: bool(moot.programs.prompts))
        await moot.hear(said("!retry"))
        await until(lambda: len(moot.texts()) == 3)
        assert moot.texts()[-1] == "@demo is still at that question; `!stop` breaks it off."
        gate.set()
        await moot.settle()
        assert len(moot.programs.prompts) == 1


async def test_in_a_thread_it_is_the_threads_last_one(tmp_path: Path) -> None:
    bot = FakeBot()
    async with gateway(tmp_path, bot=bot, programs=counting()) as moot:
        await say(moot, "@demo of the thread", thread="t1")
        await say(moot, "@demo of the room")
        await say(moot, "!retry", thread="t1")
        assert bot.posted[-1].place.thread_id == "t1"
        assert len(await moot.house.ledger.turns_of(1)) == 2
        refused = await say(moot, "!retry", thread="t2")
        assert refused == "Nothing was asked here that could be asked again."


async def test_as_a_reply_it_is_the_question_replied_to_or_answered_by_that_message(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, programs=counting(), personas=("demo", "mia")) as moot:
        first = said("@demo @mia one?")
        nobody = said("lunch?")
        for message in (first, said("@demo two?"), nobody):
            await moot.hear(message)
            await moot.settle()

        async def again(about: str, text: str = "!retry", thread: str | None = None) -> int:
            before = len(moot.programs.prompts)
            await moot.hear(replace(said(text, thread_id=thread), reply_to=about))
            await moot.settle()
            return len(moot.programs.prompts) - before

        assert await again(first.message_id) == 2, "whoever it asked"
        assert all("@demo @mia one?" in prompt for prompt in moot.programs.prompts[-2:])
        assert await again(first.message_id, "!retry mia") == 1
        assert await again(moot.bot.posted[0].id) == 1, "the answer's question"
        assert "@demo @mia one?" in moot.programs.prompts[-1]
        for about in (nobody.message_id, "no-such-message"):
            assert await again(about) == 0
            assert (
                moot.texts()[-1] == "The message that you reply to asked nobody here, or is gone."
            )
        await moot.receive(Edited(first.room, first.message_id, "@demo @mia three?", clock()))
        assert await again(first.message_id, "!retry demo") == 1
        assert "@demo @mia three?" in moot.programs.prompts[-1], "as it stands now"
        await moot.receive(Deleted(first.room, first.message_id))
        assert await again(first.message_id) == 0


async def test_a_reply_to_the_root_of_its_own_thread_means_the_thread(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=counting()) as moot:
        root = said("@demo of the room")
        await moot.hear(root)
        await moot.settle()
        await say(moot, "@demo of the thread", thread=root.message_id)
        within = said("!retry", thread_id=root.message_id)
        await moot.hear(replace(within, reply_to=root.message_id))
        await moot.settle()
        assert [len(await moot.house.ledger.turns_of(seq)) for seq in (1, 3)] == [1, 2]


async def test_who_may_not_ask_may_not_ask_again_and_it_counts_for_who_said_so(
    tmp_path: Path,
) -> None:
    member = GrantTable(role="member", people=frozenset({"fake:ash", "fake:cleo"}))
    guest = GrantTable(role="guest", people=frozenset({"fake:budi"}))
    access = AccessTable(grants=(member, guest), invoke="member")
    limits = LimitsTable.model_validate({"person": {"questions_a_day": 1}})
    async with gateway(tmp_path, access=access, programs=counting(), limits=limits) as moot:
        await say(moot, "@demo why?")
        assert await say(moot, "!retry", by="budi") == "You may not ask @demo here."
        assert await say(moot, "!retry", by="cleo") == "answer 2"
        over = await say(moot, "!retry", by="cleo")
        assert "1 question" in over
        assert len(moot.programs.prompts) == 2


async def test_a_deleted_question_is_not_asked_again(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=counting()) as moot:
        message = said("@demo my password is hunter2")
        await moot.hear(message)
        await moot.settle()
        await moot.receive(Deleted(message.room, message.message_id))
        assert await say(moot, "!retry") == "Nothing was asked here that could be asked again."


async def test_a_process_that_dies_after_it_queued_the_turn_queues_no_second_one(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        if len(made.prompts) > 1:
            await gate.wait()
        return f"answer {len(made.prompts)}"

    made = ScriptedPrograms(slow)
    async with gateway(tmp_path, programs=made) as moot:
        await say(moot, "@demo why?")
        await moot.hear(said("!retry"))
        await until(lambda: len(made.prompts) == 2)

        def undone(connection: Connection) -> None:  # as if the command's end were not on disk
            connection.execute(
                turns.update().where(turns.c.kind == "command").values(state="queued")
            )

        await moot.house.context.store.write(undone)
    async with gateway(tmp_path, programs=counting()) as moot:
        await moot.settle()
        assert moot.texts() == ["answer 1"]
        assert len(await moot.house.ledger.turns_of(1)) == 2
