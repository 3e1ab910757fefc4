"""`moot run` as root without bubblewrap: each session's agent under an account of its own."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.pty.terminal import StartCommand
from adapters.sandbox.account import under_account
from tests.doubles.accounts import furnished, open_python, open_to_all, without_bubblewrap
from tests.doubles.obedience import TYPES, furnish, say
from tests.doubles.processes import until_gone
from tests.doubles.service import Service, service

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="who gives accounts away is root")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with open_to_all() as folder:
        yield folder


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


NAMESPACE = """
import ctypes, sys
library = ctypes.CDLL(None, use_errno=True)
clone, clone3 = {"x86_64": (56, 435), "aarch64": (220, 435)}[sys.argv[1]]
NEW_USER, SIGCHLD = 0x10000000, 17
def tell(result):
    print(ctypes.get_errno() if result < 0 else "made", flush=True)
tell(library.syscall(clone3, None, 0))
if (child := library.syscall(clone, NEW_USER | SIGCHLD, 0, 0, 0, 0)) == 0:
    library._exit(0)
tell(child)
tell(library.unshare(NEW_USER))
tell(library.mount(b"none", b"/tmp", b"tmpfs", 0, None))
"""


async def test_it_makes_no_namespace_in_which_it_were_root(open_folder: Path) -> None:
    """There it could mount folders of memory that nobody counts."""
    config = furnished(open_folder)
    script, python = open_folder / "namespace.py", open_python()
    script.write_text(NAMESPACE)
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        said = await told(moot, "ana", f"{python} {script} {os.uname().machine}")
        refused = (errno.ENOSYS, errno.EPERM, errno.EPERM, errno.EPERM)
        assert said == " | ".join(map(str, refused))


async def test_what_it_started_does_not_type_its_answers(open_folder: Path) -> None:
    config = furnished(open_folder)
    command = TYPES.format(python=open_python(), request=termios.TIOCSTI)
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        assert await told(moot, "ana", command) == str(errno.EPERM)


SHARED = """
import ctypes
library = ctypes.CDLL(None)
library.shmat.restype = ctypes.c_void_p
number = library.shmget(0, 150_000_000, 0o1600)
at = library.shmat(number, None, 0)
ctypes.memset(at, 1, 150_000_000)
library.shmdt(ctypes.c_void_p(at))
library.msgget(0, 0o1600)
library.semget(0, 1, 0o1600)
"""


def kept_by(account: str) -> list[str]:
    """What an account has made by System V's means, and is still there."""
    rows = [
        (kind, row.split())
        for kind in ("shm", "msg", "sem")
        for row in Path("/proc/sysvipc", kind).read_text().splitlines()
    ]
    at = {kind: row.index("cuid") for kind, row in rows if "cuid" in row}
    return [kind for kind, row in rows if row[at[kind]] == account]


async def test_memory_that_no_process_has_counts_and_goes(open_folder: Path) -> None:
    config = f"[sandbox]\nmemory_gb = 0.1\n{furnished(open_folder)}"
    script, python = open_folder / "shared.py", open_python()
    script.write_text(SHARED)
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        account = await told(moot, "ana", "id -u")
        said = await told(moot, "ana", f"{python} {script}; sleep 28; echo alive")
        assert "used more than 100 MB of memory and was stopped." in said
        async with asyncio.timeout(20):
            while kept_by(account):
                await asyncio.sleep(0.05)


def test_it_begins_with_the_limit_of_a_files_size(open_folder: Path) -> None:
    """The watcher's own limit comes later, and not at all where Moot lacks CAP_SYS_RESOURCE."""
    python = open_python()
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


async def test_an_interpreter_in_a_closed_place_is_told(open_folder: Path) -> None:
    config = furnished(open_folder)
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    (closed / "python3").symlink_to("/bin/sh")
    program = open_folder / "shell.py"
    program.write_text(f"#!{closed}/python3\n")
    program.chmod(0o755)
    command = f'command = ["{program}"]'
    config = re.sub(r"^command = .*", command, config, flags=re.MULTILINE)
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        said = await told(moot, "ana", "id")
        assert f"which can't get at {closed}. An administrator installs it" in said
