"""A program spoken to in the Agent Client Protocol, version 1, over its stdin and stdout.

agentclientprotocol.com, schema 1.19; the library keeps the JSON-RPC, this file the conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    RequestPermissionRequest,
    SessionNotification,
)
from pydantic import ValidationError

from adapters.acp.json_lines import JsonLinesProcess
from adapters.agent import MemoryServer
from adapters.images import Picture
from adapters.pty.terminal import StartCommand
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.adapters.acp")

VERSION = 1
AUTH_REQUIRED = -32000
QUIET_S = 0.3  # Gemini CLI answers `session/load` before it has told all of the history
REPLAY_S = 5.0  # of waiting for that
MEMORY_SERVER = "moot"

Json = Mapping[str, Any]


class ProtocolMismatch(Exception):
    """The program speaks another version of the protocol."""


@dataclass(frozen=True, slots=True)
class AcpPlace:
    """A session's folder. memory: the server that the program is told of."""

    workspace: Path
    memory: MemoryServer | None

    def given(self) -> dict[str, Any]:
        """The folder and servers in the protocol's form."""
        servers = [_server(self.memory)] if self.memory else []
        return {"cwd": str(self.workspace.absolute()), "mcpServers": servers}


class AcpPeer:
    """The program. Raises RequestError where it refuses, ConnectionError when it is gone.

    on_update gets what it tells of its session; on_permission answers its questions.
    """

    def __init__(
        self,
        talk: JsonLinesProcess,
        place: AcpPlace,
        *,
        on_update: Callable[[SessionNotification], None],
        on_permission: Callable[[RequestPermissionRequest], Awaitable[Json]],
    ) -> None:
        self.talk = talk
        self._place = place
        self._on_update = on_update
        self._on_permission = on_permission
        self._time = asyncio.get_running_loop().time
        self._updated_at = 0.0
        self._updates = 0
        self._connection = Connection(self._handle, talk)
        self._can = AgentCapabilities()

    @classmethod
    async def start(
        cls,
        command: StartCommand,
        place: AcpPlace,
        *,
        on_update: Callable[[SessionNotification], None],
        on_permission: Callable[[RequestPermissionRequest], Awaitable[Json]],
    ) -> AcpPeer:
        """Run the program. Raises OSError."""
        talk = await JsonLinesProcess.start(command)
        return cls(talk, place, on_update=on_update, on_permission=on_permission)

    def alive(self) -> bool:
        """True while it runs and can be spoken to."""
        return not self.talk.ended.done() and self.talk.code is None

    async def close(self) -> None:
        """End the program."""
        await self._connection.close()

    # ── What it is asked ────────────────────────────────────────────────────────────────

    async def greet(self) -> None:
        """Agree on the protocol. It works in its workspace by itself: no files are offered."""
        answer = await self._request(
            "initialize",
            protocolVersion=VERSION,
            clientCapabilities={
                "fs": {"readTextFile": False, "writeTextFile": False},
                "terminal": False,
            },
            clientInfo={"name": "moot", "title": "Moot", "version": "1"},
        )
        if answer.get("protocolVersion") != VERSION:
            raise ProtocolMismatch(str(answer.get("protocolVersion")))
        self._can = AgentCapabilities.model_validate(answer.get("agentCapabilities") or {})

    async def resume(self, session_id: str) -> Json | None:
        """Go on in a session of an earlier process; None: it can't."""
        resumes = self._can.session_capabilities and self._can.session_capabilities.resume
        if not (resumes or self._can.load_session):
            return None
        method = "session/resume" if resumes else "session/load"
        updates = self._updates
        params = {"sessionId": session_id, **self._place.given()}
        session = await self._connection.send_request(method, params)
        if not resumes:
            await self._replayed()
        if session is None and self._updates == updates:
            return None  # hermes has no such session
        if isinstance(session, dict) and _told_id(session.get("_meta")) not in ("", session_id):
            return None  # hermes began another one
        return session if isinstance(session, dict) else {}

    async def _replayed(self) -> None:
        """Wait until it has told what was said before."""
        self._updated_at = self._time()
        deadline = self._updated_at + REPLAY_S
        while True:
            left = min(self._updated_at + QUIET_S, deadline) - self._time()
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def begin(self) -> Json:
        """A new session; its id is `sessionId`."""
        return await self._request("session/new", **self._place.given())

    async def choose_model(self, session_id: str, session: Json, model: str) -> bool:
        """Let it use a model, if it offers that one."""
        for option in session.get("configOptions") or ():
            if option.get("category") == "model" and model in _values(option.get("options") or ()):
                await self._request(
                    "session/set_config_option",
                    sessionId=session_id,
                    configId=option["id"],
                    value=model,
                )
                return True
        offered = (session.get("models") or {}).get("availableModels") or ()
        if model in [one.get("modelId") for one in offered]:  # before schema 1.17
            await self._request("session/set_model", sessionId=session_id, modelId=model)
            return True
        return False

    @property
    def looks(self) -> bool:
        """True when a prompt may hold pictures."""
        can = self._can.prompt_capabilities
        return can is not None and bool(can.image)

    async def prompt(self, session_id: str, parts: Sequence[str | Picture]) -> str:
        """Have it answer; the reason why it stopped."""
        blocks = [_block(part) for part in parts]
        answer = await self._request("session/prompt", sessionId=session_id, prompt=blocks)
        return str(answer.get("stopReason"))

    async def cancel(self, session_id: str) -> None:
        """Have it stop: its prompt then ends with "cancelled"."""
        await self._connection.send_notification("session/cancel", {"sessionId": session_id})

    async def _request(self, method: str, **params: Any) -> Json:
        answer = await self._connection.send_request(method, params)
        return answer if isinstance(answer, dict) else {}

    # ── What it tells and asks ──────────────────────────────────────────────────────────

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        if method == "session/update":
            self._updated_at = self._time()
            self._updates += 1
            try:
                self._on_update(SessionNotification.model_validate(params))
            except ValidationError:
                log.debug("update.unknown")
        elif method == "session/request_permission":
            try:
                request = RequestPermissionRequest.model_validate(params)
            except ValidationError:
                raise RequestError.invalid_params() from None
            return await self._on_permission(request)
        elif not is_notification:
            raise RequestError.method_not_found(method)
        return None


def _server(memory: MemoryServer) -> Json:
    program, *arguments = memory.command
    env = [{"name": name, "value": value} for name, value in memory.env]
    return {"name": MEMORY_SERVER, "command": program, "args": arguments, "env": env}


def _block(part: str | Picture) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "mimeType": part.mime, "data": part.data}


def _told_id(meta: object) -> str:
    """The id of the session that an answer is about, where its metadata tell it; else ""."""
    if not isinstance(meta, dict):
        return ""
    told = meta.get("acpSessionId")
    inner = (_told_id(value) for value in meta.values())
    return told if isinstance(told, str) else next((ident for ident in inner if ident), "")


def _values(options: Sequence[Json]) -> list[str]:
    """The values of a choice, whose options may stand in groups."""
    found: list[str] = []
    for option in options:
        found += _values(option["options"]) if "options" in option else [str(option.get("value"))]
    return found
