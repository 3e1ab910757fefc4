"""Where an installation lives: found anew by each command, and by each form that it ever had."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway.cli.command_line import configured, same_one
from gateway.cli.home import find_home
from gateway.settings.personas.shipped import RECORD
from tests.doubles.checkout import git, make_checkout
from tests.doubles.credentials import bearer
from tests.doubles.service import HOUSE, Service

LISTEN = '[gateway]\nlisten = "127.0.0.1:0"\n'
BY = {"id": "web:ana", "name": "Ana"}


@asynccontextmanager
async def started(
    here: Path, home: Path, code: Path = HOUSE, words: tuple[str, ...] = (), **more: str
) -> AsyncIterator[aiohttp.ClientSession]:
    """`moot run` typed in `here`; a program at the page of the installation in `home`."""
    words = words or (() if (home / "moot.toml").exists() else ("--listen", "127.0.0.1:0"))
    environment = {
        "MOOT_HOME": "",
        "HOME": str(here.parent),
        "PYTHONPATH": str(code),
        **more,
    }
    moot = Service(here, environment, words=words)
    try:
        await moot.start()
        async with aiohttp.ClientSession(moot.url, headers=bearer(home)) as client:
            yield client
    finally:
        await moot.stop()
        (here / "moot.log").unlink()


async def edit(client: aiohttp.ClientSession, name: str) -> None:
    """Save a persona as the page does."""
    async with client.get(f"/api/personas/files/{name}") as answer:
        sheet = await answer.json()
    body = {"text": sheet["text"] + "More.\n", "base": sheet["base"], "by": BY}
    async with client.put(f"/api/personas/files/{name}", json=body) as answer:
        assert answer.status == 200, await answer.text()


def found(code: Path, here: Path, **more: str) -> Path:
    """The home that the program in `code` finds in a working directory."""
    show = "import os; from pathlib import Path; from gateway.cli.home import find_home"
    done = subprocess.run(
        [sys.executable, "-c", f"{show}; print(find_home(None, os.environ, Path.cwd()))"],
        cwd=here,
        env={"HOME": str(code.parent), "PYTHONPATH": str(code), **more},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return Path(done.stdout.strip())


async def test_in_a_checkout_it_lives_in_data_and_git_sees_no_edit(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "moot")
    home = checkout / "data"
    async with started(checkout, home, checkout) as client:
        await edit(client, "demo")
    assert (home / "personas" / "demo.md").read_text().endswith("More.\n")
    assert (home / "data" / "moot.db").is_file()
    assert git(checkout, "status", "--porcelain") == ""
    assert found(checkout, checkout / "personas") == home  # and from below it
    assert found(checkout, tmp_path) == tmp_path / ".moot"


async def test_a_checkout_with_a_moot_toml_keeps_the_folders_that_it_names(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "moot")
    (checkout / "moot.toml").write_text(LISTEN + 'data_dir = "data/mine"\n')
    async with started(checkout, checkout / "data/mine", checkout, ("--log", "INFO")) as client:
        await edit(client, "demo")
    assert (checkout / "data/mine/moot.db").is_file()
    assert (checkout / "data/mine/personas/demo.md").read_text().endswith("More.\n")
    assert git(checkout, "status", "--porcelain") == ""


async def test_a_checkout_of_before_keeps_its_database_and_its_edited_personas(
    tmp_path: Path,
) -> None:
    checkout = make_checkout(tmp_path / "moot")
    (checkout / "data").mkdir()
    (checkout / "data/moot.db").touch(mode=0o600)
    with (checkout / "personas/demo.md").open("a") as file:
        file.write("Ours.\n")
    async with started(checkout, checkout, checkout) as client:
        await edit(client, "claude")
    assert (checkout / "data/moot.db").stat().st_size > 0
    assert not (checkout / "data/data").exists()
    assert (checkout / "data/personas/demo.md").read_text().endswith("Ours.\n")
    kept = json.loads((checkout / "data/personas" / RECORD).read_text())
    assert (kept["demo.md"], bool(kept["codex.md"])) == ("", True)  # no update overwrites it
    assert git(checkout, "status", "--porcelain") == " M personas/demo.md\n"  # as it was before


async def test_installed_it_lives_below_the_persons_home(tmp_path: Path) -> None:
    here = tmp_path / "anywhere"
    here.mkdir()
    async with started(here, tmp_path / ".moot"):
        pass
    assert (tmp_path / ".moot/data/moot.db").is_file()
    assert (tmp_path / ".moot/personas/demo.md").is_file()
    assert (tmp_path / ".moot").stat().st_mode & 0o077 == 0
    assert list(here.iterdir()) == []


def test_the_nearest_word_decides_which_installation_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    named, variable = Path("../named"), {"MOOT_HOME": "~/variable"}
    for sign in ("moot.toml", "moot.env", "data/moot.db"):
        (here / sign).parent.mkdir(exist_ok=True)
        (here / sign).touch()
        assert find_home(named, variable, here) == here / named
        assert find_home(None, variable, here) == tmp_path / "variable"
        assert find_home(None, {"MOOT_HOME": ""}, here) == here
        (here / sign).unlink()
    assert find_home(None, {}, here) == tmp_path / ".moot"


def test_a_configuration_elsewhere_is_the_centre_of_its_own_folders(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "own.toml"
    file.parent.mkdir()
    file.write_text('[gateway]\npersonas_dir = "people"\n')
    given = argparse.Namespace(config=file, home=None)
    gateway = configured(given).gateway
    assert (gateway.data_dir, gateway.personas_dir) == (
        tmp_path / "etc" / "data",
        tmp_path / "etc" / "people",
    )
    assert same_one(given) == f" --config {file}"


def test_a_home_that_cannot_be_made_is_said_with_the_remedy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from gateway.main import main; main()", "run"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(HOUSE), "MOOT_HOME": "/proc/moot"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "moot: /proc/moot: can't be made: No such file or directory; "
        "say where with --home DIR or MOOT_HOME\n"
    )
