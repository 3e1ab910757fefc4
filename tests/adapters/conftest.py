"""Agents with HOMEs of their own, closed when a test ends."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.cli.hooks import HookListener
from adapters.cli.session import CliAgent
from adapters.cli_profile import Profile
from tests.doubles.claude_stage import claude, shared_claude, stage  # noqa: F401  # fixtures

OpenAgent = Callable[..., CliAgent]


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """A scope of its own; the demo agent answers at once."""
    env = (("PATH", f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin"),)
    return Launch(tmp_path / "home", tmp_path / "work", env=(*env, ("MOOT_DEMO_PACE", "0")))


@pytest.fixture
async def open_agent(launch: Launch) -> AsyncIterator[OpenAgent]:
    """Makes agents. Changes go into the launch; `pace` is the demo agent's."""
    opened: list[CliAgent] = []

    def make(
        profile: Profile,
        *,
        pace: str = "0",
        hooks: HookListener | None = None,
        environment: tuple[tuple[str, str], ...] = (),
        **changes: object,
    ) -> CliAgent:
        env = (*launch.env, ("MOOT_DEMO_PACE", pace), *environment)
        agent = CliAgent(profile, replace(launch, env=env, **changes), hooks)  # type: ignore[arg-type]
        opened.append(agent)
        return agent

    yield make
    for agent in opened:
        await agent.close()
