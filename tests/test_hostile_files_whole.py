"""`moot run`, and agents that give Moot to read what has no end, or what takes all its memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.doubles.cells import bwrap
from tests.doubles.obedience import furnish, say
from tests.doubles.service import Service, service

RECORD = 'record = { file = "log", reply = { role = "agent" }, text = "text" }'
ROW = 'echo {\\"role\\": \\"agent\\", \\"text\\": \\"here\\"} | tee -a ~/log >/dev/null'


async def told(moot: Service, who: str, command: str) -> str:
    """The answer to a command."""
    async with asyncio.timeout(30):
        answer = await say(moot.url, who, f"please <<{command}>>")
    return str(answer["replies"][0]["text"])


async def test_others_are_answered_when_a_record_becomes_a_fifo(tmp_path: Path) -> None:
    bwrap()
    heading = "[agents.obedient.settings]\n"
    config = furnish(tmp_path, "on").replace(heading, f"{heading}{RECORD}\n")
    async with service(tmp_path, config) as moot:
        assert await told(moot, "budi", ROW) == "here"
        fifo = "echo {} | tee -a ~/log; sleep 2; rm ~/log; mkfifo ~/log; sleep 9"
        await say(moot.url, "ana", f"please <<{fifo}>>", wait=None)
        async with asyncio.timeout(30):
            while not any(
                path.is_fifo() for path in tmp_path.glob("data/scopes/dm-web-ana*/*/*/log")
            ):
                await asyncio.sleep(0.05)
        for _ in range(3):
            assert await told(moot, "budi", ROW) == "here"


VALUES = (
    "python3 -c 'import os, urllib.request as u; "
    'print(u.urlopen(os.environ["MOOT_MEMORY_URL"], {}).read())\' 2>&1 | tail -1'
)


async def test_an_agent_can_not_have_moot_parse_millions_of_values(tmp_path: Path) -> None:
    bwrap()
    async with service(tmp_path, furnish(tmp_path, "on")) as moot:
        many = 'b"{\\"pipe\\": [" + b"[],"*2500000 + b"0]}"'
        assert "400" in await told(moot, "ana", VALUES.format(many))
        long = 'b"{\\"pipe\\": \\"" + b"x"*9000000 + b"\\"}"'
        assert "413" in await told(moot, "ana", VALUES.format(long))
