"""The files of messages in a bucket, from whichever machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from contract.chat import Attachment
from gateway.files import shared
from gateway.files.s3 import open_s3
from gateway.files.shared import SharedFiles
from gateway.files.store import FileStore, FileStoreFailed
from gateway.settings.config import Config
from gateway.settings.connections import FilesTable
from gateway.workers.credentials import GATEWAY, gateway_key
from gateway.workers.file_store import broker_files
from gateway.workers.link import Link
from tests.doubles.bucket import KEYS, PREFIX, Bucket, bucket
from tests.doubles.workers import Broker

FILE = "C1/F1/plan.txt"


class Moody:
    """A store that can be away."""

    def __init__(self, store: FileStore) -> None:
        self.store, self.away = store, True

    async def put(self, name: str, data: bytes) -> None:
        if self.away:
            raise FileStoreFailed("it is away")
        await self.store.put(name, data)

    async def get(self, name: str) -> bytes | None:
        return await self.store.get(name)

    async def delete(self, names: Sequence[str]) -> None:
        await self.store.delete(names)

    async def list(self, folder: str) -> Sequence[str]:
        return await self.store.list(folder)


@pytest.fixture(scope="module")
def s3() -> Iterator[Bucket]:
    with bucket() as opened:
        yield opened


def lying(folder: Path, text: str = "the plan", name: str = FILE) -> Attachment:
    """A file of a message, on the machine with this folder."""
    path = folder / "files" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Attachment(path.name, "text/plain", len(text), str(path))


@pytest.fixture(params=["s3", "nats"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FileStore]:
    """A store, with nothing in it."""
    if request.param == "s3":
        yield request.getfixturevalue("s3").files()
        return
    broker = Broker(tmp_path / "gateway")
    key = gateway_key(broker.data_dir)
    async with broker_files(lambda: Link.open(broker.url, key, GATEWAY)) as made:
        broker.start()
        try:
            yield made
        finally:
            broker.kill()


async def test_a_store_keeps_lists_and_forgets(files: FileStore) -> None:
    await files.put("a/b/naïve file.txt", b"x" * 6_000_000)
    await files.put("a/c.txt", b"")
    assert sorted(await files.list("a")) == ["a/b/naïve file.txt", "a/c.txt"]
    assert await files.get("a/b/naïve file.txt") == b"x" * 6_000_000
    assert await files.get("a/none") is None
    await files.delete(["a/c.txt", "a/b/naïve file.txt", "a/none"])
    assert await files.list("a") == []


async def test_what_has_the_name_is_replaced(files: FileStore) -> None:
    await files.put("a/b.txt", b"before")
    await files.put("a/b.txt", b"after")
    assert await files.get("a/b.txt") == b"after"
    assert await files.list("a") == ["a/b.txt"]
    await files.delete(["a/b.txt"])
    assert await files.get("a/b.txt") is None


async def test_a_broker_that_is_away_is_an_error_and_is_used_when_it_comes(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "gateway")
    key = gateway_key(broker.data_dir)
    async with broker_files(lambda: Link.open(broker.url, key, GATEWAY)) as files:
        with pytest.raises(FileStoreFailed):
            await files.put("a/b.txt", b"text")
        broker.start()
        try:
            await files.put("a/b.txt", b"text")
            broker.kill()
            with pytest.raises(FileStoreFailed):
                await files.get("a/b.txt")
            broker.start()
            async with asyncio.timeout(30):
                while True:
                    with suppress(FileStoreFailed):
                        assert await files.get("a/b.txt") == b"text"
                        break
        finally:
            broker.kill()


def test_files_at_a_broker_need_one_that_every_machine_reaches() -> None:
    for workers in (None, {"nats": "embedded"}):
        with pytest.raises(ValidationError, match="needs a broker of its own"):
            Config.model_validate({"files": {"store": "nats"}, "workers": workers})
    Config.model_validate({"files": {"store": "nats"}, "workers": {"nats": "nats://b:4222"}})


async def test_another_machine_has_a_file_where_its_own_would_lie(
    s3: Bucket, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    file = lying(first)
    await SharedFiles(first / "files", s3.files()).keep([file])
    assert f"{PREFIX}/{FILE}" in await s3.names()
    (first / "files" / FILE).unlink()  # that machine is gone
    there = SharedFiles(second / "files", s3.files())
    assert there.here(str(file.path)) == second / "files" / FILE
    await there.fetch_folder("C1")
    assert (second / "files" / FILE).read_text() == "the plan"
    assert (second / "files" / FILE).stat().st_mode & 0o777 == 0o600
    await there.forget([str(file.path)])
    assert f"{PREFIX}/{FILE}" not in await s3.names()


async def test_only_files_of_messages_are_put_there(s3: Bucket, tmp_path: Path) -> None:
    root = tmp_path / "data" / "files"
    files = SharedFiles(root, s3.files())
    before = await s3.names()
    elsewhere = lying(tmp_path / "home", "private")
    await files.keep([elsewhere, lying(tmp_path / "data", "out", "../out.txt")])
    assert await s3.names() == before
    assert files.name(str(elsewhere.path)) is None  # a program of this machine named it
    for path in ("/x/files/../../etc/passwd", "/x/files/one", "/x/other/a/b"):
        assert files.name(path) is None


async def test_what_a_bucket_that_is_away_did_not_take_the_next_start_puts(
    s3: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = FilesTable(store="s3", bucket="b", endpoint="http://127.0.0.1:9")
    away = open_s3(table, *KEYS.values())
    with pytest.raises(FileStoreFailed):
        await away.get("a/b")
    files = SharedFiles(tmp_path / "files", away)
    late = [f"late/F{number}/plan.txt" for number in range(3)]
    await files.keep([lying(tmp_path, name=name) for name in late])
    assert caplog.text.count("file.not_shared") == 1  # the others wait behind the first one
    (tmp_path / "files" / late[2]).unlink()  # it was erased meanwhile
    notes = tmp_path / "files.waiting"
    assert len(list(notes.iterdir())) == 3
    task = asyncio.create_task(SharedFiles(tmp_path / "files", s3.files()).catch_up())
    async with asyncio.timeout(20):
        while list(notes.iterdir()):
            await asyncio.sleep(0.05)
    task.cancel()
    assert {f"{PREFIX}/{name}" for name in late} & set(await s3.names()) == {
        f"{PREFIX}/{name}" for name in late[:2]
    }


async def test_what_waits_is_put_when_the_bucket_is_back(
    s3: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "AGAIN_S", 0.05)
    name = "back/F1/plan.txt"
    files = SharedFiles(tmp_path / "files", store := Moody(s3.files()))
    task = asyncio.create_task(files.catch_up())
    await files.keep([lying(tmp_path, name=name)])
    assert f"{PREFIX}/{name}" not in await s3.names()
    store.away = False
    async with asyncio.timeout(20):
        while list((tmp_path / "files.waiting").iterdir()):
            await asyncio.sleep(0.05)
    task.cancel()
    assert f"{PREFIX}/{name}" in await s3.names()


async def test_a_message_does_not_wait_for_ever_for_a_store_that_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "KEEP_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts nobody
        table = FilesTable(
            store="s3", bucket="b", endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        files = SharedFiles(tmp_path / "files", open_s3(table, *KEYS.values()))
        async with asyncio.timeout(4):
            await files.keep([lying(tmp_path)])
    assert len(list((tmp_path / "files.waiting").iterdir())) == 1
