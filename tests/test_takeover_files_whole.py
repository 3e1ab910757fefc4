"""Attachments follow the lead through a bucket: the first machine may be gone with its disk."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway.workers.credentials import FOLDER, GATEWAY, gateway_key
from gateway.workers.link import FILES, Link
from tests.doubles.bucket import KEYS, PREFIX, Bucket, bucket
from tests.doubles.ports import free_port
from tests.doubles.service import Service
from tests.doubles.two import logged, two
from tests.doubles.workers import Broker
from tests.test_commands import moot
from tests.test_people_whole import Headers, Visitor
from tests.test_takeover_state_whole import there

CONFIG = """
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
TEXT = b"the plan of the first machine"


class BrokerBucket:
    """The files of a broker, which each machine has the keys of."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        gateway_key(broker.data_dir)
        address = f'[workers]\nnats = "{broker.url}"\nlocal = 4\n'
        self.config = f'[files]\nstore = "nats"\n{address}'

    def prepare(self, folder: Path) -> None:
        shutil.copytree(self._broker.data_dir / FOLDER, folder / "data" / FOLDER)

    async def names(self) -> list[str]:
        async with Link.open(self._broker.url, gateway_key(self._broker.data_dir), GATEWAY) as link:
            return await link.names(FILES)


@contextmanager
def shared_files(store: str, folder: Path) -> Iterator[tuple[Bucket | BrokerBucket, str]]:
    """A store, and what its names begin with."""
    if store == "s3":
        with bucket() as s3:
            yield s3, f"{PREFIX}/"
        return
    broker = Broker(folder / "broker")
    made = BrokerBucket(broker)
    broker.start()
    try:
        yield made, ""
    finally:
        broker.kill()


async def posted(page: Visitor, by: Headers) -> str:
    """Post a message with a file, and have its answer; the file's id."""
    form = aiohttp.FormData()
    form.add_field("file", TEXT, filename="plan.txt", content_type="text/plain")
    async with page.client.post("/api/files", data=form, headers=by) as response:
        assert response.status == 201, await response.text()
        (file,) = (await response.json())["files"]
    asked = {"content": "@demo echo word 1", "room": "web:general", "wait": 60}
    await page.send("POST", "/api/submit", by, {**asked, "attachments": [{"id": file["id"]}]})
    return str(file["id"])


@pytest.mark.parametrize("store", ["s3", "nats"])
async def test_an_attachment_is_opened_served_and_erased_where_the_second_leads(
    tmp_path: Path, store: str
) -> None:
    with shared_files(store, tmp_path) as (s3, prefix):
        async with two(tmp_path, s3.config + CONFIG, s3.prepare, **KEYS) as house:
            async with aiohttp.ClientSession(house.first.url) as client:
                first = Visitor(house.first, client)
                ana = await first.person("Ana", "member")
                file = await posted(first, ana)
            assert await s3.names() == [f"{prefix}{file}/plan.txt"]
            await house.first.kill()
            shutil.rmtree(house.first.folder / "data")
            await house.second.serving()
            kept = house.second.folder / "data" / "files" / file / "plan.txt"
            async with aiohttp.ClientSession(house.second.url) as client:
                second, by = Visitor(house.second, client), there(house.second, ana)
                again = {"content": "@demo echo word 2", "room": "web:general", "wait": 60}
                await second.send("POST", "/api/submit", by, again)
                assert kept.read_bytes() == TEXT  # its agent was given it
                shutil.rmtree(kept.parent)
                page = await second.send("GET", "/api/rooms/web:general/messages", by)
                assert file in str(page)
                async with client.get(f"/api/files/{file}", headers=by) as response:
                    assert await response.read() == TEXT
            await house.second.stop()
            words = ("memory", "delete-person", "web:ana", "--yes")
            done = await asyncio.to_thread(moot, *words, cwd=house.second.folder, **KEYS)
            assert done.returncode == 0, done.stderr
            assert await s3.names() == []
            assert not kept.exists()
        assert house.second.leaks() == house.first.leaks() == []


async def test_what_is_erased_goes_from_a_machine_that_led_before_when_it_starts_again(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, CONFIG) as house:
        data = house.first.folder / "data"
        async with aiohttp.ClientSession(house.first.url) as client:
            page = Visitor(house.first, client)
            ana = await page.person("Ana", "member")
            file = await posted(page, ana)
        await house.take_over()
        await house.second.stop()
        assert (data / "files" / file / "plan.txt").exists()
        assert list((data / "scopes").iterdir())
        words = ("memory", "delete-person", "web:ana", "--yes")
        done = await asyncio.to_thread(moot, *words, cwd=house.second.folder)
        assert done.returncode == 0, done.stderr
        assert "on another machine on which Moot led" in done.stdout
        await house.second.start()
        await house.first.begin()
        await logged(house.first, "erasure.carried_out")  # while it stands by
        assert list((data / "files").iterdir()) == []
        assert list((data / "scopes").iterdir()) == []
        assert file not in house.first.log()


async def test_a_file_whose_bucket_was_away_is_put_there_after_a_kill(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "moot.toml").write_text(
        f'[gateway]\nlisten = "127.0.0.1:0"\n{Bucket(port).config}{CONFIG}'
    )
    moot = Service(tmp_path, KEYS)
    await moot.start()
    try:
        async with aiohttp.ClientSession(moot.url) as client:
            page = Visitor(moot, client)
            ana = await page.person("Ana", "member")
            file = await posted(page, ana)
        await moot.kill()
        with bucket(port) as s3:
            await moot.start()
            async with asyncio.timeout(30):
                while await s3.names() != [f"{PREFIX}/{file}/plan.txt"]:
                    await asyncio.sleep(0.1)
    finally:
        await moot.stop()
    assert "file.not_shared" in moot.log()
    assert moot.leaks() == []
