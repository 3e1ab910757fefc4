"""Turns: each message answered once, in order, whatever fails in between."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Reply
from bots.bot import PlatformCapabilities
from contract.agent import Option, Question
from contract.chat import Deleted, Edited, Room
from contract.errors import AgentError, PlatformError, Rejected
from gateway.core.events import DraftChanged
from gateway.core.redaction import Redactor
from gateway.settings.access import AccessTable
from gateway.settings.tables import TurnsTable
from memory.recall.index import Hit
from tests.doubles.index import WordIndex
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms

DM = Room("fake:d1", "Ash", "dm")


async def test_a_mention_is_answered_once_however_often_it_is_delivered(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for _ in range(3):
            await moot.hear(said("@demo hello", message_id="m1"))
        await moot.settle()
        await moot.hear(said("@demo hello", message_id="m1"))
        await moot.settle()
        assert moot.texts() == ["Respond to Ash in room #general."]


async def test_the_same_message_id_brings_nobody_another_persons_message(tmp_path: Path) -> None:
    """In one room that is a direct message of several people, as an API's caller may name it."""
    access = AccessTable(rooms="open", dms="open")
    async with gateway(tmp_path, personas=("demo", "other"), access=access) as moot:
        await moot.hear(said("!pin a1b2c3", by="ash", room=DM, message_id="m1"))
        await moot.hear(said("it is a1b2c3", by="ash", room=DM, message_id="m2"))
        await moot.settle()
        await moot.hear(said("@other !pin", by="budi", room=DM, message_id="m2"))
        await moot.hear(said("@other what is it?", by="budi", room=DM, message_id="m2"))
        await moot.hear(said("@other and now?", by="budi", room=DM, message_id="m1"))
        await moot.hear(said("@other hello?", by="budi", room=DM, message_id="m3"))
        await moot.settle()
        assert ["a1b2c3" in prompt for prompt in moot.programs.prompts] == [True, False]


async def test_what_nobody_was_asked_is_stored_and_told_later(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("the build is red", by="budi"))
        assert moot.programs.prompts == []
        await moot.hear(said("@demo why?"))
        await moot.settle()
        assert "| Budi] the build is red\n" in moot.programs.prompts[0]


async def test_a_burst_is_answered_in_order_and_those_who_wait_are_told(tmp_path: Path) -> None:
    async def count(prompt: str, reply: Reply) -> str:
        await asyncio.sleep(0.01)
        return f"answer {len(programs.prompts)}"

    programs = ScriptedPrograms(count)
    async with gateway(tmp_path, programs=programs) as moot:
        await asyncio.gather(*(moot.hear(said(f"@demo {n}", message_id=str(n))) for n in range(30)))
        await moot.settle()
        assert moot.texts() == [f"answer {n}" for n in range(1, 31)]
        assert {mark for _, mark in moot.bot.marks} <= {"waiting", "done"}
        assert any(mark == "waiting" for _, mark in moot.bot.marks)
        assert len(programs.launches) == 1


async def test_a_question_that_waits_is_given_with_its_own_turn_and_not_before(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow)) as moot:
        await moot.hear(said("@demo begin"))
        await until(lambda: bool(moot.programs.prompts))
        for text in ("@demo first", "@demo second", "just saying", "@demo third"):
            await moot.hear(said(text))
        gate.set()
        await moot.settle()
        shown = [
            [word for word in ("first", "second", "saying", "third") if word in prompt]
            for prompt in moot.programs.prompts[1:]
        ]
        assert shown == [["first", "saying"], ["second"], ["third"]]


async def test_a_living_session_is_given_only_what_it_does_not_know(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        await moot.hear(said("by the way", by="budi"))
        await moot.hear(said("@demo two"))
        await moot.settle()
        first, second = moot.programs.prompts
        assert "[RAW TRANSCRIPT — most recent 40 messages]" in first
        assert "[RAW TRANSCRIPT — 2 messages since your last reply]" in second
        assert "@demo one" not in second
        assert "Respond to Ash in room" not in second.split("[CURRENT INVOCATION]")[0]


async def test_a_session_that_died_is_resumed_and_given_the_window(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        moot.programs.agents[0].dead = True
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert moot.programs.launches[1].session_id == "s1"
        assert "most recent 40 messages" in moot.programs.prompts[1]
        assert "| Ash] @demo one" in moot.programs.prompts[1]


async def test_two_scopes_never_share_a_home_or_a_session(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=AccessTable(rooms="open", dms="open")) as moot:
        await moot.hear(said("@demo room"))
        await moot.hear(said("secret", room=DM))
        await moot.hear(said("other", room=Room("fake:d2", "Budi", "dm"), by="budi"))
        await moot.settle()
        homes = {launch.home for launch in moot.programs.launches}
        assert len(homes) == 3
        assert sorted(("secret" in p, "other" in p) for p in moot.programs.prompts) == [
            (False, False),
            (False, True),
            (True, False),
        ]


async def test_an_edit_changes_the_text_and_never_asks_again(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one", message_id="m1"))
        await moot.settle()
        edited = Edited(ROOM, "m1", "@demo one, please", datetime.now(UTC))
        await moot.house.intake.receive(edited, moot.bot)
        await moot.hear(said("@demo one, please", message_id="m1"))
        await moot.settle()
        assert len(moot.texts()) == 1
        [stored] = [m for m in await moot.house.transcript.page(ROOM.id, None, 9) if not m.persona]
        assert (stored.content, stored.original) == ("@demo one, please", "@demo one")


async def test_a_message_deleted_while_it_waits_is_not_answered(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow)) as moot:
        await moot.hear(said("@demo one"))
        await moot.hear(said("@demo two", message_id="m2"))
        await moot.house.intake.receive(Deleted(ROOM, "m2"), moot.bot)
        gate.set()
        await moot.settle()
        assert moot.texts() == ["done"]


async def test_stop_interrupts_and_the_session_goes_on(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow)) as moot:
        await moot.hear(said("@demo one"))
        await until(lambda: bool(moot.programs.prompts))
        await moot.hear(said("!stop"))
        await moot.settle()
        assert moot.texts() == ["⏹️ Stopped."]
        gate.set()
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert moot.texts()[-1] == "done"
        await moot.hear(said("!stop"))
        await moot.settle()
        assert moot.texts()[-1] == "Nothing is running here."


async def test_stop_while_its_prompt_is_made_leaves_the_agent_unasked(tmp_path: Path) -> None:
    made, stopped = asyncio.Event(), asyncio.Event()

    class SlowIndex(WordIndex):
        async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
            made.set()
            await stopped.wait()
            return []

    async with gateway(tmp_path, index=SlowIndex()) as moot:
        await moot.hear(said("@demo the first question of all"))
        await moot.settle()
        await until(lambda: not moot.house.memories.layers.learning())
        await moot.hear(said("@demo the second question"))
        async with asyncio.timeout(10):
            await made.wait()
        await moot.hear(said("!stop"))
        stopped.set()
        await moot.settle()
        assert moot.texts()[1:] == ["⏹️ Stopped."]
        assert len(moot.programs.prompts) == 1
        await moot.hear(said("@demo the third question"))
        await moot.settle()
        assert len(moot.programs.prompts) == 2


async def test_stop_ends_a_start_that_takes_too_long(tmp_path: Path) -> None:
    programs = ScriptedPrograms(starts=asyncio.Event())
    async with gateway(tmp_path, programs=programs) as moot:
        await moot.hear(said("@demo one"))
        await until(lambda: programs.starting == 1)
        await moot.hear(said("!stop"))
        await moot.settle()
        assert moot.texts() == ["⏹️ Stopped."]
        assert programs.starts is not None
        programs.starts.set()
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert moot.texts()[-1] == "Respond to Ash in room #general."


async def test_new_begins_a_session_of_its_own(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        await moot.hear(said("!new"))
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert [launch.session_id for launch in moot.programs.launches] == [None, None]
        assert moot.programs.agents[0].closed


async def test_why_help_and_an_unknown_command(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        for text in ("!why", "!help", "@demo !halp", "!unheard of"):
            await moot.hear(said(text))
            await moot.settle()
        why, help_, unknown = moot.texts()[1:]
        assert "What was said: the message of " in why
        assert "`!stop`" in help_
        assert unknown == "I don't know `!halp`. Did you mean `!help`?"
        assert len(moot.programs.prompts) == 1


async def test_an_agents_failure_is_one_line_and_the_next_turn_works(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        if len(programs.prompts) == 1:
            raise AgentError("api", "529", say="The model is overloaded.", partial="So far")
        return "fine"

    programs = ScriptedPrograms(script)
    programs.failures.append(AgentError("missing", "not there", say="Install it."))
    async with gateway(tmp_path, programs=programs) as moot:
        for _ in range(3):
            await moot.hear(said("@demo hello"))
            await moot.settle()
        assert moot.texts() == ["⚠️ Install it.", "So far\n\n⚠️ The model is overloaded.", "fine"]


async def test_a_turn_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async def forever(prompt: str, reply: Reply) -> str:
        await asyncio.Event().wait()
        return ""

    programs = ScriptedPrograms(forever)
    async with gateway(tmp_path, programs=programs, turns=TurnsTable(timeout_s=0.05)) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert moot.texts()[0].startswith("⚠️ No end after")


async def test_a_crash_of_one_session_is_told_there_and_nowhere_else(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        if "boom" in prompt:
            raise RuntimeError("unforeseen")
        return "fine"

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo boom"))
        await moot.hear(said("@demo hi", room=Room("fake:other", "other")))
        await moot.settle()
        assert sorted(moot.texts())[0] == "fine"
        assert "Something broke on my side" in sorted(moot.texts())[1]


@pytest.mark.parametrize("lost", [False, True])
async def test_a_post_that_fails_is_sent_again_but_never_twice(tmp_path: Path, lost: bool) -> None:
    bot = FakeBot(
        faults=[
            PlatformError("slow down", outcome="retry", retry_after_s=0.01),
            *([] if lost else [PlatformError("500", outcome="unknown")]),
        ],
        lose_answers=int(lost),
    )
    async with gateway(tmp_path, bot=bot) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert moot.texts() == ["Respond to Ash in room #general."]


async def test_without_a_history_a_lost_answer_is_sent_again(tmp_path: Path) -> None:
    bot = FakeBot(faults=[PlatformError("500", outcome="unknown")], has_history=False)
    async with gateway(tmp_path, bot=bot) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert len(moot.texts()) == 1


async def test_a_post_refused_for_good_ends_the_turn(tmp_path: Path) -> None:
    bot = FakeBot(faults=[PlatformError("archived", outcome="refused")])
    async with gateway(tmp_path, bot=bot) as moot:
        await moot.hear(said("@demo hello"))
        await moot.hear(said("@demo again"))
        await moot.settle()
        assert len(moot.texts()) == 1


async def test_a_slow_answer_is_drafted_and_the_draft_becomes_the_answer(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        reply.draft("Let me")
        await gate.wait()
        return "Let me see: yes."

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo hello"))
        await until(lambda: moot.texts() == ["Let me"])
        gate.set()
        await moot.settle()
        assert moot.texts() == ["Let me see: yes."]


async def test_words_that_nobody_sees_yet_are_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()
    unfinished = Redactor.unfinished

    def reads(redactor: Redactor, text: str) -> str:
        read.append(text)
        return unfinished(redactor, text)

    monkeypatch.setattr(Redactor, "unfinished", reads)
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        for words in range(1, 1_001):
            reply.draft("word " * words)
        await gate.wait()
        return "Done."

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo hello"))
        await until(lambda: moot.texts() != [])
        assert read == ["word " * 1_000]
        gate.set()
        await moot.settle()
        assert moot.texts() == ["Done."]


async def test_the_page_keeps_the_words_that_it_shows_while_none_may_be_shown(
    tmp_path: Path,
) -> None:
    seen, going = list[str](), [asyncio.Event() for _ in range(3)]
    secret = "hunter2-and-a-half"

    async def script(prompt: str, reply: Reply) -> str:
        for words, go in zip(("The key is", secret[:9], "Nothing."), going, strict=True):
            reply.draft(words)
            await go.wait()
        return "Done."

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        moot.house.context.redactor.learn_one(secret)

        def heard(event: object) -> None:
            if isinstance(event, DraftChanged):
                seen.append(event.text)

        moot.house.bus.listeners.add(heard)
        await moot.hear(said("@demo hello"))
        await until(lambda: seen == ["The key is"])
        going[0].set()
        await asyncio.sleep(0.3)
        going[1].set()
        await until(lambda: len(seen) == 2)
        assert seen == ["The key is", "Nothing."]
        going[2].set()
        await moot.settle()


async def test_a_draft_that_cannot_be_edited_any_more_loses_nothing(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        reply.draft("Let me")
        await gate.wait()
        return "Let me see: yes."

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo hello"))
        await until(lambda: moot.texts() == ["Let me"])
        moot.bot.frozen = True
        gate.set()
        await moot.settle()
        assert moot.texts() == ["Let me see: yes."]


async def test_a_long_answer_goes_out_in_pieces_and_a_very_long_one_as_a_file(
    tmp_path: Path,
) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "x" * (25 if len(programs.prompts) == 1 else 1000)

    programs = ScriptedPrograms(script)
    bot = FakeBot(limit=100, capabilities=PlatformCapabilities(draft_interval_s=None, max_posts=3))
    bot.limit = 10
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert [len(text) for text in moot.texts()] == [10, 10, 5]
        bot.limit = 300
        await moot.hear(said("@demo more"))
        await moot.settle()
        assert bot.uploads == [("answer.md", b"x" * 1000)]
        assert [len(text) for text in moot.texts()[3:5]] == [300, 300]
        assert "goes on in the attached file" in moot.texts()[5]


README = "Here it is:\n\n````markdown\n# Moot\n\n```sh\nmake run\n```\n````"


async def test_code_that_would_end_a_code_block_is_a_file_as_well_to_be_copied(
    tmp_path: Path,
) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return README

    capabilities = PlatformCapabilities(draft_interval_s=None, nests_fences=False)
    bot = FakeBot(capabilities=capabilities)
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo a README, please"))
        await moot.settle()
        assert moot.texts()[0] == README
        assert bot.uploads == [("answer.md", b"# Moot\n\n```sh\nmake run\n```")]


async def test_bots_hand_over_twice_and_then_stop(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "over to @codex" if "You are: @claude" in prompt else "back to @claude"

    async with gateway(
        tmp_path, programs=ScriptedPrograms(script), personas=("claude", "codex")
    ) as moot:
        await moot.hear(said("@claude begin"))
        await moot.settle()
        assert moot.texts() == ["over to @codex", "back to @claude", "over to @codex"]
        assert "Respond to @claude (bot, hop 1 of 2) in room #general." in moot.programs.prompts[1]


async def test_bots_hand_over_in_a_group_message_too(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "over to @codex" if "You are: @claude" in prompt else "done"

    async with gateway(
        tmp_path,
        programs=ScriptedPrograms(script),
        personas=("claude", "codex"),
        access=AccessTable(rooms="open", dms="open"),
    ) as moot:
        await moot.hear(said("@claude begin", room=Room("fake:g1", "Team", "gdm")))
        await moot.settle()
        assert moot.texts() == ["over to @codex", "done"]


async def test_who_names_a_persona_gets_recall_whatever_the_platform_knew(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for text in ("@demo hello", "hello all"):
            await moot.hear(said(text, message_id=text, trigger_rag=False))
        named, unnamed = [
            await moot.house.transcript.find(ROOM.id, text) for text in ("@demo hello", "hello all")
        ]
        assert named is not None
        assert unnamed is not None
        assert (named.meta["trigger_rag"], unnamed.meta["trigger_rag"]) == (True, False)


async def test_an_edit_and_a_deletion_that_come_before_their_messages_count(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path) as moot:
        now = datetime.now(UTC)
        await moot.receive(Deleted(ROOM, "gone"))
        await moot.receive(Edited(ROOM, "changed", "@demo the second text", now))
        await moot.receive(said("@demo unsaid", message_id="gone"))
        await moot.receive(said("@demo the first text", message_id="changed"))
        await moot.settle()
        stored = await moot.house.transcript.find(ROOM.id, "changed")
        assert len(moot.texts()) == 1
        assert "the second text" in moot.programs.prompts[0]
        assert stored is not None
        assert (stored.content, stored.original) == (
            "@demo the second text",
            "@demo the first text",
        )
        assert await moot.house.transcript.find(ROOM.id, "gone") is None


async def test_foreign_bots_are_answered_twice_in_a_row_at_most(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for n in range(5):
            await moot.hear(said(f"@demo {n}", by="otherbot", kind="bot"))
            await moot.settle()
        assert len(moot.texts()) == 1
        await moot.hear(said("@demo I am a person"))
        await moot.settle()
        assert len(moot.texts()) == 2


QUESTION = Question("q1", "Run ls?", "ls -la", (Option("Yes"), Option("No", refuses=True)))


async def ask(prompt: str, reply: Reply) -> str:
    return f"chose {await reply.choose(QUESTION)}"


async def test_a_permission_question_is_answered_by_those_allowed_and_once(tmp_path: Path) -> None:
    access = AccessTable(rooms="open", approvers=frozenset({"fake:owner"}))
    async with gateway(tmp_path, programs=ScriptedPrograms(ask), access=access) as moot:
        await moot.hear(said("@demo go"))
        await until(lambda: bool(moot.bot.asked))
        await moot.hear(said("!1", by="ash"))
        await until(lambda: any("may not answer" in text for text in moot.texts()))
        await moot.hear(said("!1", by="owner"))
        await moot.settle()
        assert "chose 0" in moot.texts()
        await moot.hear(said("!2", by="owner"))
        await moot.settle()
        assert moot.texts()[-1] == "Nothing is being asked here."
        [turn] = await moot.house.ledger.turns_of(1)
        assert [(d["chosen"], d["by"]) for d in await moot.house.ledger.decisions(turn.id)] == [
            ("Yes", "fake:owner")
        ]


LIMITED = PlatformError("slow down", outcome="retry", retry_after_s=0.01)
LOST = PlatformError("the line went dead", outcome="unknown")


@pytest.mark.parametrize(
    ("faults", "lost"), [([LIMITED, LIMITED], 0), ([LOST], 0), ([], 1)], ids=["429", "5xx", "lost"]
)
async def test_a_question_is_put_once_whatever_fails(
    tmp_path: Path, faults: list[PlatformError | None], lost: int
) -> None:
    access = AccessTable(rooms="open", approvers=frozenset({"fake:owner"}))
    async with gateway(tmp_path, programs=ScriptedPrograms(ask), access=access) as moot:
        moot.bot.faults, moot.bot.lose_answers = faults, lost
        await moot.hear(said("@demo go"))
        await until(lambda: "? Run ls?" in moot.texts() and not moot.bot.faults)
        await moot.hear(said("!1", by="owner"))
        if lost:  # until Moot finds the post, it can't tell if the answer stands behind it
            await until(lambda: any("say which question you mean" in t for t in moot.texts()))
            [code] = re.findall(r"`(!1 [a-z]\d)`", moot.texts()[-1])
            await moot.hear(said(code, by="owner"))
        await moot.settle()
        assert moot.texts().count("chose 0") == 1
        [edited] = {message_id for message_id, text in moot.bot.edits if "Yes" in text}
        asked = [m for m in moot.bot.posted if "Run ls" in m.text and "say which" not in m.text]
        assert [m.id for m in asked] == [edited]


async def test_a_question_that_nobody_answers_is_refused(tmp_path: Path) -> None:
    access = AccessTable(rooms="open", approvers=frozenset({"fake:owner"}))
    turns = TurnsTable(question_timeout_s=0.05)
    programs = ScriptedPrograms(ask)
    async with gateway(tmp_path, programs=programs, access=access, turns=turns) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert "chose 1" in moot.texts()
    async with gateway(tmp_path / "b", programs=programs, turns=turns) as moot:
        await moot.hear(said("@demo go"))  # it waits as long where nobody may answer yet
        await moot.settle()
        assert moot.texts()[-1] == "chose 1"


async def test_a_stranger_is_refused_in_one_line_once(tmp_path: Path) -> None:
    access = AccessTable(rooms="closed", owners=frozenset({"fake:boss"}))
    async with gateway(tmp_path, access=access) as moot:
        for _ in range(3):
            await moot.hear(said("@demo hello"))
            await moot.hear(said("hello", room=DM))
        await moot.settle()
        assert len(moot.texts()) == 2
        refused, paired = sorted(moot.texts(), key=lambda text: "!pair" in text)
        assert "`!role fake:ash guest`" in refused
        assert "!pair " in paired
        assert moot.programs.prompts == []


async def test_the_api_is_trusted_where_a_stranger_is_not(tmp_path: Path) -> None:
    body = {
        "content": "hello",
        "metadata": {
            "source": "fake",
            "sender_id": "fake:ash",
            "sender_display_name": "Ash",
            "sender_type": "human",
        },
        "room": {"id": "fake:d1", "name": "Ash", "kind": "dm"},
    }
    async with gateway(tmp_path) as moot:
        receipt = await moot.house.services.inbox.submit(body, wait_s=10)
        assert receipt.replies is not None
        assert receipt.replies[0].text == "Respond to Ash in this direct message."
        again = await moot.house.services.inbox.submit(
            {**body, "message_id": receipt.message_id}, wait_s=10
        )
        assert (again.duplicate, again.turn_ids) == (True, ())
        assert again.replies is not None
        assert again.replies[0].text == receipt.replies[0].text


@pytest.mark.parametrize("field", ["content", "message_id", "thread_id"])
async def test_half_a_character_is_rejected_and_nothing_is_stored(
    tmp_path: Path, field: str
) -> None:
    broken: dict[str, Any] = {field: "half \ud83d"}
    async with gateway(tmp_path) as moot:
        with pytest.raises(Rejected) as caught:
            await moot.hear(replace(said("@demo hi"), **broken))
        assert caught.value.field == field
        assert await moot.house.transcript.page(ROOM.id, None, 9) == []


async def test_a_personas_project_is_told_where_the_room_has_none(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        file = tmp_path / "personas" / "demo.md"
        file.write_text("---\nagent: scripted\nproject: saga-ai\n---\nYou are demo, bound.\n")
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert "Room: #general (project: saga-ai)\n" in moot.programs.prompts[0]


async def test_a_workspace_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        file = tmp_path / "personas" / "demo.md"
        file.write_text("---\nagent: scripted\nworkspace: /nowhere/at/all\n---\nYou are demo.\n")
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert moot.texts() == [
            "⚠️ My working directory /nowhere/at/all is not there; `workspace` names it."
        ]


async def test_an_answer_that_our_other_bot_heard_first_is_still_our_own(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        echo = said("Respond to Ash", message_id="p1", by="ownbot", kind="bot")
        await moot.hear(echo)
        await moot.hear(said("@demo hello"))
        await moot.settle()
        [own] = [m for m in await moot.house.transcript.page(ROOM.id, None, 9) if m.persona]
        assert (own.message_id, own.by.id) == ("p1", "bot:demo")
