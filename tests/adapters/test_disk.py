"""A full disk: one line that names it, and the session works again when there is space."""

import errno
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from io import RawIOBase
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.cli_profile import HomeFile
from adapters.profiles.demo import DEMO
from adapters.session.causes import is_full, told_when_full
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 KB; only root can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True, timeout=20)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)


def fill(folder: Path) -> Path:
    """Write until there is no space left."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        _write_for_ever(file)
    return path


def _write_for_ever(file: RawIOBase) -> None:
    while True:
        file.write(b"x" * 4096)


async def test_a_home_without_space_for_its_files_is_told_and_works_again_with_space(
    open_agent: OpenAgent, small_disk: Path
) -> None:
    agent = open_agent(DEMO, home=small_disk / "home", persona="Be kind.")
    filler = fill(small_disk)
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "disk"
    assert str(small_disk / "home") in caught.value.say
    assert "is full: free some space there, then ask again." in caught.value.say
    filler.unlink()
    assert (await agent.ask("echo there is space", Replies())).text == "there is space"


async def test_a_program_that_ends_because_it_cannot_write_is_told_with_the_disk(
    open_agent: OpenAgent, small_disk: Path
) -> None:
    body = """
ready()
while True:
    text = paste(); enter()
    state("working"); reply(text); state("done")
"""
    agent = open_agent(program(body), home=small_disk / "home")
    assert (await agent.ask("one", Replies())).text == "one"
    filler = fill(small_disk)
    with pytest.raises(AgentError) as caught:
        await agent.ask("two" * 3000, Replies())
    assert caught.value.kind == "disk"
    assert caught.value.say.startswith("The double failed. The disk that holds ")
    filler.unlink()
    assert (await agent.ask("three", Replies())).text == "three"


async def test_a_record_that_cannot_be_written_leaves_the_screen_to_be_read(
    open_agent: OpenAgent,
) -> None:
    body = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
ready()
text = paste(); out(text); enter()
state("working")
try: record(type="reply", text="never")
except OSError as error: why = error.strerror
out("\\r\\n\\r\\n* Said all the same.\\r\\n\\r\\n> ")
state("done")
time.sleep(60)
"""
    answer = await open_agent(program(body)).ask("hello", Replies())
    assert (answer.text, answer.source) == ("Said all the same.", "screen")


async def test_a_program_that_shows_that_its_disk_is_full_is_told_so(
    open_agent: OpenAgent,
) -> None:
    profile = program("""
ready()
text = paste(); out(text); enter()
state("working")
out("\\r\\n\\r\\n! ENOSPC: no space left on device, write\\r\\n\\r\\n> ")
state("error")
time.sleep(60)
""")
    agent = open_agent(replace(profile, signs=replace(profile.signs, record=None)))
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "disk"
    assert "Free some space on its disk" in caught.value.say


def test_only_a_full_disk_is_called_full(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), told_when_full(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")
    for number in (errno.ENOSPC, errno.EDQUOT):
        with pytest.raises(AgentError, match="x"), told_when_full(tmp_path):
            raise OSError(number, "x")
    assert not is_full(tmp_path / "not" / "there" / "yet")


async def test_half_a_home_file_is_never_left(open_agent: OpenAgent, small_disk: Path) -> None:
    text = "x" * 400_000
    big = changed(DEMO, files=(HomeFile("settings", lambda setting, present: text),))
    home = small_disk / "home"
    agent = open_agent(big, home=home)
    assert (await agent.ask("echo hi", Replies())).text == "hi"
    await agent.close()
    bigger = changed(DEMO, files=(HomeFile("settings", lambda setting, present: "y" + text),))
    with pytest.raises(AgentError) as caught:
        await open_agent(bigger, home=home).ask("echo hi", Replies())
    assert caught.value.kind == "disk"
    assert (home / "settings").read_text() == text
    assert [path.name for path in home.iterdir() if path.name.startswith("tmp")] == []


def test_the_launch_of_these_tests_is_not_on_a_full_disk(launch: Launch) -> None:
    assert not is_full(launch.home)
