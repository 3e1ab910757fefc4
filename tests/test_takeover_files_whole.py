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
from tests.doubles.two import two
from tests.doubles.workers import Broker
from tests.test_commands import moot
from tests.test_people_whole import Visitor
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


@pytest.mark.parametrize("store", ["s3", "nats"])
async def test_an_attachment_is_opened_served_and_erased_where_the_second_leads(
    tmp_path: Path, store: str
) -> None:
    with shared_files(store, tmp_path) as (s3, prefix):
        async with two(tmp_path, s3.config + CONFIG, s3.prepare, **KEYS) as house:
            async with aiohttp.ClientSession(house.first.url) as client:
                first = Visitor(house.first, client)
                ana = await first.person("Ana", "member")
                form = aiohttp.FormData()
                form.add_field("file", TEXT, filename="plan.txt", content_type="text/plain")
                async with client.post("/api/files", data=form, headers=ana) as response:
                    assert response.status == 201, await response.text()
                    (file,) = (await response.json())["files"]
                body = {"content": "look at this", "room": "web:general"}
                asked = {
                    **body,
                    "content": "@demo echo word 1",
                    "attachments": [{"id": file["id"]}],
                }
                await first.send("POST", "/api/submit", ana, {**asked, "wait": 60})
            assert await s3.names() == [f"{prefix}{file['id']}/plan.txt"]
            await house.first.kill()
            shutil.rmtree(house.first.folder / "data")
            await house.second.serving()
            kept = house.second.folder / "data" / "files" / file["id"] / "plan.txt"
            async with aiohttp.ClientSession(house.second.url) as client:
                second, by = Visitor(house.second, client), there(house.second, ana)
                again = {**body, "content": "@demo echo word 2", "wait": 60}
                await second.send("POST", "/api/submit", by, again)
                assert kept.read_bytes() == TEXT  # its agent was given it
                shutil.rmtree(kept.parent)
                page = await second.send("GET", "/api/rooms/web:general/messages", by)
                assert file["id"] in str(page)
                async with client.get(f"/api/files/{file['id']}", headers=by) as response:
                    assert await response.read() == TEXT
            await house.second.stop()
            words = ("memory", "delete-person", "web:ana", "--yes")
            done = await asyncio.to_thread(moot, *words, cwd=house.second.folder, **KEYS)
            assert done.returncode == 0, done.stderr
            assert await s3.names() == []
            assert not kept.exists()
        assert house.second.leaks() == house.first.leaks() == []
