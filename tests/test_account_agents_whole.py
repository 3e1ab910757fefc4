"""Agents of all kinds under accounts of their own, in a `moot run` of root's without bubblewrap."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from adapters.profiles.claude_code import CLAUDE_CODE
from tests.doubles.accounts import (
    furnished,
    open_moot,
    open_python,
    open_to_all,
    without_bubblewrap,
)
from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.obedience import messages, say
from tests.doubles.processes import until_gone
from tests.doubles.service import HOUSE, Service, service

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="who gives accounts away is root")

GATEWAY = '[gateway]\nlisten = "127.0.0.1:0"\n[access]\ndms = "open"\nrooms = "open"\n'
CLAUDE = HOUSE / "tests" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "sk-ant-test-00000000000000000000000000000000"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with open_to_all() as folder:
        yield folder


def persona(folder: Path, agent: str) -> None:
    (folder / "personas").mkdir(exist_ok=True)
    (folder / "personas" / "ash.md").write_text(f"---\nagent: {agent}\n---\nYou help.\n")


def home_of(folder: Path, who: str) -> Path:
    (home,) = (folder / "data" / "scopes").glob(f"dm-web-{who}*/ash/home")
    return home


async def replied(moot: Service, who: str, text: str) -> str:
    answer = await say(moot.url, who, text)
    assert answer.get("replies"), answer
    return str(answer["replies"][0]["text"])


async def test_an_agent_that_speaks_acp_answers_and_goes_on(open_folder: Path) -> None:
    python, libraries = open_moot()
    program = open_folder / "acp_agent.py"
    shutil.copyfile(HOUSE / "tests" / "doubles" / "acp_agent.py", program)
    persona(open_folder, "speaks")
    config = (
        f'{GATEWAY}[agents.speaks]\nprofile = "generic"\ndriver = "acp"\n'
        f'command = ["{python}", "{program}", "resume"]\nenv = {{ PYTHONPATH = "{libraries}" }}\n'
    )
    path = without_bubblewrap(open_folder)
    async with service(open_folder, config, PATH=path) as moot:
        assert "respond to Ana" in await replied(moot, "ana", "hello")
        record = home_of(open_folder, "ana") / "acp.jsonl"
        assert record.stat().st_uid > 52_000
        await moot.stop()
        await moot.start()
        assert "respond to Ana" in await replied(moot, "ana", "and again")
        assert record.read_text().count('"session"') == 1


@asynccontextmanager
async def claude(folder: Path) -> AsyncIterator[tuple[MessagesAPI, Service]]:
    """Claude Code, in a Moot that its account can run."""
    if not CLAUDE.exists():
        pytest.skip(f"{CLAUDE_CODE.title} is not installed in tests/agents")
    python, libraries = open_moot()
    persona(folder, "claude-code")
    async with MessagesAPI.open() as api:
        config = (
            f'{GATEWAY}[agents.claude-code]\nprofile = "claude-code"\n'
            f'command = ["{CLAUDE}", "--allowed-tools=Bash"]\n'
            f'env = {{ ANTHROPIC_BASE_URL = "{api.url}", CLAUDE_CODE_MAX_RETRIES = "1" }}\n'
        )
        given = {"PATH": without_bubblewrap(folder), "PYTHONPATH": libraries}
        async with service(folder, config, (), python, **given, ANTHROPIC_API_KEY=KEY) as moot:
            yield api, moot


async def attached(moot: Service, who: str, text: str, content: bytes) -> None:
    """Say something with a file, and wait for the answer."""
    async with program_at(moot.url) as client:
        form = aiohttp.FormData()
        form.add_field("file", content, filename="plan.txt")
        async with client.post("/api/files", data=form) as response:
            assert response.status == 201, await response.text()
            files = (await response.json())["files"]
    answer = await say(moot.url, who, text, attachments=files)
    assert answer["replies"]


async def test_an_attachment_is_for_the_account_that_it_was_sent_to(open_folder: Path) -> None:
    async with claude(open_folder) as (api, moot):
        api.when("here it is", "Thank you.")
        await attached(moot, "ana", "here it is", b"xylophone")
        (path,) = set(re.findall(r"/\S+/files/\w+/plan\.txt", api.turns[-1].prompt))
        api.when("read it", ToolUse("Bash", {"command": f"cat {path}"}), "I tried.")
        for who in ("ana", "budi"):
            assert await replied(moot, who, "read it") == "I tried."
            told = str(api.turns[-1].body["messages"])
            assert ("xylophone" in told.split("cat /")[-1]) == (who == "ana")
            assert ("Permission denied" in told) == (who == "budi")


async def test_it_looks_into_its_memory_and_hands_a_file_over(open_folder: Path) -> None:
    async with claude(open_folder) as (api, moot):
        api.when(
            "plot it",
            ToolUse("Bash", {"command": "echo quokka > plot.txt; id -u"}),
            ToolUse("mcp__moot__search", {"text": "quokka"}),
            ToolUse("mcp__moot__send_file", {"path": "plot.txt", "comment": "The plot"}),
            "Here.",
        )
        assert await replied(moot, "ana", "plot it") == "Here."
        told = str(api.turns[-1].body["messages"])
        assert "plot.txt (7 bytes) is posted with your answer." in told
        assert "does not answer" not in told
        async with program_at(moot.url) as client:
            async with client.get("/api/rooms/web:dm-ana/messages") as response:
                said = [one for one in (await response.json())["messages"] if one["turn_id"]]
            (file,) = said[-1]["attachments"]
            async with client.get(file["url"]) as response:
                assert await response.read() == b"quokka\n"


RENEWS = """
import pathlib, sys
login = pathlib.Path.home() / ".codex" / "auth.json"
login.read_text()
login.write_text(pathlib.Path(sys.argv[1]).read_text())
"""


def a_login(number: int) -> str:
    tokens = {"access_token": f"at-{number}", "refresh_token": f"rt-{number}", "account_id": "ours"}
    return json.dumps({"tokens": tokens, "last_refresh": str(number)})


async def test_a_shared_login_takes_only_what_is_a_renewal(open_folder: Path) -> None:
    """The program changes its copy and ends; the next start looks at what became of that."""
    program, made = open_folder / "renews.py", open_folder / "made"
    program.write_text(RENEWS)
    shared = open_folder / "admin" / ".codex" / "auth.json"
    shared.parent.mkdir(parents=True, mode=0o700)
    shared.write_text(a_login(1))
    shared.chmod(0o600)
    persona(open_folder, "codex")
    config = (
        f'{GATEWAY}[agents.codex]\nprofile = "codex"\nlogin = "{open_folder}/admin"\n'
        f'command = ["{open_python()}", "{program}", "{made}"]\n'
    )
    path = without_bubblewrap(open_folder)
    async with service(open_folder, config, PATH=path) as moot:
        for content, taken in (("junk", a_login(1)), (a_login(2), a_login(2))):
            made.write_text(content)
            await say(moot.url, "ana", "renew it")
            copy = home_of(open_folder, "ana") / ".codex" / "auth.json"
            assert copy.read_text() == content
            await say(moot.url, "ana", "and again")
            assert shared.read_text() == taken
            assert (shared.stat().st_uid, shared.stat().st_mode & 0o777) == (0, 0o600)
            assert copy.stat().st_uid > 52_000


async def test_stop_ends_what_it_started(open_folder: Path) -> None:
    config = furnished(open_folder)
    async with service(open_folder, config, PATH=without_bubblewrap(open_folder)) as moot:
        where = (await replied(moot, "ana", "please <<echo $PWD>>")).strip()
        pid = Path(where, "pid")
        await say(moot.url, "ana", "please <<echo $$ > pid; exec sleep 1000>>", wait=None)
        async with asyncio.timeout(30):
            while not pid.exists() or not pid.read_text().strip():
                await asyncio.sleep(0.05)
        number = int(pid.read_text())
        await say(moot.url, "ana", "!stop", wait=None)
        await until_gone(number)
        assert await replied(moot, "ana", "please <<echo fine>>") == "fine"
        assert any("stopped" in text for text in await messages(moot.url, "ana"))


def moot_says(folder: Path, path: str, *words: str) -> str:
    """What a command of Moot's prints."""
    python, libraries = open_moot()
    ran = subprocess.run(
        [python, "-c", "from gateway.main import main; main()", *words],
        cwd=folder,
        env={
            "PATH": path,
            "PYTHONPATH": libraries,
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            "LANG": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


async def test_a_program_is_described_under_an_account(open_folder: Path) -> None:
    (open_folder / "moot.toml").write_text(GATEWAY)
    program = open_folder / "program.py"
    program.write_text(
        "import os\n"
        "while True:\n"
        "    try:\n        text = input('you> ')\n    except EOFError:\n        break\n"
        "    if text.strip():\n        print('bot: I am ' + str(os.getuid()), flush=True)\n"
    )
    words = ("describe", "--yes", "--name", "mine", "--", open_python(), str(program))
    said = await asyncio.to_thread(moot_says, open_folder, without_bubblewrap(open_folder), *words)
    (account,) = set(re.findall(r"I am (\d+)", said))
    assert int(account) > 52_000
    assert "[agents.mine]" in (open_folder / "moot.toml").read_text()
    assert not list((open_folder / "data").glob("preflight-*"))


async def test_its_files_are_backed_up_restored_and_deleted(open_folder: Path) -> None:
    config, path = furnished(open_folder), without_bubblewrap(open_folder)
    backup = str(open_folder / "kept.tar.gz")
    async with service(open_folder, config, PATH=path) as moot:
        ana = await replied(moot, "ana", "please <<echo xylophone > ~/mine; id -u>>")
        budi = await replied(moot, "budi", "please <<echo marimba > ~/mine; id -u>>")
        assert ana != budi
        old = home_of(open_folder, "ana")
    await asyncio.to_thread(moot_says, open_folder, path, "backup", "--scopes", backup)
    said = await asyncio.to_thread(moot_says, open_folder, path, "restore", backup, "--force")
    (kept,) = open_folder.glob("data.before-*")
    assert str(kept) in said
    async with service(open_folder, config, PATH=path) as moot:
        said = await replied(moot, "budi", "please <<cat ~/mine; id -u>>")
        assert said == f"marimba | {ana}"  # numbers are given from the first one again
        left = kept / old.relative_to(open_folder / "data") / "mine"
        assert left.read_text() == "xylophone\n"
        assert "denied" in await replied(moot, "budi", f"please <<cat {left}>>")
        assert (await replied(moot, "ana", "please <<cat ~/mine>>")) == "xylophone"
    words = ("memory", "delete-person", "web:ana", "--yes")
    await asyncio.to_thread(moot_says, open_folder, path, *words)
    assert not list((open_folder / "data" / "scopes").glob("dm-web-ana*"))
    assert home_of(open_folder, "budi").joinpath("mine").read_text() == "marimba\n"
