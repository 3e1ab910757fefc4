"""Schedules: each run once, whatever happens in between, and for those who may."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bots.bot import PlatformCapabilities
from contract.chat import Room, Speaker
from contract.errors import PlatformError
from gateway.audit.audit import AuditFilter as AuditWish
from gateway.commands.schedules import ScheduleCommands
from gateway.observability.metrics import Counted
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.runner import TRIES, ScheduleRunner
from gateway.schedules.scheduled import Schedule
from gateway.schedules.schedules import Schedules
from gateway.settings.access import AccessTable
from gateway.settings.schedules import ScheduleTable, SchedulingTable
from gateway.turns.commands import CommandRequest
from gateway.turns.intake import Intake
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway

# After whatever the machine's own clock says: what Moot posts meanwhile stands before these.
SUNDAY = datetime(2037, 11, 22, 13, 0, tzinfo=UTC)
MONDAY_9 = datetime(2037, 11, 23, 9, 0, tzinfo=UTC)
ANSWER = "Respond to Ash in room #general."


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: datetime = SUNDAY) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Dies(BaseException):
    """What kill -9 is."""


class DyingRows(ScheduleRows):
    """The process dies after a run was said and before that is known."""

    async def ran(self, one: Schedule, due: datetime, after: datetime | None) -> None:
        raise Dies


class RunSchedules(Schedules):
    """Schedules whose due runs are run when a test says so."""

    runner: ScheduleRunner
    intake: Intake

    async def look(self) -> None:
        await self.runner.look(self.intake)


def schedules_of(
    moot: Opened, clock: Clock, rows: ScheduleRows | None = None, most: int = 20
) -> RunSchedules:
    house = moot.house
    made = RunSchedules(
        rows or ScheduleRows(house.memories.store),
        house.transcript,
        house.audit,
        table=SchedulingTable(most=most),
        zone=ZoneInfo("UTC"),
        clock=clock,
    )
    made.intake = house.intake
    made.runner = ScheduleRunner(
        made,
        ledger=house.ledger,
        transcript=house.transcript,
        access=house.access,
        personas=house.personas,
        bots=house.bots,
        count=house.metrics.scheduled,
    )
    return made


@asynccontextmanager
async def scheduling(
    tmp_path: Path, clock: Clock, bot: FakeBot | None = None, access: AccessTable | None = None
) -> AsyncIterator[tuple[Opened, RunSchedules]]:
    """A gateway, and its schedules by a clock of the test's."""
    async with gateway(tmp_path, bot=bot, access=access) as moot:
        yield moot, schedules_of(moot, clock)


async def make(schedules: Schedules, said: str, *, once: bool = False, **more: object) -> Schedule:
    wanted = Schedule(
        seq=0,
        key=None,
        room_id=ROOM.id,
        thread_id=None,
        bot="fake",
        persona="demo",
        words="",
        cron="",
        timezone="UTC",
        text="",
        missed="once",
        by=said_by("ash"),
        created_at=SUNDAY,
    )
    return await schedules.make(replace(wanted, **more), said, once=once)  # type: ignore[arg-type]


def said_by(name: str) -> Speaker:
    return said("", by=name).meta.speaker()


async def hear_room(moot: Opened) -> None:
    """Let the room be known."""
    await moot.hear(said("good morning"))


async def test_a_run_is_a_turn_of_whoever_made_it(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "weekday 9:00 summarise yesterday")
        await schedules.look()
        assert moot.programs.prompts == []
        for minutes in (0, 1, 2):
            clock.now = MONDAY_9 + timedelta(minutes=minutes)
            await schedules.look()
            await moot.settle()
        assert moot.texts() == [ANSWER]
        assert "| Ash] summarise yesterday\n" in moot.programs.prompts[0]
        stored = await moot.house.transcript.find(ROOM.id, "schedule:1:2037-11-23T09:00:00Z")
        assert stored is not None
        assert (stored.by.id, stored.content) == ("fake:ash", "summarise yesterday")
        assert moot.bot.marks == [], "there is no message on the platform to be marked"
        clock.now = MONDAY_9 + timedelta(days=1)
        await schedules.look()
        await moot.settle()
        assert moot.texts() == [ANSWER, ANSWER]


async def test_a_kill_between_the_message_and_its_row_makes_no_second_turn(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "weekday 9:00 summarise yesterday")
        clock.now = MONDAY_9
        dying = schedules_of(moot, clock, DyingRows(moot.house.memories.store))
        with pytest.raises(Dies):
            await dying.look()
    bot = FakeBot(prefix="q")
    clock.now = MONDAY_9 + timedelta(hours=1)  # it would be late by now
    async with scheduling(tmp_path, clock, bot) as (moot, schedules):
        await schedules.look()
        await schedules.look()
        await moot.settle()
        assert moot.texts() == [ANSWER]
        (one,) = await schedules.rows.of_room(ROOM.id)
        assert one.due_at == MONDAY_9 + timedelta(days=1)


async def test_what_was_missed_is_run_once_and_says_that_it_is_late(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "hour look")
    clock.now = SUNDAY + timedelta(hours=20, minutes=30)
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await schedules.look()
        await schedules.look()
        await moot.settle()
        late, answer = sorted(moot.texts(), reverse=True)
        assert late == "⏰ Late: 1 (hour) was due 2037-11-22 14:00; I was down."
        assert answer == ANSWER
        (one,) = await schedules.rows.of_room(ROOM.id)
        assert one.due_at == SUNDAY + timedelta(hours=21)


async def test_what_was_missed_may_be_skipped(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "day 9:00 look", missed="skip")
        clock.now = MONDAY_9 + timedelta(minutes=6)
        await schedules.look()
        await moot.settle()
        assert moot.texts() == []
        clock.now = MONDAY_9 + timedelta(days=1, minutes=4)  # within the grace
        await schedules.look()
        await moot.settle()
        assert moot.texts() == [ANSWER]
        figures = moot.house.metrics.text(waiting=0, sessions=Counted())
        for outcome in (b"skipped", b"ran"):
            assert b'moot_schedules_total{outcome="%s"} 1.0' % outcome in figures


async def test_somebody_who_may_not_ask_any_more_is_not_run(tmp_path: Path) -> None:
    clock = Clock()
    people = AccessTable(people=frozenset({"fake:ash"}))
    async with scheduling(tmp_path, clock, access=people) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "day 9:00 look")
    clock.now = MONDAY_9
    nobody = AccessTable(people=frozenset({"fake:budi"}))
    async with scheduling(tmp_path, clock, access=nobody) as (moot, schedules):
        await schedules.look()
        await moot.settle()
        assert moot.texts() == []
        assert moot.programs.prompts == []
        (one,) = await schedules.rows.of_room(ROOM.id)
        assert (one.paused, one.why) == (True, "Ash may not ask @demo here any more")


async def test_a_room_that_is_gone_pauses_its_schedules(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "day 9:00 look")
        moot.bot.faults = [PlatformError("channel_not_found", outcome="refused")] * 9
        clock.now = MONDAY_9
        await schedules.look()
        await moot.settle()
        clock.now = MONDAY_9 + timedelta(days=1)
        await schedules.look()
        (one,) = await schedules.rows.of_room(ROOM.id)
        assert (one.paused, one.why) == (True, "the last answer could not be posted here")
        assert len(moot.programs.prompts) == 1


async def test_a_bot_or_a_persona_that_is_gone_pauses_its_schedules(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "day 9:00 look", bot="gone")
        await make(schedules, "day 9:00 look", persona="gone")
        clock.now = MONDAY_9
        await schedules.look()
        why = [one.why for one in await schedules.rows.of_room(ROOM.id)]
        assert why == [
            "the bot gone is not configured any more",
            "there is no persona gone any more",
        ]


async def test_once_runs_once_and_is_listed_no_more(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "in 20 minutes look", once=True)
        clock.now = SUNDAY + timedelta(minutes=20)
        for _ in range(2):
            await schedules.look()
            await moot.settle()
        assert moot.texts() == [ANSWER]
        assert await schedules.rows.of_room(ROOM.id) == []


async def test_an_answer_begins_no_thread_under_a_message_that_is_not_there(tmp_path: Path) -> None:
    clock = Clock()
    bot = FakeBot(capabilities=PlatformCapabilities(draft_interval_s=None, thread_replies=True))
    async with scheduling(tmp_path, clock, bot) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "day 9:00 look")
        await make(schedules, "day 9:00 look", thread_id="t1")
        clock.now = MONDAY_9
        await schedules.look()
        await moot.settle()
        assert {post.place.thread_id for post in moot.bot.posted} == {None, "t1"}


async def test_a_direct_messages_schedule_stays_in_its_scope(tmp_path: Path) -> None:
    clock = Clock()
    dm = Room("fake:d1", "Ash", "dm")
    access = AccessTable(dms="open")
    async with scheduling(tmp_path, clock, access=access) as (moot, schedules):
        await moot.hear(said("my secret is a1b2c3", room=dm))
        await moot.settle()
        await make(schedules, "day 9:00 what is it?", room_id=dm.id)
        clock.now = MONDAY_9
        await schedules.look()
        await moot.settle()
        (post,) = moot.bot.posted[1:]
        assert post.place.room.id == dm.id
        assert len(moot.programs.launches) == 1, "it goes on in that conversation's session"


# ── moot.toml ───────────────────────────────────────────────────────────────────────────


def configured(**more: object) -> ScheduleTable:
    values = {"room": ROOM.id, "persona": "demo", "when": "day 9:00", "text": "look", **more}
    return ScheduleTable.model_validate(values)


async def test_moot_tomls_schedules_run_for_nobody_in_particular(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock, access=AccessTable()) as (moot, schedules):
        await schedules.take_configured([configured(), configured()], moot.house.bots)
        clock.now = MONDAY_9
        await schedules.look()
        await moot.settle()
        assert moot.texts() == ["Respond to schedule in room #general."]


async def test_what_stands_in_moot_toml_no_more_is_ended_and_the_rest_stays_due(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await schedules.take_configured([configured(), configured(when="hour")], moot.house.bots)
        clock.now = SUNDAY + timedelta(hours=2)
        await schedules.take_configured([configured(when="hour", missed="skip")], moot.house.bots)
        (one,) = await schedules.rows.of_room(ROOM.id)
        assert (one.words, one.missed, one.seq) == ("hour", "skip", 2)
        assert one.due_at == SUNDAY + timedelta(hours=1), "what it missed is still to be run"
        await schedules.take_configured([], moot.house.bots)
        assert await schedules.rows.of_room(ROOM.id) == []
        await schedules.take_configured([configured()], moot.house.bots)
        assert len(await schedules.rows.of_room(ROOM.id)) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"when": "soon"},
        {"when": "day 9:00 and then"},
        {"room": "general"},
        {"text": "!new"},
        {"timezone": "Berlin"},
        {"missed": "twice"},
    ],
)
def test_a_mistake_in_moot_toml_is_one(more: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(more))):
        configured(**more)


def test_a_cron_line_needs_no_quotes_of_its_own_in_moot_toml() -> None:
    assert configured(when="0 9 * * 1-5").when == "0 9 * * 1-5"


# ── !every ──────────────────────────────────────────────────────────────────────────────


async def say(moot: Opened, text: str, by: str = "ash", room: Room = ROOM) -> str:
    await moot.hear(said(text, by=by, room=room))
    await moot.settle()
    return moot.texts()[-1]


async def test_every_schedules_lists_pauses_and_ends(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        made = await say(moot, "@demo !every weekday 9:00 summarise @budi's day")
        assert made.startswith(
            "⏰ Scheduled as 1: I ask @\u2060demo every weekday 9:00: summarise @\u2060budi's day"
        )
        assert " 09:00 UTC; `!every stop 1` ends it)" in made
        listed = await say(moot, "!every")
        assert "- 1: every weekday 9:00, @\u2060demo: summarise @\u2060budi's day (next " in listed
        assert listed.endswith("; by Ash)")
        assert await say(moot, "!every pause 1.") == "Paused 1; `!every resume 1` goes on."
        assert "(paused; by Ash)" in await say(moot, "!every")
        assert (await say(moot, "!every resume #1")).startswith("1 goes on; next: ")
        other = Room("fake:other", "other")
        assert await say(moot, "!every stop 1", room=other) == (
            "Nothing is scheduled as 1 here; `!every` lists what is."
        )
        assert (await say(moot, "!every stop 1", by="budi")).startswith("Only Ash, who made 1")
        assert await say(moot, "!every stop 1") == "Ended 1: summarise @\u2060budi's day"
        assert (await say(moot, "!every")).startswith("Nothing is scheduled here.")
        assert moot.programs.prompts == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("!every weekday 9:00", "Say what I shall ask then"),
        ("!every weekday 9:00 !new", "can't give me a command"),
        ("!every weekday 9:00 !pin this", "can't give me a command"),
        ("!every minute x", "5 minutes are the shortest time"),
        ("!every blue moon x", "I don't know when `blue` is"),
        ("!every stop", "Say which: `!every stop 3`"),
        ("!once yesterday 9:00 x", "I don't know when that is"),
    ],
)
async def test_what_cannot_be_scheduled_is_said(text: str, told: str, tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        assert told in await say(moot, text)


async def test_a_guest_schedules_nothing(tmp_path: Path) -> None:
    guest = {"role": "guest", "people": ["fake:ash"]}
    access = AccessTable.model_validate({"grants": [guest]})
    async with gateway(tmp_path, access=access) as moot:
        assert "for members" in await say(moot, "!every day 9:00 x")
        assert "for members" in await say(moot, "!every")


async def test_a_room_holds_so_many_and_no_more(tmp_path: Path) -> None:
    clock = Clock()
    async with gateway(tmp_path) as moot:
        schedules = schedules_of(moot, clock, most=2)
        commands = ScheduleCommands(schedules, moot.house.access, clock)
        await moot.hear(said("hello", message_id="m"))
        asked = await moot.house.transcript.find(ROOM.id, "m")
        assert asked is not None
        await moot.hear(said("@demo hello"))
        await moot.settle()
        turn = await moot.house.ledger.last_turn(asked.scope)
        assert turn is not None
        request = CommandRequest("every", "day 9:00 x", turn, asked, ())
        told = [await commands.run(request) for _ in range(3)]
        assert [text[:12] for text in told[:2]] == ["⏰ Scheduled "] * 2
        assert told[2] == "There are 2 schedules here already, and no room for more."


async def test_moot_tomls_own_is_not_ended_in_the_chat(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await schedules.take_configured([configured()], moot.house.bots)
        assert "stands in moot.toml" in await say(moot, "!every stop 1")
        assert "by moot.toml)" in await say(moot, "!every")


class AwayRows(ScheduleRows):
    """The store is away so many times."""

    away = 2

    async def ran(self, one: Schedule, due: datetime, after: datetime | None) -> None:
        if self.away:
            self.away -= 1
            raise OSError
        await super().ran(one, due, after)


async def test_a_store_that_is_away_for_a_while_pauses_nothing(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "weekday 9:00 summarise yesterday")
        clock.now = MONDAY_9
        away = schedules_of(moot, clock, AwayRows(moot.house.memories.store))
        for _ in range(3):
            await away.look()
        await moot.settle()
        (one,) = await away.rows.of_room(ROOM.id)
        assert (one.paused, one.due_at) == (False, MONDAY_9 + timedelta(days=1))
        assert moot.texts() == [ANSWER]


async def test_what_fails_for_good_is_paused_and_says_so(tmp_path: Path) -> None:
    clock = Clock()
    async with scheduling(tmp_path, clock) as (moot, schedules):
        await hear_room(moot)
        await make(schedules, "weekday 9:00 summarise yesterday")
        clock.now = MONDAY_9
        rows = AwayRows(moot.house.memories.store)
        rows.away = TRIES
        away = schedules_of(moot, clock, rows)
        for _ in range(TRIES):
            await away.look()
        (one,) = await away.rows.of_room(ROOM.id)
        assert one.paused
        assert "it failed" in (one.why or "")


async def test_who_changed_a_schedule_stands_in_the_audit_log_and_what_it_asks_does_not(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("!every weekday 9:00 summarise yesterday", by="ash"))
        await moot.settle()
        for verb in ("pause", "resume", "stop"):
            await moot.hear(said(f"!every {verb} 1", by="ash"))
            await moot.settle()
        rows = await moot.house.audit.page(AuditWish(act="schedule"), before=None, limit=10)
        told = [(row.by and row.by.id, row.detail["change"]) for row in reversed(rows)]
        changes = ("made", "paused", "resumed", "ended")
        assert told == [("fake:ash", change) for change in changes]
        assert not any("summarise" in str(row.detail) for row in rows)


async def test_a_persona_may_be_named_before_the_time(tmp_path: Path) -> None:
    async with gateway(tmp_path, personas=("demo", "codex")) as moot:
        await moot.hear(said("!every @codex weekdays at 9: look for news"))
        await moot.settle()
        (one,) = await moot.house.schedules.rows.of_room(ROOM.id)
        assert (one.persona, one.words, one.text) == ("codex", "weekday 9:00", "look for news")
