"""Following a program's own record."""

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from adapters.cli.record import follow
from adapters.turn_events import ReplyBlock, TurnEvent
from adapters.turn_signs import RecordFormat


def said(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    text = row.get("text") or row.get("line")
    return [ReplyBlock(str(text))] if text else []


def texts(events: Sequence[TurnEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, ReplyBlock)]


LINES = RecordFormat("log/*.jsonl", said)


def append(path: Path, data: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(data)


async def test_only_rows_behind_the_mark_count(tmp_path: Path) -> None:
    path = tmp_path / "log" / "a.jsonl"
    append(path, '{"text": "before"}\n')
    follower = follow(LINES, tmp_path, LINES.glob)
    await follower.skip()
    assert texts(await follower.read()) == []
    append(path, '{"text": "one"}\n{"text": "two"}\n')
    assert texts(await follower.read()) == ["one", "two"]
    assert texts(await follower.read()) == []


async def test_a_record_that_appears_later_is_read_from_its_beginning(tmp_path: Path) -> None:
    follower = follow(LINES, tmp_path, LINES.glob)
    await follower.skip()
    assert texts(await follower.read()) == []
    append(tmp_path / "log" / "a.jsonl", '{"text": "one"}\n')
    assert texts(await follower.read()) == ["one"]


async def test_a_record_among_very_many_is_found_when_the_turn_is_over(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for number in range(10_000):
        (tmp_path / "log" / f"{number}.jsonl").touch()
    follower = follow(LINES, tmp_path, LINES.glob)
    await follower.skip()
    assert texts(await follower.read()) == []
    append(tmp_path / "log" / "mine.jsonl", '{"text": "one"}\n')
    assert texts(await follower.read(last=True)) == ["one"]


async def test_a_new_record_beside_older_ones_is_found(tmp_path: Path) -> None:
    append(tmp_path / "log" / "old.jsonl", '{"text": "old"}\n')
    follower = follow(LINES, tmp_path, LINES.glob)
    assert await follower.skip()
    assert texts(await follower.read()) == []
    append(tmp_path / "log" / "new.jsonl", '{"text": "one"}\n')
    assert texts(await follower.read()) == ["one"]
    append(tmp_path / "log" / "old.jsonl", '{"text": "not mine"}\n')
    append(tmp_path / "log" / "new.jsonl", '{"text": "two"}\n')
    assert texts(await follower.read()) == ["two"]


async def test_half_a_line_is_left_for_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "log" / "a.jsonl"
    follower = follow(LINES, tmp_path, LINES.glob)
    row = json.dumps({"text": "日本"}, ensure_ascii=False).encode()
    path.parent.mkdir()
    path.write_bytes(row[:11])
    assert texts(await follower.read()) == []
    path.write_bytes(row + b'\n{"te')
    assert texts(await follower.read()) == ["日本"]
    path.write_bytes(row + b'\n{"text": "b"}\n')
    assert texts(await follower.read()) == ["b"]


async def test_lines_that_are_no_objects_are_passed_over(tmp_path: Path) -> None:
    append(tmp_path / "log" / "a.jsonl", 'nonsense\n[1]\n\n{"text": "good"}\n')
    assert texts(await follow(LINES, tmp_path, LINES.glob).read()) == ["good"]


async def test_the_newest_of_several_records_counts(tmp_path: Path) -> None:
    old, new = tmp_path / "log" / "z.jsonl", tmp_path / "log" / "a.jsonl"
    append(old, '{"text": "old"}\n')
    append(new, '{"text": "new"}\n')
    os.utime(old, (1, 1))
    assert texts(await follow(LINES, tmp_path, LINES.glob).read()) == ["new"]


async def test_a_record_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "log" / "a.jsonl"
    append(path, '{"text": "a long first version"}\n')
    follower = follow(LINES, tmp_path, LINES.glob)
    await follower.read()
    path.write_text('{"text": "b"}\n')
    assert texts(await follower.read()) == ["b"]


async def test_a_record_that_is_gone_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "log" / "a.jsonl"
    append(path, '{"text": "a"}\n')
    follower = follow(LINES, tmp_path, LINES.glob)
    await follower.read()
    path.unlink()
    assert texts(await follower.read()) == []
    append(path, '{"text": "b"}\n')
    assert texts(await follower.read()) == ["b"]


async def test_lines_of_text_are_rows_too(tmp_path: Path) -> None:
    record = RecordFormat("notes.md", said, format="text")
    append(tmp_path / "notes.md", "#### a\n\nb\n")
    assert texts(await follow(record, tmp_path, record.glob).read()) == ["#### a", "b"]


QUERY = "SELECT at, text FROM parts WHERE at > ? ORDER BY at"


async def test_rows_of_a_database_count_from_the_mark_and_again_when_they_change(
    tmp_path: Path,
) -> None:
    record = RecordFormat("state.db", said, format="sqlite", query=QUERY)
    follower = follow(record, tmp_path, record.glob)
    await follower.skip()
    assert texts(await follower.read()) == []
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        database.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, at INTEGER, text TEXT)")
        database.execute("INSERT INTO parts VALUES (1, 1, 'before')")
        database.commit()
        await follower.skip()
        database.execute("INSERT INTO parts VALUES (2, 2, 'one')")
        database.commit()
        assert texts(await follower.read()) == ["one"]
        database.execute("UPDATE parts SET at = 3, text = 'one and more' WHERE id = 2")
        database.commit()
        assert texts(await follower.read()) == ["one and more"]
        assert texts(await follower.read()) == []


async def test_a_file_that_is_no_database_yet_is_no_error(tmp_path: Path) -> None:
    record = RecordFormat("state.db", said, format="sqlite", query=QUERY)
    (tmp_path / "state.db").write_bytes(b"")
    assert texts(await follow(record, tmp_path, record.glob).read()) == []


SEGMENTS = RecordFormat("log/*/*.jsonl", said, segments=True)


async def test_a_record_in_segments_is_read_through_all_of_them(tmp_path: Path) -> None:
    append(tmp_path / "log" / "s" / "01.jsonl", '{"text": "before"}\n')
    follower = follow(SEGMENTS, tmp_path, SEGMENTS.glob)
    assert await follower.skip()
    append(tmp_path / "log" / "s" / "01.jsonl", '{"text": "one"}\n')
    append(tmp_path / "log" / "s" / "02.jsonl", '{"text": "two"}\n')
    assert texts(await follower.read()) == ["one", "two"]
    (tmp_path / "log" / "s" / "01.jsonl").unlink()
    append(tmp_path / "log" / "s" / "02.jsonl", '{"text": "three"}\n')
    append(tmp_path / "log" / "s" / "03.jsonl", '{"text": "four"}\n')
    assert texts(await follower.read()) == ["three", "four"]
    assert texts(await follower.read()) == []


async def test_the_segments_of_a_session_that_begins_later_are_read_too(tmp_path: Path) -> None:
    append(tmp_path / "log" / "old" / "07.jsonl", '{"text": "before"}\n')
    follower = follow(SEGMENTS, tmp_path, SEGMENTS.glob)
    await follower.skip()
    append(tmp_path / "log" / "new" / "01.jsonl", '{"text": "one"}\n')
    assert texts(await follower.read()) == ["one"]
