"""The least that a Slack bot in front of a terminal program can be: what Moot is compared with.

Nothing is stored, no header is composed, one program serves everybody, and it answers at once.
"""

import asyncio
import os
import pty
import sys
import tty
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

ECHO = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)"


async def main() -> None:
    url, token = os.environ["API_URL"], os.environ["BOT_TOKEN"]
    app_token = os.environ["APP_TOKEN"]
    app = AsyncApp(client=AsyncWebClient(token, url))
    master, slave = pty.openpty()
    tty.setraw(slave)
    await asyncio.create_subprocess_exec(
        sys.executable, "-c", ECHO, stdin=slave, stdout=slave, stderr=asyncio.subprocess.DEVNULL
    )
    lines, free = asyncio.StreamReader(), asyncio.Lock()
    asyncio.get_running_loop().add_reader(master, lambda: lines.feed_data(os.read(master, 65_536)))

    @app.event("app_mention")
    async def answer(event: dict[str, Any], say: Any) -> None:
        async with free:
            os.write(master, event["text"].partition("> echo ")[2].encode() + b"\n")
            line = await lines.readline()
        await say(line.decode().rstrip("\n"), thread_ts=event["ts"])

    @app.event("message")
    async def ignore() -> None:
        """Slack tells a mention twice."""

    socket = AsyncWebClient(app_token, url)
    handler = AsyncSocketModeHandler(app, app_token, web_client=socket)
    await handler.start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
