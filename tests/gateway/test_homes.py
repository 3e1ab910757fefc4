"""Records of sessions in a bucket: the newest counts, nothing else stays, and a bucket that is away
holds nobody up."""

from __future__ import annotations

import asyncio
import io
import os
import random
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from adapters.agent import Agent
from contract.chat import Room
from gateway.core.ledger import SessionKey
from gateway.files.s3 import S3Files
from gateway.sessions.homes.keeper import HomeKeeper
from gateway.sessions.homes.packing import MOST_BYTES, pack, unpack
from gateway.sessions.homes.records import Records, forget_records, record_of
from gateway.sessions.machine_erasures import note
from gateway.sessions.sessions import AgentProgram, LiveSession, SessionContext, digest
from store.database import Store
from tests.conftest import NewUrl
from tests.doubles.bucket import Bucket, bucket
from tests.doubles.ports import free_port

KEY = SessionKey("ash", "dm:web:ana:ash")
SESSION = record_of(KEY)
NOW = datetime(2026, 11, 28, tzinfo=UTC)
KEEPS = ("kept/{session_id}.jsonl",)


@pytest.fixture(scope="module")
def s3() -> Iterator[Bucket]:
    with bucket() as made:
        yield made


@pytest.fixture
async def files(s3: Bucket) -> S3Files:
    made = s3.files()
    await made.delete(await made.list("homes"))
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, new_url: NewUrl) -> AsyncIterator[Store]:
    async with Store.open(await new_url(request.param)) as opened:
        yield opened


async def read(records: Records) -> bytes | None:
    return await records.get(SESSION, await records.newest(SESSION))


# ── The newest ──────────────────────────────────────────────────────────────────────────


async def test_who_led_before_overwrites_nothing_that_is_read(store: Store, files: S3Files) -> None:
    stopped, leads = Records(store, files), Records(store, files)
    await stopped.put(SESSION, "x", b"of the first")
    assert await read(leads) == b"of the first"
    await leads.put(SESSION, "y", b"of the second")
    assert await files.list("homes") == [f"homes/{SESSION.replace('.', '/')}.y"]
    await stopped.put(SESSION, "x", b"of the first, too late")
    assert await read(Records(store, files)) == b"of the second"
    await Records(store, files).collect()
    assert await files.list("homes") == [f"homes/{SESSION.replace('.', '/')}.y"]


async def test_nothing_is_left_of_what_ended_or_was_erased(store: Store, files: S3Files) -> None:
    records, gone = Records(store, files), digest("room:gone")
    others = f"homes/{digest('room:others')}/o.x"  # of another Moot's, which has the same bucket
    late = f"homes/{gone}/s.x"  # a put that was under way when it was erased
    for name in (others, late):
        await files.put(name, b"words")
    await records.put(SESSION, "x", b"words")
    await store.write(lambda c: note(c, "homes", ["room:gone"], NOW))
    await records.collect()
    kept = f"homes/{SESSION.replace('.', '/')}.x"
    assert sorted(await files.list("homes")) == sorted([kept, others])
    await records.drop(SESSION)
    assert await records.newest(SESSION) == ""
    await files.put(kept, b"late")
    await Records(store, files).collect()
    assert await files.list("homes") == [others]


async def test_of_a_scope_all_goes_and_no_other_scopes(store: Store, files: S3Files) -> None:
    records = Records(store, files)
    other = record_of(SessionKey("ash", "dm:web:ben:ash"))
    for session in (SESSION, record_of(SessionKey("fir", KEY.scope)), other):
        await records.put(session, "x", b"words")
    await records.forget([digest(KEY.scope)])
    await records.delete([digest(KEY.scope)])
    assert await records.newest(SESSION) == ""
    assert await files.list("homes") == [f"homes/{other.replace('.', '/')}.x"]
    await store.write(lambda c: forget_records(c, [other.partition(".")[0]]))
    assert await Records(store, files).newest(other) == ""


# ── What a machine puts and brings ──────────────────────────────────────────────────────


@dataclass
class Idle:
    """An agent, as far as its record is concerned."""

    session_id: str | None = "id"


PROGRAM = AgentProgram("demo", "Demo", "", True, "", cast("Any", None), keeps=KEEPS)


@dataclass
class Machine:
    """A gateway's disk with one session."""

    folder: Path
    records: Records
    keeper: HomeKeeper = field(init=False)

    def __post_init__(self) -> None:
        self.keeper = HomeKeeper(self.records, "moot-files")
        self.record.parent.mkdir(parents=True)

    @property
    def record(self) -> Path:
        return self.folder / "home" / "kept" / "id.jsonl"

    def live(self) -> LiveSession:
        agent, context = cast("Agent", Idle()), SessionContext(PROGRAM)
        return LiveSession(KEY, Room("r", "r", "dm"), agent, context, NOW, NOW, folder=self.folder)

    async def brings(self) -> str:
        await self.keeper.bring(KEY, self.folder, PROGRAM, resumes=True)
        return self.record.read_text() if self.record.exists() else ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def answered(self, words: str) -> None:
        """Its program recorded this, and it is kept."""
        with self.record.open("a") as file:
            file.write(words)
        async with self.running():
            self.keeper.keep(self.live())
            await self.keeper.settle()


@pytest.fixture
async def one_store(new_url: NewUrl) -> AsyncIterator[Store]:
    async with Store.open(await new_url("sqlite")) as opened:
        yield opened


async def test_each_machine_goes_on_with_the_others_words_and_its_own_disk_with_its_own(
    tmp_path: Path, one_store: Store, files: S3Files
) -> None:
    def machine(name: str) -> Machine:
        return Machine(tmp_path / name, Records(one_store, files))

    one = machine("one")
    assert await one.brings() == ""
    await one.answered("one\n")
    with one.record.open("a") as file:
        file.write("of a turn that was cut off, and is long\n")
    one.keeper = HomeKeeper(Records(one_store, files))
    assert "cut off" in await one.brings()  # nobody else led: what lies there is the newest
    two = machine("two")
    assert await two.brings() == "one\n"
    await two.answered("two\n")
    one.keeper = HomeKeeper(Records(one_store, files))
    assert await one.brings() == "one\ntwo\n"
    await one.answered("three\n")
    two.keeper = HomeKeeper(Records(one_store, files))
    assert await two.brings() == "one\ntwo\nthree\n"
    assert len(await files.list("homes")) == 1


async def test_a_bucket_that_is_away_is_told_once_and_gets_the_newest_when_it_is_back(
    tmp_path: Path, one_store: Store
) -> None:
    port = free_port()
    machine = Machine(tmp_path / "one", Records(one_store, Bucket(port).files()))
    with capture_logs() as logs:
        async with machine.running():
            for words in ("one\n", "two\n"):
                with machine.record.open("a") as file:
                    file.write(words)
                machine.keeper.keep(machine.live())
                await machine.keeper.settle()
            with bucket(port) as s3:
                async with asyncio.timeout(30):
                    while not any(line["event"] == "home.kept_again" for line in logs):
                        await asyncio.sleep(0.1)
                other = Machine(tmp_path / "other", Records(one_store, s3.files()))
                await machine.keeper.settle()
                assert await other.brings() == "one\ntwo\n"
    events = [line["event"] for line in logs if line["event"].startswith("home.")]
    assert events == ["home.not_kept", "home.kept_again", "home.brought"]


async def test_whoever_can_not_have_a_record_goes_on_without_it(
    tmp_path: Path, one_store: Store, files: S3Files
) -> None:
    one = Machine(tmp_path / "one", Records(one_store, files))
    await one.answered("one\n")
    cut_off = Machine(tmp_path / "two", Records(one_store, Bucket(free_port()).files()))
    with capture_logs() as logs:
        assert await cut_off.brings() == ""
    assert [line["event"] for line in logs] == ["home.not_brought"]
    [name] = await files.list("homes")
    await files.put(name, b"no archive")
    with capture_logs() as logs:
        assert await Machine(tmp_path / "three", Records(one_store, files)).brings() == ""
    assert [line["event"] for line in logs] == ["home.not_unpacked"]


async def test_a_session_that_ends_or_is_forgotten_is_not_put_any_more(
    tmp_path: Path, one_store: Store, files: S3Files
) -> None:
    machine = Machine(tmp_path / "one", Records(one_store, files))
    await machine.answered("one\n")
    machine.keeper.keep(machine.live())
    machine.keeper.drop(KEY)
    async with machine.running():
        await machine.keeper.settle()
    assert await files.list("homes") == []
    await machine.answered("two\n")
    machine.keeper.keep(machine.live())
    assert await machine.keeper.forget(KEY.scope) == ()
    async with machine.running():
        await machine.keeper.settle()
    assert await files.list("homes") == []
    machine.keeper = HomeKeeper(Records(one_store, Bucket(free_port()).files()), "moot-files")
    assert await machine.keeper.forget(KEY.scope) == ("moot-files",)


# ── What is packed ──────────────────────────────────────────────────────────────────────


def test_a_record_is_packed_up_to_its_last_whole_line_and_is_for_its_owner(tmp_path: Path) -> None:
    record = tmp_path / "kept" / "id.jsonl"
    record.parent.mkdir()
    record.write_text('{"whole": 1}\n{"torn": ')
    record.chmod(0o644)
    packed = pack(tmp_path, KEEPS, "id")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        [member] = archive.getmembers()
    assert (member.uname, member.gname, member.uid) == ("", "", 0)
    unpack(packed, tmp_path / "there", KEEPS)
    there = tmp_path / "there" / "kept" / "id.jsonl"
    assert there.read_text() == '{"whole": 1}\n'
    assert there.stat().st_mode & 0o777 == 0o600


def test_what_is_too_large_or_no_plain_file_is_not_packed(tmp_path: Path) -> None:
    record = tmp_path / "kept" / "id.jsonl"
    record.parent.mkdir()
    record.write_bytes(random.Random(0).randbytes(MOST_BYTES + 1) + b"\n")
    with capture_logs() as logs:
        assert pack(tmp_path, KEEPS, "id") == b""
    assert [line["event"] for line in logs] == ["home.too_large"]
    record.unlink()
    os.mkfifo(record)
    assert pack(tmp_path, KEEPS, "id") == b""
    record.unlink()
    record.symlink_to(record)  # in a circle
    assert pack(tmp_path, KEEPS, "id") == b""
