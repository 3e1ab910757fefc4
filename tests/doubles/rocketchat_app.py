"""Moot's App for Rocket.Chat, packed and run by a double of the Apps-Engine's bridge."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HOUSE = Path(__file__).parents[2]
SOURCE = HOUSE / "apps" / "rocketchat"
BRIDGE = HOUSE / "tests" / "clients" / "rocketchat" / "app_bridge.mjs"

Json = dict[str, Any]


def packed(folder: Path) -> Path:
    """The App's zip, as `make rocketchat-app` makes it. Without Node the test is skipped, or fails
    where CI is set."""
    if shutil.which("node") is None or not (SOURCE / "node_modules" / "typescript").is_dir():
        reason = "needs Node.js, and `npm ci` in apps/rocketchat"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    subprocess.run(["sh", SOURCE / "build", folder], check=True, timeout=120)
    return folder / "moot.zip"


@dataclass
class AppBridge:
    """A server with the App. Its rooms are "general", where Ash is not, and "dm"."""

    process: asyncio.subprocess.Process

    async def act(self, act: str, **given: Any) -> Json:
        """Somebody does something; said, told: what the App posted and showed for it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps({'act': act, **given})}\n".encode())
        async with asyncio.timeout(20):
            line = await self.process.stdout.readline()
        assert line, "the App failed"
        found: Json = json.loads(line)
        return found

    async def said(self, act: str, **given: Any) -> list[Json]:
        """What the App posted for it."""
        said: list[Json] = (await self.act(act, **given))["said"]
        return said


@asynccontextmanager
async def app_bridge(folder: Path) -> AsyncIterator[AppBridge]:
    """The App of the zip at work."""
    with zipfile.ZipFile(packed(folder)) as zipped:
        zipped.extractall(folder / "installed")
    # what lies in the folders above decides nothing: the App is CommonJS
    (folder / "installed" / "package.json").write_text('{"type": "commonjs"}', encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        "node",
        BRIDGE,
        folder / "installed",
        env={"PATH": os.environ["PATH"], "NODE_PATH": str(SOURCE / "node_modules")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield AppBridge(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
