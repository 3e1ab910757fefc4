"""Databases of earlier versions are brought up to date with their rows; newer ones are refused."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.exc import IntegrityError

from contract.errors import ConfigError
from store import migrations
from store.database import Store
from store.gateway_schema import metadata
from store.migrations.upgrading import SQLITE, told
from store.versions import HEAD
from tests.conftest import NewUrl
from tests.store.newest_tables import newest_tables

Made = TypeVar("Made")
EARLIER = ["0001", "0002", "0003", "0004", "0005", "0006"]

MESSAGE = """INSERT INTO messages (seq, room_id, message_id, scope, sender_id, sender_name,
 sender_type, hop, content, sent_at, received_at, include_in_memory, meta, attachments)
 VALUES (7, 'slack:C1', '1.2', 'room:slack:C1', 'slack:U1', 'Ölivia', 'human', 0,
 'why 15 “minutes”?', 1776780000000, 1776780000001, true, '{"a": 1}', '[]')"""
TURN = """INSERT INTO turns (seq, id, message_seq, persona, scope, room_id, bot, hop, state, states)
 VALUES (3, 't1', 7, 'claude', 'room:slack:C1', 'slack:C1', 'slack', 0, 'posted',
 '[["queued", 1776780000000], ["posted", 1776780001000]]')"""
ROOM = (
    """INSERT INTO rooms (id, name, kind, created_at) VALUES ('slack:C1', 'general', 'room', 1)"""
)
FACT = """INSERT INTO facts (seq, id, scope, kind, text, source, data, said_at, created_at)
 VALUES (5, 'f1', 'room:slack:C1', 'decision', '30 min', 'message', '{}', 1, 1)"""


ROWS = Path(__file__).parent / "rows"  # of real conversations, see tests/golden/rows.py
ROWS_OF = ["0004", "0005"]
KEPT = {  # columns whose values no migration may change
    "messages": "seq, room_id, message_id, scope, sender_id, content, hop, turn_id, sent_at",
    "turns": "seq, id, message_seq, state, states, header, answer, answer_source, fault, hop",
    "posts": "key, turn_id, kind, text, state, platform_id",
    "landmarks": "seq, scope, kind, text, by_id",
    "sessions": "persona, scope, agent, agent_session_id",
    "grants": "seq, person_id, role",
    "schedules": "seq, persona, words, cron, text",
    "audit": "seq, act, by_id, detail, hash",
    "usage": "seq, turn_id, person_id, input_tokens",
    "figures": "seq, at, state, command, persona, room_id, person_id, total_ms, agent_ms",
    "facts": "seq, id, scope, text",
}


def statements(file: Path) -> list[str]:
    """The INSERTs of a file of rows; their texts may have several lines."""
    found, lines = [], ""
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        lines += line
        if sqlite3.complete_statement(lines):
            found.append(lines.strip())
            lines = ""
    assert not lines
    return found


def kept(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """The rows that must be there afterwards."""
    return {
        table: sorted(
            tuple(map(str, row))
            for row in connection.execute(text(f"SELECT {columns} FROM {table}"))
        )
        for table, columns in KEPT.items()
    }


def brought_to(connection: Connection, revision: str) -> None:
    """The migrations themselves, up to a revision."""
    config = Config()
    folder = Path(migrations.__file__).parent
    config.set_main_option("script_location", str(folder))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def filled(connection: Connection, revision: str) -> None:
    brought_to(connection, revision)
    for statement in (ROOM, MESSAGE, TURN, *([FACT] if revision >= "0002" else [])):
        connection.execute(text(statement))


async def make(url: str, revision: str) -> None:
    """A database as a Moot of that time left it."""
    await made(url, lambda connection: filled(connection, revision))


async def made(url: str, work: Callable[[Connection], Made]) -> Made:
    """What `work` returns, which fills an empty database in one transaction."""
    if url.startswith("sqlite"):
        Path(url.partition("///")[2]).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        with engine.begin() as connection:
            result = work(connection)
        engine.dispose()
        return result
    from sqlalchemy.ext.asyncio import create_async_engine

    database = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    async with database.begin() as connected:
        result = await connected.run_sync(work)
    await database.dispose()
    return result


def rows(connection: Connection) -> Mapping[str, list[tuple[object, ...]]]:
    found = {}
    for table in ("rooms", "messages", "turns", "facts"):
        wanted = [c.name for c in metadata.tables[table].columns if c.name != "heard_by"]
        if inspect(connection).has_table(table):
            names = ", ".join(f'"{name}"' for name in wanted)
            found[table] = [
                tuple(r) for r in connection.execute(text(f"SELECT {names} FROM {table}"))
            ]
    return found


@pytest.mark.parametrize("driver", ["sqlite", "sqlite+aiosqlite", "postgresql"])
@pytest.mark.parametrize("revision", EARLIER)
async def test_every_row_of_an_earlier_version_is_there_afterwards(
    new_url: NewUrl, driver: str, revision: str
) -> None:
    url = await new_url(driver)
    await make(url.replace("+aiosqlite", ""), revision)
    async with Store.open(url) as store:
        found = await store.read(rows)
        shape = await store.read(
            lambda c: {t: {k["name"] for k in inspect(c).get_columns(t)} for t in metadata.tables}
        )
    assert shape == {t.name: {c.name for c in t.columns} for t in metadata.tables.values()}
    assert found["messages"][0][:2] == (7, "slack:C1")
    assert "Ölivia" in found["messages"][0]
    assert "why 15 “minutes”?" in found["messages"][0]
    assert found["turns"][0][1] == "t1"
    assert found["rooms"][0][0] == "slack:C1"
    assert len(found["facts"]) == (revision >= "0002")
    async with Store.open(url) as store:  # the second start has nothing to do
        assert await store.read(rows) == found


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
@pytest.mark.parametrize("revision", ROWS_OF)
async def test_a_real_conversation_of_an_earlier_version_is_kept(
    new_url: NewUrl, driver: str, revision: str
) -> None:
    url = await new_url(driver)

    def conversed(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
        brought_to(connection, revision)
        for statement in statements(ROWS / f"{revision}.sql"):
            connection.exec_driver_sql(statement)
        return kept(connection)

    before = await made(url, conversed)
    assert len(before["turns"]) == 31
    async with Store.open(url) as store:
        after = await store.read(kept)
    assert after == {
        table: sorted(tuple(renamed(value) for value in row) for row in found)
        for table, found in before.items()
    }


def renamed(value: object) -> object:
    """A scope in which no persona takes part, as it is called from 0005 on."""
    return value.replace(":nobody", ":-") if str(value).startswith("dm:") else value  # type: ignore[attr-defined]


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_turns_of_an_earlier_version_say_what_they_are(new_url: NewUrl, driver: str) -> None:
    url = await new_url(driver)

    def conversed(connection: Connection) -> None:
        brought_to(connection, "0004")
        for statement in statements(ROWS / "0004.sql"):
            connection.exec_driver_sql(statement)

    await made(url, conversed)
    columns = text("SELECT seq, kind, persona FROM turns ORDER BY seq")
    async with Store.open(url) as store:
        found = {row.seq: tuple(row)[1:] for row in await store.read(lambda c: c.execute(columns))}
    assert {seq: told for seq, told in found.items() if told[0] != "ask"} == {
        **dict.fromkeys((10, 11, 12, 13, 14, 15, 18, 20, 24), ("command", "ada")),
        **dict.fromkeys((5, 6, 25), ("command", "")),  # pins
        7: ("notice", "bob"),  # who asked it may not
        **dict.fromkeys((9, 19, 21), ("notice", "")),  # a suggestion, a code, and its approval
    }
    assert {told[1] for told in found.values() if told[0] == "ask"} == {"ada", "bob"}


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_private_parts_of_an_earlier_version_are_found_in_any_spelling(
    new_url: NewUrl, driver: str
) -> None:
    url = await new_url(driver)
    texts = ("<private>a", "&lt;рrivаtе&gt;b", "a private repo", "a < b", "[private]c[/private]")

    def spoken(connection: Connection) -> None:
        filled(connection, "0006")
        for i, content in enumerate(texts):
            said = MESSAGE.replace("VALUES (7", f"VALUES ({10 + i}").replace(
                "'1.2'", f"'1.{10 + i}'"
            )
            said = said.replace("why 15 “minutes”?", content)
            connection.exec_driver_sql(said)

    await made(url, spoken)
    columns = text("SELECT content, private FROM messages WHERE seq >= 10 ORDER BY seq")
    async with Store.open(url) as store:
        found = await store.read(lambda c: [tuple(row) for row in c.execute(columns)])
    assert found == list(zip(texts, ("open", "open", None, None, "part"), strict=True))


COMMANDS = ["!stop", "@ada !new", "<@U1> !stop now", "**!stop**", "/moot stop", "\uff01stop"]
QUESTIONS = ["hello", "!", "what is !stop?", "/etc/passwd is what?", "@ada /tmp/x", "@ada hm!"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [*((each, "command") for each in COMMANDS), *((each, "ask") for each in QUESTIONS)],
)
async def test_a_turn_that_waited_is_told_by_its_message(
    tmp_path: Path, content: str, kind: str
) -> None:
    def waiting(connection: Connection) -> None:
        filled(connection, "0004")
        states = '[["queued", 1776780000000]]'
        connection.execute(text("UPDATE messages SET content = :said"), {"said": content})
        connection.execute(
            text("UPDATE turns SET state = 'queued', states = :states"), {"states": states}
        )

    await made(f"sqlite:///{tmp_path}/moot.db", waiting)
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        found = await store.read(lambda c: c.execute(text("SELECT kind FROM turns")).scalar())
    assert found == kind


SCOPES = {
    "dm:slack:U1:nobody": "dm:slack:U1:-",
    "dm:slack:nobody:U1:ada": "dm:slack:nobody:U1:ada",
    "dm:slack:U1:nobody:slack:D1:8:": "dm:slack:U1:-:slack:D1:8:",
    "dm:slack:nobody:ada:slack:D1:12:": "dm:slack:nobody:ada:slack:D1:12:",
    "room:slack:nobody": "room:slack:nobody",
}


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_a_scope_of_nobody_is_moved_wherever_it_is_stored(
    new_url: NewUrl, driver: str
) -> None:
    url = await new_url(driver)

    def named(connection: Connection) -> None:
        filled(connection, "0004")
        connection.execute(text("UPDATE facts SET scope='dm:slack:U1:nobody', indexed_by='mem0'"))
        for number, scope in enumerate(SCOPES):
            connection.execute(
                text("INSERT INTO pointers (layer, scope, seq, failures) VALUES ('x', :of, :n, 0)"),
                {"of": scope, "n": number},
            )

    await made(url, named)
    async with Store.open(url) as store:
        found = await store.read(
            lambda c: c.execute(text("SELECT scope FROM pointers ORDER BY seq")).scalars().all()
        )
        facts = await store.read(lambda c: c.execute(text("SELECT scope, indexed_by FROM facts")))
        assert [tuple(row) for row in facts] == [("dm:slack:U1:-", None)]
    assert found == list(SCOPES.values())


async def test_a_turns_number_is_never_given_twice(tmp_path: Path) -> None:
    def emptied(connection: Connection) -> None:
        filled(connection, "0004")
        connection.execute(text("DELETE FROM turns"))

    url = f"sqlite:///{tmp_path}/moot.db"
    await made(url, emptied)
    async with Store.open(url) as store:
        await store.write(lambda c: c.execute(text(TURN.replace("(3, 't1'", "(NULL, 't2'"))))
        assert await store.read(lambda c: c.execute(text("SELECT seq FROM turns")).scalar()) == 4


async def database(tmp_path: Path, revision: str = "0003") -> Path:
    file = tmp_path / "moot.db"
    await make(f"sqlite:///{file}", revision)
    return file


def content(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    found = list(connection.iterdump())
    connection.close()
    return found


async def test_a_copy_of_what_was_is_kept_and_only_the_newest_three(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    before: list[str] = []
    for _ in range(5):
        file = await database(tmp_path)
        before = content(file)
        async with Store.open(f"sqlite:///{file}"):
            pass
        for path in tmp_path.glob("moot.db*"):
            path.unlink()
    copies = sorted(folder.iterdir())
    assert len(copies) == 3
    assert all(content(copy) == before for copy in copies)
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}


def test_a_new_file_gets_the_tables_that_the_migrations_make() -> None:
    written = _parts(SQLITE.read_text(encoding="utf-8"))
    assert written == _parts(newest_tables()), "python -m tests.store.newest_tables writes it"


def _parts(statements: str) -> list[list[str]]:
    """The lines of each; a table that is made again has its constraints in any order."""
    return [sorted(line.strip(" ,") for line in one.splitlines()) for one in statements.split(";")]


async def test_a_new_database_makes_no_copy(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db"):
        pass
    assert not (tmp_path / "backups").exists()


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_a_newer_database_is_refused_and_left_alone(new_url: NewUrl, driver: str) -> None:
    url = await new_url(driver)
    async with Store.open(url) as store:
        await store.write(
            lambda c: c.execute(text("UPDATE alembic_version SET version_num='0099'"))
        )
    file = Path(url.partition("///")[2]) if driver == "sqlite" else None
    before = file.read_bytes() if file else b""
    with pytest.raises(ConfigError, match=f"version 0099, and this Moot knows those up to {HEAD}"):
        async with Store.open(url):
            pass
    if file:
        assert file.read_bytes() == before
        assert not (file.parent / "backups").exists()


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    new_url: NewUrl, driver: str
) -> None:
    """The last table of the last migration is there already: those before it must vanish again."""
    url = await new_url(driver)
    await make(url, "0003")

    def tables(connection: Connection) -> set[str]:
        return set(inspect(connection).get_table_names())

    async def look(change: str = "SELECT 1") -> set[str]:
        if driver == "sqlite":
            engine = create_engine(url)
            with engine.begin() as connection:
                connection.execute(text(change))
                found = tables(connection)
            engine.dispose()
            return found
        from sqlalchemy.ext.asyncio import create_async_engine

        server = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
        async with server.begin() as connected:
            await connected.execute(text(change))
            found = await connected.run_sync(tables)
        await server.dispose()
        return found

    with_usage = await look("CREATE TABLE usage (x INTEGER)")
    with pytest.raises(ConfigError) as caught:
        async with Store.open(url):
            pass
    assert f"could not be brought from version 0003 to {HEAD}" in caught.value.say
    assert "it is as it was" in caught.value.say
    if driver == "sqlite":
        assert f"before-{HEAD}-from-0003.db is a copy of it" in caught.value.say
    assert await look() == with_usage
    await look("DROP TABLE usage")
    async with Store.open(url) as store:
        assert (await store.read(rows))["turns"][0][1] == "t1"


@pytest.mark.parametrize("driver", ["sqlite", "sqlite+aiosqlite"])
async def test_foreign_keys_hold_again_after_an_upgrade(new_url: NewUrl, driver: str) -> None:
    """They are off meanwhile; the connection that upgraded is the one that writes later."""
    url = await new_url(driver)
    await make(url.replace("+aiosqlite", ""), "0004")

    def lost(connection: Connection) -> None:
        connection.execute(text("UPDATE turns SET message_seq = 99"))

    async with Store.open(url) as store:
        with pytest.raises(IntegrityError, match="FOREIGN KEY"):
            await store.write(lost)


async def test_no_migration_runs_with_foreign_keys_on(tmp_path: Path) -> None:
    """It could drop a table, and with it every row that refers to one of its rows."""
    engine = create_engine(f"sqlite:///{await database(tmp_path, '0004')}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        with pytest.raises(RuntimeError, match="foreign keys must be off"):
            brought_to(connection, HEAD)
    engine.dispose()


async def test_a_row_that_referred_to_nothing_before_does_not_stop_an_upgrade(
    tmp_path: Path,
) -> None:
    file = await database(tmp_path, "0004")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE turns SET message_seq = 99"))
    engine.dispose()
    async with Store.open(f"sqlite:///{file}") as store:
        assert (await store.read(rows))["turns"][0][1] == "t1"


async def test_without_room_for_a_copy_nothing_is_done(tmp_path: Path) -> None:
    file = await database(tmp_path)
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE ballast (x BLOB)")
    connection.execute("INSERT INTO ballast VALUES (randomblob(1000000))")
    connection.commit()
    connection.close()
    before = content(file)
    code = (
        "import asyncio\nfrom store.database import Store\n"
        "async def main():\n"
        f"    async with Store.open('sqlite:///{file}'): pass\n"
        "asyncio.run(main())"
    )
    limit = 500_000  # of any file that it writes: a disk that is full
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
        timeout=60,
        check=False,
    )
    assert "no copy of it could be made first" in result.stderr
    assert "it is as it was" in result.stderr
    assert content(file) == before
    assert list((tmp_path / "backups").iterdir()) == []


def test_whatever_a_change_runs_into_is_told_with_the_copy() -> None:
    with (
        pytest.raises(ConfigError, match=r"list index out of range.*copy\.db is a copy"),
        told("0003", HEAD, Path("copy.db")),
    ):
        raise IndexError("list index out of range")
