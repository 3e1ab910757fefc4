"""The whole way: what lies in the data directory is for Moot's account alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.doubles.running import until
from tests.doubles.service import service
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.test_slack_whole import CONFIG as WITH_SLACK
from tests.test_slack_whole import secrets

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


def open_to_others(data: Path) -> dict[str, str]:
    """Files and folders that others have rights to, with their modes."""
    return {
        str(path.relative_to(data)): oct(path.stat().st_mode & 0o777)
        for path in (data, *data.rglob("*"))
        if path.stat().st_mode & 0o077 and not path.is_symlink()
    }


async def test_nobody_else_reads_the_data_also_where_the_folder_was_open(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("files/old", "memory", "bots/x"):
        (data / name).mkdir(parents=True)
    (data / "files/old/plan.txt").write_text("a plan")
    for path in (data, *data.rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    async with service(tmp_path, CONFIG) as running:
        assert (data / "moot.db-wal").exists()
        assert open_to_others(data) == {}
        await running.stop()
    assert open_to_others(data) == {}


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Files that are made are open to others, as on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
async def test_files_that_come_while_it_runs_are_closed_to_others(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with (
        SlackDouble.open() as slack,
        service(tmp_path, WITH_SLACK.format(api_url=slack.api_url), **secrets(slack)) as running,
        aiohttp.ClientSession(headers=running.headers) as client,
    ):
        await slack.delivery.connected()
        form = aiohttp.FormData()
        form.add_field("file", b"a note", filename="note.txt")
        async with client.post(f"{running.url}api/files", data=form) as answer:
            assert answer.status == 201
        await slack.say(f"<@{BOT_USER}> echo word", files=(slack.file("plan.txt", b"the plan"),))
        await until(lambda: len(slack.texts()) == 1)
        names = {path.name for path in (data / "files").rglob("*.txt")}
        assert names == {"note.txt", "plan.txt"}
        assert open_to_others(data / "files") == {}


async def test_what_agents_made_keeps_its_mode(tmp_path: Path) -> None:
    script = tmp_path / "data" / "scopes" / "room-x" / "demo" / "work" / "run.sh"
    script.parent.mkdir(parents=True)
    script.write_text("")
    script.chmod(0o755)
    async with service(tmp_path, CONFIG):
        pass
    assert script.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "data" / "scopes").stat().st_mode & 0o777 == 0o700
