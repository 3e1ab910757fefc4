"""A program that talks in JSON messages, a line each, on its stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import structlog

from adapters.pty.process_group import ProcessGroup
from adapters.pty.terminal import StartCommand
from adapters.session.session import last_words

log = structlog.stdlib.get_logger("moot.adapters.talk")

LINE_BYTES = 8_000_000  # a question about a file may hold all of it twice
ERROR_BYTES = 8_000  # of its stderr, the newest
GRACE_S = 2.0  # between SIGTERM and SIGKILL
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x7f]"
)


class JsonLinesProcess(ProcessGroup):
    """The library's `Transport`. A line that is no message, or too long, is left out."""

    def __init__(self, *, enclosed: bool = False) -> None:
        super().__init__(enclosed=enclosed)
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._line = bytearray()
        self._errors = b""

    @classmethod
    async def start(cls, command: StartCommand) -> JsonLinesProcess:
        """Run the program. Raises OSError."""
        return await cls(enclosed=bool(command.enclosure)).run(
            command.line, env=command.env, cwd=command.cwd, enclosure=command.enclosure
        )

    def complaint(self) -> str:
        """The end of what it wrote to stderr, on one line."""
        text = self._errors.decode("utf-8", "replace")
        return last_words(_ESCAPES.sub("", text).replace("\r", "\n"))

    # ── What it says ────────────────────────────────────────────────────────────────────

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._errors = (self._errors + data)[-ERROR_BYTES:]
            return
        begin, *rest = data.split(b"\n")
        self._grow(begin)
        for piece in rest:
            self._take(bytes(self._line))
            self._line.clear()
            self._grow(piece)

    def _grow(self, piece: bytes) -> None:
        if len(self._line) <= LINE_BYTES:  # cut off, it can't be read: all of it is left out
            self._line += piece

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            message = None
        if _is_message(message):
            self._messages.put_nowait(message)
        elif line.strip():
            log.debug("line.no_message", size_bytes=len(line))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._messages.put_nowait(None)

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when there will be no more."""
        return await self._messages.get()

    # ── What it is told ─────────────────────────────────────────────────────────────────

    async def send(self, message: dict[str, Any]) -> None:
        """Never waits: a prompt is all that the program can leave unread. Raises ConnectionError.

        A response to a program that is gone is of no use to anybody.
        """
        pipe = self.input()
        if not pipe.is_closing():
            pipe.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        elif "method" in message:
            raise ConnectionError("its stdin is closed")

    async def close(self) -> None:
        """End the program, and whatever it has started."""
        await self.end(GRACE_S)
        self.release()


def _is_message(value: Any) -> bool:
    """True when the library can take it: it trusts these shapes."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("method", ""), str)
        and isinstance(value.get("id"), int | str | None)
        and isinstance(value.get("error"), dict | None)
    )
