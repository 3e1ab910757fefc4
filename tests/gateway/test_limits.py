"""Limits: a question too many is stored and never asks, and its sender is told once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.agent import Reply
from contract.agent import Answer, Usage
from contract.chat import Room, Speaker
from contract.errors import AgentError
from gateway.audit.audit import EVERY
from gateway.limits.counters import LIMITS, Counters, LimitSubject, end_of, start_of
from gateway.limits.limits import said as refusal
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.config import Config, load_config
from gateway.settings.limits import LimitsTable, LimitTable, PriceTable
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

ASH = Speaker("fake:ash", "Ash")
ZONES = ("UTC", "Asia/Jakarta", "Asia/Kathmandu", "America/New_York", "Europe/Berlin")
OPEN = AccessTable(rooms="open", dms="open")
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
TAKES = Usage("m-1", input_tokens=900, output_tokens=100, cached_tokens=500)


def limits(**person: float) -> LimitsTable:
    return LimitsTable(person=LimitTable.model_validate(person))


def spending() -> ScriptedPrograms:
    async def script(prompt: str, reply: Reply) -> Answer:
        return Answer("done", usage=TAKES)

    return ScriptedPrograms(script)


async def ask(moot: Opened, times: int = 1, by: str = "ash", room: Room = ROOM) -> None:
    for _ in range(times):
        await moot.hear(said("@demo hello", by=by, room=room))
        await moot.settle()


# ── The core ────────────────────────────────────────────────────────────────────────────


@given(
    st.integers(0, 3 * 365 * 86_400).map(lambda s: BEGIN + timedelta(seconds=s)),
    st.sampled_from(ZONES),
    st.sampled_from(["minute", "hour", "day", "month"]),
)
def test_a_window_holds_its_moment_and_the_next_begins_at_its_end(
    now: datetime, zone_name: str, window: str
) -> None:
    zone = ZoneInfo(zone_name)
    start, end = start_of(window, now, zone), end_of(window, now, zone)  # type: ignore[arg-type]
    assert start.astimezone(UTC) <= now < end.astimezone(UTC)
    again = start_of(window, end.astimezone(UTC), zone)  # type: ignore[arg-type]
    assert again.astimezone(UTC) == end.astimezone(UTC)
    assert start_of(window, start.astimezone(UTC), zone) == start  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.integers(0, 4_000), st.integers(1, 3)), max_size=60),
    st.integers(1, 6),
    st.sampled_from(ZONES),
)
def test_no_minute_lets_more_through_than_its_limit(
    asked: list[tuple[int, int]], most: int, zone_name: str
) -> None:
    counters, zone = Counters(ZoneInfo(zone_name)), ZoneInfo(zone_name)
    subject = LimitSubject("person", ASH.id, LimitTable(questions_a_minute=most))
    begin = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)  # an hour before Berlin's clocks leap
    through: dict[datetime, int] = {}
    for seconds, times in sorted(asked):
        now = begin + timedelta(seconds=seconds)
        for _ in range(times):
            minute = start_of("minute", now, zone)
            over = counters.over(subject, now)
            assert (over is not None) == (through.get(minute, 0) >= most)
            if over is None:
                counters.add({"person": ASH.id}, {"questions": 1}, now)
                through[minute] = through.get(minute, 0) + 1
            else:
                assert over.until == end_of("minute", now, zone)
    assert all(count <= most for count in through.values())


@given(st.lists(st.tuples(st.integers(0, 200_000), st.floats(0, 50)), max_size=30))
def test_what_was_taken_adds_up_in_each_window(taken: list[tuple[int, float]]) -> None:
    counters = Counters(UTC)
    begin = datetime(2026, 1, 30, tzinfo=UTC)
    spent: list[tuple[datetime, float]] = []
    for seconds, amount in sorted(taken):
        at = begin + timedelta(seconds=seconds)
        counters.add({"room": "r"}, {"usd": amount}, at)
        spent.append((at, amount))
        for window in ("day", "month"):
            start = start_of(window, at, UTC)
            expected = sum(one for when, one in spent if when >= start)
            held = counters.held("room", "r", "usd", window, at)
            assert held == pytest.approx(expected)


def test_every_key_of_the_table_is_a_limit() -> None:
    assert {name for name, _, _ in LIMITS} == set(LimitTable.model_fields)


def test_a_refusal_says_which_limit_and_until_when() -> None:
    now = datetime(2026, 4, 21, 7, 2, 30, tzinfo=UTC)
    counters, zone = Counters(ZoneInfo("Asia/Jakarta")), ZoneInfo("Asia/Jakarta")
    counters.add({"person": ASH.id}, {"questions": 3}, now)
    counters.add({"persona": "demo"}, {"usd": 12.0}, now)
    one = counters.over(LimitSubject("person", ASH.id, LimitTable(questions_a_minute=3)), now)
    other = counters.over(LimitSubject("persona", "demo", LimitTable(usd_a_month=12)), now)
    assert one is not None
    assert other is not None
    assert refusal(one, ASH, now, zone) == (
        "Ash, your limit of 3 questions a minute is reached: please ask again from 14:03 on."
    )
    assert refusal(other, ASH, now, zone) == (
        "Ash, @demo's budget of 12.00 USD a month is reached: "
        "please ask again from 2026-05-01 00:00 on."
    )


# ── In the house ────────────────────────────────────────────────────────────────────────


async def test_a_question_too_many_is_stored_and_its_sender_told_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, limits=limits(questions_a_day=2)) as moot:
        await ask(moot, 5)
        assert len(moot.programs.prompts) == 2
        assert len(moot.texts()) == 3
        assert "limit of 2 questions a day is reached" in moot.texts()[-1]
        assert len(await moot.house.transcript.page(ROOM.id, None, 99)) == 5 + 3
        await ask(moot, by="budi")
        assert len(moot.programs.prompts) == 3
        noted = await moot.house.audit.page(EVERY, before=None, limit=99)
        assert [e.by.id for e in noted if e.act == "limit" and e.by] == [ASH.id]
    async with gateway(tmp_path, limits=limits(questions_a_day=2)) as moot:  # also after a restart
        await ask(moot, 2)
        assert moot.texts() == []
        assert moot.programs.prompts == []


async def test_other_limits_count_at_once_with_what_was_asked_before(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        change = moot.house.accounting.limits.change
        await ask(moot, 2)
        change(limits(questions_a_day=2))
        await ask(moot)
        assert "limit of 2 questions a day is reached" in moot.texts()[-1]
        change(limits(questions_a_day=3))
        await ask(moot, 3)
        assert len(moot.programs.prompts) == 3
        assert "limit of 3 questions a day is reached" in moot.texts()[-1]
        change(LimitsTable())
        await ask(moot, 2)
        change(limits(questions_a_day=5))
        await ask(moot)
        assert len(moot.programs.prompts) == 5
        assert "limit of 5 questions a day is reached" in moot.texts()[-1]


async def test_commands_and_what_asks_nobody_are_never_limited(tmp_path: Path) -> None:
    async with gateway(tmp_path, limits=limits(questions_a_day=0)) as moot:
        await moot.hear(said("just saying"))
        await moot.hear(said("!help"))
        await moot.hear(said("!stop"))
        await moot.settle()
        assert any("`!stop`" in text for text in moot.texts())
        assert "Nothing is running here." in moot.texts()


async def test_a_message_delivered_twice_counts_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, limits=limits(questions_a_day=2)) as moot:
        for _ in range(3):
            await moot.hear(said("@demo hello", message_id="m1"))
        await moot.settle()
        assert len(moot.programs.prompts) == 1
    async with gateway(tmp_path, limits=limits(questions_a_day=2)) as moot:
        await moot.hear(said("@demo hello", message_id="m1"))
        await moot.hear(said("@demo hello", message_id="m2"))
        await moot.settle()
        assert len(moot.programs.prompts) == 1


@pytest.mark.parametrize("kind", ["tokens_a_day", "tokens_a_month", "seconds_a_day", "usd_a_day"])
async def test_a_budget_ends_when_it_is_used_up(tmp_path: Path, kind: str) -> None:
    most = {"tokens_a_day": 1500, "tokens_a_month": 1500, "seconds_a_day": 1e-9, "usd_a_day": 0.003}
    table = limits(**{kind: most[kind]})
    prices = {"m": PriceTable(input=2.0, output=10.0, cached=0.2)}
    asks = 1 if kind == "seconds_a_day" else 2
    options = {"limits": table, "prices": prices}
    async with gateway(tmp_path, programs=spending(), options=options) as moot:
        await ask(moot, 4)
        assert moot.texts().count("done") == asks
        assert "budget of" in moot.texts()[-1]
    async with gateway(tmp_path, programs=spending(), options=options) as moot:
        await ask(moot)
        assert moot.texts() == []


async def test_guests_rooms_personas_and_single_people_have_their_own(tmp_path: Path) -> None:
    table = LimitsTable(
        guest=LimitTable(questions_a_day=1),
        room=LimitTable(questions_a_day=5),
        people={"fake:vip": LimitTable(questions_a_day=9)},
        personas={"demo": LimitTable(questions_a_day=7)},
    )
    grants = (GrantTable(role="guest", people=frozenset({"*"})),)
    access = AccessTable(grants=grants, invoke="guest")
    async with gateway(tmp_path, access=access, limits=table) as moot:
        await ask(moot, 2, "ash")
        assert len(moot.programs.prompts) == 1
        await ask(moot, 6, "vip")
        assert len(moot.programs.prompts) == 5
        assert "this room's limit of 5 questions" in moot.texts()[-1]
        await ask(moot, 3, "vip", room=Room("fake:r2", "other"))
        assert len(moot.programs.prompts) == 7
        assert "@demo's limit of 7 questions" in moot.texts()[-1]


@pytest.mark.parametrize(
    ("owners", "rate", "budget"), [("none", 4, 4), ("budgets", 4, 2), ("all", 1, 2)]
)
async def test_which_limits_hold_for_owners_is_configured(
    tmp_path: Path, owners: str, rate: int, budget: int
) -> None:
    access = AccessTable(rooms="open", owners=frozenset({ASH.id}))
    for number, (key, most, asks) in enumerate(
        [("questions_a_day", 1, rate), ("tokens_a_day", 1500, budget)]
    ):
        table = limits(**{key: most}).model_copy(update={"owners": owners})
        folder = tmp_path / str(number)
        async with gateway(folder, programs=spending(), access=access, limits=table) as moot:
            await ask(moot, 4)
            assert moot.texts().count("done") == asks


async def test_what_a_chain_takes_counts_for_the_person_who_began_it(tmp_path: Path) -> None:
    async def hand_over(prompt: str, reply: Reply) -> Answer:
        first = "You are: @demo" in prompt
        return Answer("@codex go on" if first else "done", usage=TAKES)

    personas = ("demo", "codex")
    programs = ScriptedPrograms(hand_over)
    async with gateway(tmp_path, programs=programs, personas=personas) as moot:
        await ask(moot)
        [person] = (await moot.house.accounting.usage.report(1)).people
        assert (person.key, person.name, person.turns, person.input_tokens) == (
            ASH.id,
            "Ash",
            2,
            1800,
        )
        invoked = await moot.house.audit.page(EVERY, before=None, limit=9)
        assert [(e.persona, e.by and e.by.id, e.detail["hop"]) for e in invoked] == [
            ("codex", ASH.id, 1),
            ("demo", ASH.id, 0),
        ]
    table = limits(questions_a_day=1)
    other = tmp_path / "b"
    async with gateway(other, programs=programs, personas=personas, limits=table) as moot:
        await ask(moot)
        assert (await moot.house.accounting.usage.report(1)).people[0].turns == 1
        assert "limit of 1 questions a day" in moot.texts()[-1]


async def test_what_failed_took_its_tokens_all_the_same(tmp_path: Path) -> None:
    async def fail(prompt: str, reply: Reply) -> str:
        error = AgentError("stopped", "stopped", say="Stopped.")
        error.usage = TAKES
        raise error

    async with gateway(tmp_path, programs=ScriptedPrograms(fail)) as moot:
        await ask(moot)
        [day] = (await moot.house.accounting.usage.report(1)).days
        assert (day.turns, day.output_tokens, day.cost_usd) == (1, 100, None)


def test_a_key_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "moot.toml"
    file.write_text("[limits.person]\nquestions_a_minut = 3\n")
    with pytest.raises(Exception, match=r"limits\.person\.questions_a_minut"):
        load_config(file, base=tmp_path)
    assert Config().limits == LimitsTable()


async def test_usage_tells_each_their_own_and_owners_everybodys_alone(tmp_path: Path) -> None:
    access = AccessTable(rooms="open", dms="open", owners=frozenset({ASH.id}))
    async with gateway(tmp_path, programs=spending(), access=access) as moot:
        await ask(moot)
        await ask(moot, 2, "budi")
        await moot.hear(said("!usage", by="ash"))
        await moot.settle()
        assert moot.texts()[-1].startswith("You today: 1 question, 1,000 tokens, ")
        assert "Here this month: 3 questions, 3,000 tokens" in moot.texts()[-1]
        assert "Budi" not in moot.texts()[-1]
        await moot.hear(said("!usage", by="ash", room=Room("fake:d1", "Ash", "dm")))
        await moot.settle()
        assert "1. Budi: 2 questions, 2,000 tokens" in moot.texts()[-1]
