"""The loopback door through which one agent's session looks into the memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.agent import MemoryServer
from contract.values import dataclass
from gateway.mcp.file_desk import FileDesk, HandedFiles, Share, on_this_machine
from gateway.mcp.pipe import URL
from gateway.mcp.tools import MemoryTools, SessionTools
from memory.observations.work_log import WorkReader
from memory.scopes import Invocation

if TYPE_CHECKING:
    from adapters.cli.hooks import HookListener, Receive
    from gateway.mcp.server import Pipe, Spawn

_HOUSE = str(Path(__file__).parents[2])
COMMAND = (
    sys.executable,
    "-P",  # the agent's working directory is no place to import from
    "-c",
    f"import sys; sys.path.insert(0, {_HOUSE!r}); from gateway.mcp.pipe import main; main()",
)
"""The same as `moot mcp` in a session, wherever and with whatever PATH it is started."""
READS = (
    Path(__file__).parents[1] / "__init__.py",
    Path(__file__).with_name("__init__.py"),
    Path(__file__).with_name("pipe.py"),
)
"""The only files of Moot that it reads, and that a sandbox shows it."""
MOST_PIPES = 4  # of one session: a program that starts its servers again leaves the old ones


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Where files are kept that agents hand over, and how large one may be. share: told of each."""

    folder: Path
    most_bytes: int
    share: Share = on_this_machine


@dataclass(slots=True)
class FileBounds:
    """What one turn's files must keep. clean: takes known secrets out of a text. most_bytes: of
    its platform; None: none of its own. desk: has taken some."""

    clean: Callable[[str], str]
    most_bytes: int | None
    desk: FileDesk | None = None


@dataclass(slots=True)
class McpGrant:
    """A session's right to read: as much as its newest turn may, and nothing before its first.

    url: where it is served, "" when it is not. files: that its agent may hand over. messages: the
    folder of long messages, of an agent that opens no files itself. bounds: of the files of the
    turn that runs.
    """

    persona: str = ""
    scope: str = ""
    invocation: Invocation | None = None
    url: str = ""
    files: HandedFiles | None = None
    messages: Path | None = None
    kept: KeptFiles | None = None
    bounds: FileBounds | None = None
    pipes: dict[str, Pipe] = field(default_factory=dict)

    def open_desk(self) -> FileDesk | None:
        """The desk of the turn that runs; None: none does, or no files are taken."""
        bounds, kept = self.bounds, self.kept
        if bounds is None or kept is None or self.files is None:
            return None
        if bounds.desk is None:
            most = min(bounds.most_bytes or kept.most_bytes, kept.most_bytes)
            bounds.desk = FileDesk(self.files, kept.folder, most, bounds.clean, kept.share)
        return bounds.desk

    def reader(self) -> WorkReader | None:
        """The caller; None while there is nothing to be seen."""
        asked = self.invocation
        if asked is None or asked.home != self.scope:
            return None
        return WorkReader(asked.gate, frozenset({self.persona}))


class McpEndpoint:
    """Gives each session an address that nobody can guess, behind which its own memory is."""

    def __init__(
        self,
        listener: HookListener,
        tools: MemoryTools,
        spawn: Spawn,
        kept: KeptFiles | None = None,
    ) -> None:
        """kept: of files that agents hand over; None: they can't."""
        self._kept = kept
        self._listener = listener
        self._tools = tools
        self._spawn = spawn

    def open(self, admission: McpGrant) -> MemoryServer:
        """Serve a session until it is closed."""
        admission.url = self._listener.register(self.receiver(admission))
        return server_at(admission.url)

    def receiver(self, admission: McpGrant) -> Receive:
        """The same for one whose programs run elsewhere, and reach it by another way."""
        tools = self.tools(admission)

        async def receive(payload: Mapping[str, Any]) -> Mapping[str, Any]:
            return await self._answer(payload, admission, tools)

        return receive

    def tools(self, admission: McpGrant) -> SessionTools:
        """The same for an agent in this process, which needs no server."""
        admission.kept = self._kept
        desk = admission.open_desk if self._kept else None
        return SessionTools(self._tools, admission.reader, desk, admission.messages)

    def close(self, admission: McpGrant) -> None:
        """Forget a session: its address answers no more."""
        self._listener.release(admission.url)
        for pipe in admission.pipes.values():
            pipe.close()
        admission.pipes.clear()
        admission.url, admission.invocation = "", None

    async def _answer(
        self, payload: Mapping[str, Any], admission: McpGrant, tools: SessionTools
    ) -> Mapping[str, Any]:
        name, message, began = (payload.get(part) for part in ("pipe", "message", "began"))
        if not isinstance(name, str) or not isinstance(message, dict):
            return {"message": None}
        pipe = admission.pipes.get(name)
        if pipe is None:
            pipe = await self._new_pipe(name, admission, tools)
            if isinstance(began, dict) and began != message:
                await pipe.go_on(began)
        return {"message": await pipe.say(message)}

    async def _new_pipe(self, name: str, admission: McpGrant, tools: SessionTools) -> Pipe:
        server = await asyncio.to_thread(_import_server)
        pipe: Pipe = server.Pipe(server.make_server(tools), self._spawn)
        if len(admission.pipes) >= MOST_PIPES:
            admission.pipes.pop(next(iter(admission.pipes))).close()
        admission.pipes[name] = pipe
        return pipe


def server_at(url: str) -> MemoryServer:
    """The server of a session whose memory is behind this address of the machine."""
    return MemoryServer(COMMAND, ((URL, url),), READS)


def _import_server() -> Any:
    from gateway.mcp import server as mcp_server

    return mcp_server
