"""The double itself, checked by two published clients that know nothing of it, discord.py and
discord.js, and by Discord's own OpenAPI.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import pytest
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.bots.discord_schema import faults
from tests.doubles.discord import (
    BOT,
    GENERAL,
    POST,
    DiscordDouble,
    Fault,
)
from tests.doubles.inbox import PATIENCE_S, until

CLIENT = Path(__file__).parent.parent / "clients" / "discord"


# ── discord.py ──────────────────────────────────────────────────────────────────────────────


class GoButton(discord.ui.View):
    @discord.ui.button(label="Go", custom_id="go")
    async def go(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        await interaction.response.edit_message(content="gone", view=None)


class Echo(discord.Client):
    """Answers mentions with a reply and a button, edits it, opens a thread, sends a file."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents(33281 | 1 | 4096 | 1024))
        self.tree = app_commands.CommandTree(self)
        self.ready = asyncio.Event()

    async def setup_hook(self) -> None:
        @self.tree.command(name="stop", description="interrupt")
        async def stop(interaction: discord.Interaction, text: str) -> None:
            await interaction.response.send_message(f"stop {text}", ephemeral=True)

        await self.tree.sync()

    async def on_ready(self) -> None:
        self.ready.set()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """The double takes an IDENTIFY at any time."""

    async def on_message(self, message: discord.Message) -> None:
        assert self.user is not None
        if message.author.bot or self.user not in message.mentions:
            return
        text = f"{message.author.display_name}: {message.content}"
        answer = await message.reply(text, view=GoButton())
        await message.add_reaction("👀")
        await message.remove_reaction("👀", self.user)
        history = [m async for m in message.channel.history(after=message)]
        await answer.edit(content=f"{text} ({len(history)})")
        await message.channel.typing()
        thread = await message.create_thread(name="echo")
        import io

        await thread.send(
            "as a file", file=discord.File(io.BytesIO(message.content.encode()), "echo.txt")
        )


@asynccontextmanager
async def python(double: DiscordDouble, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(Route, "BASE", double.api_url)
    gateway = yarl.URL(double.gateway_url)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", gateway)
    client = Echo()
    task = asyncio.create_task(client.start(double.token))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await client.ready.wait()
        yield
    finally:
        await client.close()
        await asyncio.wait({task})
    task.result()


# ── discord.js ──────────────────────────────────────────────────────────────────────────────


def need_node() -> str:
    """Node with the client installed; without, the test is skipped, or fails where CI is set."""
    node = shutil.which("node")
    reason = "needs Node.js" if node is None else "needs `npm ci` in tests/clients/discord"
    if node is not None and (CLIENT / "node_modules" / "discord.js").is_dir():
        return node
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@asynccontextmanager
async def javascript(double: DiscordDouble, _: pytest.MonkeyPatch) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        need_node(),
        "discord_echo.mjs",
        cwd=CLIENT,
        env={
            "PATH": os.environ["PATH"],
            "API_URL": double.api_url.removesuffix("/v10"),
            "TOKEN": double.token,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = await process.stdout.readline()
        rest = b"" if line == b"ready\n" else await process.stdout.read()
        assert line == b"ready\n", (line + rest).decode()
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


CLIENTS = {"discord.py": python, "discord.js": javascript}


@pytest.fixture(params=CLIENTS)
def client(
    request: pytest.FixtureRequest,
    discord_double: DiscordDouble,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    return CLIENTS[request.param](discord_double, monkeypatch)


def threads(double: DiscordDouble) -> list[str]:
    return [c for c, channel in double.channels.items() if channel["type"] == 11]


def has_file(double: DiscordDouble) -> bool:
    return any("as a file" in double.texts(thread) for thread in threads(double))


# ── The double under a client ───────────────────────────────────────────────────────────────


async def test_a_published_client_works_against_the_double(
    discord_double: DiscordDouble, client: Any
) -> None:
    double = discord_double
    async with client:
        asked = await double.say(f"<@{BOT}> hello")
        await until(lambda: has_file(double))
        (answer,) = double.posts()
        assert answer["content"] == f"Olivia: <@{BOT}> hello (1)"
        assert answer["message_reference"]["message_id"] == asked
        assert double.reactions[asked] == {"👀": set()}
        assert double.typed == [GENERAL]
        assert threads(double) == [asked]
        assert list(double.files.values()) == [f"<@{BOT}> hello".encode()]
        press = await double.press(GENERAL, answer["id"], "Go")
        await until(lambda: answer["content"] == "gone")
        assert answer["components"] == []
        run = await double.command("stop", "now")
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(press.acked.wait(), run.acked.wait())
        assert run.answer is not None
        assert run.answer["data"]["content"] == "stop now"


async def test_a_published_client_reads_a_menus_command_and_the_archive(
    discord_double: DiscordDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = discord_double
    async with javascript(double, monkeypatch):
        about = await double.say("how old is it?")
        await double.archive(await double.open_thread(GENERAL, "old"))
        ask = await double.ask_about("Ask claude", about)
        await until(lambda: bool(double.posts()))
    assert ask.answer is not None
    assert ask.answer["data"]["content"] == "about how old is it?"
    assert ask.whispers == ["one more"]
    assert double.texts() == ["1 archived"]


async def test_a_published_client_suggests_what_is_being_written(
    discord_double: DiscordDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with javascript(discord_double, monkeypatch):
        assert await discord_double.write("stop", "text", "no") == ["no"]


async def test_a_published_client_survives_what_the_gateway_does(
    discord_double: DiscordDouble, client: Any
) -> None:
    double = discord_double
    async with client:
        await double.gateway.cut()
        await double.say(f"<@{BOT}> over a resumed session")
        await double.gateway.back()
        await until(lambda: len(threads(double)) == 1)
        await double.gateway.ask_to_reconnect()
        await double.gateway.back(2)
        await double.gateway.invalidate(resumable=False)
        await double.gateway.connected(2)
        await double.say(f"<@{BOT}> over a new session")
        await until(lambda: len(threads(double)) == 2)


@pytest.mark.parametrize("fault", [Fault("429"), Fault("500", "after")])
async def test_a_published_client_says_it_again_and_it_is_there_once(
    discord_double: DiscordDouble, client: Any, fault: Fault
) -> None:
    double = discord_double
    double.fail(POST, fault)
    async with client:
        await double.say(f"<@{BOT}> hello")
        await until(lambda: has_file(double))
    assert len(double.posts()) == 1
    in_channel = [asked for asked in double.called(POST) if asked.ids["channel"] == GENERAL]
    assert len(in_channel) == 2


async def test_what_the_double_answers_is_what_discord_describes(
    discord_double: DiscordDouble, client: Any
) -> None:
    double = discord_double
    async with client:
        await double.say(f"<@{BOT}> hello", reply_to=await double.say("before"))
        await until(lambda: has_file(double))
    checked = 0
    for method, route, status, value in double.answers:
        found = faults(method, route, value, answer=True) if status == 200 else None
        assert not found, (method, route, found)
        checked += found is not None
    assert checked >= 6
