"""The index as others use it, through Mem0: over every store that opens without a server."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from contract.errors import ConfigError
from memory.recall.embedders import BuiltinEmbedder, RememberingEmbedder
from memory.recall.held import LARGE
from memory.recall.index import Index, IndexFailed, IndexSettings
from memory.recall.mem0 import Mem0Index, open_index
from memory.recall.vectors import SqliteVectors
from tests.doubles.small_chat import ANDIS, AUTH, GARDEN, START, entries, only, put

HOUSE = Path(__file__).parents[3]


def settings(folder: Path, **changes: Any) -> IndexSettings:
    plain = IndexSettings(folder, now=lambda: START + timedelta(days=7))
    return replace(plain, **changes)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[Index]:
    async with open_index(settings(tmp_path)) as opened:
        await opened.add(entries())
        yield opened


async def best(index: Index, query: str, scope: str) -> str:
    """The text of the first hit, or nothing."""
    texts = {entry.id: entry.text for entry in entries()}
    hits = await index.search(query, [scope], 5)
    return texts[hits[0].id] if hits else ""


@pytest.mark.parametrize(
    ("query", "scope", "part"),
    [
        ("Why does the access token expire so soon?", AUTH, "15 minutes"),
        ("what JWT expiry does Andi prefer", AUTH, "30 minutes"),
        ("When is the concert?", AUTH, "violin"),
        ("is the data base of staging back? I mean the backup", AUTH, "staging"),
        ("migrations with prisma", AUTH, "migration"),
        ("who planted the basyl?", GARDEN, "basil"),  # a slip of the finger
        ("KASEKUCHEN im cafe", GARDEN, "Käsekuchen"),
        ("東京", GARDEN, "東京タワー"),
        ("猫", GARDEN, "看猫"),
    ],
)
async def test_it_finds_what_is_meant(index: Index, query: str, scope: str, part: str) -> None:
    assert part in await best(index, query, scope)


@pytest.mark.parametrize(
    "query", ["", "  ", "?", "👍", "thanks!", "ok, and what about the rain in Spain", "hello there"]
)
async def test_what_has_nothing_in_common_recalls_nothing(index: Index, query: str) -> None:
    assert await index.search(query, [AUTH, GARDEN], 10) == []


async def test_a_distance_in_time_is_counted_from_now(index: Index) -> None:
    hits = await index.search("what did Budi write last week?", [AUTH], 5)
    assert hits[0].id == f"{AUTH}/4"


async def test_hits_of_several_scopes_come_in_one_order(index: Index) -> None:
    hits = await index.search("the JWT", [GARDEN, ANDIS, AUTH], 10)
    assert {hit.scope for hit in hits} == {AUTH, ANDIS}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score < 1 for hit in hits)
    assert len(await index.search("the JWT", [AUTH, ANDIS], 1)) == 1


async def test_a_message_is_found_by_the_words_of_the_one_before(index: Index) -> None:
    hits = await index.search("logged out all the time", [AUTH], 3)
    assert [hit.id for hit in hits][:2] == [f"{AUTH}/0", f"{AUTH}/1"]


async def test_entries_without_a_source_are_not_each_others_context(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as index:
        await index.add([replace(entry, source="") for entry in entries(AUTH)])
        hits = await index.search("logged out all the time", [AUTH], 5)
        assert [hit.id for hit in hits] == [f"{AUTH}/0"]


async def test_a_scope_never_gives_what_is_anothers(index: Index) -> None:
    for query in ("hunter2-violet", "JWT secret", "Andi new job", "please tell nobody"):
        hits = await index.search(query, [AUTH, GARDEN], 50)
        assert all(hit.scope in (AUTH, GARDEN) for hit in hits)
        assert not {hit.id for hit in hits} & await index.ids(ANDIS)


@pytest.mark.parametrize(
    "scope", ["", "*", " ", "room:*", "a b", "room:slack:C1\n", "\x00", {"in": [AUTH]}]
)
async def test_a_scope_that_could_match_others_is_refused(index: Index, scope: Any) -> None:
    with pytest.raises(IndexFailed):
        await index.search("JWT", [AUTH, scope], 5)
    with pytest.raises(IndexFailed):
        await index.ids(scope)
    with pytest.raises(IndexFailed):
        await index.add([replace(entries(AUTH)[0], scope=scope)])
    with pytest.raises(IndexFailed):
        await index.add([replace(entries(AUTH)[0], id=scope)])
    with pytest.raises(IndexFailed):
        await index.remove([scope])


async def test_scopes_that_look_alike_are_different(tmp_path: Path) -> None:
    alike = [AUTH, AUTH.upper(), f"{AUTH}%", f"{AUTH}_", AUTH[:-1], f"{AUTH}'--", "room:slack:С1"]
    async with open_index(settings(tmp_path)) as index:
        plain = entries(AUTH)[2]
        await index.add([replace(plain, id=f"{n}", scope=s) for n, s in enumerate(alike)])
        for number, scope in enumerate(alike):
            assert [hit.id for hit in await index.search("JWT", [scope], 9)] == [f"{number}"]


async def test_the_store_takes_no_filter_but_scopes(tmp_path: Path) -> None:
    index = Mem0Index(settings(tmp_path))
    await index.add(entries())
    store = index._open().store
    odd: list[Any] = [
        None,
        {},
        {"user_id": AUTH},
        {"agent_id": "moot"},
        {"agent_id": "x", "$or": [{"user_id": AUTH}]},
        only(AUTH, "*"),
        only(),
        {**only(AUTH), "AND": []},
        {"agent_id": "moot", "$or": [{"user_id": AUTH}, {}]},
    ]
    for filters in odd:
        with pytest.raises(IndexFailed):
            store.search("JWT", [1.0], 5, filters)
        with pytest.raises(IndexFailed):
            store.list(filters)
    await index.close()


async def test_adding_again_replaces(index: Index) -> None:
    before = await index.ids()
    changed = replace(entries(AUTH)[1], text="the access token now lives for two hours")
    await index.add([changed])
    await index.add([changed, changed])
    assert await index.ids() == before
    hits = await index.search("access token hours", [AUTH], 9)
    assert [hit.id for hit in hits].count(changed.id) == 1
    assert await index.search("expires", [AUTH], 1) != hits[:1]


async def test_it_keeps_what_it_has_over_a_restart(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as index:
        await index.add(entries())
        held = await index.ids()
    async with open_index(settings(tmp_path)) as index:
        assert await index.ids() == held == {entry.id for entry in entries()}
        assert "15 minutes" in await best(index, "access token expiry", AUTH)
        await index.clear()
        assert await index.ids() == set()
        assert await index.search("access token expiry", [AUTH], 5) == []


async def test_400_adds_at_once_are_all_kept(tmp_path: Path) -> None:
    plain = entries(AUTH)[0]
    async with open_index(settings(tmp_path)) as index:
        some = [replace(plain, id=f"e{n}", order=n, text=f"word{n} here") for n in range(400)]
        searches = [index.search("word7", [AUTH], 5) for _ in range(50)]
        await asyncio.gather(*(index.add([one]) for one in some), *searches)
        assert await index.ids(AUTH) == {one.id for one in some}
        assert (await index.search("word399", [AUTH], 5))[0].id == "e399"


async def test_two_who_have_it_open_see_each_others_writing(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as one, open_index(settings(tmp_path)) as other:
        await one.add(entries(AUTH))
        assert await other.search("violin", [AUTH], 5)
        await other.add([replace(entries(AUTH)[0], id="new", text="the oboe is Budi's")])
        assert (await one.search("oboe", [AUTH], 5))[0].id == "new"
        await other.remove(["new", f"{AUTH}/6"])
        assert await one.search("oboe", [AUTH], 5) == []
        assert f"{AUTH}/6" not in {hit.id for hit in await one.search("violin", [AUTH], 5)}


async def test_many_and_few_at_once_make_the_same_rows(tmp_path: Path) -> None:
    rows = []
    for size in (1, len(entries(AUTH))):
        index = Mem0Index(settings(tmp_path / f"{size}"))
        for start in range(0, len(entries(AUTH)), size):
            await index.add(entries(AUTH)[start : start + size])
        rows.append({row.id: row.payload for row in index._open().store.list(only(AUTH))[0]})
        await index.close()
    for one, other in zip(rows[0].values(), rows[1].values(), strict=True):
        assert one.keys() == other.keys()
        assert {key for key in one if one[key] != other[key]} <= {"created_at", "updated_at"}


@pytest.mark.parametrize("limit", [1, 14, 15, 16, 20, 40])
async def test_as_many_hits_come_as_are_asked_for(tmp_path: Path, limit: int) -> None:
    plain = entries(AUTH)[0]
    async with open_index(settings(tmp_path)) as index:
        await index.add(
            [replace(plain, id=f"e{n}", scope=(AUTH, GARDEN)[n % 2], order=n) for n in range(100)]
        )
        hits = await index.search("logged out", [AUTH, GARDEN], limit)
        assert len({hit.id for hit in hits}) == limit


@pytest.mark.parametrize("change", ["search", "add"])
async def test_recall_and_store_are_mem0s_own(tmp_path: Path, change: str) -> None:
    index = Mem0Index(settings(tmp_path))
    await index.add(entries())
    memory = index._open().memory
    found = memory.search("JWT expiry", filters={"agent_id": "moot", "OR": [{"user_id": AUTH}]})
    assert found["results"][0]["memory"].endswith("I prefer 30 minutes for the JWT expiry")
    memory.search = memory.add = None  # whoever goes by them finds nothing
    with pytest.raises(IndexFailed):
        await (index.search("JWT", [AUTH], 5) if change == "search" else index.add(entries()))
    await index.close()


def test_a_view_larger_than_the_memory_for_it_is_read_once(tmp_path: Path) -> None:
    vectors = SqliteVectors(tmp_path / "index.db", lambda: START, most=1)
    put(vectors, entries())
    view = only(AUTH, GARDEN, ANDIS)
    first = vectors.search("the JWT", [1.0], 20, view)
    with sqlite3.connect(tmp_path / "index.db") as connection:
        connection.execute(
            "UPDATE entries SET terms = '', times = x''"
        )  # whoever reads again fails
    connection.close()
    assert first == vectors.search("the JWT", [1.0], 20, view) != []
    vectors.search("the JWT", [1.0], 20, only(GARDEN))  # the others are let go for it
    assert vectors.search("the JWT", [1.0], 20, view) == []
    vectors.close()


def test_a_large_scope_stays_while_questions_differ_in_small_ones(tmp_path: Path) -> None:
    vectors = SqliteVectors(tmp_path / "index.db", lambda: START, most=10)
    plain = entries(AUTH)[2]  # of the JWT
    rows = [replace(plain, id=f"big{n}", order=n) for n in range(LARGE)]
    rows += [replace(plain, id=f"small{n}", scope=f"profile:u{n}") for n in range(4)]
    put(vectors, rows)
    views = [only(AUTH, "profile:u0", "profile:u1"), only(AUTH, "profile:u2", "profile:u3")]
    first = [vectors.search("the JWT", [1.0], 8_000, view) for view in views]
    assert [len(found) for found in first] == [LARGE + 2] * 2
    with sqlite3.connect(tmp_path / "index.db") as connection:
        connection.execute("UPDATE entries SET terms = '', times = x'' WHERE id LIKE 'big%'")
    connection.close()
    assert [len(vectors.search("the JWT", [1.0], 8_000, view)) for view in views] == [LARGE + 2] * 2
    vectors.close()


async def test_small_scopes_of_one_question_are_no_context_of_each_other(tmp_path: Path) -> None:
    scopes = [f"profile:u{number}" for number in range(20)]
    plain = entries(AUTH)[0]  # Andi: users complain that they are logged out all the time
    async with open_index(settings(tmp_path)) as index:
        other = replace(plain, id="other", scope=scopes[1], order=1, text="we had cake for lunch")
        await index.add([replace(plain, id="complaint", scope=scopes[0]), other])
        hits = await index.search("logged out all the time", scopes, 5)
        assert [hit.id for hit in hits] == ["complaint"]
        await index.add([replace(other, id="beside", scope=scopes[0])])
        hits = await index.search("logged out all the time", scopes, 5)
        assert [(hit.id, hit.scope) for hit in hits][:1] == [("complaint", scopes[0])]
        assert "other" not in {hit.id for hit in hits}


@pytest.mark.parametrize("count", [1, 7, 60])
async def test_many_small_scopes_give_what_each_gives(tmp_path: Path, count: int) -> None:
    scopes = [f"profile:u{number}" for number in range(count)]
    said = entries(AUTH)
    async with open_index(settings(tmp_path)) as index:
        for number, scope in enumerate(scopes):
            mine = [replace(one, id=f"{scope}/{one.order}", scope=scope) for one in said]
            await index.add(
                [
                    *mine,
                    replace(
                        said[0],
                        id=f"{scope}/own",
                        scope=scope,
                        order=9,
                        text=f"my locker has the number {number + 100}",
                    ),
                ]
            )
        wanted = await index.search(f"locker {count + 99}", scopes, 5)
        assert wanted[0].id == f"{scopes[-1]}/own"
        await index.remove([wanted[0].id])
        assert f"{scopes[-1]}/own" not in {
            hit.id for hit in await index.search(f"locker {count + 99}", scopes, 5)
        }
        half = scopes[: count // 2 + 1]
        found = await index.search("the violin concert", half, 5 * count)
        assert {hit.scope for hit in found} == set(half)


# ── Forgetting ──────────────────────────────────────────────────────────────────────────


def files_with(folder: Path, text: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.parametrize("copies", [1, 40])
async def test_no_byte_of_what_is_forgotten_stays(tmp_path: Path, copies: int) -> None:
    secret = entries(ANDIS)[1]
    some = [replace(secret, id=f"s{n}", order=n) for n in range(copies)]
    async with open_index(settings(tmp_path)) as index:
        await index.add(entries(AUTH))
        await index.add(some)
        await index.add([replace(one, text=f"{one.text}, it is quartzite") for one in some])
        assert files_with(tmp_path, b"quartzite")
        assert await index.search("quartzite", [ANDIS], 5)
        await index.remove([one.id for one in some])
        for word in (b"hunter2", b"violet", b"quartzit"):
            assert files_with(tmp_path, word) == []
        assert await index.search("quartzite", [ANDIS], 5) == []
        assert await index.ids() == {entry.id for entry in entries(AUTH)}
        await index.remove(["unknown"])


async def test_no_byte_stays_of_an_index_that_was_cleared(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as index:
        await index.add(entries())
        await index.clear()
        assert files_with(tmp_path, b"hunter2") == []


# ── Trouble ─────────────────────────────────────────────────────────────────────────────


async def test_a_broken_file_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "index.db").write_bytes(b"this is no database" * 1000)
    async with open_index(settings(tmp_path)) as index:
        assert await index.ids() == set()
        await index.add(entries(AUTH))
        assert await index.search("violin", [AUTH], 5)
    assert files_with(tmp_path, b"this is no database") == []


async def test_a_file_of_another_version_is_begun_anew(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as index:
        await index.add(entries(AUTH))
    with sqlite3.connect(tmp_path / "index.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    async with open_index(settings(tmp_path)) as index:
        assert await index.ids() == set()


@pytest.mark.parametrize(
    "text",
    ["", "\x00", "the and of", "👩‍💻", "x" * 1_000_000, "word " * 200_000, "a\x00b null", "\u200d"],
)
async def test_any_text_is_taken(tmp_path: Path, text: str) -> None:
    async with open_index(settings(tmp_path)) as index:
        entry = replace(entries(AUTH)[0], id="odd", text=text, person="")
        await index.add([entry, *entries(AUTH)])
        assert "odd" in await index.ids(AUTH)
        assert "violin" in await best(index, "violin concert", AUTH)
        await index.search(text, [AUTH], 5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"embedder": "minilm"}, r"\[memory\] embedder: .*`moot memory embedder install`"),
        ({"store": "faiss"}, r"\[memory\] store"),
        ({"store": "qdrant"}, r"\[memory.store\] url"),
    ],
)
async def test_a_setting_that_cannot_be_right_is_told(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        async with open_index(settings(tmp_path, **changes)):
            pass


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"embedder": "minilm", "model": Path("/nowhere")}, "model"),
        ({"embedder": "nobody"}, "embedder"),
        ({"store": "nobody"}, "store"),
        ({"store": "redis", "store_settings": {"redis_url": "redis://127.0.0.1:9"}}, "store"),
    ],
)
async def test_what_is_not_there_is_told_by_its_key(
    tmp_path: Path, changes: dict[str, Any], key: str
) -> None:
    async with open_index(settings(tmp_path, **changes)) as index:
        with pytest.raises(ConfigError, match=rf"^\[memory\] {key}: "):
            await index.warm()


async def test_a_server_that_is_away_at_the_start_leaves_the_words(tmp_path: Path) -> None:
    away = settings(tmp_path, store="qdrant", store_settings={"url": "http://127.0.0.1:9"})
    async with open_index(away) as index:
        await index.warm()
        await index.add(entries(AUTH))
        assert "violin" in await best(index, "violin concert", AUTH)


def test_the_name_changes_with_what_makes_it(tmp_path: Path) -> None:
    plain = Mem0Index(settings(tmp_path))
    served = Mem0Index(settings(tmp_path, embedder="openai", embedder_settings={"model": "m"}))
    server = Mem0Index(settings(tmp_path, store="pgvector"))
    meant = Mem0Index(settings(tmp_path, store="pgvector", embedder="minilm", model=tmp_path))
    assert len({plain.name, served.name, server.name, meant.name}) == 4


def test_a_model_that_comes_or_goes_leaves_the_name_and_so_the_entries(tmp_path: Path) -> None:
    words = Mem0Index(settings(tmp_path, embedder="builtin"))
    other = Mem0Index(settings(tmp_path, embedder="minilm", model=tmp_path))
    assert words.name == Mem0Index(settings(tmp_path)).name == other.name


def test_it_never_connects_to_anybody(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from memory.recall.index import IndexSettings
from memory.recall.mem0 import open_index
from tests.doubles.small_chat import AUTH, entries

tried = []
asks = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request")
sys.addaudithook(lambda event, args: tried.append(event) if event in asks else None)

async def main():
    async with open_index(IndexSettings(Path(sys.argv[1]))) as index:
        await index.add(entries())
        for query in ("what happened last week?", "2026-04-15", "the JWT of Andi Smith", "before"):
            await index.search(query, [AUTH], 60)
        await index.remove([entries()[0].id])
        await index.clear()

asyncio.run(main())
print(tried)
"""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "PYTHONPATH": "."}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "index")],
        cwd=HOUSE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert not (tmp_path / "home").exists()


def test_opening_does_not_import_mem0(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from memory.recall.index import IndexSettings
from memory.recall.mem0 import open_index

async def main():
    async with open_index(IndexSettings(Path(sys.argv[1]))):
        print(sorted({"mem0", "numpy", "qdrant_client"} & sys.modules.keys()))

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=HOUSE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[]\n", done.stderr


async def test_warming_reads_what_is_there(tmp_path: Path) -> None:
    async with open_index(settings(tmp_path)) as index:
        await index.add(entries())
    warmed = Mem0Index(settings(tmp_path))
    await warmed.warm()
    assert warmed._open().store.held.names() == {(AUTH,), (GARDEN,), (ANDIS,)}
    await warmed.close()


def test_people_of_the_scopes_asked_are_left_out_of_what_a_question_means(tmp_path: Path) -> None:
    vectors = SqliteVectors(tmp_path / "index.db", lambda: START, dense=True)
    put(vectors, entries())
    asked = "what do Andi and Dewi want?"
    assert vectors.meant(asked, [AUTH]) == "what do  and Dewi want?"
    assert vectors.meant(asked, [AUTH, GARDEN]) == "what do  and  want?"
    assert vectors.meant(asked, ["room:slack:C9"]) == asked
    vectors.close()


def test_a_question_is_embedded_by_what_it_means() -> None:
    inner = BuiltinEmbedder(SimpleNamespace())
    embedder = RememberingEmbedder(inner)
    with embedder.asked_as("a new job"):
        assert embedder.embed("what new job does Andi want?", "search") == inner.embed("a new job")
    assert embedder.embed("a new car", "search") == inner.embed("a new car")
