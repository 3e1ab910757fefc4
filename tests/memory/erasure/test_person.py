"""Deleting a person: nothing of theirs stays in any byte, and nothing of anybody else's goes."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Column, Connection, String, Text, insert, select

from memory.erasure.person import erase_person, plan_erasure
from memory.erasure.plan import COVERED, ErasurePlan
from store.database import Store
from store.gateway_schema import bot_states
from store.schema import episodes, facts, messages, metadata, pointers, rooms, sessions, turns
from tests.doubles.planted import plant

ANDI, BUDI = "fake:andi", "fake:budi"
ROOM, DM, PROFILE = "room:fake:r", "dm:fake:andi:demo", "profile:fake:andi"
ELSEWHERE = "room:fake:x"


@dataclass
class Words:
    """Unguessable texts: those of the person, and those that must stay."""

    theirs: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def secret(self) -> str:
        self.theirs.append(f"andi-{secrets.token_hex(12)}")
        return self.theirs[-1]

    def keep(self) -> str:
        self.kept.append(f"budi-{secrets.token_hex(12)}")
        return self.kept[-1]


@pytest.fixture
async def sqlite_store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/data/moot.db") as store:
        yield store


async def erased(store: Store, person: str = ANDI) -> ErasurePlan:
    def work(connection: Connection) -> ErasurePlan:
        doomed = plan_erasure(connection, person)
        erase_person(connection, doomed)
        return doomed

    return await store.write(work)


def told(connection: Connection, table: str, word: Any, **given: Any) -> None:
    """Plant a row; every text that is not given says a word of its own."""
    for column in metadata.tables[table].columns:
        if column.name not in given and (value := _text(column, word)) is not None:
            given[column.name] = value
    plant(connection, table, **given)


def _text(column: Column[Any], word: Any) -> Any:
    if column.name == "scope" or column.name in ("shared_from", "replaced_by", "indexed_by"):
        return None
    if isinstance(column.type, JSON):
        return [word()] if column.name in ("concepts", "files", "facts") else {"x": word()}
    if isinstance(column.type, Boolean):
        return None
    return word() if isinstance(column.type, String | Text) else None


HANGS: dict[str, list[dict[str, Any]]] = {
    "rooms": [{"id": "fake:dm1", "kind": "dm"}],
    "messages": [
        {"seq": 10, "room_id": "fake:r", "scope": ROOM, "sender_id": ANDI, "attachments": []},
        {"seq": 12, "room_id": "fake:dm1", "scope": DM, "sender_id": ANDI, "attachments": []},
        # answers to them
        {"seq": 11, "room_id": "fake:r", "scope": ROOM, "turn_id": "t1", "attachments": []},
        {"seq": 13, "room_id": "fake:dm1", "scope": DM, "turn_id": "t2", "attachments": []},
        # the answer of another bot, to whom an answer handed over
        {"seq": 14, "room_id": "fake:r", "scope": ROOM, "turn_id": "t3", "attachments": []},
    ],
    "turns": [
        {"seq": 2, "id": "t1", "message_seq": 10, "scope": ROOM, "room_id": "fake:r"},
        {"seq": 3, "id": "t2", "message_seq": 12, "scope": DM, "room_id": "fake:dm1"},
        {"seq": 4, "id": "t3", "message_seq": 11, "scope": ROOM, "room_id": "fake:r"},
    ],
    "posts": [{"turn_id": "t1"}, {"turn_id": "t2"}, {"turn_id": "t3"}],
    "sessions": [{"scope": ROOM}, {"scope": DM}],
    "decisions": [{"turn_id": "t1"}, {"turn_id": "b1", "by": ANDI}],
    "facts": [
        {"scope": ROOM, "person": ANDI},
        {"scope": ROOM, "id": "spoken", "seq": 500},
        {"scope": ROOM, "first_seq": 9, "last_seq": 11, "room_id": "fake:r"},
        {"scope": DM},
        {"scope": PROFILE, "id": "f-profile"},
        {"scope": "project:saga", "shared_from": "spoken"},
    ],
    "fact_speakers": [{"fact_seq": 500, "sender_id": ANDI}],
    "pointers": [{"scope": DM}, {"scope": PROFILE}],
    "staging": [{"scope": ROOM, "first_seq": 8, "last_seq": 10}, {"scope": DM}],
    "landmarks": [
        {"scope": ROOM, "by_id": ANDI},
        {"scope": ROOM, "author_id": ANDI},
        {"scope": ROOM, "message_seq": 11},
        {"scope": DM},
    ],
    "episodes": [
        {"scope": ROOM, "first_seq": 8, "last_seq": 12},
        {"scope": ROOM, "first_seq": 20, "last_seq": 30},  # goes on from the one before
        {"scope": DM},
    ],
    "insights": [{"scope": ROOM, "sender_id": ANDI}, {"scope": DM}],
    "tool_uses": [{"turn_id": "t1", "scope": ROOM}, {"scope": DM}],
    "agent_sessions": [{"scope": ROOM, "ended_at": None}, {"scope": DM}],
    "observations": [{"turn_id": "t1", "scope": ROOM}, {"scope": DM}],
    "model_calls": [{"scope": DM}],
    "audit": [],  # its rows stay, see tests/gateway/test_audit.py
    "figures": [{"seq": 2}, {"seq": 3}, {"seq": 4}],
    "grants": [{"person_id": ANDI}],
    "page_links": [{"person_id": ANDI}, {"person_id": BUDI, "by_id": ANDI}],
    "page_reads": [{"person_id": ANDI}],
    "page_sessions": [{"person_id": ANDI}],
    "page_subjects": [{"person_id": ANDI}],
    "page_tokens": [],  # of programs
    "page_users": [{"id": ANDI}],
    "pairings": [{"person_id": ANDI}],
    "refusals": [{"person_id": ANDI}],
    "usage": [{"person_id": ANDI}, {"turn_id": "t1"}],
    "persona_versions": [],  # of one file, which is the house's
    "persona_files": [],  # likewise
    "room_settings": [{"scope": DM}],
    "schedules": [{"by_id": ANDI}],
    "tombstones": [],  # of who was deleted before
    "bot_states": [],  # of bots; who is in them is taken out
    "bot_keys": [{"kind": "device", "name": f"{ANDI.partition(':')[2]} PHONE"}],
    "house": [],  # of gateways
    "commits": [],
    "worker_erasures": [],  # of scopes, by a digest
    "machine_erasures": [],  # likewise
    "session_records": [],  # likewise
    "audit_head": [],
}
"""How a row of each table can hang on Andi."""

STAYS: dict[str, dict[str, Any]] = {
    "rooms": {"id": "fake:r", "kind": "room"},
    "messages": {
        "seq": 9, "room_id": "fake:r", "scope": ROOM, "sender_id": BUDI, "attachments": []
    },
    "turns": {
        "seq": 1, "id": "b1", "message_seq": 9, "scope": ELSEWHERE, "room_id": "fake:r",
        "states": [],
    },
    "posts": {"turn_id": "b1"},
    "sessions": {"scope": ELSEWHERE},
    "decisions": {"turn_id": "b1", "by": BUDI},
    "facts": {"scope": ROOM, "seq": 600, "first_seq": 9, "last_seq": 11, "person": BUDI},
    "fact_speakers": {"fact_seq": 600, "sender_id": BUDI},
    "pointers": {"scope": ROOM, "layer": "extraction"},
    "staging": {"scope": ELSEWHERE, "first_seq": 8, "last_seq": 20},
    "landmarks": {"scope": ROOM, "by_id": BUDI, "message_seq": 9, "author_id": BUDI},
    "episodes": {"scope": ELSEWHERE, "first_seq": 8, "last_seq": 20},
    "insights": {"scope": ROOM, "sender_id": BUDI},
    "tool_uses": {"scope": ROOM, "turn_id": "b1"},
    "agent_sessions": {"scope": ELSEWHERE, "ended_at": None},
    "observations": {"scope": ROOM, "turn_id": "b1"},
    "model_calls": {"scope": ROOM},
    "audit": {"by_id": BUDI},
    "figures": {"seq": 1},
    "grants": {"person_id": BUDI},
    "page_links": {"person_id": BUDI, "by_id": BUDI},
    "page_reads": {"person_id": BUDI},
    "page_sessions": {"person_id": BUDI},
    "page_subjects": {"person_id": BUDI},
    "page_tokens": {},
    "page_users": {"id": BUDI},
    "pairings": {"person_id": BUDI},
    "refusals": {"person_id": BUDI},
    "usage": {"person_id": BUDI, "turn_id": "b1"},
    "persona_versions": {"by_id": BUDI},
    "persona_files": {},
    "room_settings": {"scope": ELSEWHERE},
    "schedules": {"by_id": BUDI},
    "tombstones": {},
    "bot_states": {"bot": "fake"},
    "bot_keys": {"kind": "device", "name": f"{BUDI.partition(':')[2]} PHONE"},
    "house": {},
    "commits": {},
    "worker_erasures": {},
    "machine_erasures": {},
    "session_records": {},
    "audit_head": {},
}  # fmt: skip
"""A row of each table beside it that is Budi's."""


def furnish(connection: Connection, words: Words) -> None:
    for table in metadata.sorted_tables:
        told(connection, table.name, words.keep, **STAYS[table.name])
        for hanging in HANGS[table.name]:
            told(connection, table.name, words.secret, **hanging)


async def test_what_bots_keep_of_a_person_goes_and_the_rest_can_be_read(store: Store) -> None:
    def invited(by: str) -> dict[str, object]:
        return {"by": by, "direct": False}

    def waits(sender: str) -> dict[str, object]:
        return {"room_id": "!r", "event": {"sender": sender, "content": {"session_id": "s"}}}

    given = {
        "cursor": {"user_id": "bot", "invites": {"!a": invited("andi"), "!b": invited("budi")}},
        "waiting": {"events": [waits("andi"), waits("budi")]},
        "own_posts": {"posts": [{"key": "1", "chat": "andi"}, {"key": "2", "chat": "andis"}]},
        "uploads": {"key": "andi of a file"},
    }
    rows = [{"bot": "b", "name": n, "value": json.dumps(one)} for n, one in given.items()]
    await store.write(lambda c: c.execute(insert(bot_states), rows))
    await erased(store)
    found = await store.read(lambda c: c.execute(select(bot_states)).all())
    assert {row.name: json.loads(row.value) for row in found} == {
        "cursor": {"user_id": "bot", "invites": {"!b": invited("budi")}},
        "waiting": {"events": [waits("budi")]},
        "own_posts": {"posts": [{"key": "2", "chat": "andis"}]},
        "uploads": {"key": "andi of a file"},
    }


async def test_the_copy_of_the_configuration_stays_as_it_is(store: Store) -> None:
    kept = json.dumps({"bots": [{"personas": ["andi"]}], "access": {"people": [ANDI]}})
    row = {"bot": "", "name": "moot.toml", "value": kept}
    await store.write(lambda c: c.execute(insert(bot_states), row))
    await erased(store)
    [found] = await store.read(lambda c: c.execute(select(bot_states)).all())
    assert found.value == kept


def grep(folder: Path, words: list[str]) -> list[str]:
    every = b"\0".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
    return [word for word in words if word.encode() in every]


def test_every_table_that_there_is_is_covered() -> None:
    assert {table.name for table in COVERED} == set(metadata.tables)
    assert set(HANGS) == set(STAYS) == set(metadata.tables)


async def test_no_byte_of_a_person_stays_and_every_one_of_the_others(
    sqlite_store: Store, tmp_path: Path
) -> None:
    store = sqlite_store
    words = Words()
    await store.write(lambda c: furnish(c, words))
    assert len(grep(tmp_path, words.theirs)) == len(words.theirs) > 100
    await erased(store)
    await store.scrub()
    assert grep(tmp_path, words.theirs) == []
    assert len(grep(tmp_path, words.kept)) == len(words.kept)


async def test_a_survey_changes_nothing_and_counts_what_goes(store: Store) -> None:
    words = Words()
    await store.write(lambda c: furnish(c, words))
    doomed = await store.read(lambda c: plan_erasure(c, ANDI))
    assert doomed.counts() == {name: len(rows) for name, rows in HANGS.items() if rows}
    assert doomed.own == {DM, PROFILE}
    assert doomed.knowing == {ROOM}
    left = await store.read(lambda c: len(c.execute(select(messages)).all()))
    assert left == len(HANGS["messages"]) + 1


async def test_a_second_time_there_is_nothing_left(store: Store) -> None:
    words = Words()
    await store.write(lambda c: furnish(c, words))
    await erased(store)
    assert (await erased(store)).counts() == {}


def talk(connection: Connection, seq: int, by: str, text: str = "hello", **more: Any) -> None:
    given: dict[str, Any] = {
        "room_id": "fake:r",
        "scope": ROOM,
        "sender_name": by.title(),
        "mention": None,
        "turn_id": None,
        "reply_to": None,
        "attachments": [],
        "meta": {},
        "received_at": seq * 1000,
    }
    plant(connection, "messages", seq=seq, sender_id=by, content=text, **{**given, **more})


def turn(connection: Connection, seq: int, at: int, header: str, scope: str = ROOM) -> None:
    plant(
        connection, "turns", seq=seq, message_seq=seq, scope=scope, room_id="fake:r", header=header,
        states=[["queued", at], ["posted", at + 1]],
        record={"sections": [header], "timings": {"brief": 1.5}},
    )  # fmt: skip


async def headers(store: Store) -> dict[int, str]:
    query = select(turns.c.seq, turns.c.header)
    return await store.read(lambda c: {row[0]: row[1] for row in c.execute(query)})


async def test_others_prompts_lose_what_they_carry(store: Store) -> None:
    def work(connection: Connection) -> None:
        talk(connection, 1, BUDI)
        turn(connection, 1, 1000, "before they came")
        talk(connection, 2, ANDI, sender_name="Andi Zoe", mention="<@U06>")
        talk(connection, 3, BUDI)
        turn(connection, 3, 3000, "with their words in it, in their room")
        for seq, header in enumerate(
            ["[14:02 | andi  ZOE] hi", "ask <@U06>", "fake:andi", "Andi Zoeller", "Budi"], 4
        ):
            talk(connection, seq, BUDI, scope=ELSEWHERE)
            turn(connection, seq, seq, header, ELSEWHERE)
        plant(connection, "facts", person=ANDI, text="prefers 30 min JWT expiry", scope=PROFILE)
        talk(connection, 9, BUDI, scope=ELSEWHERE)
        turn(connection, 9, 9, "- prefers 30 min JWT expiry (fact)", ELSEWHERE)

    await store.write(work)
    doomed = await erased(store)
    kept = {1: "before they came", 7: "Andi Zoeller", 8: "Budi"}
    assert await headers(store) == {**dict.fromkeys((3, 4, 5, 6, 9), ""), **kept}
    query = select(turns.c.record).where(turns.c.seq == 3)
    record = await store.read(lambda c: c.execute(query).scalar())
    assert record == {"timings": {"brief": 1.5}}
    assert doomed.knowing == {ROOM, ELSEWHERE}  # an agent there was told a fact of theirs


async def test_others_messages_stay_but_for_quotations_and_references(store: Store) -> None:
    def work(connection: Connection) -> None:
        quoted = {"source": "fake", "sender_id": BUDI, "thread_context": "- Andi (<@U06>): psst"}
        talk(connection, 1, BUDI, meta=quoted, scope=ELSEWHERE)
        talk(connection, 2, ANDI, sender_name="Andi", mention="<@U06>", message_id="m2")
        talk(connection, 3, BUDI, "Andi said psst", reply_to="m2", meta=quoted | {"to": ANDI})
        harmless = {"thread_context": "- Budi: hello", "note": "x"}
        talk(connection, 4, BUDI, meta=harmless, scope=ELSEWHERE)

    await store.write(work)
    await erased(store)
    columns = (messages.c.content, messages.c.reply_to, messages.c.meta)
    found = await store.read(lambda c: c.execute(select(*columns).order_by(messages.c.seq)).all())
    stripped = {"source": "fake", "sender_id": BUDI}
    assert [tuple(row) for row in found] == [
        ("hello", None, stripped),
        ("Andi said psst", None, stripped),
        ("hello", None, {"thread_context": "- Budi: hello", "note": "x"}),
    ]


async def test_what_a_fact_of_theirs_had_replaced_is_known_again(store: Store) -> None:
    def work(connection: Connection) -> None:
        plant(connection, "facts", id="budis", scope=ROOM, replaced_by="merged", indexed_by="x")
        plant(connection, "facts", id="andis", scope=ROOM, replaced_by="merged", person=ANDI)
        plant(connection, "facts", id="merged", scope=ROOM, seq=900)
        for speaker in (ANDI, BUDI):
            connection.execute(
                insert(metadata.tables["fact_speakers"]).values(fact_seq=900, sender_id=speaker)
            )

    await store.write(work)
    doomed = await erased(store)
    query = select(facts.c.id, facts.c.replaced_by, facts.c.indexed_by)
    left = await store.read(lambda c: [tuple(row) for row in c.execute(query)])
    assert left == [("budis", None, None)]
    assert (doomed.facts, doomed.revived) == ({"andis", "merged"}, {"budis"})


async def test_summaries_are_made_again_from_where_they_spoke(store: Store) -> None:
    def work(connection: Connection) -> None:
        talk(connection, 15, ANDI)
        for first, last in ((1, 10), (11, 20), (21, 30)):
            plant(connection, "episodes", scope=ROOM, first_seq=first, last_seq=last)
        plant(connection, "pointers", scope=ROOM, layer="episodes", seq=30)
        plant(connection, "pointers", scope=ROOM, layer="extraction", seq=30)

    await store.write(work)
    await erased(store)
    ranges = await store.read(lambda c: c.execute(select(episodes.c.last_seq)).scalars().all())
    read = select(pointers.c.layer, pointers.c.seq)
    assert list(ranges) == [10]
    found = await store.read(lambda c: {row[0]: row[1] for row in c.execute(read)})
    assert found == {"episodes": 10, "extraction": 30}


async def test_somebody_whose_id_begins_alike_is_somebody_else(store: Store) -> None:
    other = f"{ANDI}:2"

    def work(connection: Connection) -> None:
        talk(connection, 1, other, scope=f"dm:{other}:demo")
        talk(connection, 2, "fake:andi2", scope="dm:fake:andi2:demo")
        talk(connection, 3, "FAKE:ANDI", scope="room:fake:r")
        plant(connection, "sessions", persona="demo", scope=f"dm:{other}:demo")

    await store.write(work)
    doomed = await erased(store)
    assert doomed.counts() == {}
    assert await store.read(lambda c: len(c.execute(select(sessions)).all())) == 1


async def test_both_spellings_of_a_platform_mean_the_same_person(store: Store) -> None:
    await store.write(lambda c: talk(c, 1, "bb:+49123", scope="dm:bb:+49123:demo"))
    doomed = await erased(store, "bluebubbles:+49123")
    assert doomed.counts() == {"messages": 1}


async def test_a_room_of_their_own_goes_and_a_group_loses_their_name(store: Store) -> None:
    def work(connection: Connection) -> None:
        for room, kind in (("fake:d", "dm"), ("fake:g", "gdm"), ("fake:r", "room")):
            plant(connection, "rooms", id=room, kind=kind, name="Andi, Budi")
        talk(connection, 1, ANDI, room_id="fake:d", scope=DM, sender_name="Andi")
        talk(connection, 2, ANDI, room_id="fake:g", scope="gdm:fake:g")
        talk(connection, 3, BUDI, room_id="fake:g", scope="gdm:fake:g")
        talk(connection, 4, ANDI)

    await store.write(work)
    await erased(store)
    query = select(rooms.c.id, rooms.c.name)
    found = await store.read(lambda c: {row[0]: row[1] for row in c.execute(query)})
    assert found == {"fake:g": "g", "fake:r": "Andi, Budi"}


async def test_what_programs_wrote_for_others_loses_their_words_and_no_others(store: Store) -> None:
    words = Words()
    theirs, kept = words.secret(), words.keep()

    def work(connection: Connection) -> None:
        talk(connection, 1, ANDI, f"the door opens with {theirs} we agreed on Friday")
        talk(connection, 2, BUDI, f"{kept} we agreed on Friday", scope=ELSEWHERE)
        said = f"{kept}: we agreed on Friday that {theirs} is good"
        talk(connection, 3, "bot:demo", said, scope=ELSEWHERE, sender_type="bot")
        plant(connection, "facts", scope=ELSEWHERE, text=said, data={"chosen": [said]}, id="f")
        plant(connection, "insights", scope=ELSEWHERE, sender_id=BUDI, text=said, question=said)
        plant(connection, "observations", scope=ELSEWHERE, facts=[said], narrative=said)
        plant(connection, "sessions", scope=ELSEWHERE)

    await store.write(work)
    doomed = await erased(store)

    def rows(connection: Connection) -> str:
        return "\n".join(str(row) for table in COVERED for row in connection.execute(select(table)))

    left = await store.read(rows)
    assert theirs.removeprefix("andi-") not in left
    assert left.count(f"{kept}: we agreed on Friday that andi-[deleted] is good") == 7
    assert doomed.reworded == {"f"}
    assert ELSEWHERE in doomed.knowing
