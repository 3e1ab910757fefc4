"""The double itself, checked by what knows nothing of it: the server's own client and its types."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.doubles.inbox import until
from tests.doubles.mattermost import GENERAL, MattermostDouble

CLIENTS = Path(__file__).parent.parent / "clients" / "mattermost"
MODULES = CLIENTS / "node_modules"
# The types are the web client's, which has filled in what the server leaves out.
TYPES = """
import type { WebSocketMessages } from "@mattermost/client";
import type { Channel } from "@mattermost/types/channels";
import type { FileInfo } from "@mattermost/types/files";
import type { Post, PostList, PostMetadata } from "@mattermost/types/posts";
import type { UserProfile } from "@mattermost/types/users";
type ToldFile = Omit<FileInfo, "clientId">;
type ToldMetadata = Partial<Omit<PostMetadata, "files">> & { files?: ToldFile[] };
type ToldPost = Omit<Post, "metadata"> & { metadata: ToldMetadata; has_reactions?: boolean };
type ToldPostList = Omit<PostList, "posts"> & { posts: Record<string, ToldPost> };
type Always = "id" | "username" | "nickname" | "first_name" | "last_name" | "is_bot" | "roles";
type ToldUserProfile = Pick<UserProfile, Always> & Partial<UserProfile>;
type ToldChannel = Channel;
type ToldPosted = WebSocketMessages.Posted["data"];
"""


def need_node() -> str:
    """Node with the packages installed; without, the test is skipped, or fails where CI is set."""
    node = shutil.which("node")
    reason = "needs Node.js" if node is None else "needs `npm ci` in tests/clients/mattermost"
    if node is not None and (MODULES / "@mattermost" / "client").is_dir():
        return node
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class Echo:
    """A bot over the published client, and the lines that it prints."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.lines.append(line.decode().strip())

    async def said(self, line: str, times: int = 1) -> str:
        """Wait for a line that begins so."""
        await until(lambda: sum(one.startswith(line) for one in self.lines) >= times)
        return [one for one in self.lines if one.startswith(line)][times - 1]


@asynccontextmanager
async def echo(double: MattermostDouble) -> AsyncIterator[Echo]:
    process = await asyncio.create_subprocess_exec(
        need_node(),
        "echo.mjs",
        cwd=CLIENTS,
        env={**os.environ, "MATTERMOST_URL": double.base, "TOKEN": "token-codex"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=2**20,
    )
    bot = Echo()
    reading = asyncio.create_task(bot.read(process), name="read the echo")
    try:
        await bot.said("ready")
        yield bot
    finally:
        process.kill()
        await process.wait()
        await reading


async def test_the_published_client_works_on_the_double_and_comes_back_after_a_cut() -> None:
    async with MattermostDouble.open() as double, echo(double) as bot:
        asked = double.say("@codex hello")
        await bot.said("values")
        (post,) = double.own(GENERAL, double.tokens["token-codex"])
        text = "olivia in general (O): @codex hello"
        assert (post["message"], post["root_id"]) == (f"{text} (2)", asked)
        assert await bot.said("refused") == "refused app.post.get.app_error 404"
        assert await bot.said("reaction") == "reaction eyes"
        double.edit(asked, "@codex good morning")
        assert await bot.said("edited") == "edited @codex good morning"
        double.remove(asked)
        assert await bot.said("deleted") == f"deleted {asked}"
        double.sockets.cut()
        await bot.said("ready", 2)
        double.say("@codex again")
        await bot.said("values", 2)


async def test_what_the_double_tells_is_of_the_published_types(tmp_path: Path) -> None:
    async with MattermostDouble.open() as double, echo(double) as bot:
        file = double.file("notes.txt", b"15 minutes")
        root = double.say("see here", files=(file,))
        double.react(root, "pushpin")
        double.say("@codex hello", thread=root)
        told = json.loads((await bot.said("values")).removeprefix("values "))
    lines = [TYPES]
    for name, values in told.items():
        for number, value in enumerate(values):
            lines.append(f"const {name.lower()}{number}: Told{name} = {json.dumps(value)};")
    names = [line.split()[1].rstrip(":") for line in lines if line.startswith("const")]
    lines.append(f"export {{ {', '.join(names)} }};")
    source = CLIENTS / "node_modules" / ".moot" / f"{tmp_path.name}.ts"
    source.parent.mkdir(exist_ok=True)
    source.write_text("\n".join(lines), encoding="utf-8")
    try:
        checked = await asyncio.to_thread(compiled, source)
    finally:
        source.unlink()
    assert checked.returncode == 0, checked.stdout
    assert len(names) == 7


def compiled(source: Path) -> "subprocess.CompletedProcess[str]":
    tsc = MODULES / "typescript" / "bin" / "tsc"
    how = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    return subprocess.run(
        [need_node(), str(tsc), *how, str(source)],
        cwd=CLIENTS,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
