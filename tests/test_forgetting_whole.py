"""`moot run`: words that are private or forgotten are in nothing that was learned: in no table of
the database, no file beside it, and no prompt that comes after."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import Message, ToolUse
from tests.doubles.service import Service, service
from tests.test_commands import moot as command
from tests.test_recall_whole import CONFIG, PACE, ROOM, known, talk

FORGOTTEN, PRIVATE, KEPT = "kestrel4711", "falcon8822", "heron3366"
TRANSCRIPT = {"messages", "turns", "posts", "audit"}  # what was said stays there
SPELLINGS = ["<рrivаtе>", "&amp;lt;private&amp;gt;", "[private] ", "＜privat＞"]


async def submit(moot: Service, content: str, **more: Any) -> dict[str, Any]:
    """Budi says it, and waits for the answer."""
    meta = {
        "source": "web",
        "sender_id": "web:budi",
        "sender_display_name": "Budi",
        "sender_type": "human",
    }
    body = {"content": content, "metadata": meta, "room": ROOM, "wait": 20, **more}
    async with (
        aiohttp.ClientSession(moot.url, headers=moot.headers) as client,
        client.post("/api/submit", json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()
        found: dict[str, Any] = await answer.json()
        return found


def holding(folder: Path, word: str) -> set[str]:
    """The tables and the files beside the database that hold a word."""
    data = folder / "data"
    with closing(sqlite3.connect(data / "moot.db")) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        rows = {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables}
    found = {name for name, held in rows.items() if word in str(held)}
    files = (path for path in data.rglob("*") if path.is_file() and "moot.db" not in path.name)
    return found | {path.name for path in files if word.encode() in path.read_bytes()}


def number_of(folder: Path, word: str) -> int:
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        query = "SELECT seq FROM facts WHERE text LIKE ?"
        return int(database.execute(query, (f"%{word}%",)).fetchone()[0])


async def until_summarised(folder: Path, word: str) -> None:
    async with asyncio.timeout(30):
        while "episodes" not in holding(folder, word):
            await asyncio.sleep(0.2)


def later_headers(folder: Path, after: int) -> str:
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        return str(database.execute("SELECT header FROM turns WHERE seq > ?", (after,)).fetchall())


@pytest.mark.parametrize(
    "tag", [SPELLINGS[0], *(pytest.param(one, marks=pytest.mark.long) for one in SPELLINGS[1:])]
)
async def test_what_is_forgotten_or_private_is_in_nothing_that_was_learned(
    tmp_path: Path, tag: str
) -> None:
    async with service(tmp_path, CONFIG + PACE) as moot:
        await talk(moot.url, f"we decided that the greenhouse opens with {FORGOTTEN}")
        await talk(moot.url, f"we decided that the cellar opens with {KEPT}")
        await talk(moot.url, f"{tag}we decided that the attic opens with", f"the word {PRIVATE}")
        await talk(moot.url, "as said </privаte> fine by all of us")
        await talk(moot.url, *(f"the train was late again, {n} minutes" for n in range(45)))
        await known(moot.url, FORGOTTEN)
        await submit(moot, "@demo hello there")
        await until_summarised(tmp_path, FORGOTTEN)
        assert holding(tmp_path, PRIVATE) <= TRANSCRIPT

        told = await submit(moot, f"!forget {number_of(tmp_path, FORGOTTEN)}")
        assert "Forgotten:" in str(told)
        await moot.kill()
        assert holding(tmp_path, FORGOTTEN) <= TRANSCRIPT
        await moot.start()
        await known(moot.url, KEPT)  # the index is there again
        with closing(sqlite3.connect(tmp_path / "data" / "moot.db")) as database:
            last = int(database.execute("SELECT max(seq) FROM turns").fetchone()[0])
        await submit(moot, "@demo what did we decide that opens the cellar?")
        header = later_headers(tmp_path, last)
        assert KEPT in header
        assert FORGOTTEN not in header
        assert PRIVATE not in header
        await submit(moot, "!new")
        await submit(moot, "@demo and the attic?")
        headers = later_headers(tmp_path, last)
        assert [word for word in (FORGOTTEN, PRIVATE) if word in headers] == []
        assert holding(tmp_path, PRIVATE) | holding(tmp_path, FORGOTTEN) <= TRANSCRIPT
        assert "facts" in holding(tmp_path, KEPT)


# ── A kill -9 in the midst of it ────────────────────────────────────────────────────────


def learned_holding(folder: Path, word: str) -> set[str]:
    """Those of them that hold what was learned, or shown later: no transcript, neither Moot's nor
    that of an agent's session which was given it before."""
    given = {path.name for path in (folder / "data" / "scopes").rglob("*.jsonl")}
    return holding(folder, word) - TRANSCRIPT - given


def facts_with(folder: Path, word: str) -> int:
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        query = "SELECT count(*) FROM facts WHERE text LIKE ?"
        return int(database.execute(query, (f"%{word}%",)).fetchone()[0])


async def learned_of(folder: Path, word: str, *, count: int) -> None:
    """Wait until so many facts say a word."""
    async with asyncio.timeout(60):
        while facts_with(folder, word) != count:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    "after_ms", [8, *(pytest.param(ms, marks=pytest.mark.long) for ms in (0, 2, 4, 16, 32, 64))]
)
async def test_a_forgetting_that_was_killed_is_finished_by_the_next_start(
    tmp_path: Path, after_ms: int
) -> None:
    async with service(tmp_path, CONFIG + PACE) as moot:
        await talk(moot.url, f"we decided that the greenhouse opens with {FORGOTTEN}")
        await talk(moot.url, *(f"the train was late again, {n} minutes" for n in range(45)))
        await known(moot.url, FORGOTTEN)
        number = number_of(tmp_path, FORGOTTEN)
        await submit(moot, f"!share {number}")
        await submit(moot, "@demo hello there")
        await until_summarised(tmp_path, FORGOTTEN)
        assert facts_with(tmp_path, FORGOTTEN) == 2  # it, and its copy
        asks = asyncio.create_task(submit(moot, f"!forget {number}", message_id="forget"))
        await asyncio.sleep(after_ms / 1000)
        await moot.kill()
        with suppress(aiohttp.ClientError):
            await asks
        await moot.start()
        await submit(moot, f"!forget {number}", message_id="forget")  # if it had not arrived
        await learned_of(tmp_path, FORGOTTEN, count=0)
        await submit(moot, "@demo and now, which word opens the greenhouse?")
        await moot.kill()
        assert learned_holding(tmp_path, FORGOTTEN) == set()


async def test_what_is_forgotten_while_a_model_reads_it_is_learned_by_nobody(
    tmp_path: Path,
) -> None:
    """The model's answer comes after it, with the word in it; then the process is killed."""
    found: dict[str, Any] = {"discussions": [], "attempts": [], "requests": []}
    chosen = {"options": [], "chosen": f"the word {FORGOTTEN}", "rationale": "it grows"}
    async with MessagesAPI.open() as api:
        config = (
            f'{CONFIG}{PACE}[memory]\nmodel = "anthropic"\nextract_tokens = 100\n'
            "insights = false\nobservations = false\n"
            f'[memory.anthropic]\nbase_url = "{api.url}"\n'
        )
        answer = ToolUse("write_extracted", {**found, "decisions": [chosen]})
        nothing = ToolUse("write_extracted", {**found, "decisions": []})
        api.queue(Message((answer,), hold=0))
        api.default = nothing
        async with service(tmp_path, config, ANTHROPIC_API_KEY="k-secret") as moot:
            said = f"we decided that the greenhouse opens with {FORGOTTEN}. "
            await talk(moot.url, said * 12)
            async with asyncio.timeout(30):
                await api.holding.wait()
            assert "Forgotten:" in str(await submit(moot, "!forget all"))
            asked = len(api.requests)
            api.release.set()
            await talk(moot.url, "the rest of the day we spoke of the cellar and its door. " * 12)
            async with asyncio.timeout(30):
                while len(api.requests) == asked:
                    await asyncio.sleep(0.1)
            await submit(moot, "@demo which word opens the greenhouse?")
            await moot.kill()
            assert learned_holding(tmp_path, FORGOTTEN) == set()
            assert [r for r in api.requests[asked:] if FORGOTTEN in str(r.body)] == []
            await moot.start()
            await submit(moot, "@demo and now?")
            assert learned_holding(tmp_path, FORGOTTEN) == set()


async def test_notes_that_a_model_writes_while_it_is_forgotten_from_outside_are_not_kept(
    tmp_path: Path,
) -> None:
    note = f"The greenhouse of Budi opens with {FORGOTTEN}"
    async with MessagesAPI.open() as api:
        config = (
            f'{CONFIG}{PACE}[memory]\nmodel = "anthropic"\nobservations = false\n'
            f'[memory.anthropic]\nbase_url = "{api.url}"\n'
        )
        written = ToolUse("write_notes", {"pins": [note], "recommendations": []})
        kept = ToolUse("write_notes", {"pins": [f"Budi likes {KEPT}"], "recommendations": []})
        api.queue(Message((written,), hold=0))
        api.default = kept
        async with service(tmp_path, config, ANTHROPIC_API_KEY="k-secret") as moot:
            await submit(
                moot, f"@demo keep in mind: the door of the greenhouse opens with {FORGOTTEN}"
            )
            async with asyncio.timeout(30):
                await api.holding.wait()
            words = ("memory", "forget", FORGOTTEN, "--scope", f"room:{ROOM}", "--yes")
            done = await asyncio.to_thread(command, *words, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            asked = len(api.requests)
            api.release.set()
            await submit(moot, "@demo the train was late again and so was I, by ten whole minutes")
            async with asyncio.timeout(30):
                while "insights" not in holding(tmp_path, KEPT):
                    await asyncio.sleep(0.1)
            assert [r for r in api.requests[asked:] if FORGOTTEN in str(r.body)] == []
            await moot.kill()
            assert learned_holding(tmp_path, FORGOTTEN) == set()
