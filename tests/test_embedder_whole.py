"""`moot run`: an owner installs MiniLM from the page, with the real pip and a folder for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from gateway.remembering.embedder import InstalledModel
from gateway.settings.config import load_config
from gateway.web.admin.embedder import EmbedderAdmin
from memory.recall.model.package import MINILM
from tests.doubles.credentials import program_at
from tests.doubles.service import service
from tests.doubles.small_minilm import small_wheel
from tests.test_api_whole import get
from tests.test_recall_whole import CONFIG, PACE

PATH = "/api/admin/embedder"


def pip_of(shelf: Path) -> dict[str, str]:
    """Settings with which pip reaches one folder alone."""
    shelf.mkdir()
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf), "PIP_CONFIG_FILE": "/dev/null"}


async def test_what_is_not_the_published_package_is_refused_in_one_sentence(
    tmp_path: Path,
) -> None:
    shelf = tmp_path / "shelf"
    async with (
        service(tmp_path, CONFIG + PACE, **pip_of(shelf)) as moot,
        program_at(moot.url) as client,
    ):

        async def fault() -> str:
            """Why it could not be installed."""
            async with client.post(PATH, json={}) as response:
                assert response.status == 200, await response.text()
            found: dict[str, Any] = {"state": "fetching"}
            async with asyncio.timeout(60):
                while found["state"] == "fetching":
                    found = await get(moot.url, PATH)
                    await asyncio.sleep(0.1)
            assert found["state"] == "absent"
            return str(found["fault"])

        assert (await fault()).startswith(f"pip could not fetch {MINILM.name} {MINILM.version}: ")
        small_wheel(shelf)
        assert "its checksum differs): nothing was installed" in await fault()
        assert not (tmp_path / "data" / "memory" / "minilm").exists()
        assert "Traceback" not in moot.log()


async def test_it_is_there_once_it_was_fetched(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    pip = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **pip_of(shelf)}
    (tmp_path / "moot.toml").write_text("")
    config = load_config(tmp_path / "moot.toml", base=tmp_path)
    tasks = []
    async with asyncio.TaskGroup() as group:
        model = InstalledModel(config, pip, small_wheel(shelf))
        admin = EmbedderAdmin(model, lambda work, name: tasks.append(group.create_task(work)))
        assert admin.install()
        assert not admin.install()
        assert (await admin.state()).state == "fetching"
    assert len(tasks) == 1
    assert ((await admin.state()).state, (await admin.state()).fault) == ("installed", "")
