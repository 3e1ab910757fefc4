"""What a description in TOML can say: exact replies, true stops, and starts that fail tell why."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.profiles.row_patterns import in_last_row, row_pattern
from contract.errors import AgentError
from tests.doubles.described import DESCRIBED, Decided, answers, command, reply_to
from tests.doubles.programs import changed
from tests.doubles.replies import Replies


def described(folder: Path, program: str, settings: Mapping[str, Any]) -> CliAgent:
    given = GenericSettings.model_validate({"command": command(program), **settings})
    profile = changed(generic_profile("mine", given, settings["ready"]), timeout_s=60)
    return CliAgent(profile, Launch(folder / "home", folder / "work"))


@pytest.fixture(params=DESCRIBED)
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CliAgent]:
    agent = described(tmp_path, request.param, DESCRIBED[request.param])
    yield agent
    await agent.close()


async def test_its_replies_are_exact(agent: CliAgent) -> None:
    curses = "ledger" in agent._profile.program.begin[-1]
    for kind in ("short", "code", "wide", "long", "short", "say again"):
        answer = await agent.ask(f"[HEADER]\nRoom: #lab\n\n{kind}", Replies())
        said = reply_to(kind).replace("\u200d", "") if curses else reply_to(kind)
        assert answer.text == said


@pytest.mark.parametrize("wanted", ["yes", "no"])
async def test_its_questions_are_answered_as_the_room_decides(
    agent: CliAgent, tmp_path: Path, wanted: str
) -> None:
    decided = Decided(wanted, tmp_path)
    answer = await agent.ask("[HEADER]\n\nplease perm", decided)
    assert decided.told_before == []
    (told,) = answers(tmp_path)
    assert answer.text == f"answered {told}"
    assert told[0] in {"yes": "y1", "no": "n2"}[wanted]


async def test_it_can_be_stopped(agent: CliAgent, tmp_path: Path) -> None:
    word = "count" if "pico" in agent._profile.program.begin[-1] else "slow"
    asking = asyncio.create_task(agent.ask(f"{word} please", Replies()))
    async with asyncio.timeout(30):
        while not [*tmp_path.rglob("ASKED")]:
            await asyncio.sleep(0.05)
    pid = agent.pid
    await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("say again", Replies())).text == "You said again."
    assert agent.pid == pid


async def test_a_reply_may_hold_the_program_s_own_prompt(tmp_path: Path) -> None:
    agent = described(tmp_path, "pico", DESCRIBED["pico"])
    try:
        answer = await agent.ask("the prompt please", Replies())
        assert answer.text == "At the prompt\npico>\nyou type\npico> print(1)\nand see 1."
    finally:
        await agent.close()


@pytest.mark.parametrize(
    ("program", "ready", "named"),
    [("pico", "^>> $", "^>> $"), ("ledger", "^ready", "^ready"), ("pico", "^>>> ", "^>>> ")],
)
async def test_a_start_that_shows_no_row_of_ready_names_the_pattern_and_the_screen(
    tmp_path: Path, program: str, ready: str, named: str
) -> None:
    settings = {**DESCRIBED[program], "ready": ready, "ready_still_s": 1.0}
    agent = described(tmp_path, program, settings)
    with pytest.raises(AgentError, match="standing still") as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "startup"
    assert f"matches `ready` in [agents.mine.settings]: {named};" in caught.value.say
    assert {"pico": "Pico 0.3 / pico>", "ledger": "idle"}[program] in caught.value.say
    assert not agent.alive()


async def test_a_question_at_the_start_is_no_prompt(tmp_path: Path) -> None:
    settings = {**DESCRIBED["pico"], "permission": "^Pico", "ready_still_s": 1.0}
    agent = described(tmp_path, "pico", settings)
    with pytest.raises(AgentError, match="it asks something"):
        await agent.start()


@pytest.mark.parametrize(
    ("source", "row", "matches"),
    [
        ("^> $", ">", True),
        ("^> $", "> x", False),
        ("^> ", ">", True),
        ("^> ", ">x", False),
        ("^> ", "> x", True),
        (r"^>\s$|^\$ $", "$", True),
        (r"^[> $]+$", ">$", True),
        ("a $b", "a", False),
        ("(?i)^READY $", "ready", True),
    ],
)
def test_blanks_at_a_row_s_end_may_be_missing(source: str, row: str, matches: bool) -> None:
    assert bool(row_pattern(source).search(f"first\n{row}\nlast")) == matches


def test_a_pattern_can_be_of_the_last_row_alone() -> None:
    pattern = in_last_row(row_pattern("^> $"))
    assert pattern.search("Hello\n>\n\n")
    assert not pattern.search(">\nHello\n\n")


def test_a_pattern_with_flags_goes_with_the_others() -> None:
    settings = {"command": ["x"], "permission": "(?i)allow", "aside": "(?i)note"}
    assert generic_profile("mine", GenericSettings.model_validate(settings))
