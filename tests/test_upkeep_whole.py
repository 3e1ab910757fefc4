"""The whole way: `moot run` with the demo agent, and `moot memory` beside it and after it."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.credentials import headers_of
from tests.doubles.service import service
from tests.test_commands import moot

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


async def say(url: str, person: str, text: str, **more: Any) -> str:
    """Write to the page; return the demo agent's reply."""
    metadata = {
        "source": "web",
        "sender_id": f"web:{person}",
        "sender_display_name": f"{person.title()} Unlikely",
        "sender_type": "human",
    }
    body = {"content": text, "room": "web:general", "wait": 30, "metadata": metadata, **more}
    submit = f"{url}api/submit"
    async with (
        aiohttp.ClientSession(headers=headers_of(url)) as client,
        client.post(submit, json=body) as response,
    ):
        answer = await response.json()
        assert response.status == 200, answer
    return str(answer["replies"][0]["text"])


async def upload(url: str, word: str) -> dict[str, Any]:
    """Attach a file on the page."""
    form = aiohttp.FormData()
    form.add_field("file", word.encode(), filename="plan.txt")
    to = f"{url}api/files"
    async with (
        aiohttp.ClientSession(headers=headers_of(url)) as client,
        client.post(to, data=form) as response,
    ):
        assert response.status == 201, await response.text()
        files: list[dict[str, Any]] = (await response.json())["files"]
    return files[0]


def holding(folder: Path, word: str) -> list[str]:
    """The files in whose name or bytes the word stands."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if word in path.name or (path.is_file() and word.encode() in path.read_bytes())
    ]


async def test_of_a_person_who_is_deleted_no_byte_stays_in_the_data_directory(
    tmp_path: Path,
) -> None:
    word, other = f"andi{secrets.token_hex(8)}", f"budi{secrets.token_hex(8)}"
    data = tmp_path / "data"
    async with service(tmp_path, CONFIG) as running:
        file = await upload(running.url, word)
        await say(running.url, "andi", f"@demo what is {word}?", attachments=[file])
        await say(running.url, "andi", f"my secret is {word}", room="web:dm-andi-demo")
        await say(running.url, "andi", f"!share my {word} is what I like best")
        await say(running.url, "andi", f"!every day 9:00 what is {word}?")
        await say(running.url, "andi", f"@demo !once tomorrow 9:00 tell me of {word}")
        await say(running.url, "andrea", f"@demo {word} is here as well")
        await say(running.url, "budi", f"@demo and {other}?")
        assert len(holding(data, word)) >= 3  # the database, the file, the agents' records

        (data / "backups").mkdir()
        (data / "backups" / "moot-20260421-030000.tar.gz").touch()
        (data / "backups" / ".moot-20260422-030000.tar.gz.partial").touch()
        (data / ".backup-killed").mkdir()
        (tmp_path / ".restoring-1").mkdir()
        words = ("memory", "delete-person", "web:andi", "web:andrea")
        look = await asyncio.to_thread(moot, *words, "--json", cwd=tmp_path)
        one, also = [json.loads(line) for line in look.stdout.splitlines()]
        assert one["rows"]["messages"] >= 4
        assert also["rows"]["messages"] >= 1
        refused = await asyncio.to_thread(moot, *words, "--yes", cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"process {running.pid}" in refused.stderr
        second = await asyncio.to_thread(moot, "run", cwd=tmp_path)
        assert second.returncode == 2
        assert "stop it first" in second.stderr
        await running.stop()

        done = await asyncio.to_thread(moot, *words, "--yes", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.search(r"made before: .*/backups/moot-20260421-030000.tar.gz\n", done.stdout)
        for killed in (".moot-20260422-030000.tar.gz.partial", ".backup-killed", ".restoring-1"):
            assert re.search(rf"made before: .*/{re.escape(killed)}\n", done.stdout)
        assert holding(data, word) == []
        assert holding(data, "Andi Unlikely") == []
        assert holding(data, "web:andi") == []
        assert holding(data, "web:andrea") == []
        assert holding(data, other) != []

        await running.start()
        assert await say(running.url, "budi", "@demo are you there?")
        assert holding(data, word) == []
