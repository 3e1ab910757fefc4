"""Attachments follow the lead through a bucket: the first machine may be gone with its disk."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import aiohttp

from tests.doubles.bucket import KEYS, PREFIX, bucket
from tests.doubles.two import two
from tests.test_commands import moot
from tests.test_people_whole import Visitor
from tests.test_takeover_state_whole import there

CONFIG = """
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
TEXT = b"the plan of the first machine"


async def test_an_attachment_is_opened_served_and_erased_where_the_second_leads(
    tmp_path: Path,
) -> None:
    with bucket() as s3:
        async with two(tmp_path, s3.config + CONFIG, **KEYS) as house:
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
            assert await s3.names() == [f"{PREFIX}/{file['id']}/plan.txt"]
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
