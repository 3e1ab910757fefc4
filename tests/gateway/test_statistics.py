"""The administrator's lists and plots, from a database with turns of several days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Connection, func, select

from gateway.web.admin import turn_pages
from gateway.web.admin.api import END
from gateway.web.admin.room_figures import room_choices, rooms_lately, spent_since
from gateway.web.admin.statistics import days_of
from gateway.web.admin.turn_pages import failed_since, page_of_turns
from gateway.web.admin.values import TurnLine, TurnPage, WantedTurns
from store.database import Store
from store.gateway_schema import figures, room_settings, usage
from store.schema import facts, messages, rooms, turns
from store.timestamps import micros
from store.turn_metrics import fill_turn_metrics

NOON = datetime(2026, 4, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as opened:
        await opened.write(furnish)
        yield opened


def furnish(connection: Connection) -> None:
    """Three days of ten turns each, in two rooms; the last turn runs."""
    for name in ("auth", "ops"):
        connection.execute(
            rooms.insert(),
            {"id": f"slack:{name}", "name": name, "kind": "room", "created_at": 0},
        )
    for seq in range(1, 31):
        add_turn(connection, seq)
    fill_turn_metrics(connection)


def add_turn(connection: Connection, seq: int) -> None:
    at = micros(NOON - (2 - (seq - 1) // 10) * DAY + timedelta(minutes=seq))
    room_id = "slack:ops" if seq % 5 == 0 else "slack:auth"
    person = "slack:budi" if seq % 2 else "slack:ana"
    message: dict[str, Any] = {
        "seq": seq, "room_id": room_id, "message_id": f"m{seq}", "scope": f"room:{room_id}",
        "sender_id": person, "sender_name": person[6:].title(), "sender_type": "human",
        "content": "hi", "sent_at": at, "received_at": at, "meta": {}, "attachments": [],
    }  # fmt: skip
    connection.execute(messages.insert(), message)
    fault = {4: "login", 14: "crash", 24: "crash"}.get(seq) or ("stopped" if seq == 17 else None)
    ms = seq * 1_000
    states = [["queued", at], ["running", at + 500_000], ["posted", at + ms * 1_000]]
    timings = {"agent ready": 100, "brief": 40, "compose": 10, "agent": ms - 600, "post": 50.4}
    runs = seq == 30
    row: dict[str, Any] = {
        "seq": seq, "id": f"t{seq}", "message_seq": seq,
        "persona": "codex" if seq % 3 == 0 else "claude",
        "scope": f"room:{room_id}", "room_id": room_id, "bot": "slack",
        "state": "running" if runs else "posted", "states": states[:2] if runs else states,
        "header": "[SESSION CONTEXT]", "record": {"timings": timings}, "fault": fault,
        "answer": f"It went wrong\nbadly ({fault})." if fault else "Hello",
    }  # fmt: skip
    connection.execute(turns.insert(), row)
    spent: dict[str, Any] = {
        "turn_id": f"t{seq}", "at": at, "person_id": person, "room_id": room_id,
        "persona": row["persona"], "agent": "claude_code", "input_tokens": 100, "output_tokens": 10,
        "cached_tokens": 50, "cost_usd": 0.5, "seconds": 1.0,
    }  # fmt: skip
    if seq % 3:
        connection.execute(usage.insert(), spent)


async def listed(store: Store, *, before: int = END, limit: int = 100, **wanted: Any) -> TurnPage:
    return await store.read(
        lambda c: page_of_turns(c, WantedTurns(**wanted), before=before, limit=limit)
    )


async def test_turns_come_newest_first_page_by_page(store: Store) -> None:
    seen: list[int] = []
    before: int | None = END
    while before is not None:
        page = await listed(store, before=before, limit=7)
        seen += [line.seq for line in page.items]
        before = page.next_before
    assert seen == list(range(30, 0, -1))


async def test_an_open_turn_stands_among_those_that_ended(store: Store) -> None:
    first, second = (await listed(store, limit=2)).items
    assert (first.id, first.state, first.total_ms) == ("t30", "running", None)
    assert (second.id, second.state, second.total_ms) == ("t29", "posted", 29_000)


async def test_a_turn_that_ends_while_the_list_is_read_stands_in_it_once(store: Store) -> None:
    def ends(connection: Connection) -> None:
        connection.execute(turns.update().where(turns.c.seq == 30).values(state="posted"))
        connection.execute(figures.delete())
        fill_turn_metrics(connection)

    def read(connection: Connection) -> TurnPage:
        def after_it(c: Connection, *how: Any) -> list[TurnLine]:
            ends(c)
            return found(c, *how)

        with patch.object(turn_pages, "_ended_turns", after_it):
            return page_of_turns(connection, WantedTurns(), before=END, limit=2)

    found = turn_pages._ended_turns
    first, second = (await store.write(read)).items
    assert (first.id, first.state, second.id) == ("t30", "posted", "t29")


@pytest.mark.parametrize(
    ("wanted", "seqs"),
    [
        ({"state": "failed"}, [24, 14, 4]),
        ({"state": "stopped"}, [17]),
        ({"state": "open"}, [30]),
        ({"state": "queued"}, []),
        ({"room_id": "slack:ops"}, [30, 25, 20, 15, 10, 5]),
        ({"room_id": "slack:ops", "persona": "codex"}, [30, 15]),
        ({"person_id": "slack:budi", "slow_ms": 25_000}, [29, 27]),
        ({"room_id": "slack:none"}, []),
    ],
)
async def test_a_filter_leaves_what_it_says(
    store: Store, wanted: dict[str, Any], seqs: list[int]
) -> None:
    assert [line.seq for line in (await listed(store, **wanted)).items] == seqs


async def test_a_line_tells_where_the_time_went_and_what_it_took(store: Store) -> None:
    line = next(line for line in (await listed(store)).items if line.seq == 4)
    steps = (line.queued_ms, line.ready_ms, line.brief_ms, line.compose_ms, line.agent_ms)
    assert steps == (350, 100, 40, 10, 3_400)
    assert (line.post_ms, line.total_ms) == (50, 4_000)
    assert (line.tokens, line.cost_usd) == (110, 0.5)
    assert line.error == "It went wrong badly (login)."
    assert (line.person_name, line.room_name) == ("Ana", "auth")


async def test_where_nobody_counted_tokens_there_are_none(store: Store) -> None:
    line = next(line for line in (await listed(store)).items if line.seq == 3)
    assert (line.tokens, line.cost_usd) == (None, None)


async def test_failed_turns_of_the_last_day(store: Store) -> None:
    found = await store.read(lambda c: failed_since(c, micros(NOON - DAY + timedelta(hours=1)), 9))
    assert [line.seq for line in found] == [24]


async def test_days_count_turns_and_name_turns_that_there_were(store: Store) -> None:
    days = [date(2026, 4, 19) + timedelta(days=n) for n in range(4)]
    bounds = [micros(datetime(d.year, d.month, d.day, tzinfo=UTC)) for d in (*days, days[-1] + DAY)]
    await store.write(add_facts)
    found = await store.read(lambda c: days_of(c, days, bounds))
    assert [day.turns for day in found] == [
        {"posted": 9, "failed": 1},
        {"posted": 8, "failed": 1, "stopped": 1},
        {"posted": 8, "failed": 1},
        {},
    ]
    assert [day.p50_ms for day in found] == [6_000, 15_000, 25_000, None]
    assert [day.p95_ms for day in found] == [10_000, 20_000, 29_000, None]
    assert [(s.persona, s.input_tokens, s.cost_usd) for s in found[0].spent] == [
        ("claude", 700, 3.5)
    ]
    assert [day.facts for day in found] == [2, 2, 3, 3]


def add_facts(connection: Connection) -> None:
    for number, back in enumerate((2, 2, 0)):
        at = micros(NOON - back * DAY)
        connection.execute(
            facts.insert(),
            {
                "id": f"f{number}", "scope": "room:slack:auth", "kind": "fact", "text": "x",
                "source": "test", "data": {}, "said_at": at, "created_at": at,
            },
        )  # fmt: skip


async def test_rooms_tell_who_spoke_lately_and_who_answered(store: Store) -> None:
    found = await store.read(lambda c: rooms_lately(c, micros(NOON - timedelta(hours=12))))
    assert found["slack:ops"].messages == 2
    assert [by.name for by in found["slack:auth"].people] == ["Ana", "Budi"]
    assert found["slack:auth"].personas == ["claude", "codex"]
    assert await store.read(lambda c: rooms_lately(c, micros(NOON + DAY))) == {}


async def test_of_many_people_in_a_room_the_most_talkative_are_named(store: Store) -> None:
    def talk(connection: Connection) -> None:
        [first] = connection.execute(select(messages).where(messages.c.seq == 1)).mappings()
        copies = [
            dict(first) | {"seq": 100 + n, "message_id": f"of{n}", "sender_id": f"slack:{n % 50}"}
            for n in range(300)
        ]
        named = [one | {"sender_name": f"Person {one['sender_id']}"} for one in copies[:-1]]
        connection.execute(messages.insert(), [*named, copies[-1] | {"sender_id": "slack:7"}])

    await store.write(talk)
    room = (await store.read(lambda c: rooms_lately(c, 0)))["slack:auth"]
    assert [by.id for by in room.people[:3]] == ["slack:ana", "slack:budi", "slack:7"]
    assert (len(room.people), room.more_people) == (10, 42)


async def test_what_was_chosen_in_a_room_is_shown(store: Store) -> None:
    chosen = {"scope": "room:slack:auth", "persona": "claude", "model": "opus", "by_id": "x:y"}
    chosen |= {"thread_id": ""}
    await store.write(lambda c: c.execute(room_settings.insert(), {**chosen, "at": 0}))
    kept, models = await store.read(room_choices)
    assert kept == {"slack:auth": True, "slack:ops": True}
    assert models == {"room:slack:auth": {"claude": "opus"}}


async def test_a_session_took_what_its_turns_took(store: Store) -> None:
    since = micros(NOON - timedelta(hours=1))
    spent = await store.read(lambda c: spent_since(c, "slack:auth", "claude", since))
    assert spent == (5 * 110, 2.5)
    assert await store.read(lambda c: spent_since(c, "slack:auth", "codex", since)) == (None, None)


async def test_a_figure_goes_with_its_turn(store: Store) -> None:
    await store.write(lambda c: c.execute(turns.delete().where(turns.c.seq <= 10)))
    count = select(func.count()).select_from(figures)
    assert await store.read(lambda c: c.execute(count).scalar()) == 19


async def test_no_list_and_no_plot_looks_through_all_turns(store: Store) -> None:
    """By the database's own plan: every access of the wide table is by a key."""
    plans: list[str] = []

    def explain(connection: Connection) -> None:
        for wanted in (WantedTurns(), WantedTurns("r"), WantedTurns(state="failed")):
            page_of_turns(connection, wanted, before=END, limit=50)
        days_of(connection, [date(2026, 4, 21)], [0, micros(NOON)])

    await store.read(lambda c: plans.extend(planned(c, explain)))
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN turns")]
    assert not [plan for plan in plans if plan.startswith("SCAN messages")]


def planned(connection: Connection, work: Any) -> list[str]:
    """SQLite's plans of the statements that `work` runs."""
    from sqlalchemy import event

    seen: list[tuple[str, Any]] = []
    listen = ("before_cursor_execute", lambda *given: seen.append((given[2], given[3])))
    event.listen(connection, *listen)
    work(connection)
    event.remove(connection, *listen)
    cursor = connection.connection.cursor()
    return [
        str(row[3])
        for statement, given in seen
        for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", given).fetchall()
    ]
