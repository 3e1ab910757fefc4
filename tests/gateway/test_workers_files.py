"""Files between the gateway and a worker: whole, as they were, and where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.core.redaction import Redactor
from gateway.mcp.file_desk import NotTaken
from gateway.workers.files import (
    AWAY,
    PIECE_BYTES,
    FilesOfWorker,
    FilesThere,
    GivenFiles,
    HandedContents,
    fetch,
)
from gateway.workers.messages import FileGiven, FileWanted, OfSession, WantedOfAgent

LEASE = OfSession(session="a.b", epoch=1)
LARGE = bytes(range(251)) * 3000
KEY = "sk-ant-api03-9f8e7d6c5b4a39281706"


class Gateway:
    """Answers a worker's questions as the gateway does."""

    def __init__(self, given: GivenFiles) -> None:
        self.given, self.asked = given, list[FileWanted]()

    async def ask(self, subject: str, data: bytes, timeout_s: float) -> bytes:
        wanted = FileWanted.model_validate_json(data)
        self.asked.append(wanted)
        return self.given.piece(wanted).encoded()


async def fetched(gateway: Gateway, given: list[FileGiven], folder: Path) -> None:
    link: Any = gateway
    await fetch(link, "w1", LEASE, tuple(given), folder)


async def test_a_file_comes_in_pieces_once_and_again_when_it_changed(tmp_path: Path) -> None:
    source, there = tmp_path / "data.bin", FilesThere(str(tmp_path / "there"))
    source.write_bytes(LARGE)
    path = there.copied(source)
    whole = there.written("h/whole-message.txt", b"long")
    gateway = Gateway(GivenFiles())
    given = gateway.given.give(there.take())
    await fetched(gateway, given, tmp_path / "there")
    assert Path(path or "").read_bytes() == LARGE
    assert Path(whole or "").read_bytes() == b"long"
    assert len(gateway.asked) == -(-len(LARGE) // PIECE_BYTES) + 1
    assert (Path(path or "").stat().st_mode & 0o777) == 0o640
    await fetched(gateway, given, tmp_path / "there")
    assert len(gateway.asked) == -(-len(LARGE) // PIECE_BYTES) + 1
    source.write_bytes(b"another")
    there.copied(source)
    await fetched(gateway, gateway.given.give(there.take()), tmp_path / "there")
    assert Path(path or "").read_bytes() == b"another"


async def test_what_changes_on_its_way_or_is_gone_or_lies_elsewhere_is_not_there(
    tmp_path: Path,
) -> None:
    folder, source = tmp_path / "there", tmp_path / "data.bin"
    source.write_bytes(LARGE)
    there = FilesThere(str(folder))
    there.copied(source)
    gateway = Gateway(GivenFiles())
    given = gateway.given.give(there.take())
    source.write_bytes(LARGE[::-1])
    await fetched(gateway, given, folder)
    source.unlink()
    await fetched(gateway, given, folder)
    assert there.copied(source) is None
    [secret] = GivenFiles().give({"../escaped": b"x"})
    await fetched(Gateway(GivenFiles()), [secret], folder)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class Session:
    """A session on a worker, as far as its files go."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.folder = folder / "work", folder
        for one in (self.workspace, folder / "home"):
            one.mkdir()


async def test_a_file_is_handed_over_as_it_was_when_that_began(tmp_path: Path) -> None:
    live: Any = Session(tmp_path)
    plot, contents = live.workspace / "plot.bin", HandedContents()
    plot.write_bytes(LARGE)
    (live.workspace / "key.txt").write_text(f"key: {KEY}")

    async def wants(wanted: WantedOfAgent) -> bytes:
        told = await contents.piece(live, wanted, Redactor([KEY]))
        plot.write_bytes(b"changed")
        return told.encoded()

    files = FilesOfWorker(LEASE, wants)
    assert await files.read("plot.bin", 1_000_000) == ("plot.bin", LARGE)
    for path, why in (
        ("key.txt", "holds a secret"),
        ("/etc/passwd", "only files in your working directory"),
        ("gone", "there is no file gone"),
    ):
        with pytest.raises(NotTaken, match=why):
            await files.read(path, 1_000_000)
    plot.write_bytes(LARGE)
    with pytest.raises(NotTaken, match="is too large"):
        await files.read("plot.bin", 1000)


async def test_a_worker_that_sends_more_than_it_may_or_less_than_it_says_is_refused() -> None:
    async def more(wanted: WantedOfAgent) -> bytes:
        return b'{"name": "a", "bytes": 9000, "content": "' + b"QUFB" * 1000 + b'"}'

    async def less(wanted: WantedOfAgent) -> bytes:
        return b'{"name": "a", "bytes": 9000}'

    for wants in (more, less):
        with pytest.raises(NotTaken, match=AWAY):
            await FilesOfWorker(LEASE, wants).read("a", 1000)
