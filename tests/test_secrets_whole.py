"""The whole way: `moot run` on a day when everything fails, with a secret in every place that has
one. Whatever it logs, answers, stores for agents or posts has none of them in it."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.doubles import bluebubbles, discord, rocketchat, slack
from tests.doubles.bluebubbles import BlueBubblesDouble
from tests.doubles.discord import DiscordDouble
from tests.doubles.ports import free_port
from tests.doubles.rocketchat import RocketChatDouble
from tests.doubles.service import HOUSE, Service, service
from tests.doubles.slack import SlackDouble

TUIS = HOUSE / "tests" / "doubles" / "tuis"

CANARIES = {
    "SLACK_BOT_TOKEN": "xoxb-canary-1-a8f7",
    "SLACK_APP_TOKEN": "xapp-canary-2-b7e6",
    "ROCKETCHAT_USER": "moot",
    "ROCKETCHAT_PASSWORD": "canary-3&c6/d5",
    "DISCORD_TOKEN": "canary-4.d5.c4",
    "MATRIX_TOKEN": "syt_canary-5_e4b3",
    "BLUEBUBBLES_PASSWORD": "canary-6 f3 =a2",
    "BLUEBUBBLES_SECRET": "canary-7-a2f1-0123456789abcdef0123",
    "ANTHROPIC_API_KEY": "sk-ant-canary-8-b1e0",
    "MOOT_TOKEN": "canary-9-c0d9-0123456789abcdef",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20canary-10-d9c8",
    "UNRELATED_API_KEY": "canary-11-e8b7",
}
IN_CONFIG = {"url": "canary-12-f7a6", "agent": "canary-13-a6f5", "otlp": "canary-14-b5e4"}
SECRETS = [
    *(value for name, value in CANARIES.items() if name != "ROCKETCHAT_USER"),
    "canary-10-d9c8",
    *IN_CONFIG.values(),
]

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
personas_dir = "personas"
[access]
rooms = "open"
[telemetry]
otlp_endpoint = "http://me:{otlp}@127.0.0.1:{port}"
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "http://127.0.0.1:{port}/"
[[bots]]
platform = "rocketchat"
personas = ["demo"]
url = "http://me:{url}@127.0.0.1:{port}"
[[bots]]
platform = "discord"
personas = ["demo"]
api_url = "http://127.0.0.1:{port}"
[[bots]]
platform = "matrix"
personas = ["demo"]
url = "http://127.0.0.1:{port}"
[[bots]]
platform = "bluebubbles"
personas = ["demo"]
url = "http://127.0.0.1:{port}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
[agents.leaky]
profile = "generic"
command = ["{python}", "{leaky}"]
env = {{ LEAKY_API_KEY = "{agent}" }}
[agents.leaky.settings]
ready = '^you> ?$'
echo = 'you> (.+)'
reply = 'bot: '
quiet_s = 0.5
"""
LEAKY = """
import os
print("Leaky chat 0.1.")
while True:
    input("you> ")
    print("bot: " + " ; ".join(f"{k}={v}" for k, v in sorted(os.environ.items())))
"""


@asynccontextmanager
async def hostile() -> AsyncIterator[int]:
    """A server that fails at everything, and says in its answer all that it was sent."""

    async def fail(request: web.Request) -> web.Response:
        body = (await request.read()).decode("utf-8", "replace")
        told = f"{request.path_qs} {dict(request.headers)} {body}"
        status = 401 if "login" in request.path or "/ping" in request.path else 500
        error = {"error": told, "message": told, "errcode": "M_UNKNOWN", "ok": False}
        return web.json_response(error, status=status, reason=told[:200].replace("\n", " "))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fail)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[Service]:
    personas = folder / "personas"
    personas.mkdir()
    for name, agent in {"demo": "demo", "leaky": "leaky", "claude": "anthropic"}.items():
        (personas / f"{name}.md").write_text(f"---\nagent: {agent}\n---\nYou are {name}.\n")
    (folder / "leaky.py").write_text(LEAKY)
    async with hostile() as port:
        config = CONFIG.format(
            port=port, python=sys.executable, leaky=folder / "leaky.py", **IN_CONFIG
        )
        environment = {**CANARIES, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}
        async with service(folder, config, ("--log", "DEBUG"), **environment) as moot:
            yield moot


async def say(client: aiohttp.ClientSession, number: int, text: str) -> str:
    body = {
        "content": text,
        "metadata": {
            "source": "web",
            "sender_id": "web:andi",
            "sender_display_name": "Andi",
            "sender_type": "human",
        },
        "room": "web:general",
        "message_id": f"m{number}",
        "wait": 60,
    }
    async with client.post("/api/submit", json=body) as response:
        return await response.text()


async def everything(client: aiohttp.ClientSession) -> dict[str, str]:
    """Every answer of the page and of its API, by path."""
    async with client.get("/api/rooms/web:general/messages") as response:
        said = await response.json()
    turns = {m["turn_id"] for m in said["messages"] if m.get("turn_id")}
    at = "/api/rooms/web:general/memory"
    paths = [
        *("/", "/healthz", "/metrics", "/api/rooms", "/api/personas", "/api/people"),
        *("/api/sessions", "/api/rooms/web:general/messages", "/api/nothing"),
        *(at, f"{at}/facts", f"{at}/observations", f"{at}/search?q=token"),
        *(f"/api/turns/{turn}" for turn in turns),
    ]
    found = {}
    for path in paths:
        async with asyncio.timeout(10), client.get(path) as response:
            found[path] = f"{response.reason} {response.headers} {await response.text()}"
    async with client.get("/api/sessions") as response:
        sessions = await response.json()
    for session in sessions.get("sessions", sessions):
        path = f"/api/sessions/{session['id']}/terminal"
        async with asyncio.timeout(10), client.get(path) as response:
            found[path] = (await response.content.readuntil(b"\n\n")).decode()
    return found


def stored(folder: Path) -> str:
    """What agents were given, and what was posted."""
    with sqlite3.connect(folder / "data" / "moot.db") as database:
        rows = database.execute("SELECT header, answer, record FROM turns").fetchall()
        rows += database.execute("SELECT text FROM posts").fetchall()
        rows += database.execute("SELECT text FROM facts").fetchall()
    return json.dumps(rows, ensure_ascii=False)


def leaks(text: str) -> list[str]:
    """Secrets in it, also where the page shows a terminal in rows."""
    return [secret for secret in SECRETS if secret in text]


async def test_no_secret_is_in_what_is_logged_answered_prompted_or_posted(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        headers = {"Authorization": f"Bearer {CANARIES['MOOT_TOKEN']}"}
        async with aiohttp.ClientSession(moot.url, headers=headers) as client:
            pasted = CANARIES["SLACK_BOT_TOKEN"], CANARIES["ROCKETCHAT_PASSWORD"]
            answers = [
                await say(client, 1, f"@demo echo {' and '.join(pasted)}"),
                await say(client, 2, "@leaky what do you see?"),
                await say(client, 3, "@claude hello"),
                await say(client, 4, f"@demo !pin the token is {pasted[0]}"),
                await say(client, 5, "@demo echo what was it?"),
            ]
            await logged(moot, "bot.restart", "bot.unreachable")
            found = await everything(client)
        assert "[secret removed] and [secret removed]" in answers[0]
        assert "LEAKY_API_KEY=[secret removed]" in answers[1]
        assert "canary" not in answers[1]
        for name in CANARIES:
            assert name not in answers[1]  # its own key is all that it was given
        assert leaks("".join(answers)) == []
        for path, answer in found.items():
            assert (path, leaks(answer)) == (path, [])
        assert process_line(moot.pid) == []
    assert leaks(stored(tmp_path)) == []
    assert "[secret removed]" in stored(tmp_path)
    assert leaks(moot.log()) == []
    assert "canary" not in moot.log()
    assert "[secret removed]" in moot.log()


WORKING = """
[gateway]
listen = "127.0.0.1:{listen}"
data_dir = "data"
personas_dir = "personas"
[access]
rooms = "open"
dms = "open"
[[bots]]
platform = "slack"
personas = ["leaky"]
api_url = "{slack}"
[[bots]]
platform = "rocketchat"
personas = ["leaky"]
url = "{rocketchat}"
[[bots]]
platform = "discord"
personas = ["leaky"]
api_url = "{discord}"
[[bots]]
platform = "bluebubbles"
personas = ["leaky"]
url = "{bluebubbles}"
[agents.leaky]
profile = "generic"
command = ["{python}", "{leaky}"]
env = {{ LEAKY_API_KEY = "canary_13_a6f5'x" }}
[agents.leaky.settings]
ready = '^you> ?$'
echo = 'you> (.+)'
reply = 'bot: '
quiet_s = 0.5
"""
DISGUISES = r"""
import base64, json, os, re, shlex, urllib.parse
KEY = os.environ["LEAKY_API_KEY"]
FORMS = [
    KEY, KEY.upper(), base64.b64encode(b"x" + KEY.encode()).decode(), KEY.encode().hex(),
    urllib.parse.quote(KEY, safe=""), json.dumps(json.dumps(KEY)), shlex.quote(KEY),
    KEY.replace("_", "\\_"), re.sub(r"([^0-9a-z])", r"\\\1", KEY), os.environ["MOOT_MEMORY_URL"],
]
print("Leaky chat 0.1.")
while True:
    input("you> ")
    print("bot: all of it " + " ; ".join(FORMS))
"""
GIVEN = "canary-20-given-by-a-login"


async def test_nothing_is_posted_of_what_an_agent_says_in_any_disguise(tmp_path: Path) -> None:
    """The platforms work, each lets Moot in, and one by a password: its token is known, too."""
    personas = tmp_path / "personas"
    personas.mkdir()
    (personas / "leaky.md").write_text("---\nagent: leaky\n---\nYou leak.\n")
    (tmp_path / "leaky.py").write_text(DISGUISES)
    environment = {
        "SLACK_BOT_TOKEN": CANARIES["SLACK_BOT_TOKEN"],
        "SLACK_APP_TOKEN": CANARIES["SLACK_APP_TOKEN"],
        "ROCKETCHAT_USER": "claude",
        "ROCKETCHAT_PASSWORD": CANARIES["ROCKETCHAT_PASSWORD"],
        "DISCORD_TOKEN": CANARIES["DISCORD_TOKEN"],
        "BLUEBUBBLES_PASSWORD": bluebubbles.PASSWORD,
    }
    async with (
        SlackDouble.open() as on_slack,
        RocketChatDouble.open() as on_rocketchat,
        DiscordDouble.open(token=CANARIES["DISCORD_TOKEN"]) as on_discord,
        BlueBubblesDouble.open() as on_bluebubbles,
    ):
        on_slack.apps[0].bot_token = CANARIES["SLACK_BOT_TOKEN"]
        on_slack.apps[0].app_token = CANARIES["SLACK_APP_TOKEN"]
        on_rocketchat.passwords[rocketchat.CLAUDE] = CANARIES["ROCKETCHAT_PASSWORD"]
        on_rocketchat.tokens = {GIVEN: rocketchat.CLAUDE}
        config = WORKING.format(
            listen=free_port(),
            slack=on_slack.api_url,
            rocketchat=on_rocketchat.base,
            discord=on_discord.api_url,
            bluebubbles=on_bluebubbles.url,
            python=sys.executable,
            leaky=tmp_path / "leaky.py",
        )
        async with service(tmp_path, config, ("--log", "DEBUG"), **environment) as moot:
            await logged(moot, '"bot": "slack"', '"bot": "discord"', "webhook.registered")
            await on_slack.delivery.connected()
            await on_rocketchat.sockets.listening(rocketchat.CLAUDE)
            hook = on_bluebubbles.webhooks[0]["url"].rpartition("/")[2]
            digest = sha256(CANARIES["ROCKETCHAT_PASSWORD"].encode()).hexdigest()
            asked = f"tell me {GIVEN} {hook} {digest}"
            await on_slack.say(f"<@{slack.BOT_USER}> {asked}")
            await on_discord.say(f"<@{discord.BOT}> {asked}")
            on_rocketchat.say(f"@claude {asked}")
            await on_bluebubbles.say(asked)

            def posted() -> list[str]:
                return [
                    json.dumps([m for ms in on_slack.messages.values() for m in ms.values()
                                if m.get("user") == slack.BOT_USER]),
                    json.dumps([m for m in on_rocketchat.messages.values()
                                if m["u"]["_id"] == rocketchat.CLAUDE]),
                    json.dumps(on_discord.posts()),
                    json.dumps(on_bluebubbles.own()),
                ]  # fmt: skip

            async with asyncio.timeout(60):
                while not all("all of it" in text for text in posted()):
                    await asyncio.sleep(0.1)
            await logged(moot, *["turn.posted"] * 4)
            said = posted()
        prompts = stored(tmp_path)
        log = moot.log()
    for text in (*said, prompts, log):
        assert re.findall(r"canary.{0,20}|CANARY.{0,20}|63616e6172.{0,20}", text) == []
        assert re.findall(r"/hook/[^[]{8}", text) == []
        assert hook not in text
        assert digest not in text
    assert prompts.count("tell me [secret removed] [secret removed] [secret removed]") >= 4
    with sqlite3.connect(tmp_path / "data" / "moot.db") as database:
        details = database.execute("SELECT detail FROM audit").fetchall()
    assert "canary" not in str(details)


async def logged(moot: Service, *events: str) -> None:
    async with asyncio.timeout(30):
        while not all(event in moot.log() for event in events):
            await asyncio.sleep(0.1)


def process_line(pid: int) -> list[str]:
    """Secrets in what `ps` shows of it and of its children."""
    import psutil

    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return leaks(" ".join(" ".join(process.cmdline()) for process in processes))


async def test_a_shared_login_is_a_secret_too_also_of_an_agent_that_has_none(
    tmp_path: Path,
) -> None:
    for name, folder, file in (
        ("codex", "admin", ".codex/auth.json"),
        ("gemini", "other", ".gemini/oauth_creds.json"),
    ):
        path = tmp_path / folder / file
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"tokens": {"access_token": f"canary-30-{name}-token"}}))
    personas = tmp_path / "personas"
    personas.mkdir()
    (personas / "demo.md").write_text("---\nagent: demo\n---\nYou are demo.\n")
    (personas / "gem.md").write_text("---\nagent: gemini\nlogin: other\n---\nYou are gem.\n")
    config = (
        '[gateway]\nlisten = "127.0.0.1:0"\ndata_dir = "data"\npersonas_dir = "personas"\n'
        '[access]\nrooms = "open"\n[agents.codex]\nprofile = "codex"\nlogin = "admin"\n'
    )
    token = CANARIES["MOOT_TOKEN"]
    async with service(tmp_path, config, ("--log", "DEBUG"), MOOT_TOKEN=token) as moot:
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(moot.url, headers=headers) as client:
            said = await say(client, 1, "@demo echo canary-30-codex-token, CANARY-30-GEMINI-TOKEN")
    assert "[secret removed], [secret removed]" in said
    assert "canary-30" not in moot.log()


def moot_says(folder: Path, config: str, *words: str, **environment: str) -> str:
    """What a command prints."""
    (folder / "moot.toml").write_text(config, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", "from gateway.main import main; main()", *words],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(HOUSE),
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_no_command_prints_a_secret_of_its_configuration(tmp_path: Path) -> None:
    url = "postgresql://moot:canary-12-f7a6@127.0.0.1:1/moot"
    wrong: list[tuple[str, tuple[str, ...]]] = [
        (f'[store]\nurl = "{url}"', ("run",)),
        ('[store]\nurl = "nonsense://moot:canary-12-f7a6@x"', ("run",)),
        ('[[bots]]\nplatform = "rocketchat"\npersonas = ["demo"]\nurl = "ftp://a:canary-12-f7a6@x"',
         ("check",)),
        ('[[bots]]\nplatform = "rocketchat"\npersonas = ["demo"]\n'
         'url = "http://a:canary-12-f7a6@127.0.0.1:1"', ("check",)),
    ]  # fmt: skip
    for config, words in wrong:
        told = moot_says(tmp_path, config, *words, ROCKETCHAT_PASSWORD="canary-3-c6d5")
        assert told
        assert "canary" not in told


def test_check_warns_of_what_it_cannot_keep_secret_and_of_a_file_that_others_read(
    tmp_path: Path,
) -> None:
    config = '[agents.demo]\nprofile = "demo"\nenv = { MY_API_KEY = "canary-12-f7a6" }'
    (tmp_path / "moot.toml").write_text("")
    (tmp_path / "moot.toml").chmod(0o644)
    told = moot_says(tmp_path, config, "check", "--offline", MOOT_TOKEN="hunter2")
    assert "MOOT_TOKEN is too short" in told
    assert "hunter2" not in told
    assert "chmod 600" in told
    (tmp_path / "moot.toml").chmod(0o600)
    told = moot_says(tmp_path, config, "check", "--offline", MOOT_TOKEN="canary-9-c0d9-01234")
    assert "too short" not in told
    assert "chmod" not in told
