"""Somebody with an encrypting client: drives `matrix_client`."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doubles.inbox import PATIENCE_S
from tests.doubles.synapse import SERVER, Synapse

_PROGRAM = Path(__file__).with_name("matrix_client.py")


class NioPerson:
    """seen: all that was said where this person is, as far as they can read it."""

    def __init__(self, process: asyncio.subprocess.Process, user_id: str) -> None:
        self._process, self.user_id = process, user_id
        self.seen: list[dict[str, Any]] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, synapse: Synapse, name: str, folder: Path) -> AsyncIterator[NioPerson]:
        name = f"{name}{secrets.token_hex(3)}"
        synapse.register(name)
        folder = folder / name
        folder.mkdir(parents=True)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # its folder has modules named like the library's
            str(_PROGRAM),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        person = cls(process, f"@{name}:{SERVER}")
        try:
            await person("login", url=synapse.url, user=name, password="pass", folder=str(folder))
            yield person
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()

    async def __call__(self, do: str, **given: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        assert line, f"the program ended over {do}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def room(self, *invited: str, name: str = "secret", direct: bool = False) -> str:
        """A new encrypted room in which those invited are; return its id."""
        room_id = str((await self("create", invite=invited, name=name, direct=direct))["room"])
        for user in invited:
            self.seen += (await self("comes", room=room_id, user=user))["events"]
        return room_id

    async def say(self, room_id: str, text: str, **more: Any) -> str:
        answer = await self(
            "send", room=room_id, content={"msgtype": "m.text", "body": text} | more
        )
        return str(answer["event_id"])

    async def sees(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until something was said."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.seen:
                    if wanted(event):
                        return event
                self.seen += (await self("sync"))["events"]
