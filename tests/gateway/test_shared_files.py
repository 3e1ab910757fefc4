"""The files of messages in a bucket, from whichever machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
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


async def test_what_a_bucket_that_is_away_did_not_take_is_put_later(
    s3: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared, "AGAIN_S", 0.05)
    inner, away = (
        s3.files(),
        open_s3(FilesTable(store="s3", bucket="b", endpoint="http://127.0.0.1:9"), *KEYS.values()),
    )
    with pytest.raises(FileStoreFailed):
        await away.get("a/b")
    files = SharedFiles(tmp_path / "files", away)
    await files.keep([lying(tmp_path, name="late/F2/plan.txt")])
    assert "file.not_shared" in caplog.text
    files._store = inner
    task = asyncio.create_task(files.catch_up())
    async with asyncio.timeout(20):
        while f"{PREFIX}/late/F2/plan.txt" not in await s3.names():
            await asyncio.sleep(0.05)
    task.cancel()
