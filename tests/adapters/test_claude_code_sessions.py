"""The real Claude Code in a terminal, against a double of its API: errors and sessions."""

import asyncio
import json
import os
import signal

import pytest

from adapters.cli.session import CliAgent
from tests.doubles.claude_stage import HEADER, Stage, asked, failed, held, works_again
from tests.doubles.model_steps import Fault, Message, Text

pytestmark = pytest.mark.asyncio(loop_scope="module")

# ── Errors ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.invalid(), "api", "at least one message"),
        (Fault.unauthorized(), "login", "Invalid API key"),
        (Fault.limited(), "limit", "rate limit"),
        (Fault.broken(), "api", "Internal server error"),
        (Fault.overloaded(), "api", "Overloaded"),
    ],
    ids=["400", "401", "429", "500", "529"],
)
async def test_an_error_is_one_helpful_line_and_it_goes_on(
    stage: Stage, claude: CliAgent, fault: Fault, kind: str, words: str
) -> None:
    stage.api.when("fail now", fault)
    error = await failed(claude, f"{HEADER}fail now")
    assert error.kind == kind
    assert words in error.say
    assert error.say.startswith("Claude Code")
    assert "\n" not in error.say
    assert error.partial == ""
    assert await works_again(stage, claude)


async def test_a_full_context_is_compacted_and_it_goes_on(stage: Stage, claude: CliAgent) -> None:
    await asked(claude, f"{HEADER}remember the violin")
    session = claude.session_id
    stage.api.when("fail now", Fault.too_long())
    error = await failed(claude, f"{HEADER}fail now")
    assert error.kind == "context"
    assert error.say == (
        "The conversation with Claude Code is too long for its model now. "
        "I had it compacted: ask again."
    )
    assert await works_again(stage, claude)
    assert claude.session_id == session
    assert not any("violin" in text for text in stage.api.turns[-1].history)


async def test_where_compacting_fails_too_it_begins_a_new_session(stage: Stage) -> None:
    stage.api.forget()
    agent = stage.agent("full")
    await asked(agent, f"{HEADER}remember the violin")
    session = agent.session_id
    stage.api.when("fail now", Fault.too_long())
    stage.api.when("<summary> block", Fault.too_long())
    error = await failed(agent, f"{HEADER}fail now")
    assert error.kind == "context"
    assert "Its next turn begins a new one" in error.say
    assert await works_again(stage, agent)
    assert agent.session_id not in (None, session)


async def test_it_compacts_when_it_is_asked_to(stage: Stage, claude: CliAgent) -> None:
    await asked(claude, f"{HEADER}remember the violin")
    await claude.compact()
    assert await works_again(stage, claude)
    assert not any("violin" in text for text in stage.api.turns[-1].history)


# ── Sessions ────────────────────────────────────────────────────────────────────────────


async def test_a_killed_program_goes_on_with_the_same_session(
    stage: Stage, claude: CliAgent
) -> None:
    await asked(claude, f"{HEADER}remember the violin")
    session = claude.session_id
    assert claude.pid
    os.kill(claude.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        while claude.alive():
            await asyncio.sleep(0.01)
    stage.api.queue("The violin.")
    assert (await asked(claude, f"{HEADER}what was it?")).text == "The violin."
    assert (claude.session_id, claude.resumed) == (session, True)
    assert any("remember the violin" in text for text in stage.api.turns[-1].history)


async def test_a_program_that_dies_in_mid_answer_is_a_crash_and_then_goes_on(
    stage: Stage, claude: CliAgent
) -> None:
    await asked(claude, f"{HEADER}first")
    stage.api.hold()
    stage.api.queue(Message((Text("never finished"),), delta=3, hold=2))
    asking = asyncio.create_task(failed(claude, f"{HEADER}die"))
    await held(stage, asking)
    assert claude.pid
    os.kill(claude.pid, signal.SIGKILL)
    error = await asking
    stage.api.release.set()
    assert error.kind == "crash"
    assert "\n" not in error.say
    assert await works_again(stage, claude)


async def test_scopes_share_nothing(stage: Stage) -> None:
    stage.api.forget()
    one, other = stage.agent("one"), stage.agent("other")
    await asked(one, f"{HEADER}the secret is a violin")
    await asked(other, f"{HEADER}what do you know?")
    assert len(stage.api.turns[-1].history) == 1
    assert "violin" not in json.dumps(stage.api.turns[-1].body)
    records = {
        scope: [path.stem for path in (stage.folder / scope).glob(".claude/projects/*/*.jsonl")]
        for scope in ("one", "other")
    }
    assert records == {"one": [one.session_id], "other": [other.session_id]}

    session = one.session_id
    await one.close()
    again = stage.agent("one", session_id=session)
    await asked(again, f"{HEADER}what was it?")
    assert again.resumed
    assert any("violin" in text for text in stage.api.turns[-1].history)


async def test_a_session_that_was_lost_begins_anew(stage: Stage) -> None:
    stage.api.forget()
    lost = "00000000-0000-4000-8000-000000000000"
    agent = stage.agent("lost", session_id=lost)
    stage.api.queue("Hello again.")
    assert (await asked(agent, f"{HEADER}hello")).text == "Hello again."
    assert not agent.resumed
    assert agent.session_id != lost


async def test_without_a_login_it_says_so(stage: Stage) -> None:
    agent = stage.agent("stranger", env=(("ANTHROPIC_BASE_URL", stage.api.url),))
    error = await failed(agent, f"{HEADER}hello")
    assert error.kind == "login"
    assert "not logged in" in error.say.lower()
    assert "\n" not in error.say


async def test_what_lies_in_the_workspace_starts_nothing_by_itself(stage: Stage) -> None:
    stage.api.forget()
    home = stage.folder / "trap"
    folder = stage.work("trap")
    (folder / ".claude").mkdir(parents=True)
    server = {"command": "touch", "args": [str(home / "started")]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"trap": server}}))
    (folder / "CLAUDE.md").write_text("Be kind. @~/outside.md\n")
    (home / "outside.md").write_text("the-outside-word")
    (folder / ".claude" / "settings.local.json").write_text('{"permissions": {"defaultMode": 3}}')
    stage.api.queue("Good morning.")
    assert (await asked(stage.agent("trap"), f"{HEADER}hello")).text == "Good morning."
    assert not (home / "started").exists()
    assert "the-outside-word" not in json.dumps(stage.api.turns[-1].body)


async def test_it_asked_no_other_host(stage: Stage) -> None:
    assert stage.api.requests
    assert stage.api.unknown == []
    assert stage.strangers == []
