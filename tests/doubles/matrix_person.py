"""Somebody with an encrypting client, a program of its own: matrix-nio, or what Element is made of.

Of the two only the latter refuses devices which their owner has not signed.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from tests.doubles.inbox import PATIENCE_S
from tests.doubles.synapse import SERVER, Synapse, newer_node

_PROGRAM = Path(__file__).with_name("matrix_client.py")
_ELEMENT = Path(__file__).parents[1] / "clients" / "matrix"


class EncryptingPerson:
    """seen: all that was said where this person is, as far as they can read it."""

    @classmethod
    def program(cls) -> list[str]:
        raise NotImplementedError

    def __init__(self, process: asyncio.subprocess.Process, user_id: str) -> None:
        self._process, self.user_id = process, user_id
        self.seen: list[dict[str, Any]] = []

    @classmethod
    @asynccontextmanager
    async def open(
        cls, synapse: Synapse, name: str, folder: Path, **known: str
    ) -> AsyncIterator[Self]:
        """A new person; with more for their login (`recovery`), one who has an account.

        folder: where their client may keep what it knows.
        """
        if not known:
            name = f"{name}{secrets.token_hex(3)}"
            synapse.register(name)
        folder = folder / name
        folder.mkdir(parents=True)
        process = await asyncio.create_subprocess_exec(
            *cls.program(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        person = cls(process, f"@{name}:{SERVER}")
        try:
            given = {"user": name, "password": "pass", "folder": str(folder), **known}
            await person("login", url=synapse.url, **given)
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
        assert "error" not in answer, answer["error"]
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


class NioPerson(EncryptingPerson):
    """Who talks with every device."""

    @classmethod
    def program(cls) -> list[str]:
        return [sys.executable, "-P", str(_PROGRAM)]  # its folder has modules named like nio's


class ElementPerson(EncryptingPerson):
    """Who talks only with devices that are signed."""

    @classmethod
    def program(cls) -> list[str]:
        if not (_ELEMENT / "node_modules").is_dir() or (node := newer_node()) is None:
            reason = "there is no client like Element's here: sh tests/setup"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        return [str(node), str(_ELEMENT / "client.mjs")]
