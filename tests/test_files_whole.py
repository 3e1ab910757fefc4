"""Files of the page from outside: who gets one that was posted, and who only knows its id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp

from tests.test_people_whole import Headers, Visitor, said, visited


async def uploaded(page: Visitor, by: Headers, data: bytes) -> Any:
    form = aiohttp.FormData()
    form.add_field("file", data, filename="notes.txt")
    async with page.client.post("/api/files", data=form, headers=by) as response:
        assert response.status == 201, await response.text()
        [kept] = (await response.json())["files"]
        return kept


async def given(page: Visitor, by: Headers, file: Any) -> int:
    async with page.client.get(file["url"], headers=by) as response:
        await response.read()
        return response.status


async def test_a_file_is_for_whom_it_was_posted_for_and_who_uploaded_it(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        ash, mia = await page.person("Ash", "owner"), await page.person("Mia", "member")
        gus, program = await page.person("Gus", "guest"), page.at.headers
        draft = await uploaded(page, mia, b"for nobody yet")
        private = await uploaded(page, mia, b"between me and @demo")
        public = await uploaded(page, mia, b"for all")
        for file, room in ((private, "web:dm-mia-demo"), (public, "web:general")):
            body = said("see", room, attachments=[{"id": file["id"]}])
            await page.send("POST", "/api/submit", mia, body)
        everybody = (mia, ash, gus, program)
        for file, want in (
            (draft, [200, 404, 404, 404]),
            (private, [200, 404, 404, 404]),
            (public, [200, 200, 200, 200]),
        ):
            assert [await given(page, by, file) for by in everybody] == want
        later = await uploaded(page, mia, b"later")
        assert await given(page, gus, later) == 404
        body = said("and this", "web:general", attachments=[{"id": later["id"]}])
        await page.send("POST", "/api/submit", mia, body)
        assert await given(page, gus, later) == 200


async def test_nobody_posts_a_file_that_they_may_not_read(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        mia, gus = await page.person("Mia", "member"), await page.person("Gus", "guest")
        private = await uploaded(page, mia, b"mine")
        body = said("got it", "web:general", attachments=[{"id": private["id"]}])
        told = await page.send("POST", "/api/submit", gus, body, 400)
        assert told["error"]["field"] == "attachments.0.id"
        assert await given(page, gus, private) == 404


async def test_after_a_restart_a_file_is_for_the_same_people(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        mia, gus = await page.person("Mia", "member"), await page.person("Gus", "guest")
        draft, public = await uploaded(page, mia, b"draft"), await uploaded(page, mia, b"public")
        body = said("see", "web:general", attachments=[{"id": public["id"]}])
        await page.send("POST", "/api/submit", mia, body)
        await page.at.stop()
        await page.at.start()
        cookies = [one["Cookie"].partition("=")[2] for one in (mia, gus)]
        port = page.at.url.rstrip("/").rpartition(":")[2]
        mia, gus = ({"Cookie": f"moot-{port}={cookie}"} for cookie in cookies)
        async with aiohttp.ClientSession(page.at.url) as client:
            later = Visitor(page.at, client)
            assert [await given(later, by, draft) for by in (mia, gus)] == [200, 404]
            assert [await given(later, by, public) for by in (mia, gus)] == [200, 200]
