"""Episodes: what is summarised when, how far it reaches, and what a failure changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from contract.agent import Completion, Tool, ToolUse
from contract.briefing import Budget
from contract.chat import Room, Speaker
from contract.errors import ModelError, MootError
from memory.layers import AnsweredTurn, BriefRequest, EndedSession, Layers
from memory.model import Model
from memory.readable import ReadableMessages
from memory.scopes import Invocation
from memory.summaries.episodes import Episodes
from memory.summaries.rows import (
    LABEL_CHARS,
    Episode,
    Progress,
    SessionRecord,
    newest_episode,
    progress,
    weights,
)
from store.database import Store
from store.schema import episodes, messages, tool_uses, turns
from store.transcript import Transcript
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import ROOM, said

SCOPE = "room:fake:general"
DOWN = ModelError("overloaded", passing=True)
RECORD = {
    "request": "fix the race",
    "investigated": "auth.py",
    "learned": "",
    "completed": "",
    "next_steps": "a test",
    "files_read": ["auth.py", "made_up.py"],
    "files_edited": [],
    "notes": "",
}


@dataclass
class Desk:
    """An episodes layer over a database, with a clock that is set by hand."""

    store: Store
    model: Model | None
    now: datetime = datetime(2026, 4, 21, 12, 0, tzinfo=UTC)
    told_before: list[str] = field(default_factory=list)
    before: MootError | None = None

    def __post_init__(self) -> None:
        self.transcript = Transcript(self.store)
        self.layer = self.opened()

    def opened(self) -> Episodes:
        model = self.model
        return Episodes(
            self.store,
            ReadableMessages(self.store),
            None if model is None else lambda _scope: model,
            zone=UTC,
            budget=Budget(),
            clock=lambda: self.now,
            before_compaction=self._before,
        )

    async def _before(self, scope: str) -> None:
        self.told_before.append(scope)
        if self.before:
            raise self.before

    async def hear(self, text: str, *, by: str = "ash", scope: str = SCOPE, **meta: Any) -> int:
        inbound = said(text, by=by, **meta)
        seq, _ = await self.store.write(
            lambda c: self.transcript.add(c, inbound, scope, 0, self.now)
        )
        return seq

    async def answer(self, text: str, *, persona: str = "demo", scope: str = SCOPE) -> int:
        asked = await self.hear(f"@{persona} please", scope=scope)

        def work(connection: Connection) -> int:
            connection.execute(
                insert(turns).values(
                    id=f"t{asked}", message_seq=asked, persona=persona, scope=scope,
                    room_id=ROOM.id, bot="fake", state="posted", states=[], header="h",
                )
            )  # fmt: skip
            by = Speaker(f"bot:{persona}", persona, "bot")
            statement, values = self.transcript.answer(
                room_id=ROOM.id, message_id=f"a{asked}", scope=scope, thread_id=None,
                by=by, persona=persona, turn_id=f"t{asked}", hop=1, text=text, now=self.now,
            )  # fmt: skip
            return int(connection.execute(statement, values).scalar_one())

        return await self.store.write(work)

    async def chat(self, count: int, *, scope: str = SCOPE) -> list[int]:
        return [await self.hear(f"line {n}", scope=scope) for n in range(count)]

    async def turn(self, seq: int = 0, uses: tuple[ToolUse, ...] = (), scope: str = SCOPE) -> None:
        await self.layer.learn(
            AnsweredTurn(
                turn_id="t", scope=scope, room=ROOM, persona="demo", sender=Speaker("fake:a", "A"),
                text="x", reply="y", message_seq=seq, at=self.now, session_id="s1", uses=uses,
            )
        )  # fmt: skip

    async def end(self, persona: str = "demo", scope: str = SCOPE) -> None:
        await self.layer.end(EndedSession(scope, persona, ROOM, "s1"))

    async def rows(self, scope: str = SCOPE) -> list[Episode]:
        def work(connection: Connection) -> list[Episode]:
            found = connection.execute(select(episodes).order_by(episodes.c.seq)).all()
            return [
                Episode(**{**row._mapping, "record": row.record and _record(row.record)})
                for row in found
                if row.scope == scope
            ]

        return await self.store.read(work)

    async def progress(self) -> Progress:
        return await self.store.read(lambda c: progress(c, SCOPE))

    async def newest(self) -> Episode:
        found = await self.store.read(lambda c: newest_episode(c, SCOPE))
        assert found is not None
        return found


def _record(found: dict[str, Any]) -> SessionRecord:
    return SessionRecord.model_validate(found)


@asynccontextmanager
async def desk(tmp_path: Path, *replies: Any, rest: Any = "The summary.") -> AsyncIterator[Desk]:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        yield Desk(store, ScriptedModel(list(replies), rest))


def asked(at: Desk) -> list[str]:
    assert isinstance(at.model, ScriptedModel)
    return [one.prompt for one in at.model.asked]


def texts(prompt: str) -> list[str]:
    rows = prompt.split("Messages:\n", 1)[1].split("\n")
    return [json.loads(row)["text"] for row in rows]


def ask(scope_room: Room = ROOM, sender: str = "fake:ash", covered: int = 1) -> BriefRequest:
    at = datetime(2026, 4, 21, tzinfo=UTC)
    return BriefRequest(Invocation(scope_room, sender, "demo"), "hello", at, covered=covered)


# ── When ────────────────────────────────────────────────────────────────────────────────


async def test_a_short_talk_stays_raw(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.chat(28)
        await at.turn()
        assert (asked(at), await at.rows(), at.told_before) == ([], [], [])


async def test_what_passes_the_window_is_summarised_but_for_the_newest(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        seqs = await at.chat(29)
        await at.turn()
        (row,) = await at.rows()
        assert (row.first_seq, row.last_seq, row.text) == (seqs[0], seqs[16], "The summary.")
        assert (row.record, row.persona, row.plain) == (None, None, False)
        assert texts(asked(at)[0]) == [f"line {n}" for n in range(17)]
        assert (await at.progress()).after == seqs[16]
        assert at.told_before == [SCOPE]


async def test_the_next_summary_takes_in_the_one_before_it_and_both_stay(tmp_path: Path) -> None:
    async with desk(tmp_path, "First.", "Second.") as at:
        await at.chat(29)
        await at.turn()
        more = await at.chat(16)
        await at.turn()
        assert len(await at.rows()) == 1
        more += await at.chat(1)
        await at.turn()
        one, two = await at.rows()
        assert two.first_seq == one.last_seq + 1
        assert two.last_seq == more[-1] - 12
        assert [one.text, two.text] == ["First.", "Second."]
        assert asked(at)[1].startswith('Summary so far: "First."\n')


async def test_a_backlog_is_summarised_in_steps_that_leave_no_gap(tmp_path: Path) -> None:
    async with desk(tmp_path, *(f"Part {n}." for n in range(9))) as at:
        for n in range(70):
            await at.hear(f"{n} " + "x" * 3_900)
        await at.turn()
        first = await at.rows()
        assert len(first) == 5  # the rest waits for the next turn
        await at.turn()
        rows = await at.rows()
        assert len(rows) == 7
        assert [b.first_seq - a.last_seq for a, b in pairwise(rows)] == [1] * 6
        told = [text.split(" ")[0] for prompt in asked(at) for text in texts(prompt)]
        assert told == [str(n) for n in range(69)]
        assert all(len(prompt) < 45_000 for prompt in asked(at))


@pytest.mark.parametrize("seed", range(5))
async def test_what_no_summary_took_in_always_fits_the_window(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    budget = Budget()
    async with desk(tmp_path) as at:
        for _ in range(40):
            room = 30 * budget.transcript // 100
            for _ in range(dice.randint(1, 12)):
                size = min(dice.choice((5, 50, 500, 3_000)), room - 100)
                room -= size + LABEL_CHARS
                if size > 0:
                    await at.hear("x" * size)
            raw = await at.store.read(lambda c: weights(c, SCOPE, 99))
            assert len(raw) <= budget.window_messages
            assert sum(one.chars + LABEL_CHARS for one in raw) <= budget.transcript
            await at.turn()
        assert len(await at.rows()) > 5


async def test_a_failure_of_what_runs_before_does_not_keep_a_summary_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.before = ModelError("no", passing=True)
        await at.chat(29)
        await at.turn()
        assert len(await at.rows()) == 1


# ── What a failure changes ──────────────────────────────────────────────────────────────


async def test_a_failure_changes_the_counters_alone_and_is_tried_again_later(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path, DOWN, "", DOWN) as at:
        await at.chat(29)
        for failures, wait in ((1, 59), (2, 119), (3, 239)):
            await at.turn()
            known = await at.progress()
            assert (known.after, known.newest, known.pointer.failures) == (0, None, failures)
            at.now += timedelta(seconds=wait)
            await at.turn()
            assert len(asked(at)) == failures  # too soon
            at.now += timedelta(seconds=1)
        await at.turn()
        known = await at.progress()
        assert known.newest is not None
        assert known.pointer.failures == 0


async def test_the_wait_is_never_longer_than_an_hour(tmp_path: Path) -> None:
    async with desk(tmp_path, rest=DOWN) as at:
        await at.chat(29)
        for _ in range(40):
            await at.turn()
            at.now += timedelta(hours=1)
        assert len(asked(at)) == 40


async def test_an_end_that_failed_is_made_up_for_with_a_later_turn(tmp_path: Path) -> None:
    async with desk(tmp_path, DOWN, "Late.", RECORD) as at:
        last = await at.answer("the race is in auth.py")
        await at.end()
        assert (await at.progress()).pointer.failures == 1
        at.now += timedelta(minutes=2)
        await at.hear("good morning")
        await at.turn()
        row = await at.newest()
        assert (row.text, row.last_seq, row.persona) == ("Late.", last, "demo")
        assert row.record is not None


async def test_broken_off_it_leaves_no_trace(tmp_path: Path) -> None:
    class Slow:
        name = "slow"

        async def complete(
            self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
        ) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

    async with desk(tmp_path) as at:
        await at.chat(29)
        at.model = Slow()
        at.layer = at.opened()
        task = asyncio.create_task(at.turn())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])
        assert (await at.progress(), await at.rows()) == (Progress(0, None), [])


async def test_of_two_that_summarise_the_same_only_one_is_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.chat(29)
        other = at.opened()
        await asyncio.gather(at.turn(), other.learn(_lesson(at)))
        assert len(await at.rows()) == 1


def _lesson(at: Desk) -> AnsweredTurn:
    by = Speaker("fake:a", "A")
    return AnsweredTurn("t", SCOPE, ROOM, "demo", by, "x", "y", 1, at.now, "s1")


# ── The end of a session ────────────────────────────────────────────────────────────────


async def test_an_end_is_summarised_whole_with_a_record(tmp_path: Path) -> None:
    async with desk(tmp_path, "Short talk.", RECORD) as at:
        first = await at.hear("fix the race")
        last = await at.answer("looking at auth.py")
        await at.end()
        row = await at.newest()
        assert (row.first_seq, row.last_seq, row.text) == (first, last, "Short talk.")
        assert row.record == _record(RECORD | {"files_read": ["auth.py"]})
        assert row.persona == "demo"


async def test_a_record_is_asked_for_twice_then_made_plain(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD | {"first_seq": 1}, DOWN) as at:
        await at.answer("looking at auth.py")
        await at.turn(uses=(ToolUse("Edit", '{"file_path": "auth.py"}'),))
        await at.end()
        record = (await at.newest()).record
        assert record is not None
        assert (record.request, record.notes) == ("@demo please", "made without a model")
        assert record.files_edited == ("auth.py",)
        assert len(asked(at)) == 3
        assert (await at.progress()).pointer.failures == 0


async def test_a_record_names_files_that_only_tools_named(tmp_path: Path) -> None:
    found = RECORD | {"files_read": ["a.py", "b.py", "c.py"]}
    async with desk(tmp_path, "Talk.", found) as at:
        await at.answer("done")
        await at.turn(uses=(ToolUse("Read", '{"file_path": "a.py"}'),))
        await at.store.write(
            lambda c: c.execute(
                insert(tool_uses).values(
                    turn_id="t", scope=SCOPE, persona="demo", session_id="s1", tool="Read",
                    given='{"file_path": "b.py"}', result="", failed=False, at=0,
                )
            )
        )  # fmt: skip
        await at.end()
        record = (await at.newest()).record
        assert record is not None
        assert record.files_read == ("a.py", "b.py")


async def test_two_personas_of_a_room_get_one_summary_and_a_record_each(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD, RECORD | {"request": "of the other"}) as at:
        await at.answer("one")
        await at.answer("two", persona="other")
        await at.end("other")
        await at.end()
        await at.end("third")  # it never said a word
        one, two = await at.rows()
        assert (one.text, one.last_seq) == (two.text, two.last_seq)
        assert [row.persona for row in (one, two)] == ["other", "demo"]
        assert [one.tool is None for one in _calls(at)] == [True, False, False]


async def test_what_others_say_after_a_sessions_last_answer_stays_raw(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD, "More.", RECORD) as at:
        last = await at.answer("one")
        await at.hear("and now to something else")
        later = await at.answer("indeed", persona="other")
        await at.end()
        assert (await at.newest()).last_seq == last
        assert "and now to something else" not in "".join(asked(at))
        await at.end("other")
        assert (await at.newest()).last_seq == later


async def test_an_end_told_twice_changes_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD) as at:
        await at.answer("one")
        await at.end()
        before = await at.rows()
        await at.end()
        assert await at.rows() == before
        assert len(asked(at)) == 2


async def test_a_record_knows_what_was_summarised_in_mid_session(tmp_path: Path) -> None:
    async with desk(tmp_path, "Long talk.", "End.", RECORD) as at:
        await at.answer("began with auth.py")
        await at.chat(35)
        await at.turn()
        await at.end()
        assert "began with auth.py" in texts(asked(at)[2])
        assert (await at.newest()).record is not None


def _calls(at: Desk) -> list[Any]:
    assert isinstance(at.model, ScriptedModel)
    return at.model.asked


# ── Without a model ─────────────────────────────────────────────────────────────────────


async def test_without_a_model_it_is_plain_and_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.model = None
        at.layer = at.opened()
        await at.hear("why is the build red?")
        await at.answer("a test fails")
        await at.end()
        row = await at.newest()
        assert row.plain
        assert row.text.startswith("Lines of the conversation, chosen without a model.\n")
        assert "- Ash: why is the build red?" in row.text
        assert row.record is not None
        assert row.record.notes == "made without a model"


# ── What no prompt holds, and what nobody else reads ────────────────────────────────────


async def test_private_parts_commands_and_other_scopes_reach_no_prompt(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD) as at:
        await at.hear("CANARY in a direct message", scope="dm:fake:ash:demo")
        await at.hear("my key is <private>hunter2hunter2</private> ok")
        await at.hear("he said HUNTER2hunter2 aloud", by="budi")
        await at.hear("!pin SECRETPIN")
        await at.hear("OFFRECORD", include_in_memory=False)
        await at.answer("fine")
        await at.end()
        everything = "\n".join(asked(at)).casefold()
        assert "my key is" in everything
        for word in ("canary", "hunter2", "secretpin", "offrecord"):
            assert word not in everything


async def test_a_text_that_became_private_is_gone_from_the_summary_so_far(tmp_path: Path) -> None:
    async with desk(tmp_path, "The key is hunter2hunter2.", "Next.") as at:
        await at.chat(29)
        await at.turn()
        await at.hear("<private>hunter2hunter2</private>")
        await at.chat(20)
        await at.turn()
        assert "hunter2" not in asked(at)[1]


async def test_a_talk_of_private_parts_alone_is_passed_over(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for n in range(40):
            await at.hear(f"<private>{n} shillings</private>")
        await at.turn()
        assert (asked(at), await at.rows()) == ([], [])
        assert (await at.progress()).after > 0


async def test_a_summary_is_shown_only_where_it_was_made(tmp_path: Path) -> None:
    async with desk(tmp_path, "Of the room.", "Of the DM.") as at:
        await at.chat(30)
        await at.turn()
        await at.chat(30, scope="dm:fake:ash:demo")
        await at.turn(scope="dm:fake:ash:demo")
        dm = Room("fake:d1", "Ash", "dm")
        shown = [
            (await at.layer.brief(one)).summary
            for one in (ask(), ask(dm), ask(dm, "fake:budi"), ask(Room("fake:other", "o")))
        ]
        assert shown == ["Of the room.", "Of the DM.", "", ""]
        assert (await at.layer.brief(ask(covered=0))).summary == ""
        assert (await at.layer.brief(ask(covered=2**40))).summary == ""


# ── Told by the layers ──────────────────────────────────────────────────────────────────


async def test_the_layers_tell_when_they_have_learned(tmp_path: Path) -> None:
    async with desk(tmp_path, "Talk.", RECORD) as at:
        await at.answer("one")
        async with asyncio.TaskGroup() as group:
            layers = Layers(
                at.store,
                [at.layer],
                [at.layer],
                ReadableMessages(at.store),
                lambda work, name: group.create_task(work, name=name),
            )
            learned = [layers.remember(EndedSession(SCOPE, p, ROOM, "")) for p in ("demo", "other")]
            assert not any(one.done() for one in learned)
            await asyncio.gather(*learned)
        assert len(await at.rows()) == 1


async def test_forgotten_messages_are_not_summarised_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        seqs = await at.chat(29)
        await at.turn()
        await at.store.write(lambda c: c.execute(episodes.delete()))
        await at.store.write(lambda c: c.execute(update(messages).values(content="changed")))
        await at.chat(20)
        await at.turn()
        row = await at.newest()
        assert row.first_seq == seqs[17]
        assert "Summary so far" not in asked(at)[1]
        assert await at.layer.covered(SCOPE) == row.last_seq
