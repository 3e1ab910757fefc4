"""Agents that are called by API, each with a HOME of its own, before a double of their API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.agent import Launch, Tools
from adapters.api.session import ApiAgent
from adapters.api.settings import ApiSettings
from tests.doubles.messages_api import Bare, MessagesAPI
from tests.doubles.model_steps import Json

KEY = "sk-ant-test-00000000000000000000000000000000"
PERSONA = "You are Claude, an engineer in a room with other engineers."


class BareAPI(MessagesAPI):
    """The double as a client without side requests needs it."""

    reads = Bare


@dataclass
class ApiStage:
    """The double, and whom it answers."""

    api: BareAPI
    folder: Path
    agents: list[ApiAgent] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator[ApiStage]:
        """An empty stage; closes the agents that were not yet."""
        async with BareAPI.open() as api:
            stage = cls(api, folder)
            yield stage
            for agent in stage.agents:
                await agent.close()

    async def agent(
        self,
        scope: str = "room",
        *,
        session_id: str | None = None,
        model: str | None = None,
        tools: Tools | None = None,
        base_url: str = "",
        persona: str = PERSONA,
        **settings: Any,
    ) -> ApiAgent:
        """One that is started."""
        launch = Launch(
            self.home(scope),
            self.folder / scope / "work",
            persona=persona,
            model=model,
            session_id=session_id,
            tools=tools,
        )
        chosen = ApiSettings.model_validate({"max_retries": 0, **settings})
        url = base_url or self.api.url
        agent = ApiAgent(chosen, launch, api_key=KEY, base_url=url)
        self.agents.append(agent)
        await agent.start()
        return agent

    def home(self, scope: str = "room") -> Path:
        """The HOME of a scope."""
        return self.folder / scope / "home"

    def record(self, agent: ApiAgent, scope: str = "room") -> Path:
        """The file with an agent's conversation."""
        return self.home(scope) / ".moot" / "conversations" / f"{agent.session_id}.jsonl"

    @property
    def bodies(self) -> list[Json]:
        """What was asked for, oldest first."""
        return [request.body for request in self.api.requests]

    @property
    def body(self) -> Json:
        """What was asked for last."""
        return self.bodies[-1]

    def said(self) -> list[tuple[str, list[str]]]:
        """The conversation of the newest request: roles and their texts."""
        return [
            (message["role"], [block["text"] for block in message["content"]])
            for message in self.body["messages"]
        ]
