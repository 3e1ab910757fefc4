"""`moot run`, two people's direct messages, and an agent that reads whatever it is told to."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import shutil
import sys
import termios
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.profiles.claude_code import CLAUDE_CODE
from adapters.pty.process_tree import PYTHON
from adapters.sandbox.account import reachable
from gateway.cli.diagnosis.configuration import check_sandbox
from gateway.cli.diagnosis.finding import Installation
from gateway.settings.config import load_config
from tests.doubles.cells import bwrap
from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.obedience import PERSONA, TYPES, furnish, say
from tests.doubles.service import HOUSE, Service, service

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
CLAUDE = HOUSE / "tests" / "agents" / "node_modules" / ".bin" / "claude"


async def told(url: str, who: str, command: str) -> str:
    """What the agent says that came of a command."""
    answer = await say(url, who, f"please <<{command}>>")
    return str(answer["replies"][0]["text"])


@pytest.mark.parametrize("mode", ["auto", "on", "dms", "off"])
async def test_one_persons_agent_reads_anothers_files_only_without_a_sandbox(
    tmp_path: Path, mode: str
) -> None:
    bwrap()
    async with service(tmp_path, furnish(tmp_path, mode)) as moot:
        where = await told(moot.url, "ana", "echo xylophone > mine; echo it > ~/mine; pwd")
        assert (Path(where) / "mine").read_text() == "xylophone\n"
        said = await told(
            moot.url, "budi", f"cat {where}/mine; cat {where}/../home/mine; echo the end"
        )
        assert said.endswith("the end")
        assert ("xylophone" in said) == (mode == "off")
        said = await told(moot.url, "budi", f"cat {tmp_path}/moot.toml {tmp_path}/data/moot.db")
        assert ("[gateway]" in said) == (mode == "off")
        assert (await told(moot.url, "ana", "cat mine ~/mine")) == "xylophone | it"


async def test_after_a_choice_of_a_folder_the_sandbox_shows_that_one_and_not_the_one_before(
    tmp_path: Path,
) -> None:
    bwrap()
    for name in ("saga", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "here").write_text(f"{name}'s")
    config = furnish(tmp_path, "on")
    listed = f'workspaces = {{ saga = "{tmp_path}/saga", docs = "{tmp_path}/docs" }}'
    config = config.replace('profile = "generic"', f'profile = "generic"\n{listed}')
    roles = '[[access.grants]]\nrole = "member"\npeople = ["web:ana"]\n'
    look = f"cat here {tmp_path}/saga/here {tmp_path}/docs/here; echo the end"
    async with service(tmp_path, config + roles) as moot:
        assert "'s" not in await told(moot.url, "ana", look)
        for name in ("saga", "docs"):
            await say(moot.url, "ana", f"!workspace {name}")
            said = await told(moot.url, "ana", look)
            assert said.count(f"{name}'s") == 2
            assert said.count("'s") == 2, "the other folder is not there"
        await told(moot.url, "ana", "echo written > note")
        assert (tmp_path / "docs" / "note").read_text() == "written\n"
        await say(moot.url, "ana", "!workspace default")
        assert "'s" not in await told(moot.url, "ana", look)


async def test_a_persona_that_wants_a_sandbox_does_not_run_where_there_is_none(
    tmp_path: Path,
) -> None:
    config = furnish(tmp_path, "on")
    (tmp_path / "bin").mkdir()
    for name in ("sh", "cat"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    async with service(tmp_path, config, PATH=str(tmp_path / "bin")) as moot:
        said = await told(moot.url, "ana", "touch there")
        assert "I run in a sandbox only" in said
        assert "bubblewrap is not installed" in said
        assert list(tmp_path.rglob("there")) == []


async def test_a_persona_that_asks_too_much_says_so(tmp_path: Path) -> None:
    bwrap()
    config = furnish(tmp_path, f"{{mounts: ['{tmp_path}/data:ro']}}")
    async with service(tmp_path, f'[sandbox]\nmode = "on"\n{config}') as moot:
        said = await told(moot.url, "ana", "ls")
        assert "which is Moot's own" in said


CLAUDE_CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[sandbox]
mode = "{mode}"
[agents.claude-code]
profile = "claude-code"
command = ["{claude}", "--allowed-tools=Bash"]
env = {{ ANTHROPIC_BASE_URL = "{api}", CLAUDE_CODE_MAX_RETRIES = "1" }}
[access]
dms = "open"
"""


async def _ask_claude(moot: Service, api: MessagesAPI, secret: Path) -> str:
    """Have Claude Code read a file for Budi; what its tool gave the model."""
    api.when("read it", ToolUse("Bash", {"command": f"cat {secret}"}), "I tried.")
    answer = await say(moot.url, "budi", "read it please")
    assert answer["replies"][0]["text"] == "I tried."
    return str(api.turns[-1].body["messages"])


@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_claude_codes_shell_reads_another_scopes_home_only_without_a_sandbox(
    tmp_path: Path, mode: str
) -> None:
    bwrap()
    if not CLAUDE.exists():
        pytest.skip(f"{CLAUDE_CODE.title} is not installed in tests/agents")
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "ash.md").write_text("---\nagent: claude-code\n---\nYou help.\n")
    async with MessagesAPI.open() as api:
        config = CLAUDE_CONFIG.format(mode=mode, claude=CLAUDE, api=api.url)
        key = "sk-ant-test-00000000000000000000000000000000"
        async with service(tmp_path, config, ANTHROPIC_API_KEY=key) as moot:
            api.when("hello", "Hello.")
            assert (await say(moot.url, "ana", "hello"))["replies"][0]["text"] == "Hello."
            (home,) = (tmp_path / "data" / "scopes").glob("dm-web-ana*/ash/home")
            (home / "secret").write_text("the word is xylophone")
            given = await _ask_claude(moot, api, home / "secret")
            assert ("xylophone" in given) == (mode == "off")
            assert mode == "off" or "No such file" in given


ASK_THE_PAGE = (
    "{python} -c 'import urllib.request as u; print(u.urlopen(\"{url}api/rooms\").status)'"
    " 2>&1 | tail -1"
)


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_an_agent_may_not_open_the_page_on_loopback(tmp_path: Path, mode: str) -> None:
    bwrap()
    async with service(tmp_path, furnish(tmp_path, mode)) as moot:
        command = ASK_THE_PAGE.format(python=PYTHON, url=moot.url)
        said = await told(moot.url, "ana", command)
        assert said == "urllib.error.HTTPError: HTTP Error 401: Unauthorized"
        secret = tmp_path / "data" / "owner.secret"
        seen = await told(moot.url, "ana", f"wc -c < {secret} 2>&1 | tail -1")
        assert ("No such file" in seen) == (mode == "on")  # docs/sandbox.md says so


async def test_what_moot_keeps_is_for_its_own_account(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    async with service(tmp_path, furnish(tmp_path)) as moot:
        await told(moot.url, "ana", "echo kept > mine")
        data = tmp_path / "data"
        assert data.stat().st_mode & 0o007 == 0
        folders = [path for path in (data / "scopes").rglob("*") if path.is_dir()]
        assert len(folders) >= 4
        assert {path.stat().st_mode & 0o777 for path in [data / "scopes", *folders]} == {0o700}


async def test_check_says_whether_sandboxes_can_be_made(tmp_path: Path) -> None:
    bwrap()
    (tmp_path / "moot.toml").write_text(furnish(tmp_path, "auto"))
    config = load_config(tmp_path / "moot.toml", base=tmp_path)
    here, bare = {"PATH": os.environ["PATH"]}, {"PATH": str(tmp_path)}
    (fine,) = await check_sandbox(Installation(config, tmp_path, here, NOW))
    assert str(fine) == "✓ sandbox: @ash runs in a sandbox, network: host"
    (missing,) = await check_sandbox(Installation(config, tmp_path, bare, NOW))
    assert missing.mistake
    assert "@ash can't answer: no sandbox can be made here (bubblewrap is not" in missing.text
    assert "install bubblewrap" in missing.text
    (tmp_path / "personas" / "ash.md").write_text(PERSONA.format(sandbox="off"))
    (off,) = await check_sandbox(Installation(config, tmp_path, here, NOW))
    assert (off.mark, "@ash runs without a sandbox" in off.text) == ("⚠", True)


@pytest.mark.parametrize("where", ["persona", "agent", "everybody"])
async def test_the_mode_that_is_gone_is_read_as_on_and_told(tmp_path: Path, where: str) -> None:
    bwrap()
    config = furnish(tmp_path, "dms")
    if where != "persona":
        (tmp_path / "personas" / "ash.md").write_text("---\nagent: obedient\n---\nYou obey.\n")
        old = {"agent": "[agents.obedient]\n", "everybody": "[sandbox]\n"}[where]
        key = {"agent": 'sandbox = "dms"\n', "everybody": 'mode = "dms"\n'}[where]
        config = config.replace(old, old + key) if old in config else f"{old}{key}{config}"
    async with service(tmp_path, config) as moot:
        assert "sandbox.dated" in moot.log()
        assert "is read as" in moot.log()
    of = load_config(tmp_path / "moot.toml", base=tmp_path)
    found = await check_sandbox(Installation(of, tmp_path, {"PATH": os.environ["PATH"]}, NOW))
    assert [line.mark for line in found] == ["⚠", "✓"]
    assert 'is read as "on"' in found[0].text


async def test_moots_own_environment_shows_no_secret_to_an_agent(tmp_path: Path) -> None:
    secrets = {"DISCORD_TOKEN": "xylophone-1", "MOOT_TOKEN": "xylophone-" + "x" * 40}
    config = furnish(tmp_path, "off")
    async with service(tmp_path, config, STORE="pg://moot:xylophone@h/db", **secrets) as moot:
        said = await told(moot.url, "ana", f"tr '\\0' ' ' < /proc/{moot.pid}/environ; echo the end")
        assert said.endswith("the end")
        assert "xylophone" not in said
        assert os.geteuid() != 0 or "LANG=C.UTF-8" in said  # root still sees the rest


SEALED = """
import sys
from gateway.cli.own_process import seal
print(seal()["A_TOKEN"], flush=True)
sys.stdin.read()
"""


async def test_a_program_of_the_same_account_can_not_look_into_moots_process() -> None:
    account = 65_534 if os.geteuid() == 0 else os.geteuid()
    python = Path(shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable)
    if account != os.geteuid() and not reachable([python, HOUSE / "gateway" / "__init__.py"]):
        pytest.skip("another account can't run this Python, or not see this folder")
    started = await asyncio.create_subprocess_exec(
        str(python), "-c", SEALED, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, cwd=HOUSE, env={"A_TOKEN": "xylophone"}, user=account,
    )  # fmt: skip
    assert started.stdout
    assert await started.stdout.readline() == b"xylophone\n"
    for name in ("environ", "mem", "maps"):
        looked = await asyncio.create_subprocess_exec(
            "/bin/cat", f"/proc/{started.pid}/{name}", user=account,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, told_why = await looked.communicate()
        assert b"Permission denied" in told_why
    await started.communicate(b"")


@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_that_an_agent_has_no_sandbox_is_told_at_the_start_and_on_the_page(
    tmp_path: Path, mode: str
) -> None:
    bwrap()
    async with service(tmp_path, furnish(tmp_path, mode)) as moot:
        assert ("sandbox.none" in moot.log()) == (mode == "off")
        async with program_at(moot.url) as client, client.get("/api/admin/overview") as response:
            problems = (await response.json())["problems"]
    told_there = [problem["text"] for problem in problems if problem["kind"] == "sandbox"]
    assert [text.partition(" (")[0] for text in told_there] == (
        ["@ash runs without a sandbox"] if mode == "off" else []
    )


KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}  # add_key, keyctl
FIND = (
    "{python} -c 'import ctypes; call = ctypes.CDLL(None).syscall; "
    'print("found" if call({keyctl}, 10, -3, b"user", b"moot-test", 0) > 0 else "nothing")\''
)


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_keys_of_who_started_moot_are_not_an_agents(tmp_path: Path, mode: str) -> None:
    bwrap()
    if os.uname().machine not in KEYS:
        pytest.skip("nobody wrote down the numbers of this machine's calls")
    add_key, keyctl = KEYS[os.uname().machine]
    call = ctypes.CDLL(None).syscall
    if call(keyctl, 1, None) < 0 or call(add_key, b"user", b"moot-test", b"xylophone", 9, -3) < 0:
        pytest.skip("there are no keyrings here")
    async with service(tmp_path, furnish(tmp_path, mode)) as moot:
        said = await told(moot.url, "ana", FIND.format(python=PYTHON, keyctl=keyctl))
        assert said == ("nothing" if mode == "on" else "found")


async def test_what_an_agent_started_does_not_type_its_answers(tmp_path: Path) -> None:
    """Where its permission questions are answered. A kernel that refuses that by itself says so in
    other words."""
    bwrap()
    high = termios.TIOCSTI | 1 << 32  # the kernel looks at the lower half
    async with service(tmp_path, furnish(tmp_path, "on")) as moot:
        for request in (termios.TIOCSTI, high, 0x541C):
            said = await told(moot.url, "ana", TYPES.format(python=PYTHON, request=request))
            assert said == str(errno.EPERM)
