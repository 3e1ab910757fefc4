"""`moot doctor`: what it finds, with which exit code, and what it never tells."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from sqlalchemy import text

from gateway.cli.diagnosis.checks import diagnose
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.lock import hold, holder
from gateway.settings.config import load_config
from store.database import Store
from store.versions import HEAD
from tests.doubles.service import service
from tests.doubles.slack import SlackDouble

HOUSE = Path(__file__).parents[2]
NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)


async def doctor(folder: Path, *words: str, **more: str) -> tuple[int, str]:
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", "from gateway.main import main; main()", "doctor", *words],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            "PYTHONPATH": str(HOUSE),
            **more,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    return result.returncode, result.stdout


def only_demo(folder: Path, more: str = "") -> None:
    (folder / "personas").mkdir()
    (folder / "personas" / "demo.md").write_text("---\nagent: demo\n---\nYou are Demo.\n")
    (folder / "moot.toml").write_text(f'[gateway]\nlisten = "127.0.0.1:0"\n{more}')


async def test_a_fresh_folder_is_well_and_stays_as_it_is(tmp_path: Path) -> None:
    only_demo(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, told = await doctor(tmp_path)
    assert (code, told.count("✗"), told.count("⚠")) == (0, 0, 0), told
    assert "✓ agent demo: The demo agent answers" in told
    assert sorted(tmp_path.rglob("*")) == before


async def test_beside_a_running_moot_it_says_so_and_a_missing_back_up_is_exit_code_1(
    tmp_path: Path,
) -> None:
    only_demo(tmp_path)
    config = (tmp_path / "moot.toml").read_text()
    async with service(tmp_path, config) as moot:
        port = moot.url.rstrip("/").rpartition(":")[2]
        (tmp_path / "moot.toml").write_text(config.replace(":0", f":{port}"))
        code, told = await doctor(tmp_path, "--json")
        lines = {line["what"]: line for line in json.loads(told)}
    assert lines["lock"]["text"].startswith("held by process ")
    assert lines["page"]["text"] == f"Moot runs at 127.0.0.1:{port} and is well"
    assert lines["database"]["text"].endswith(f"version {HEAD}, sound")
    assert (code, lines["backup"]["mark"]) == (1, "⚠")


async def test_that_nobody_may_ask_yet_is_something_to_look_at(tmp_path: Path) -> None:
    only_demo(tmp_path, '[[bots]]\nplatform = "discord"\npersonas = ["demo"]\n')
    code, told = await doctor(tmp_path, "--offline", DISCORD_TOKEN="x" * 60)
    assert code == 1
    assert "⚠ configuration: moot.toml lets nobody ask an agent but on the page" in told


async def test_that_a_sandbox_cant_be_made_is_a_mistake(tmp_path: Path) -> None:
    only_demo(tmp_path, '[sandbox]\nmode = "on"\n')
    code, told = await doctor(tmp_path, "--offline", PATH=str(tmp_path))
    assert code == 2
    assert "✗ sandbox: @demo can't answer: no sandbox can be made here" in told


async def test_no_secret_and_nobodys_name_is_told(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        table = f'[[bots]]\nplatform = "slack"\npersonas = ["demo"]\napi_url = "{slack.api_url}"\n'
        only_demo(tmp_path, f'{table}[access]\nowners = ["slack:UOWNER"]\n')
        secrets = f"SLACK_BOT_TOKEN=xoxb-planted\nSLACK_APP_TOKEN={slack.app_token}\n"
        (tmp_path / "moot.env").write_text(secrets)
        (tmp_path / "moot.env").chmod(0o600)
        code, told = await doctor(tmp_path)
    assert code == 2
    assert "✗ platform: slack: " in told
    assert "the bot token is refused" in told
    for word in ("planted", slack.app_token, "UOWNER", str(tmp_path)):
        assert word not in told


async def test_what_others_can_read_and_a_mistake_in_moot_toml_are_told(tmp_path: Path) -> None:
    only_demo(tmp_path)
    (tmp_path / "moot.env").write_text("A=1\n")
    (tmp_path / "moot.env").chmod(0o644)
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data").chmod(0o755)
    code, told = await doctor(tmp_path, "--offline")
    assert (code, "chmod 600" in told, "chmod 700" in told) == (2, True, True)
    (tmp_path / "moot.toml").write_text("[gatewya]\n")
    code, told = await doctor(tmp_path)
    assert (code, "did you mean gateway?" in told, told.count("\n")) == (2, True, 1)


async def examined(folder: Path, now: datetime = NOW, **more: str) -> dict[str, Finding]:
    of = Installation(load_config(None, base=folder), folder / "moot.toml", more, now)
    return {line.what: line for line in await diagnose(of)}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE alembic_version SET version_num = '0099'", "version 0099"),
        ("UPDATE alembic_version SET version_num = '0003'", f"brings it to {HEAD}"),
    ],
)
async def test_another_version_of_the_database_is_told(
    tmp_path: Path, change: str, sentence: str
) -> None:
    only_demo(tmp_path)
    async with Store.open(load_config(None, base=tmp_path).store_url) as store:
        await store.write(lambda c: c.execute(text(change)))
    assert sentence in (await examined(tmp_path))["database"].text


async def test_a_damaged_database_is_a_mistake(tmp_path: Path) -> None:
    only_demo(tmp_path)
    async with Store.open(load_config(None, base=tmp_path).store_url):
        pass
    file = tmp_path / "data" / "moot.db"
    content = bytearray(file.read_bytes())
    content[8192:16384] = b"\xff" * 8192
    file.write_bytes(content)
    line = (await examined(tmp_path))["database"]
    assert line.mark == "✗"
    assert "moot restore" in line.remedy


@pytest.mark.parametrize(("off_s", "mark"), [(2, "✓"), (90, "✗")])
async def test_a_clock_that_is_off_is_told(tmp_path: Path, off_s: int, mark: str) -> None:
    async def head(request: web.Request) -> web.Response:
        theirs = NOW + timedelta(seconds=off_s)
        return web.Response(headers={"Date": f"{theirs:%a, %d %b %Y %H:%M:%S} GMT"})

    app = web.Application()
    app.router.add_head("/", head)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [(_, port, *_)] = runner.addresses
    table = (
        f'[[bots]]\nplatform = "rocketchat"\npersonas = ["demo"]\nurl = "http://127.0.0.1:{port}"'
    )
    only_demo(tmp_path, table)
    found = await examined(tmp_path)
    await runner.cleanup()
    assert found["clock"].mark == mark


async def test_a_persona_whose_sandbox_can_not_be_made_is_told(tmp_path: Path) -> None:
    only_demo(tmp_path, '[sandbox]\nmode = "on"\n')
    environment = {"PATH": str(tmp_path)}  # no bubblewrap there
    config = load_config(tmp_path / "moot.toml", base=tmp_path)
    of = Installation(config, tmp_path / "moot.toml", environment, NOW)
    [line] = [line for line in await diagnose(of) if line.what == "sandbox"]
    assert str(line).startswith("✗ sandbox: @demo can't answer: no sandbox can be made here")


async def test_another_program_on_the_pages_port_is_told(tmp_path: Path) -> None:
    only_demo(tmp_path)
    async with SlackDouble.open() as other:
        host = other.api_url.split("/")[2]
        (tmp_path / "moot.toml").write_text(f'[gateway]\nlisten = "{host}"\n')
        line = (await examined(tmp_path))["page"]
    assert line.mark == "✗"
    assert line.text.startswith(f"gateway.listen: another program listens on {host}")


def test_who_holds_the_lock_is_told_and_looking_takes_it_from_nobody(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with hold(tmp_path):
        assert holder(tmp_path) == os.getpid()
    assert holder(tmp_path) is None
    with hold(tmp_path):
        pass
