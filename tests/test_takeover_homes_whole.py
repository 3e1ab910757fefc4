"""Agents' conversations follow the lead: the second gateway's agents know what the first's knew."""

from __future__ import annotations

import asyncio
import io
import shutil
import signal
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import select

from gateway.files.store import FileStore
from gateway.workers.credentials import GATEWAY, gateway_key
from gateway.workers.file_store import BrokerBucket
from gateway.workers.link import HOMES, Link
from store.database import Store
from store.gateway_schema import session_records
from tests.doubles.bucket import KEYS, Bucket, bucket
from tests.doubles.credentials import program_at
from tests.doubles.matrix import sampled
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.obedience import say
from tests.doubles.service import Service, service
from tests.doubles.two import Two, logged, two
from tests.doubles.workers import Broker, WorkerProcess
from tests.test_claude_whole import CLAUDE, KEY, installed
from tests.test_commands import moot as command
from tests.test_takeover_files_whole import BrokerBucket as SharedBroker
from tests.test_workers_whole import until

ACCESS = '[access]\ndms = "open"\nrooms = "open"\n'
CONFIG = f"""
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
{ACCESS}"""
CANARY = "canary-of-a-login"


class Kept:
    """What another machine could get."""

    def __init__(self, store: FileStore) -> None:
        self.store = store

    async def names(self) -> list[str]:
        return sorted(await self.store.list("homes"))

    async def words(self) -> str:
        """All that there is."""
        packed = [await self.store.get(name) for name in await self.names()]
        return " ".join(_unpacked(one).decode() for one in packed if one)

    async def one(self, holds: str = "") -> str:
        """The files of the one record there is, put together, once a word is in it."""
        async with asyncio.timeout(20):
            while True:
                names = await self.names()
                packed = await self.store.get(names[0]) if len(names) == 1 else None
                if packed and holds in (told := _unpacked(packed).decode()):
                    return told
                await asyncio.sleep(0.1)


def _unpacked(packed: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        files = [archive.extractfile(member) for member in archive]
        return b"".join(file.read() for file in files if file is not None)


@contextmanager
def shared(store: str, folder: Path) -> Iterator[tuple[Bucket | SharedBroker, Kept]]:
    """A store that both machines reach, and what it has of conversations."""
    if store == "s3":
        with bucket() as s3:
            yield s3, Kept(s3.files())
        return
    broker = Broker(folder / "broker")
    made = SharedBroker(broker)
    broker.start()

    def linked():  # type: ignore[no-untyped-def]  # a context manager of Link
        return Link.open(broker.url, gateway_key(broker.data_dir), GATEWAY)

    try:
        yield made, Kept(BrokerBucket(HOMES, linked))
    finally:
        broker.kill()


async def noted(url: str) -> None:
    """Wait until the database knows where the newest record is: it is told behind the first put."""
    query = select(session_records.c.word)
    async with Store.open(url, read_only=True) as store, asyncio.timeout(20):
        while not await store.read(lambda c: c.execute(query).scalar()):
            await asyncio.sleep(0.1)


def persona(folder: Path, agent: str = "demo") -> None:
    (folder / "personas").mkdir(exist_ok=True)
    (folder / "personas" / "ash.md").write_text(f"---\nagent: {agent}\n---\nYou are ash.\n")


async def ask(at: Service, text: str, who: str = "ana") -> str:
    told = await say(at.url, who, text)
    return str(told["replies"][0]["text"])


def homes(at: Service) -> list[Path]:
    return list((at.folder / "data" / "scopes").glob("*/*/home"))


async def led_again(house: Two) -> None:
    """The first, which was stopped, wakes and ends; it stands by, and leads after the second."""
    house.first.send(signal.SIGCONT)
    assert await house.first.ended() == 2
    await house.first.begin()
    (house.first.folder / "moot.log").write_text("")
    await logged(house.first, "gateway.stands_by")
    await house.second.kill()
    await house.first.serving()


@pytest.mark.parametrize("store", sampled(("s3", "nats"), "s3"))
async def test_a_conversation_goes_on_where_the_second_leads(tmp_path: Path, store: str) -> None:
    with shared(store, tmp_path) as (kept, records):

        def prepare(folder: Path) -> None:
            persona(folder)
            kept.prepare(folder)

        async with two(tmp_path, kept.config + CONFIG, prepare, **KEYS) as house:
            await ask(house.first, "echo the first word")
            [home] = homes(house.first)
            (home / ".moot-demo" / "login.json").write_text(CANARY)
            (home / ".credentials.json").write_text(CANARY)
            await ask(house.first, "echo the second word")
            assert CANARY not in await records.one("second word")
            await noted(house.url)
            await house.take_over()
            told = await ask(house.second, "history")
            assert "the first word" in told
            assert "the second word" in told
            await records.one("history")  # the first's went
            assert '"home.brought"' in house.second.log()
        for one in (house.first, house.second):
            assert "session.anew" not in one.log()
            assert "Traceback" not in one.log()
            assert one.leaks("the first word") == []


async def test_a_gateway_that_was_stopped_goes_on_with_what_was_said_meanwhile(
    tmp_path: Path,
) -> None:
    with shared("s3", tmp_path) as (kept, records):
        async with two(tmp_path, kept.config + CONFIG, persona, **KEYS) as house:
            await ask(house.first, "echo the first word")
            await records.one("first word")
            await noted(house.url)
            house.first.send(signal.SIGSTOP)
            await house.second.serving()
            await ask(house.second, "echo the second word")
            await records.one("second word")
            record = next(home for home in homes(house.first)).glob(".moot-demo/*.jsonl")
            with next(record).open("a") as torn:  # longer than the second's, and not of this world
                torn.write(f"{' ' * 20_000}\n")
            await led_again(house)
            told = await ask(house.first, "history")
            assert "the first word" in told
            assert "the second word" in told


async def test_claude_code_goes_on_with_its_conversation_where_the_second_leads(
    tmp_path: Path,
) -> None:
    installed()
    async with MessagesAPI.open() as api:
        api.when("cobalt", "I'll keep it in mind.")
        api.when("again", "As you said.")
        described = (
            f'[agents.claude-code]\nprofile = "claude-code"\ncommand = "{CLAUDE}"\n'
            f'env = {{ ANTHROPIC_BASE_URL = "{api.url}" }}\n'
        )
        with shared("s3", tmp_path) as (kept, records):
            environment = KEYS | {"ANTHROPIC_API_KEY": KEY}

            def prepare(folder: Path) -> None:
                persona(folder, "claude-code")

            config = kept.config + described + ACCESS
            async with two(tmp_path, config, prepare, **environment) as house:
                assert await ask(house.first, "the word is cobalt") == "I'll keep it in mind."
                assert KEY not in await records.one("I'll keep it in mind.")
                await noted(house.url)
                await house.first.kill()
                shutil.rmtree(house.first.folder / "data")
                await house.second.serving()
                assert await ask(house.second, "say it again") == "As you said."
                assert '"resumed": true' in house.second.log()
        last = api.turns[-1]
        assert "I'll keep it in mind." in str(last.body["messages"][:-1])


async def test_what_ends_or_is_forgotten_goes_from_the_bucket(tmp_path: Path) -> None:
    gateway = '[gateway]\nlisten = "127.0.0.1:0"\n[sessions]\nmost = 1\n'
    persona(tmp_path)
    with shared("s3", tmp_path) as (kept, records):
        async with service(tmp_path, gateway + kept.config + CONFIG, **KEYS) as moot:
            await ask(moot, "echo the first word")
            await records.one("first word")
            await ask(moot, "!new")
            async with asyncio.timeout(20):
                while await records.names():
                    await asyncio.sleep(0.1)
            await ask(moot, "echo the second word")
            assert '"question": "echo the first' not in await records.one("second word")
            asked = (("echo the third word", "ana"), ("echo stays", "ben"))  # for one place
            await asyncio.gather(*(ask(moot, *one) for one in asked))
            async with asyncio.timeout(20):
                told = ""
                while "the third word" not in told or "stays" not in told:
                    told = await records.words()
                    await asyncio.sleep(0.1)
            told = await ask(moot, "!forget all")
            assert told.endswith("Its own record of it is gone, too.")
            assert "stays" in await records.one("stays")
            await moot.stop()
            words = ("memory", "delete-person", "web:ben", "--yes")
            done = await asyncio.to_thread(command, *words, cwd=tmp_path, **KEYS)
            assert done.returncode == 0, done.stderr
            assert await records.names() == []


async def test_a_conversation_moves_between_a_worker_and_the_gateways_own_machine(
    tmp_path: Path,
) -> None:
    gateway = '[gateway]\nlisten = "127.0.0.1:0"\n'
    persona(tmp_path)
    broker = Broker(tmp_path / "data")
    broker.worker_key("w1")
    broker.start()
    worker = WorkerProcess(broker, tmp_path, "w1")
    table = f'[workers]\nnats = "{broker.url}"\nlocal = 4\n'
    try:
        async with service(tmp_path, gateway + table + CONFIG) as moot:
            await ask(moot, "echo the first word")
            async with program_at(moot.url) as client:
                act = {"act": "sleep", "by": "web:ana"}
                address = f"/api/admin/sessions/{quote('ash@dm:web:ana:ash')}"
                async with client.post(address, json=act) as response:
                    assert response.status == 200, await response.text()
            worker.start(MOOT_DEMO_PACE="0")
            await until(lambda: "worker.heard" in moot.log())
            assert "the first word" in await ask(moot, "history")
            assert '"worker": "w1", "resumed": true' in moot.log()
            await ask(moot, "echo the second word")
            worker.end(signal.SIGKILL)
            await until(lambda: "worker.lost" in moot.log())
            told = await ask(moot, "history")
            assert "the first word" in told
            assert "the second word" in told
    finally:
        worker.end(signal.SIGKILL)
        broker.kill()
    assert moot.log().count("session.opened") == 3
    assert "session.anew" not in moot.log()
