"""The chat as the memory may read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from contract.agent import ToolUse
from contract.chat import Deleted, Edited, Event, Room, Speaker
from gateway.commands.pins import KEPT_OUT
from gateway.settings.access import AccessTable
from memory.layers import AnsweredTurn
from memory.readable import ReadableMessages
from store.schema import rooms
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

SCOPE = f"room:{ROOM.id}"
NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)


@asynccontextmanager
async def chat(
    tmp_path: Path, answer: str = "Noted."
) -> AsyncIterator[tuple[Opened, ReadableMessages]]:
    async def script(_prompt: str, _reply: object) -> str:
        return answer

    access = AccessTable(rooms="open", dms="open")
    async with gateway(tmp_path, programs=ScriptedPrograms(script), access=access) as opened:
        yield opened, opened.house.memories.slices


async def texts(slices: ReadableMessages, scope: str = SCOPE) -> list[str]:
    found = await slices.after(scope, 0)
    return [item.text for item in found.spoken] if found else []


async def test_what_was_said_is_read_in_order_with_its_answers(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("we deploy on Fridays"))
        await opened.hear(said("@demo is that wise?"))
        await opened.settle()
        assert await texts(slices) == ["we deploy on Fridays", "@demo is that wise?", "Noted."]
        found = await slices.after(SCOPE, 1)
        assert found is not None
        assert (found.first_seq, found.last_seq) == (2, 3)
        assert [speaker.name for speaker in found.speakers] == ["Ash"]
        assert await slices.after(SCOPE, 3) is None


async def test_private_texts_commands_and_excluded_messages_are_left_out(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("the code is <private>Blue Falcon 7</private> ok"))
        await opened.hear(said("someone said blue falcon 7"))
        await opened.hear(said("not for keeps", include_in_memory=False))
        await opened.hear(said("<private>only this</private>"))
        await opened.hear(said("@demo !help"))
        await opened.hear(said("！ｈｅｌｐ please"))
        await opened.hear(said("!stop"))
        await opened.settle()
        assert await texts(slices) == ["the code is  ok", "someone said [withheld]"]
        found = await slices.after(SCOPE, 0)
        assert found is not None
        assert found.last_seq == 10  # what was left out has been looked at


async def test_a_pin_on_a_later_line_keeps_no_message_out(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("we talked it over\n!decision: tokens rotate"))
        await opened.hear(said("@demo /recall rotating the tokens"))
        await opened.settle()
        assert await texts(slices) == ["we talked it over\n!decision: tokens rotate"]


@pytest.mark.parametrize("tags", [("<private>", "</private>"), ("&#60;рrivаtе&#62;", "[/private]")])
async def test_what_an_author_says_within_a_private_part_of_several_messages_stays_out(
    tmp_path: Path, tags: tuple[str, str]
) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said(f"about the safe {tags[0]} in the hall"))
        await opened.hear(said("budi is not meant by that", by="budi"))
        await opened.hear(said("@demo it opens with kestrel4711"))
        await opened.hear(said("in a thread of its own", thread_id="t1"))
        await opened.hear(said(f"and with a key {tags[1]} that is all"))
        await opened.hear(said("so much for the safe"))
        await opened.hear(said("was it kestrel4711?", by="budi"))
        await opened.settle()
        assert await texts(slices) == [
            "about the safe",
            "budi is not meant by that",
            "in a thread of its own",
            "that is all",
            "so much for the safe",
            "was it [withheld]?",
        ]


async def test_a_private_part_that_nobody_closed_ends_after_five_minutes(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        began = said("note <private> something")
        await opened.hear(began)
        for minutes, text in ((4, "within it"), (6, "long after it")):
            at = began.sent_at + timedelta(minutes=minutes)
            await opened.hear(replace(said(text), sent_at=at))
        await opened.settle()
        assert await texts(slices) == ["note", "long after it"]


async def test_an_answer_to_what_is_private_or_excluded_is_left_out(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("@demo my pin is <private>4711 4711</private>"))
        await opened.hear(said("@demo forget this", include_in_memory=False))
        await opened.settle()
        assert await texts(slices) == ["@demo my pin is"]


async def test_deleted_messages_and_their_answers_are_left_out(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        asked = said("@demo oops")
        await opened.hear(asked)
        await opened.settle()
        await opened.house.intake.receive(Deleted(ROOM, asked.message_id), opened.bot)
        assert await texts(slices) == []


async def test_an_excluded_room_says_nothing(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("we deploy on Fridays"))
        store = opened.house.memories.store
        assert await texts(ReadableMessages(store, frozenset({ROOM.id}))) == []
        off = update(rooms).where(rooms.c.id == ROOM.id).values(include_in_memory=False)
        await store.write(lambda c: c.execute(off))
        assert await texts(slices) == []


async def test_another_scope_is_never_read(tmp_path: Path) -> None:
    direct = Room("fake:D1", "Ash", "dm")
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("hello in the room"))
        await opened.hear(said("hello in private", room=direct))
        await opened.settle()
        assert await texts(slices) == ["hello in the room"]
        assert await texts(slices, "dm:fake:ash:demo") == ["hello in private", "Noted."]


async def test_a_lesson_has_no_private_text_even_where_the_agent_repeats_it(
    tmp_path: Path,
) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("the code is <private>Blue Falcon 7</private>"))
        await opened.hear(said("@demo say it"))
        await opened.settle()
        use = ToolUse("Bash", "echo blue falcon 7", "Blue Falcon 7\n")
        lesson = await slices.lesson(turn(text="@demo say it", reply="Blue Falcon 7!", uses=(use,)))
        assert lesson is not None
        assert lesson.text == "@demo say it"
        assert lesson.reply == "[withheld]!"
        assert lesson.uses == (ToolUse("Bash", "echo [withheld]", "[withheld]"),)


async def test_a_turn_that_is_kept_out_of_the_memory_teaches_nothing(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(said("@demo hello"))
        await opened.hear(said("@demo and this", include_in_memory=False))
        await opened.settle()
        assert await slices.lesson(turn(text="@demo and this")) is None


def turn(text: str, reply: str = "", uses: tuple[ToolUse, ...] = ()) -> AnsweredTurn:
    return AnsweredTurn(
        turn_id="t",
        scope=SCOPE,
        room=ROOM,
        persona="demo",
        sender=Speaker("fake:ash", "Ash"),
        text=text,
        reply=reply,
        message_seq=2,
        at=said("x").sent_at,
        session_id="s",
        uses=uses,
    )


async def test_a_private_part_around_a_pin_keeps_it_out(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, _):
        await opened.hear(said("not for all <private>\n!pin door a1b2c3", message_id="1"))
        await opened.hear(said("<private>x\n!decision door a1b2c3\n</private>", message_id="2"))
        await opened.hear(said("!pin door <private>a1b2c3</private> is open", message_id="3"))
        await opened.settle()
        pinned = await opened.house.memories.landmarks.listed(SCOPE)
        assert [item.text for item in pinned] == ["door  is open"]
        assert opened.texts()[:2] == [KEPT_OUT] * 2


async def test_an_answer_to_what_was_private_once_is_left_out(tmp_path: Path) -> None:
    async with chat(tmp_path, "Your doctor then.") as (opened, slices):
        await opened.hear(said("@demo <private>who heals me?</private>", message_id="1"))
        await opened.settle()
        edited = Edited(ROOM, "1", "@demo never mind", datetime.now(UTC))
        await opened.house.intake.receive(edited, opened.bot)
        assert await texts(slices) == ["@demo never mind"]


async def test_what_an_agent_read_in_the_memory_is_no_lesson(tmp_path: Path) -> None:
    async with chat(tmp_path) as (opened, slices):
        accepted = await opened.hear(said("@demo what do you know?"))
        await opened.settle()
        read, made = ToolUse("mcp__moot__recall", "{}", "Ash: tea"), ToolUse("Bash", "make", "ok")
        turn = AnsweredTurn(
            turn_id="t",
            scope=SCOPE,
            room=ROOM,
            persona="demo",
            sender=Speaker("fake:ash", "Ash"),
            text="@demo what do you know?",
            reply="Noted.",
            message_seq=accepted.seq,
            at=datetime.now(UTC),
            session_id="s",
            uses=(read, made),
        )
        lesson = await slices.lesson(turn)
        assert lesson is not None
        assert lesson.uses == (made,)


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (Edited(ROOM, "m1", "we deploy on Mondays", NOW), True),
        (Edited(ROOM, "m1", "<private>we deploy on Fridays</private>", NOW), False),
        (Deleted(ROOM, "m1"), False),
        (said("unless <private>it rains</private>"), True),
        (None, True),
    ],
)
async def test_what_was_read_is_still_readable_or_not(
    tmp_path: Path, meanwhile: Event | None, left: bool
) -> None:
    async with chat(tmp_path) as (opened, slices):
        await opened.hear(replace(said("we deploy on Fridays"), message_id="m1"))
        await opened.hear(said("at noon"))
        await opened.settle()
        part = await slices.after(SCOPE, 0)
        assert part is not None
        begins = part.first(1, 1_000)
        assert (len(part.rows), len(begins.rows)) == (2, 1)
        assert await opened.house.memories.store.read(lambda c: slices.still_readable(c, begins))
        if meanwhile is not None:
            await opened.receive(meanwhile)
        await opened.settle()
        assert (
            await opened.house.memories.store.read(lambda c: slices.still_readable(c, part)) is left
        )
