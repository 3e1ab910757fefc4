"""A stage and a session for each agent, which all tests share: a start costs seconds.

A failure shows what stood on the screens, and what the API was asked last.
"""

from collections.abc import AsyncIterator, Generator

import pytest
import pytest_asyncio

from adapters.cli.session import CliAgent
from tests.every_agent.stage import Cli, Stage, clis, require


@pytest.fixture(scope="session", params=clis(), ids=lambda cli: cli.name)
def cli(request: pytest.FixtureRequest) -> Cli:
    """Each agent in turn."""
    chosen: Cli = request.param
    require(chosen)
    return chosen


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with Stage.open(cli, tmp_path_factory.mktemp(cli.name)) as stage:
        yield stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_agent(stage: Stage) -> CliAgent:
    """The session that most tests share."""
    return stage.agent()


@pytest.fixture
def agent(request: pytest.FixtureRequest, stage: Stage, shared_agent: CliAgent) -> CliAgent:
    """The shared session; whatever a test left over for the API to say is forgotten."""
    name = request.function.__name__
    if name in stage.cli.lacks:
        pytest.skip(stage.cli.lacks[name])
    stage.api.forget()
    return shared_agent


SAMPLED = {
    "test_modes": ("claude-code", "codex"),
    "test_undo": ("claude-code", "gemini"),
    "test_whole": ("claude-code", "codex", "gemini", "vibe"),
}
"""Files whose other agents are for `make test-long`."""


@pytest.hookimpl(tryfirst=True)  # before marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of one agent belong to one process: each start costs seconds."""
    for item in items:
        called = getattr(item, "callspec", None)
        whose = called.params["cli"].name if called and "cli" in called.params else item.path.stem
        item.add_marker(pytest.mark.xdist_group(whose))
        if whose not in SAMPLED.get(item.path.stem, (whose,)):
            item.add_marker(pytest.mark.long)


LAST_PROMPTS = 3


def sections(stage: Stage) -> list[tuple[str, str]]:
    """Headings and texts for the report of a test that failed."""
    shown = [
        (f"screen of {agent.session_id}", "\n".join(filter(str.strip, rows)))
        for agent in stage.agents
        if (rows := ["".join(text for text, _ in row) for row in agent.picture()])
    ]
    asked = [f"{turn.rounds}: {turn.prompt[-400:]!r}" for turn in stage.api.turns[-LAST_PROMPTS:]]
    return [*shown, ("asked of the API (answers before: prompt)", "\n".join(asked))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add them."""
    report = yield
    stage = getattr(item, "funcargs", {}).get("stage")
    if report.failed and isinstance(stage, Stage):
        report.sections += sections(stage)
    return report
