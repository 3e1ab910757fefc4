"""`moot run` and agents that take too much of the machine: memory, processes, the disk."""

from __future__ import annotations

import asyncio
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.pty.process_tree import PYTHON
from gateway.sessions.bounds import Bounds
from tests.doubles.cells import bwrap
from tests.doubles.matrix import sampled
from tests.doubles.obedience import furnish, say
from tests.doubles.processes import until_gone
from tests.doubles.service import Service, service

MIB = 1024 * 1024
HOARD = f"{PYTHON} -c 'import time; held = bytearray(400 * {MIB}); time.sleep(30)'"
SHARED = (
    f"{PYTHON} -c 'import os, time; held = bytearray(80 * {MIB}); "
    '[os.fork() or (time.sleep(4), os._exit(0)) for _ in range(5)]; time.sleep(4); print("done")\''
)
# doubles eleven times, and never more often: a real one would take the machine of a failed test
BOMB = "b() { [ ${#1} -gt 11 ] || { b x$1 & b x$1 & }; sleep 28; }; b x"
MANY = "sh -c 'echo $$ > leader; for i in $(seq 60); do sleep 28 & done; wait'"


def limited(folder: Path, sandbox: str, **limits: float) -> str:
    """A moot.toml with an obedient agent, and limits."""
    if sandbox == "on":
        bwrap()
    told = "\n".join(f"{name} = {value}" for name, value in limits.items())
    return f"[sandbox]\n{told}\n{furnish(folder, sandbox)}"


async def told(moot: Service, who: str, command: str) -> str:
    """The answer to a command."""
    answer = await say(moot.url, who, f"please <<{command}>>")
    return str(answer["replies"][0]["text"])


@pytest.mark.parametrize("sandbox", sampled(["on", "off"], "on"))
async def test_a_session_that_takes_too_much_memory_is_stopped_with_a_sentence(
    tmp_path: Path, sandbox: str
) -> None:
    async with service(tmp_path, limited(tmp_path, sandbox, memory_gb=0.2)) as moot:
        said = await told(moot, "ana", HOARD)
        assert said == "⚠️ python used more than 200 MB of memory and was stopped."
        assert await told(moot, "ana", "echo here") == "here"


async def test_memory_that_processes_share_counts_once(tmp_path: Path) -> None:
    async with service(tmp_path, limited(tmp_path, "off", memory_gb=0.2)) as moot:
        assert await told(moot, "ana", SHARED) == "done"


async def test_folders_of_memory_in_a_sandbox_count_and_are_no_larger_than_half(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, limited(tmp_path, "on", memory_gb=0.2)) as moot:
        fill = "head -c 150000000 /dev/zero > {0}; stat -c %s {0}; rm {0}"
        for folder in ("/tmp", "/dev/shm"):  # the sandbox's
            said = await told(moot, "ana", fill.format(f"{folder}/filler"))
            assert "No space left" in said
            assert 90_000_000 < int(said.rpartition("| ")[2]) <= 100_100_000
        assert "Read-only" in await told(moot, "ana", "echo x > /dev/filler")
        both = "head -c 99M /dev/zero > /tmp/a; head -c 99M /dev/zero > /dev/shm/b; sleep 28"
        assert "used more than 200 MB of memory" in await told(moot, "ana", both)


@pytest.mark.parametrize("sandbox", sampled(["on", "off"], "off"))
async def test_a_fork_bomb_is_stopped_while_others_are_answered(
    tmp_path: Path, sandbox: str
) -> None:
    async with service(tmp_path, limited(tmp_path, sandbox, processes=100)) as moot:
        assert await told(moot, "budi", "echo ready") == "ready"
        bomb = asyncio.create_task(told(moot, "ana", BOMB))
        assert await told(moot, "budi", "echo still here") == "still here"
        assert "started more than 100 processes and was stopped." in await bomb
        assert await told(moot, "ana", "echo again") == "again"
        assert moot.log().count("session.over_limit") == 1


@pytest.mark.parametrize("sandbox", sampled(["on", "off"], "on"))
async def test_processes_that_detached_count_and_end_as_well(tmp_path: Path, sandbox: str) -> None:
    async with service(tmp_path, limited(tmp_path, sandbox, processes=40)) as moot:
        said = await told(moot, "ana", f"setsid -f {MANY}; sleep 28; echo not stopped")
        assert "started more than 40 processes" in said
        if sandbox == "off":  # in a sandbox it has another number
            (leader,) = (tmp_path / "data" / "scopes").rglob("leader")
            await until_gone(int(leader.read_text()))


async def test_a_session_that_fills_its_part_of_the_disk_is_stopped_and_may_tidy_up(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, limited(tmp_path, "off", disk_gb=0.1)) as moot:
        assert await told(moot, "ana", "echo ready") == "ready"
        write = "for i in 1 2 3 4 5 6 7 8; do head -c 90M /dev/zero > f$i; done; sleep 29"
        said = await told(moot, "ana", write)
        assert "filled more than 100 MB of the disk and was stopped." in said
        assert await told(moot, "ana", "sleep 3; rm f[2-8]; ls") == "f1"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Moot's data on a disk of 300 MB; only root can mount one."""
    folder = tmp_path / "data"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_whoever_fills_the_whole_disk_is_stopped_with_a_sentence(
    tmp_path: Path, small_disk: Path
) -> None:
    async with service(tmp_path, limited(tmp_path, "off")) as moot:
        assert await told(moot, "budi", "sleep 3; echo ready") == "ready"
        said = await told(moot, "ana", "sleep 4; head -c 400M /dev/zero > big; sleep 25")
        assert "which all but filled the disk, and was stopped." in said
        assert await told(moot, "budi", "echo not me") == "not me"
        (big,) = (small_disk / "scopes").rglob("big")
        big.unlink()
        assert await told(moot, "ana", "echo again") == "again"


NAMELESS = "sleep 4; exec 9>f; rm f; head -c 400M /dev/zero >&9; sleep 20; echo not stopped"


async def test_whoever_fills_the_disk_with_a_file_without_a_name_is_stopped(
    tmp_path: Path, small_disk: Path
) -> None:
    async with service(tmp_path, limited(tmp_path, "off")) as moot:
        assert await told(moot, "budi", "sleep 3; echo ready") == "ready"
        assert "which all but filled the disk, and was stopped." in await told(
            moot, "ana", NAMELESS
        )
        assert await told(moot, "budi", "echo not me") == "not me"


async def test_empty_files_take_room_as_well(tmp_path: Path) -> None:
    make = f"sleep 4; {PYTHON} -c 'for i in range(30000): open(str(i), \"w\").close()'; echo made"
    async with service(tmp_path, limited(tmp_path, "off", disk_gb=0.05)) as moot:
        assert await told(moot, "ana", make) == "made"
        said = await told(moot, "ana", "sleep 29")
        assert "filled more than 50 MB of the disk and was stopped." in said


@pytest.mark.parametrize("sandbox", sampled(["on", "off"], "off"))
async def test_memory_that_no_process_has_mapped_counts(tmp_path: Path, sandbox: str) -> None:
    async with service(tmp_path, limited(tmp_path, sandbox, memory_gb=0.2)) as moot:
        hoard = (
            f'{PYTHON} -c \'import os, time; fd = os.memfd_create("m"); '
            "[os.write(fd, bytes(1 << 20)) for _ in range(300)]; time.sleep(28)'"
        )
        assert "used more than 200 MB of memory" in await told(moot, "ana", hoard)


async def test_one_file_is_no_larger_than_the_limit(tmp_path: Path) -> None:
    async with service(tmp_path, limited(tmp_path, "off", disk_gb=0.1)) as moot:
        said = await told(moot, "ana", "sleep 3; truncate -s 1T sparse; stat -c %s sparse")
        assert int(said.rpartition("| ")[2]) <= 100_100_000


def test_the_kernel_limits_threads_where_it_counts_those_of_a_sandbox_alone() -> None:
    bounds = Bounds(processes=100, disk_bytes=5)
    assert bounds.of_kernel(enclosed=True, root=False)[resource.RLIMIT_NPROC] == 1600
    for enclosed, root in ((True, True), (False, False)):
        assert bounds.of_kernel(enclosed=enclosed, root=root) == {resource.RLIMIT_FSIZE: 5}
    assert Bounds().of_kernel(enclosed=True, root=False) == {}
