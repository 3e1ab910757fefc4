"""Writes the rows of a long conversation as SQL: `python -m tests.golden.rows > FILE`.

The rows are those of the schema that Moot has when it is run. A file is named by its schema's
revision, e.g. tests/store/rows/0004.sql, and is never written again: it is what a database of that
time holds, for the tests of later migrations. Each row is one INSERT that names its columns, and
both SQLite and PostgreSQL take it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from contract.agent import Option, Question, Usage
from contract.errors import PlatformError
from store.gateway_schema import metadata
from tests.golden.script import (
    AUTH,
    BUDIS_DM,
    DM,
    GROUP,
    Act,
    Break,
    Case,
    Delete,
    Pin,
    Reach,
    Say,
    Write,
)
from tests.golden.stage import Stage

QUESTION = Question("q1", "Run this command?", "ls -la", (Option("Yes"), Option("No", True)))
PERSONA = "---\nagent: scripted\ndescription: ada\n---\nYou are ada.\n"
CASE = Case(
    "rows",
    "Turns in every state and of every kind, and a row in almost every table.",
    (
        Say("we rotate refresh tokens", by="budi", id="tokens"),
        Say("@ada hello"),
        Say("@ada ask bob"),
        Say("@ada fail"),
        Say("!pin tea at four"),
        Say("@bob go on\n!spec two lines\nof it", by="budi"),
        Say("@bob may I?", by="budi"),
        Pin("tokens"),
        Say("@ada ok, we decided to rotate tokens", room=AUTH),
        Say("!landmarks"),
        Say("!help pin", by="budi"),
        Say("!new", by="budi"),
        Say("!model ada opus"),
        Say("!every weekday 9:00 summarise yesterday"),
        Say("!role fake:cleo member everywhere"),
        Say("@ada hello?", room=GROUP),
        Say("in private", room=DM, id="dm"),
        Pin("dm", room=DM),
        Say("!memory", room=DM),
        Say("who are you?", by="budi", room=BUDIS_DM),
        Say("!pair <code>", room=DM),
        Say("@ada may I?", settles=False),
        Reach(questions=1),
        Say("!1"),
        Write("ada", None),
        Write("bob", None),
        Say("nobody is here", room=DM, id="alone"),
        Say("!pin kept for nobody", room=DM),
        Say("hello?", room=DM, id="alone2"),
        Write("ada", PERSONA),
        Break((PlatformError("archived", outcome="refused"),)),
        Say("@ada can't be posted"),
        Break((PlatformError("down", outcome="retry", retry_after_s=600.0),)),
        Say("@ada answered, not posted", room=AUTH, settles=False),
        Reach(failed=2),
        Say("@ada runs", settles=False),
        Reach(prompts=12),
        Say("@ada waits", settles=False),
        Say("@ada deleted", id="gone", settles=False),
        Delete("gone", settles=False),
        Say("@ada waits, too", by="budi", settles=False),
    ),
    {
        "ada": [
            Act("Hello.", usage=Usage("m-1", 900, 100, 500, 0.01)),
            "Over to @bob",
            Act("So far", fault="api", say="Overloaded."),
            "Good.",
            "Hello, all.",
            "In private.",
            "I am ada.",
            Act("chose {}", asks=QUESTION),
            "never arrives",
            "arrives late",
            Act(held="never"),
        ],
        "bob": ["Done."],
    },
    personas=("ada", "bob"),
    options={
        "access": {
            "rooms": "open",
            "dms": "pairing",
            "owners": ["fake:ash"],
            "grants": [{"role": "member", "people": ["fake:ash"]}],
            "personas": {"bob": {"invoke": "owner"}},
        }
    },
    remembers=True,
)


def inserts(database: Path) -> Iterator[str]:
    """Every row, tables and rows in an order in which their references hold."""
    with closing(sqlite3.connect(database)) as opened:
        for table in (each.name for each in metadata.sorted_tables):
            columns = opened.execute(f"PRAGMA table_info({table})").fetchall()
            listed = ", ".join(f'"{column[1]}"' for column in columns)
            flags = [column[2] == "BOOLEAN" for column in columns]
            for row in opened.execute(f"SELECT {listed} FROM {table} ORDER BY rowid"):
                values = ", ".join(map(_literal, row, flags))
                yield f"INSERT INTO {table} ({listed}) VALUES ({values});"


def _literal(value: object, flag: bool) -> str:
    if value is None:
        return "NULL"
    if flag:
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


async def main() -> None:
    """Play the case and print its rows, one a line."""
    with tempfile.TemporaryDirectory() as folder:
        await Stage(CASE, Path(folder)).play()
        for line in inserts(Path(folder) / "moot.db"):
            sys.stdout.write(line.replace(folder, "/tmp/moot") + "\n")


if __name__ == "__main__":
    asyncio.run(main())
