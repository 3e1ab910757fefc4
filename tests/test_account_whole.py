"""`moot run` as root without bubblewrap: each session's agent under an account of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.pty.terminal import StartCommand
from adapters.sandbox.account import reachable, under_account
from tests.doubles.cells import SHELL
from tests.doubles.obedience import furnish, say
from tests.doubles.processes import until_gone
from tests.doubles.service import Service, service

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="who gives accounts away is root")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts may enter, as pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="moot-account-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def furnished(folder: Path) -> str:
    """The text of moot.toml, with an agent that every account can run."""
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None or not reachable([Path(python)]):
        pytest.skip("there is no Python here that other accounts can run")
    program = folder / "shell.py"
    shutil.copyfile(SHELL, program)
    return furnish(folder, "auto").replace(sys.executable, python).replace(str(SHELL), str(program))


def without_bubblewrap(folder: Path) -> str:
    """A PATH with what an agent's shell needs, and no sandbox."""
    tools = folder / "bin"
    tools.mkdir(mode=0o755)
    for name in (
        "sh",
        "cat",
        "id",
        "ls",
        "tr",
        "grep",
        "touch",
        "stat",
        "kill",
        "sleep",
        "setsid",
        "head",
    ):
        (tools / name).symlink_to(shutil.which(name) or name)
    return str(tools)


async def told(moot: Service, who: str, command: str) -> str:
    """What the agent says that came of a command."""
    answer = await say(moot.url, who, f"please <<{command}>>")
    return str(answer["replies"][0]["text"])


READS = {
    "the other's HOME": "cat {home}/secret",
    "the other's workspace": "cat {home}/../work/secret; ls {home}/../work {home}/..",
    "the database": "cat {root}/data/moot.db",
    "the folder of the data": "ls {root}/data {root}/data/scopes",
    "the owner's secrets": "cat {root}/moot.env",
    "Moot's environment": "tr '\\0' '\\n' < /proc/{pid}/environ",
    "Moot's memory and files": "cat /proc/{pid}/mem; ls /proc/{pid}/fd /proc/{pid}/cwd",
}


async def test_it_gets_at_nothing_but_its_own(open_folder: Path) -> None:
    config = furnished(open_folder)
    (open_folder / "moot.env").write_text("SLACK_SIGNING_SECRET=xylophone-in-a-file\n")
    (open_folder / "moot.env").chmod(0o600)
    path = without_bubblewrap(open_folder)
    async with service(
        open_folder, config, PATH=path, DISCORD_TOKEN="xylophone-of-discord"
    ) as moot:
        assert "way=account" in moot.log() or '"way": "account"' in moot.log()
        ana = await told(moot, "ana", "echo xylophone > secret; echo xylophone > ~/secret; id -u")
        (home,) = (open_folder / "data" / "scopes").glob("dm-web-ana*/ash/home")
        assert home.stat().st_uid == int(ana) > 52_000
        assert (home / "secret").read_text() == "xylophone\n"
        assert await told(moot, "ana", "cat secret ~/secret") == "xylophone | xylophone"
        budi = await told(moot, "budi", "id -u; id -G; grep -h NoNewPrivs: /proc/self/status")
        own, groups, rights = budi.split(" | ")
        assert own != ana
        assert (groups, rights.split()) == (f"{own} 52000", ["NoNewPrivs:", "1"])
        for command in READS.values():
            said = await told(
                moot, "budi", command.format(home=home, root=open_folder, pid=moot.pid)
            )
            assert "xylophone" not in said
            assert "moot.db" not in said.replace(f"{open_folder}/data/moot.db", "")
            assert "denied" in said
        for file in ("moot.toml", "personas/ash.md", "data/new", "bin/new"):
            assert "denied" in await told(moot, "budi", f"touch {open_folder}/{file}")
        assert "not permitted" in await told(moot, "budi", f"kill -9 {moot.pid}; echo the end")


async def test_what_it_left_running_ends_before_its_next_session(open_folder: Path) -> None:
    config = furnished(open_folder)
    path = without_bubblewrap(open_folder)
    left = "setsid sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 & echo $!; id -u"
    async with service(open_folder, config, PATH=path) as moot:
        said = await told(moot, "ana", left)
        assert " | " in said, said
        pid, account = said.split(" | ")
        assert Path(f"/proc/{pid}").stat().st_uid == int(account)
    async with service(open_folder, config, PATH=path) as moot:
        assert await told(moot, "ana", "id -u") == account
        await until_gone(int(pid))


async def test_memory_in_a_folder_of_all_counts_and_goes(open_folder: Path) -> None:
    config = f"[sandbox]\nmemory_gb = 0.1\n{furnished(open_folder)}"
    filler = Path("/dev/shm", open_folder.name)  # where all accounts may write
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        said = await told(moot, "ana", f"head -c 150M /dev/zero > {filler}; sleep 28; echo alive")
        assert "used more than 100 MB of memory and was stopped." in said
        async with asyncio.timeout(20):
            while filler.exists():
                await asyncio.sleep(0.05)


def test_it_begins_with_the_limit_of_a_files_size(open_folder: Path) -> None:
    """The watcher's own limit comes later, and not at all where Moot lacks CAP_SYS_RESOURCE."""
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None or not reachable([Path(python)]):
        pytest.skip("there is no Python here that other accounts can run")
    launch = Launch(open_folder, open_folder, file_bytes=50_000)
    script = 'with open("big", "wb", 0) as file: file.write(b"x" * 50_000); file.write(b"x")'
    command = StartCommand((python, "-I", "-S", "-c", script), {}, open_folder)
    words = under_account(launch, 52_001, "Ash", command).line
    ran = subprocess.run(words, cwd=open_folder, env={}, capture_output=True, check=False)
    assert b"File too large" in ran.stderr
    assert (open_folder / "big").stat().st_size == 50_000


async def test_a_closed_place_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = without_bubblewrap(tmp_path)
    async with service(tmp_path, furnish(tmp_path, "auto"), PATH=path) as moot:
        said = await told(moot, "ana", "touch there")
        assert "bubblewrap is not installed" in said
        assert "move it to /var/lib/moot" in said
        assert list(tmp_path.rglob("there")) == []
