"""A model that answers what a test wrote down, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.agent import Completion, Tool, ToolCall, Usage
from contract.errors import ModelError

Reply = str | Mapping[str, Any] | Completion | ModelError
"""Text; the input of the tool that is asked for; all of it; a failure."""


@dataclass(frozen=True)
class Asked:
    """One call as it came."""

    system: str
    prompt: str
    tool: Tool | None


@dataclass
class ScriptedModel:
    """Gives `replies` in their order, then `rest` for ever."""

    replies: list[Reply] = field(default_factory=list)
    rest: Reply = ""
    asked: list[Asked] = field(default_factory=list)
    name: str = "scripted"

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """The next reply."""
        self.asked.append(Asked(system, prompt, tool))
        reply = self.replies.pop(0) if self.replies else self.rest
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, Completion):
            return reply
        usage = Usage(self.name, input_tokens=len(prompt) // 4, output_tokens=10, cost_usd=0.001)
        if isinstance(reply, str):
            return Completion(reply, (), usage)
        name = tool.name if tool else ""
        return Completion("", (ToolCall(name, reply),), usage)
