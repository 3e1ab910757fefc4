"""Moot from a wheel, as pipx and uv install it: everything that it needs is in it."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import aiohttp
import pytest

from tests.doubles.credentials import bearer
from tests.doubles.installed import HOUSE, build_wheel, install, make_shelf
from tests.doubles.service import Service


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_what_is_run_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    page = {path.relative_to(HOUSE).as_posix() for path in (HOUSE / "gateway/web/dist").iterdir()}
    assert page
    assert page <= names
    for needed in (
        "personas/demo.md",
        "personas/SHA256SUMS",
        "personas/persona.schema.json",
        "gateway/cli/service/moot.service",
        "store/migrations/env.py",
    ):
        assert needed in names
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {"tests", "bench", "docs", "deploy", "requirements"}
    assert not [name for name in names if name.endswith((".pyc", ".ts"))]


async def test_it_runs_and_answers_in_an_environment_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    moot = install(wheel, tmp_path / "venv", make_shelf(tmp_path / "shelf"))
    home, here = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    here.mkdir()
    environment = {"PATH": os.defpath, "HOME": str(home)}
    told = subprocess.run(
        [moot, "--version"], env=environment, cwd=here, capture_output=True, text=True, timeout=60
    )
    assert told.stdout == f"moot {version('moot')}\n"
    python = str(moot.parent / "python")
    words = ("--listen", "127.0.0.1:0")
    service = Service(
        here, {"HOME": str(home), "MOOT_HOME": "", "PYTHONPATH": ""}, words=words, python=python
    )
    try:
        await service.start()
        async with aiohttp.ClientSession(service.url, headers=bearer(home / ".moot")) as client:
            await loads(client, service.link)
            assert "hello from the wheel" in await answer(client, "@demo echo hello from the wheel")
    finally:
        await service.stop()
    assert (home / ".moot/personas/demo.md").is_file()


async def loads(client: aiohttp.ClientSession, link: str) -> None:
    """The page of whoever follows the link: it, and the files that it names."""
    async with client.get(link.partition("#")[0]) as page:
        assert page.status == 200
        text = await page.text()
    files = re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css))"', text)
    assert files
    for file in files:
        async with client.get(file) as found:
            assert found.status == 200, file


async def answer(client: aiohttp.ClientSession, text: str) -> str:
    person = {"source": "web", "sender_id": "web:ana", "sender_display_name": "Ana"}
    body = {
        "content": text,
        "metadata": {**person, "sender_type": "human"},
        "room": "web:general",
        "wait": 120,
    }
    async with client.post("/api/submit", json=body) as given:
        (reply,) = (await given.json())["replies"]
        return str(reply["text"])
