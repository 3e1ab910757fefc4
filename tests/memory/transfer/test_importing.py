"""What goes out comes in again, and nothing that is wrong comes in at all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Table, func, select

from memory.observations.records import NewObservation, SessionOutline
from memory.observations.rows import add_observation, open_session, tell_session
from memory.recall.facts import NewFact, add_facts, facts_in
from memory.transfer.importing import Imported, export, import_lines, wipe
from memory.transfer.rows import TABLES, ImportFault, check_lines
from store import gateway_schema
from store.database import Store
from store.schema import facts, landmarks, messages, metadata, pointers
from tests.doubles.planted import plant

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROOM = "room:fake:r"
RECORD = NewObservation("bugfix", "Fix token expiry", "", (), "It was too short.", (), ())
_OF_MESSAGES = {"rooms", "messages", "turns", "posts", "sessions", "decisions", "model_calls"}
NOT_EXCHANGED = {*_OF_MESSAGES, "tombstones"} | {
    value.name for value in vars(gateway_schema).values() if isinstance(value, Table)
}


async def exported(store: Store) -> bytes:
    return await store.read(lambda c: b"".join(export(c)), cursor=True)


async def imported(store: Store, lines: bytes | Iterable[dict[str, Any]]) -> Imported:
    if not isinstance(lines, bytes):
        lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    check_lines(io.BytesIO(lines))
    return await store.write(lambda c: import_lines(c, io.BytesIO(lines), NOW))


def fill(connection: Connection) -> None:
    """Two rows of each table of the memory; facts with gaps, speakers, and one replaced."""
    for table in TABLES.values():
        for _ in range(2):
            plant(connection, table.name)
    new = [
        NewFact(ROOM, "fact", f"Ünïcode “{n}”\u2028 \\ \n", NOW, "s", speakers=("fake:b", "fake:a"))
        for n in range(3)
    ]
    first, second, third = add_facts(connection, new, NOW)
    connection.execute(facts.update().where(facts.c.seq == first.seq).values(replaced_by=third.id))
    connection.execute(facts.delete().where(facts.c.seq == second.seq))
    plant(connection, "landmarks", **_twin(connection))


def _twin(connection: Connection) -> dict[str, Any]:
    """The first landmark once more, under a seq of its own."""
    row = connection.execute(select(landmarks).order_by(landmarks.c.seq)).mappings().first()
    assert row is not None
    return {**row, "seq": 77_777}


async def test_every_table_of_the_memory_is_exchanged() -> None:
    taken = {table.name for table in TABLES.values()} | {"fact_speakers"}
    assert taken | NOT_EXCHANGED == set(metadata.tables)


async def test_export_wipe_import_export_gives_the_same_bytes(store: Store) -> None:
    await store.write(fill)
    before = await exported(store)
    assert {json.loads(line)["type"] for line in before.splitlines(keepends=False) if line} >= {
        *TABLES
    }
    assert await store.write(wipe) > 0
    left = [json.loads(line)["type"] for line in (await exported(store)).splitlines()]
    sessions = ["agent_session"] * 2  # they count the observations, and hold no word
    assert sorted(left) == [*sessions, "moot-memory", "pointer", "pointer"]
    result = await imported(store, before)
    assert await exported(store) == before
    assert result.known == 4
    assert sum(result.rows.values()) == before.count(b"\n") - 5


async def test_an_export_goes_into_a_new_house(store: Store, tmp_path: Path) -> None:
    await store.write(fill)
    before = await exported(store)
    async with Store.open(f"sqlite:///{tmp_path}/other/moot.db") as other:
        await imported(other, before)
        assert await exported(other) == before


async def test_a_second_import_changes_nothing(store: Store) -> None:
    await store.write(fill)
    before = await exported(store)
    result = await imported(store, before)
    assert sum(result.rows.values()) == 0
    assert result.known == before.count(b"\n") - 1
    assert await exported(store) == before


async def test_facts_count_on_above_the_highest_that_was_imported(store: Store) -> None:
    await store.write(fill)
    highest = await store.read(lambda c: c.execute(select(func.max(facts.c.seq))).scalar_one())
    lines = await exported(store)
    await store.write(wipe)
    await imported(store, lines)
    new = [NewFact(ROOM, "fact", "new", NOW, "s")]
    assert (await store.write(lambda c: add_facts(c, new, NOW)))[0].seq == highest + 1


async def test_an_observations_number_is_not_used_again_after_a_wipe_or_an_import(
    store: Store,
) -> None:
    def observe(connection: Connection) -> str:
        session = open_session(
            store, connection, scope=ROOM, persona="demo", session_id="s", project="p", at=NOW
        )
        tell_session(connection, session.id, SessionOutline("Token expiry", "Found the cause"))
        return add_observation(connection, session.id, RECORD, turn_id=None, at=NOW)

    ids = [await store.write(observe) for _ in range(2)]
    lines = await exported(store)
    ids.append(await store.write(observe))
    await store.write(wipe)
    assert b"Token" not in await exported(store)
    ids.append(await store.write(observe))
    await store.write(wipe)
    await imported(store, lines)
    assert b"Token expiry" in await exported(store)
    ids.append(await store.write(observe))
    assert [made.rpartition("_")[2] for made in ids] == ["001", "002", "003", "004", "005"]


async def test_a_seq_of_before_a_wipe_is_not_used_again(store: Store) -> None:
    old = [NewFact(ROOM, "fact", "old", NOW, "s")]
    [fact] = await store.write(lambda c: add_facts(c, old, NOW))
    await store.write(wipe)
    await imported(store, [{"scope": ROOM, "text": "new"}])
    [new] = await store.read(lambda c: facts_in(c, [ROOM]))
    assert new.seq > fact.seq


async def test_a_seq_that_is_taken_is_given_anew(store: Store, tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/other/moot.db") as other:
        await other.write(lambda c: plant(c, "landmarks", seq=1, text="theirs"))
        lines = await exported(other)
    await store.write(lambda c: plant(c, "landmarks", seq=1, text="ours"))
    await imported(store, lines)
    await imported(store, lines)
    texts = await store.read(
        lambda c: list(c.execute(select(landmarks.c.text).order_by(landmarks.c.seq)).scalars())
    )
    assert texts == ["ours", "theirs"]


async def test_plain_facts_from_elsewhere_come_in_once(store: Store) -> None:
    lines = [
        {"scope": ROOM, "text": "Tea, please.", "date": "2023-05-07", "person": "Caroline"},
        {"scope": ROOM, "text": "Tea!", "at": "2023-05-07T10:00:00+02:00", "person": "slack:U06"},
        {"scope": ROOM, "text": "No date", "kind": "preference", "source": "session_1"},
        {"scope": ROOM, "text": "Local time", "at": "2023-05-07T10:00:00"},
    ]
    await imported(store, lines)
    result = await imported(store, lines)
    assert (result.rows["fact"], result.known) == (0, 4)
    found = await store.read(lambda c: facts_in(c, [ROOM]))
    assert [fact.said_at for fact in found] == [
        datetime(2023, 5, 7, 10, tzinfo=UTC),
        datetime(2023, 5, 7, 8, tzinfo=UTC),
        NOW,
        datetime(2023, 5, 7, 10, tzinfo=UTC),
    ]
    assert [(fact.person, fact.person_name) for fact in found[:2]] == [
        (None, "Caroline"),
        ("slack:U06", None),
    ]
    assert [fact.kind for fact in found] == ["fact", "fact", "preference", "fact"]


GOOD = {"scope": ROOM, "text": "a good one"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "is not JSON"),
        (b"[1]", "valid dictionary|object|no type"),
        (b'{"type": "secret"}', "has no type that Moot knows: fact"),
        (b'{"type": 3}', "has no type"),
        (b'{"scope": "room:*", "text": "x"}', "scope: not a scope"),
        (b'{"scope": "everyone", "text": "x"}', "scope: not a scope"),
        (b'{"scope": "room:r", "text": ""}', "text: "),
        (b'{"scope": "room:r", "text": "  "}', "the text is empty"),
        (b'{"scope": "room:r"}', "text: Field required"),
        (b'{"scope": "room:r", "text": "x", "indexed_by": "y"}', "indexed_by: Extra inputs"),
        (b'{"scope": "room:r", "text": "x", "date": "7 May"}', "date: "),
        (b'{"scope": "room:r", "text": "x", "date": "2023-05-07", "at": "2023-05-07T00:00"}', "bo"),
        (b'{"type": "landmark", "seq": 1}', "scope: Field required"),
        (b'{"type": "moot-memory", "version": 1}', "the version belongs into the first line"),
        (b'{"type": "moot-memory", "version": 9}', "version: "),
        (b'{"type": "pointer", "layer": "x", "scope": "room:r", "seq": -1, "failures": 0}', "seq"),
        (b"\xff\xfe", "is not JSON"),
    ],
)
async def test_one_wrong_line_and_nothing_is_imported(
    store: Store, line: bytes, reason: str
) -> None:
    whole = json.dumps(GOOD).encode() + b"\n" + line + b"\n"
    with pytest.raises(ImportFault, match=f"line 2: .*{reason}.*; nothing was imported"):
        await imported(store, whole)
    assert await store.read(lambda c: facts_in(c, [ROOM])) == []


@pytest.mark.parametrize(
    "zone", ["Pacific/Honolulu", "America/Los_Angeles", "UTC", "Asia/Jakarta", "Pacific/Auckland"]
)
@pytest.mark.parametrize("day", ["2026-01-15", "2026-07-15"])
async def test_an_imported_day_is_that_day_on_the_rooms_clocks(
    store: Store, zone: str, day: str
) -> None:
    await imported(store, [{"scope": ROOM, "text": "Andi prefers tea", "date": day}])
    [fact] = await store.read(lambda c: facts_in(c, [ROOM]))
    assert fact.said_at.astimezone(ZoneInfo(zone)).date().isoformat() == day


async def test_an_editors_mark_at_the_beginning_is_no_part_of_the_first_line(store: Store) -> None:
    line = json.dumps({"scope": ROOM, "text": "Andi prefers tea"}).encode()
    assert (await imported(store, b"\xef\xbb\xbf" + line + b"\r\n")).rows["fact"] == 1


async def test_facts_that_replace_one_another_in_a_circle_are_refused(store: Store) -> None:
    await store.write(fill)
    lines = [json.loads(line) for line in (await exported(store)).split(b"\n") if line]
    replaced = next(line for line in lines if line.get("replaced_by"))
    for line in lines:
        if line.get("id") == replaced["replaced_by"]:
            line["replaced_by"] = replaced["id"]
    with pytest.raises(ImportFault, match="circle"):
        await imported(store, lines)


def say(connection: Connection, seq: int, scope: str) -> None:
    plant(connection, "messages", seq=seq, scope=scope, include_in_memory=True)


async def test_rows_of_another_house_lose_what_they_say_of_its_messages(
    store: Store, tmp_path: Path
) -> None:
    def theirs(connection: Connection) -> None:
        say(connection, 5, ROOM)
        new = NewFact(ROOM, "fact", "theirs", NOW, "s", first_seq=5, last_seq=5)
        add_facts(connection, [new], NOW)
        plant(connection, "pointers", seq=5)
        plant(connection, "episodes", first_seq=5, last_seq=5)

    async with Store.open(f"sqlite:///{tmp_path}/other/moot.db") as other:
        await other.write(theirs)
        lines = await exported(other)
    await store.write(lambda c: say(c, 5, "room:fake:another"))
    result = await imported(store, lines)
    [fact] = await store.read(lambda c: facts_in(c, [ROOM]))
    assert (fact.first_seq, fact.last_seq) == (None, None)
    assert await store.read(lambda c: c.execute(select(pointers)).all()) == []
    assert result.strange == 3


async def test_a_new_house_gives_no_message_a_seq_that_its_facts_speak_of(store: Store) -> None:
    line = {
        "type": "pointer",
        "layer": "extraction",
        "scope": ROOM,
        "seq": 900,
        "tried_at": None,
        "failures": 0,
    }
    await imported(store, [line])

    def message(connection: Connection) -> int:
        plant(connection, "messages", seq=None)
        seq: int = connection.execute(select(func.max(messages.c.seq))).scalar_one()
        return seq

    assert await store.write(message) == 901
