"""Remembering without a model: people's own words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from contract.chat import Room
from memory.extraction.plain import MOST_CHARS, MessageFacts
from memory.layers import EndedSession
from memory.recall.facts import NewFact, add_facts
from tests.doubles.chat import Chat, open_chat
from tests.doubles.platform import ROOM

SCOPE = f"room:{ROOM.id}"


@dataclass
class Rig:
    chat: Chat
    learns: bool = True
    asked: list[str] = field(default_factory=list)

    @property
    def messages(self) -> MessageFacts:
        chat = self.chat
        return MessageFacts(
            chat.store,
            chat.slices,
            chat.clock,
            found=chat.index,
            gone=chat.unindex,
            learns=self.learns,
        )

    async def texts(self) -> list[str]:
        return [fact.text for fact in await self.chat.facts()]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_chat(tmp_path) as chat:
        yield Rig(chat)


async def test_a_persons_message_becomes_a_fact_with_its_provenance(rig: Rig) -> None:
    seq = await rig.chat.say("the staging database is on port 5433", "andi")
    assert await rig.messages.run(SCOPE) == 1
    [fact] = await rig.chat.facts()
    assert (fact.scope, fact.kind) == (SCOPE, "message")
    assert fact.text == "Andi: the staging database is on port 5433"
    assert (fact.person, fact.person_name, fact.origin) == ("fake:andi", "Andi", "#general")
    assert (fact.first_seq, fact.last_seq, fact.room_id) == (seq, seq, ROOM.id)
    assert rig.chat.indexed == 1


async def test_what_says_little_is_private_or_a_bots_is_no_fact(rig: Rig) -> None:
    await rig.chat.say("yes, do that")
    await rig.chat.say("I am a bot that talks", "hal", kind="bot")
    await rig.chat.say("not for keeps, not at all", include_in_memory=False)
    await rig.chat.say("my pin is <private>998877 and more words</private> there")
    await rig.chat.say("!pin this is a command of mine")
    assert await rig.messages.run(SCOPE) == 1
    assert await rig.texts() == ["Ash: my pin is  there"]


@pytest.mark.parametrize(
    "text",
    [
        "我们的测试数据库用的是5433端口",
        "会议改到周五",
        "ステージングのデータベースは5433番です",
        "会議は金曜日です",
        "스테이징 포트는 5433입니다",
        "ฐานข้อมูลทดสอบใช้พอร์ต 5433",
        "端口改成5433了。可以吗？",
        "قاعدة البيانات على المنفذ 5433",
        "Deploys are Fridays",
        "Port is 8443",
        "We use Kafka",
        "Der Port ist 8443.",
    ],
)
async def test_a_sentence_of_any_script_is_a_fact(rig: Rig, text: str) -> None:
    await rig.chat.say(text)
    assert await rig.messages.run(SCOPE) == 1


@pytest.mark.parametrize(
    "text",
    [
        "yes, do that please",
        "sounds good everybody",
        "that is great",
        "it was fun",
        "see you tomorrow",
        "nice work Budi",
        "who is Andi",
        "yes, thank you, please do",
        "好的",
        "谢谢大家",
        "了解です",
        "ありがとうございます",
        "네 감사합니다",
        "ขอบคุณครับ",
        "测试数据库用的是哪个端口吗",
        "どのポートを使いますか。",
        "数据库在哪里？用的是哪个端口？",
        "ما هو منفذ قاعدة البيانات؟",
        "👍👍👍👍 !!! ???",
    ],
)
async def test_what_says_little_in_any_script_is_none(rig: Rig, text: str) -> None:
    await rig.chat.say(text)
    assert await rig.messages.run(SCOPE) == 0


async def test_a_mere_question_is_no_fact(rig: Rig) -> None:
    for text in (
        "which port does it use?",
        "why is v1.2 late? is it?",
        "it moved. which port now?",
    ):
        await rig.chat.say(text)
    assert await rig.messages.run(SCOPE) == 1
    assert await rig.texts() == ["Ash: it moved. which port now?"]


async def test_messages_are_read_once_and_to_the_end(rig: Rig) -> None:
    for n in range(230):
        await rig.chat.say(f"this is message number {n}")
    assert await rig.messages.run(SCOPE) == 230
    assert await rig.messages.run(SCOPE) == 0
    await rig.chat.say("this is one more message")
    await rig.messages.end(EndedSession(SCOPE, "demo", ROOM, "s1"))
    assert len(await rig.texts()) == 231


async def test_a_thread_is_a_source_of_its_own(rig: Rig) -> None:
    await rig.chat.say("this is in the room")
    await rig.chat.say("this is in a thread", thread_id="t1")
    await rig.messages.run(SCOPE)
    assert [fact.source for fact in await rig.chat.facts()] == [SCOPE, f"{SCOPE} t1"]


async def test_a_long_message_is_cut(rig: Rig) -> None:
    await rig.chat.say("word " * 1000)
    await rig.messages.run(SCOPE)
    assert [len(text) for text in await rig.texts()] == [MOST_CHARS]


async def test_a_deleted_message_takes_its_fact_along_and_what_was_shared_of_it(rig: Rig) -> None:
    seq = await rig.chat.say("I will be on leave in May", "andi", Room("fake:d", "Andi", "dm"))
    kept = await rig.chat.say("I will be back in June", "andi", Room("fake:d", "Andi", "dm"))
    scope = "dm:fake:andi:demo"
    await rig.messages.run(scope)
    [fact, _] = await rig.chat.facts()
    shared = NewFact(
        "profile:fake:andi", "fact", fact.text, rig.chat.now, "!share", shared_from=fact.id
    )
    await rig.chat.store.write(lambda c: add_facts(c, [shared], rig.chat.now))
    stored = await rig.chat.delete(seq)
    await rig.messages.follow(stored.scope, stored.seq)
    assert [fact.first_seq for fact in await rig.chat.facts()] == [kept]
    assert len(rig.chat.gone) == 2
    assert fact.id in rig.chat.gone


@pytest.mark.parametrize(
    ("now", "stays"),
    [
        (None, False),
        ("I like tea at four, and cake", True),
        ("I like coffee", False),
        ("I like <private>tea at four</private>", False),
    ],
)
async def test_what_was_shared_of_a_message_goes_with_its_words(
    rig: Rig, now: str | None, stays: bool
) -> None:
    seq = await rig.chat.say("I like tea at four", "andi", Room("fake:d", "Andi", "dm"))
    shared = NewFact(
        "profile:fake:andi", "fact", "Andi: I like tea at four", rig.chat.now, "!share",
        person="fake:andi", person_name="Andi", data={"message_seq": seq},
    )  # fmt: skip
    other = replace(shared, data={"message_seq": seq + 1})
    await rig.chat.store.write(lambda c: add_facts(c, [shared, other], rig.chat.now))
    if now is None:
        await rig.chat.delete(seq)
    else:
        await rig.chat.edit(seq, now)
    await rig.messages.follow("dm:fake:andi:demo", seq)
    left = [fact.data["message_seq"] for fact in await rig.chat.facts()]
    assert left == [seq] * stays + [seq + 1]


async def test_an_edited_message_has_a_new_fact(rig: Rig) -> None:
    seq = await rig.chat.say("the port of staging is 5433")
    await rig.messages.run(SCOPE)
    [before] = await rig.chat.facts()
    await rig.chat.edit(seq, "the port of staging is 5434")
    await rig.messages.follow(SCOPE, seq)
    [after] = await rig.chat.facts()
    assert (after.text, after.first_seq) == ("Ash: the port of staging is 5434", seq)
    assert (rig.chat.gone, rig.chat.indexed) == ([before.id], 2)


async def test_an_edit_that_makes_a_message_private_takes_the_fact_away(rig: Rig) -> None:
    seq = await rig.chat.say("the port of staging is 5433")
    await rig.messages.run(SCOPE)
    await rig.chat.edit(seq, "<private>the port of staging is 5433</private>")
    await rig.messages.follow(SCOPE, seq)
    assert await rig.texts() == []


async def test_an_edit_that_says_more_makes_the_fact_that_there_was_none_of(rig: Rig) -> None:
    seq = await rig.chat.say("hm")
    await rig.messages.run(SCOPE)
    await rig.chat.edit(seq, "the port of staging is 5433")
    await rig.messages.follow(SCOPE, seq)
    assert len(await rig.texts()) == 1


async def test_a_message_that_was_not_read_yet_is_left_for_its_time(rig: Rig) -> None:
    seq = await rig.chat.say("the port of staging is 5433")
    await rig.chat.edit(seq, "the port of staging is 5434")
    await rig.messages.follow(SCOPE, seq)
    assert await rig.texts() == []
    await rig.messages.run(SCOPE)
    assert await rig.texts() == ["Ash: the port of staging is 5434"]


async def test_only_the_fact_of_that_message_in_that_scope_goes(rig: Rig) -> None:
    seq = await rig.chat.say("the port of staging is 5433")
    await rig.messages.run(SCOPE)
    extracted = NewFact(SCOPE, "decision", "Chose 5433", rig.chat.now, "s1", first_seq=seq)
    await rig.chat.store.write(lambda c: add_facts(c, [extracted], rig.chat.now))
    await rig.chat.delete(seq)
    await rig.messages.follow("room:fake:other", seq)
    assert len(await rig.texts()) == 2
    await rig.messages.follow(SCOPE, seq)
    assert await rig.texts() == ["Chose 5433"]


async def test_where_a_model_extracts_instead_facts_still_follow_but_no_new_ones_come(
    rig: Rig,
) -> None:
    first = await rig.chat.say("the port of staging is 5433")
    short = await rig.chat.say("hm")
    await rig.messages.run(SCOPE)
    rig.learns = False
    await rig.chat.edit(first, "the port of staging is 5434")
    await rig.messages.follow(SCOPE, first)
    await rig.chat.edit(short, "the port of production is 5435")
    await rig.messages.follow(SCOPE, short)
    assert await rig.texts() == ["Ash: the port of staging is 5434"]
