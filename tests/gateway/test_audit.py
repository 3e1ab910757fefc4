"""The audit log: what is noted stays, and what was done to it is found."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, text, update
from sqlalchemy.exc import DBAPIError

from contract.chat import Room, Speaker
from gateway.audit.appending import append
from gateway.audit.audit import Audit, AuditFilter
from gateway.audit.chain import read_anchor
from gateway.cli.memory.delete_person import erase_noted
from memory.erasure.person import WHO, plan_erasure
from store.database import Store
from store.gateway_schema import audit
from tests.conftest import NewUrl
from tests.doubles.migrated import migrated

NOW = datetime(2026, 11, 20, 14, 2, tzinfo=UTC)
ASH, BO = Speaker("fake:ash", "Ash"), Speaker("fake:bo", "Bo")
ROOM = Room("fake:r1", "general")


def log_of(store: Store, anchor: Path | None = None) -> Audit:
    return Audit(store, lambda: NOW, anchor)


async def fill(log: Audit, rows: int = 5) -> None:
    for number in range(rows):
        await log.note("answer", ASH, persona="demo", room=ROOM, turn_id="t1", option=str(number))


def unlocked(connection: Connection) -> None:
    """Take away what refuses changes, as whoever owns the database can."""
    if connection.dialect.name == "sqlite":
        for name in ("update", "delete"):
            connection.execute(text(f"DROP TRIGGER audit_no_{name}"))
    else:
        connection.execute(text("ALTER TABLE audit DISABLE TRIGGER USER"))


async def test_what_is_noted_is_read_newest_first_and_by_what_is_wished(store: Store) -> None:
    log = log_of(store)
    await log.note("invoke", ASH, persona="demo", room=ROOM, turn_id="t1", hop=0)
    await log.note("answer", BO, persona="codex", allowed=True, by_time=None)
    newest, first = await log.page(AuditFilter(), before=None, limit=9)
    assert (newest.act, newest.by, newest.detail) == (
        "answer",
        BO,
        {"allowed": True, "by_time": None},
    )
    assert (first.room_id, first.turn_id, first.at, first.detail) == (
        ROOM.id,
        "t1",
        NOW,
        {"hop": 0},
    )
    assert await log.page(AuditFilter(), before=newest.seq, limit=9) == [first]
    for wish in (
        AuditFilter(room_id=ROOM.id),
        AuditFilter(person_id=ASH.id),
        AuditFilter(persona="demo"),
        AuditFilter(act="invoke"),
    ):
        assert await log.page(wish, before=None, limit=9) == [first]
    assert (
        await log.page(AuditFilter(since=datetime(2026, 11, 21, tzinfo=UTC)), before=None, limit=9)
        == []
    )


async def test_no_row_can_be_changed_or_deleted(store: Store) -> None:
    await fill(log_of(store))
    for change in (
        update(audit).values(by_name="Eve"),
        update(audit).values(by_id="", by_name=""),  # a half without its salt
        update(audit).values(act="ask"),
        update(audit).values(detail={}),
        update(audit).values(turn_id=None),
        delete(audit),
        delete(audit).where(audit.c.seq == 5),
    ):
        with pytest.raises(DBAPIError, match="append-only"):
            await store.write(lambda connection, change=change: connection.execute(change))  # type: ignore[misc]
    assert (await log_of(store).verify()).broken is None


async def test_no_row_is_put_in_the_place_of_another(tmp_path: Path) -> None:
    async with Store.open(await migrated(tmp_path / "moot.db")) as store:
        await fill(log_of(store))
        swap = text("INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 3")
        with pytest.raises(DBAPIError, match="append-only"):
            await store.write(lambda connection: connection.execute(swap))


async def test_a_table_is_not_truncated_either(new_url: NewUrl) -> None:
    async with Store.open(await new_url("postgresql")) as store:
        await fill(log_of(store))
        with pytest.raises(DBAPIError, match="append-only"):
            await store.write(lambda connection: connection.execute(text("TRUNCATE audit")))


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        (update(audit).where(audit.c.seq == 3).values(detail={"option": "9"}), 3),
        (update(audit).where(audit.c.seq == 3).values(by_name="Bo"), 3),
        (update(audit).where(audit.c.seq == 3).values(act="ask"), 3),
        (update(audit).where(audit.c.seq == 3).values(at=1), 3),
        (update(audit).where(audit.c.seq == 3).values(by_id="", by_name="", who_salt=""), 3),
        (delete(audit).where(audit.c.seq == 3), 4),
        (delete(audit).where(audit.c.seq == 1), 2),
        (update(audit).where(audit.c.seq == 2).values(seq=9), 3),
        (text("INSERT INTO audit (seq, at, act, by_id, by_name, detail, who_salt, who_digest, "
              "what_salt, what_digest, before, hash) VALUES (53, 1, 'answer', 'fake:eve', 'Eve', "
              "'{}', 'a', 'b', 'c', 'd', 'e', 'f')"), 53),
    ],
)  # fmt: skip
async def test_whatever_is_done_to_a_row_is_found(store: Store, change: object, seq: int) -> None:
    log = log_of(store)
    await fill(log)
    await store.write(unlocked)
    await store.write(lambda connection: connection.execute(change))  # type: ignore[call-overload]
    broken = (await log.verify()).broken
    assert broken is not None
    assert broken.seq == seq


async def test_a_missing_end_is_found_by_the_anchor_and_by_a_noted_head(
    store: Store, tmp_path: Path
) -> None:
    log = log_of(store, tmp_path / "data" / "audit.head")
    await fill(log)
    head = (await log.verify()).head
    assert read_anchor(tmp_path / "data" / "audit.head") == head
    await store.write(unlocked)
    await store.write(lambda connection: connection.execute(delete(audit).where(audit.c.seq > 3)))
    broken = (await log.verify()).broken
    assert broken is not None
    assert "missing at the end (after row 3)" in broken.reason
    unanchored = (await log_of(store).verify()).broken
    assert unanchored is not None
    if store.dialect == "sqlite":  # it knows the number that it gave last
        assert "there was a row 5" in unanchored.reason
    else:  # it keeps the newest hash
        assert "the noted head is not there" in unanchored.reason
    assert (await log_of(store).verify(head)).broken is not None


@pytest.mark.parametrize("anchor", [None, "", "nothing\n"])
async def test_a_lost_anchor_is_noted_each_time_that_it_is_lost(
    store: Store, tmp_path: Path, anchor: str | None
) -> None:
    file = tmp_path / "audit.head"
    await fill(log_of(store, file))
    for times in (1, 2):
        file.unlink() if anchor is None else file.write_text(anchor)
        at = NOW + timedelta(hours=times)
        later = Audit(store, lambda at=at: at, file)  # type: ignore[misc]  # a default in a lambda
        if store.dialect == "postgresql" and anchor != "nothing\n":  # it keeps the newest hash
            await later.note("start", BO)
            assert (await later.verify()).broken is None
            continue
        broken = (await later.verify()).broken
        assert broken is not None
        assert "audit.head is gone, or holds no hash" in broken.reason
        later.note_later("start", BO)
        await later.note("start", BO)
        broken = (await later.verify()).broken
        assert broken is not None
        assert broken.seq is not None
        await later.acknowledge(BO, why="a test", account="bo")
        assert (await later.verify()).broken is None
        assert len(await later.page(AuditFilter(act="cut"), before=None, limit=9)) == times


async def test_a_lost_anchor_is_acknowledged_before_anything_else_is_written(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "audit.head"
    await fill(log_of(store, file))
    file.write_text("nothing\n")
    later = Audit(store, lambda: NOW + timedelta(hours=1), file)
    assert await later.acknowledge(BO, why="a test", account="bo") is not None
    assert (await later.verify()).broken is None


async def test_where_the_database_keeps_the_head_a_cut_is_told_once_by_whichever_machine(
    new_url: NewUrl, tmp_path: Path
) -> None:
    async with Store.open(await new_url("postgresql")) as store:
        await fill(log_of(store, tmp_path / "first" / "audit.head"))
        await store.write(unlocked)
        await store.write(lambda c: c.execute(delete(audit).where(audit.c.seq > 3)))
        for machine in ("second", "third"):  # neither has seen the rows that are gone
            log = log_of(store, tmp_path / machine / "audit.head")
            await log.note("start", BO)
            broken = (await log.verify()).broken
            assert broken is not None
            assert "the noted head was not there" in broken.reason
        await log.acknowledge(BO, why="a test", account="bo")
        for machine in ("first", "second"):
            log = log_of(store, tmp_path / machine / "audit.head")
            assert (await log.verify()).broken is None
        assert len(await log.page(AuditFilter(act="cut"), before=None, limit=9)) == 1


async def test_a_person_is_erased_and_the_chain_still_holds(store: Store, tmp_path: Path) -> None:
    log = log_of(store)
    await log.note("invoke", ASH, persona="demo", room=ROOM, turn_id="t1")
    await log.note("grant", BO, room=ROOM, person=ASH.id, role="member")
    await log.note("answer", BO, room=ROOM, turn_id="t2", title="Run this?")

    def work(connection: Connection) -> None:
        erase_noted(connection, plan_erasure(connection, ASH.id), 1)

    await store.write(work)
    noted = list(reversed(await log.page(AuditFilter(), before=None, limit=9)))
    assert [(e.act, e.by and e.by.name, dict(e.detail)) for e in noted] == [
        ("invoke", None, {}),
        ("grant", "Bo", {}),
        ("answer", "Bo", {"title": "Run this?"}),
        ("erase", "moot", {"half": "who", "rows": "1"}),
        ("erase", "moot", {"half": "what", "rows": "2"}),
    ]
    verdict = await log.verify()
    assert (verdict.erased, verdict.broken) == (2, None)
    await store.write(lambda c: c.execute(update(audit).where(audit.c.seq == 3).values(**WHO)))
    broken = (await log.verify()).broken
    assert broken is not None
    assert (broken.seq, "no row notes that it was erased" in broken.reason) == (3, True)


async def test_what_is_noted_later_stands_before_what_is_noted_next(
    store: Store, tmp_path: Path
) -> None:
    log = log_of(store, tmp_path / "audit.head")
    log.note_later("invoke", ASH)
    await log.note("answer", BO)
    assert [entry.act for entry in await log.page(AuditFilter(), before=None, limit=9)] == [
        "answer",
        "invoke",
    ]
    log.note_later("invoke", ASH)
    async with asyncio.timeout(5):
        while len(await log.page(AuditFilter(), before=None, limit=9)) < 3:
            await asyncio.sleep(0.01)
    assert (await log.verify()).broken is None


async def test_two_processes_append_to_one_chain(new_url: NewUrl) -> None:
    for driver in ("sqlite", "postgresql"):
        url = await new_url(driver)
        async with Store.open(url) as one, Store.open(url) as other:
            await asyncio.gather(fill(log_of(one), 20), fill(log_of(other), 20))
            verdict = await log_of(one).verify()
        assert (verdict.rows, verdict.broken) == (40, None)


async def test_the_check_goes_on_while_rows_are_appended(store: Store) -> None:
    log = log_of(store)
    await fill(log, 3)
    seen = 0
    async for rows in log.rows():
        seen += len(rows)
        if seen < 6:
            await fill(log, 3)
    assert seen == 6


async def test_a_work_that_fails_beside_it_costs_no_row(store: Store) -> None:
    def fails(connection: Connection) -> None:
        unknown: Any = object()
        append(connection, act="answer", by=ASH, at=0, detail={"agent": unknown})

    log = log_of(store)
    results = await asyncio.gather(
        log.note("invoke", ASH), store.write(fails), log.note("answer", BO), return_exceptions=True
    )
    assert isinstance(results[1], TypeError)
    verdict = await log.verify()
    assert (verdict.rows, verdict.broken) == (2, None)
