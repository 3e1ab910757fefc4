"""An agent that says what its script says, and records what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.agent import Agent, Launch, Reply
from contract.agent import Answer, ToolUse
from contract.errors import AgentError
from gateway.sessions.sessions import AgentProgram

Script = Callable[[str, Reply], Awaitable[str | Answer]]


async def echo(prompt: str, reply: Reply) -> str:
    """Answers with the invocation."""
    return prompt.rstrip("\n").rsplit("\n", 1)[-1]


@dataclass
class ScriptedAgent:
    """One living session."""

    launch: Launch
    script: Script
    prompts: list[str]
    session_id: str | None = "s1"
    resumed: bool = False
    dead: bool = False
    closed: bool = False
    uses: tuple[ToolUse, ...] = ()
    pid: int | None = None
    closing: asyncio.Event | None = None  # its program has not ended before it is set
    compacting: Callable[[ScriptedAgent], Coroutine[Any, Any, None]] | None = None
    undoing: Callable[[ScriptedAgent], Coroutine[Any, Any, str]] | None = None
    _stopped: bool = False
    _task: asyncio.Task[Any] | None = None

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        self.prompts.append(prompt)
        self._task = asyncio.ensure_future(self.script(prompt, reply))
        try:
            said = await self._task
            if isinstance(said, Answer):
                return said
            return Answer(said, "record", "script", uses=self.uses)
        except asyncio.CancelledError:
            if not self._stopped:
                self._task.cancel()
                raise
            self._stopped = False
            raise AgentError("stopped", "stopped", say="Stopped.") from None

    async def interrupt(self) -> None:
        if self._task is not None:
            self._stopped = True
            self._task.cancel()

    async def compact(self) -> None:
        if self.compacting is None:
            raise AgentError("missing", "no command", say="Scripted has no command for that.")
        self._task = asyncio.ensure_future(self.compacting(self))
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            self._stopped = False
            raise AgentError("stopped", "stopped", say="Stopped.") from None

    async def undo(self) -> str:
        if self.undoing is None:
            raise AgentError("missing", "no command", say="Scripted can't.")
        return await self.undoing(self)

    async def close(self) -> None:
        if self.closing is not None:
            await self.closing.wait()
        self.closed = self.dead = True

    def alive(self) -> bool:
        return not self.dead

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        return [[("ready", "")]]


@dataclass
class ScriptedPrograms:
    """Every agent's name stands for the same script. failures: raised by the next starts.

    uses: what every answer tells of the tools that were used. numbered: sessions have ids of their
    own, `s1`, `s2` ..., unless they are resumed.
    """

    script: Script = echo
    prompts: list[str] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    agents: list[ScriptedAgent] = field(default_factory=list)
    failures: list[AgentError] = field(default_factory=list)
    starts: asyncio.Event | None = None  # no program is ready before it is set
    ends: asyncio.Event | None = None  # no program has ended before it is set
    starting: int = 0
    uses: tuple[ToolUse, ...] = ()
    resumes: bool = True
    numbered: bool = False
    compacting: Callable[[ScriptedAgent], Coroutine[Any, Any, None]] | None = None
    undoing: Callable[[ScriptedAgent], Coroutine[Any, Any, str]] | None = None

    def __call__(self, name: str) -> AgentProgram:
        async def start(launch: Launch) -> Agent:
            if self.failures:
                raise self.failures.pop(0)
            self.starting += 1
            if self.starts is not None:
                await self.starts.wait()
            self.launches.append(launch)
            agent = ScriptedAgent(launch, self.script, self.prompts)
            agent.uses = self.uses
            agent.closing = self.ends
            agent.compacting = self.compacting
            agent.undoing = self.undoing
            agent.resumed = launch.session_id is not None
            self.agents.append(agent)
            if self.numbered:
                agent.session_id = launch.session_id or f"s{len(self.agents)}"
            return agent

        scripted = AgentProgram(name, "Scripted", "scripted agent", True, "", start)
        return replace(scripted, resumes=self.resumes)
