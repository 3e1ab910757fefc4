"""The driver without a terminal, and an agent made with the library's other side."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.acp.session import AcpAgent
from adapters.agent import ACP_SESSION, Launch, MemoryServer
from adapters.cli_profile import (
    Acp,
    Environment,
    HomeFile,
    MemoryAccess,
    Profile,
    Program,
    ReadySigns,
    Setup,
)
from adapters.turn_signs import TurnSigns
from contract.agent import ToolUse
from contract.errors import AgentError
from tests.doubles.processes import until_gone
from tests.doubles.programs import changed
from tests.doubles.replies import Replies

HEADER = "[SESSION CONTEXT]\nRoom: #lab\n\n[CURRENT INVOCATION]\n"
HOUSE = Path(__file__).parents[2]

Open = Callable[..., AcpAgent]


def profile(*modes: str, **changes: object) -> Profile:
    """The double's; changes replace its fields."""
    double = Profile(
        name="double",
        title="The double",
        agent="double",
        program=Program(begin=("nothing-with-this-name",), ready=ReadySigns(timeout_s=20.0)),
        environment=Environment(env=(("PYTHONPATH", str(HOUSE)),)),
        setup=Setup(login="Log in with `double login`."),
        signs=TurnSigns(timeout_s=30.0),
        acp=Acp(command=(sys.executable, "-m", "tests.doubles.acp_agent", *modes)),
    )
    return changed(double, **changes)


@pytest.fixture
async def open_acp(launch: Launch) -> AsyncIterator[Open]:
    """Makes agents. Changes go into the launch."""
    opened: list[AcpAgent] = []

    def make(profile: Profile, **changes: object) -> AcpAgent:
        agent = AcpAgent(profile, replace(launch, **changes))  # type: ignore[arg-type]
        opened.append(agent)
        return agent

    yield make
    for agent in opened:
        await agent.close()


def ask(words: str) -> str:
    return f"{HEADER}{words}\n"


def rows(launch: Launch, kind: str) -> list[dict[str, Any]]:
    """What the double put on record."""
    lines = (launch.home / "acp.jsonl").read_text().splitlines()
    return [row for line in lines if (row := json.loads(line))["type"] == kind]


async def failure(agent: AcpAgent, words: str) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await agent.ask(ask(words), Replies())
    return caught.value


# ── Answers ─────────────────────────────────────────────────────────────────────────────


async def test_the_answer_is_exactly_what_it_said(open_acp: Open, launch: Launch) -> None:
    text = "Here is **bold**.\n\n```python\nprint('x')\n```\n- 漢字 👩‍👩‍👧"
    agent = open_acp(profile())
    answer = await agent.ask(ask("say " + text.replace("\n", "\\n")), Replies())
    assert (answer.text, answer.source, answer.ended_by) == (text, "record", "end_turn")
    assert agent.session_id == ACP_SESSION + rows(launch, "session")[0]["id"]


@pytest.mark.parametrize("said", ["", " \\n\\n "])
async def test_an_answer_without_a_word_is_none(open_acp: Open, said: str) -> None:
    agent = open_acp(profile())
    assert (await agent.ask(ask("say first"), Replies())).text == "first"
    assert (await agent.ask(ask(f"say {said}"), Replies())).text == ""
    assert (await agent.ask(ask("say first"), Replies())).text == "first"


async def test_a_prompt_arrives_as_it_is_in_one_block(open_acp: Open, launch: Launch) -> None:
    prompt = ask("/help !ls @/etc/passwd \x1b[201~\t\\" + "línea 日本語\n" * 8000 + "say done")
    agent = open_acp(profile())
    for _ in range(2):
        assert (await agent.ask(prompt, Replies())).text == "done"
    assert [row["texts"] for row in rows(launch, "prompt")] == [[prompt], [prompt]]


async def test_people_see_what_it_says_while_it_works(open_acp: Open) -> None:
    replies = Replies()
    agent = open_acp(profile())
    asking = asyncio.create_task(agent.ask(ask("slow"), replies))
    async with asyncio.timeout(20):
        await replies.drafted.wait()
        await agent.interrupt()
    with pytest.raises(AgentError):
        await asking
    assert replies.drafts == ["I take my time."]


async def test_tools_are_told_and_the_answer_is_what_was_said_since(open_acp: Open) -> None:
    agent = open_acp(profile())
    replies = Replies()
    answer = await agent.ask(ask("work"), replies)
    assert answer.text == "It **failed**."
    told = [work.chat_lines for work in replies.works]
    assert told[1:3] == [
        [*lines, "☑ Look", "☐ Edit it"] for lines in (["… Run Shell"], ["… Run ls -la"])
    ]
    assert told[-2:] == [
        ["✓ Run ls -la", "… Edit /w/a.py +1 −1", "☑ Look", "☐ Edit it"],
        ["✓ Run ls -la", "✗ Edit /w/a.py", "☑ Look", "☐ Edit it"],
    ]
    assert answer.tools == ("Run: ls -la", "Edit a.py")
    assert answer.uses == (
        ToolUse("Run", '{"command": "ls -la", "description": "List"}', "total 0"),
        ToolUse("Edit", "/w/a.py\n\n-x = 1\n+x = 2", "it is read-only", failed=True),
    )
    shown = ["".join(text for text, _ in row) for row in agent.picture()]
    assert shown[:4] == ["● Run: ls -la", "● Edit a.py", "Let me look.", ""]


async def test_an_answer_without_end_is_cut(open_acp: Open) -> None:
    answer = await open_acp(profile()).ask(ask("flood"), Replies())
    assert 1_000_000 < len(answer.text) < 1_000_100
    assert answer.text.endswith("left out]")


async def test_lines_that_are_no_messages_do_no_harm(open_acp: Open) -> None:
    answer = await open_acp(profile("banner")).ask(ask("stray"), Replies())
    assert answer.text == "files: -32601"  # it is offered none


# ── Permission ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("choice", "outcome"), [(0, "y"), (1, "a"), (2, "n")])
async def test_the_room_chooses_among_its_own_options_those_for_once_first(
    open_acp: Open, choice: int, outcome: str
) -> None:
    replies = Replies([choice])
    answer = await open_acp(profile()).ask(ask("ask"), replies)
    assert answer.text == f"It was {outcome}."
    question = replies.questions[0]
    assert [(o.label, o.refuses) for o in question.options] == [
        ("Yes", False),
        ("Always", False),
        ("No, thanks", True),
    ]
    assert question.title == "Run this command?"
    assert question.detail == "Clean up\n\nrm -rf build0"


async def test_several_questions_at_once_are_each_answered(open_acp: Open) -> None:
    replies = Replies([0, 2, 0])
    answer = await open_acp(profile()).ask(ask("ask 3"), replies)
    answered = {q.detail[-1]: "yny"[n] for n, q in enumerate(replies.questions)}
    assert answer.text == f"It was {' '.join(answered[n] for n in '012')}."
    assert len({question.id for question in replies.questions}) == 3


async def test_stop_withdraws_a_question(open_acp: Open, launch: Launch) -> None:
    replies = Replies()
    agent = open_acp(profile())
    asking = asyncio.create_task(agent.ask(ask("ask"), replies))
    async with asyncio.timeout(20):
        await replies.asked.wait()
        await agent.interrupt()
    with pytest.raises(AgentError):
        await asking
    assert replies.withdrawn == 1
    assert (await agent.ask(ask("say still here"), Replies())).text == "still here"
    assert rows(launch, "outcomes") == [{"type": "outcomes", "outcomes": ["cancelled"]}]


class Refusing(Replies):
    """A room whose question cannot be put at all."""

    async def choose(self, question: object) -> int:
        raise RuntimeError("no room")


@pytest.mark.parametrize(("how", "outcome"), [("ask", "n"), ("ask only yes", "cancelled")])
async def test_what_nobody_can_answer_is_refused(open_acp: Open, how: str, outcome: str) -> None:
    answer = await open_acp(profile()).ask(ask(how), Refusing())
    assert answer.text == f"It was {outcome}."


# ── Stops and faults ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("word", ["slow", "hang", "deaf", "astray"])
async def test_stop_ends_the_turn_and_the_session_goes_on(
    open_acp: Open, launch: Launch, word: str
) -> None:
    agent = open_acp(profile())
    await agent.start()
    asking = asyncio.create_task(agent.ask(ask(word), Replies()))
    while not (launch.home / "acp.jsonl").exists() or not rows(launch, "prompt"):
        await asyncio.sleep(0.01)
    async with asyncio.timeout(10):
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "stopped"
    said = {"slow": "I take my time.Or not.", "hang": "", "deaf": "I can't hear you.", "astray": ""}
    assert caught.value.partial == said[word]
    assert (await agent.ask(ask("say on we go"), Replies())).text == "on we go"
    assert len(rows(launch, "cancel")) == 1
    assert len(rows(launch, "load")) == (word in ("deaf", "astray"))  # it had to be ended


async def test_stop_works_while_the_program_starts(open_acp: Open) -> None:
    agent = open_acp(profile("mute"))
    asking = asyncio.create_task(agent.ask(ask("say x"), Replies()))
    while agent.pid is None:
        await asyncio.sleep(0.01)
    pid = agent.pid
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    await until_gone(pid)


async def test_a_turn_that_does_not_end_is_stopped(open_acp: Open) -> None:
    agent = open_acp(profile(timeout_s=3.0))
    await agent.start()
    error = await failure(agent, "deaf")
    assert (error.kind, error.partial) == ("timeout", "I can't hear you.")
    assert "did not finish within" in error.say


async def test_a_crash_is_told_in_one_line_and_the_session_goes_on(
    open_acp: Open, launch: Launch
) -> None:
    agent = open_acp(profile())
    error = await failure(agent, "crash")
    assert (error.kind, error.partial) == ("crash", "Oh")
    assert error.say == "The double ended unexpectedly (code 9). Ask again: its session goes on."
    assert "sk-123" not in str(error)
    assert not agent.alive()
    before = agent.session_id
    assert (await agent.ask(ask("say back"), Replies())).text == "back"
    assert (agent.session_id, agent.resumed) == (before, True)
    assert len(rows(launch, "session")) == 1


@pytest.mark.parametrize(
    ("said", "kind", "say"),
    [
        ("429 Too Many Requests", "limit", "429 Too Many Requests. Ask again in a few minutes."),
        (
            '{"error": {"message": "API key not valid."}}',
            "login",
            "API key not valid. An administrator must check its key, or log in again.",
        ),
        (
            "This model's maximum context length is 8192 tokens",
            "context",
            "This model's maximum context length is 8192 tokens. "
            "Say `!new` to begin a new conversation.",
        ),
        ("the moon", "api", "the moon. Ask again; if that fails too, say `!new`."),
    ],
)
async def test_an_error_of_its_api_says_what_to_do(
    open_acp: Open, said: str, kind: str, say: str
) -> None:
    agent = open_acp(profile())
    error = await failure(agent, f"error {said}")
    assert (error.kind, error.partial) == (kind, "Hm.")
    assert error.say == f"The double reports an error: {say}"
    assert said not in str(error)
    assert (await agent.ask(ask("say well"), Replies())).text == "well"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("max_tokens", "context"),
        ("max_turn_requests", "limit"),
        ("refusal", "api"),
        ("cancelled", "stopped"),
    ],
)
async def test_a_turn_that_is_cut_off_keeps_what_was_said(
    open_acp: Open, reason: str, kind: str
) -> None:
    error = await failure(open_acp(profile()), f"stop {reason}")
    assert (error.kind, error.partial) == (kind, "So far.")


async def test_an_error_that_it_tells_as_an_answer_is_an_error(open_acp: Open) -> None:
    agent = open_acp(profile(fault=re.compile(r"\AHTTP \d{3}: .*")))
    error = await failure(agent, "say HTTP 401: Incorrect API key provided")
    assert (error.kind, error.partial) == ("login", "")
    assert (await agent.ask(ask("say It was HTTP 401: no"), Replies())).text[:6] == "It was"


async def test_a_summary_before_the_answer_is_no_answer(open_acp: Open) -> None:
    agent = open_acp(profile(last_message=True))
    assert (await agent.ask(ask("again 3"), Replies())).text == "Done."
    agent = open_acp(profile())
    told = (await agent.ask(ask("again 3"), Replies())).text
    assert told == "Summary 1.\n\nSummary 2.\n\nDone."


async def test_a_program_that_goes_round_in_circles_is_stopped(open_acp: Open) -> None:
    agent = open_acp(profile(last_message=True))
    error = await failure(agent, "again 100000")
    assert (error.kind, "begins a new one" in error.say) == ("context", True)
    assert (agent.session_id, agent.alive()) == (None, False)
    assert (await agent.ask(ask("say So I am here."), Replies())).text == "So I am here."


async def test_what_was_said_before_the_model_is_asked_once_more_is_void(open_acp: Open) -> None:
    agent = open_acp(profile(again=re.compile(r" Retrying\.\.\.")))
    assert (await agent.ask(ask("say A half Retrying... whole"), Replies())).text == " whole"
    assert (await agent.ask(ask("say No Retrying...here"), Replies())).text == "No Retrying...here"


# ── Starts ──────────────────────────────────────────────────────────────────────────────


async def test_no_files_are_offered_and_the_workspace_is_its_own(
    open_acp: Open, launch: Launch
) -> None:
    await open_acp(profile()).start()
    greeting = rows(launch, "initialize")[0]
    assert greeting["version"] == 1
    assert greeting["offered"]["fs"] == {"read_text_file": False, "write_text_file": False}
    assert greeting["offered"]["terminal"] is False
    assert rows(launch, "session")[0]["cwd"] == str(launch.workspace)


async def test_the_memory_is_given_as_a_server(open_acp: Open, launch: Launch) -> None:
    server = MemoryServer(("/bin/moot", "mcp"), (("MOOT_MCP_KEY", "k"),))
    await open_acp(profile(), memory=server).start()
    given = rows(launch, "session")[0]["servers"]
    assert [(s["name"], s["command"], s["args"]) for s in given] == [("moot", "/bin/moot", ["mcp"])]
    assert [(e["name"], e["value"]) for e in given[0]["env"]] == [("MOOT_MCP_KEY", "k")]


async def test_a_memory_that_a_file_tells_of_is_not_told_twice(
    open_acp: Open, launch: Launch
) -> None:
    server = MemoryServer(("/bin/moot", "mcp"), (("MOOT_MCP_KEY", "k"),))
    file = HomeFile("servers", lambda setting, _: str(setting.memory and setting.memory.command))
    for given in (profile(files=(file,)), profile(memory=MemoryAccess(file, ()))):
        await open_acp(given, memory=server).start()
        assert "moot" in (launch.home / "servers").read_text()
        assert rows(launch, "session").pop()["servers"] == []


@pytest.mark.parametrize(
    ("mode", "kind", "say"),
    [
        ("login", "login", "The double is not logged in. Log in with `double login`."),
        ("v9", "startup", "The double speaks another version of the protocol."),
        (
            "broken",
            "startup",
            "The double ended while it was starting (code 3): no such model: x.",
        ),
        ("mute", "startup", "The double did not become ready within 3 s."),
    ],
)
async def test_a_start_that_fails_says_why(open_acp: Open, mode: str, kind: str, say: str) -> None:
    agent = open_acp(profile(mode, ready=ReadySigns(timeout_s=3.0 if mode == "mute" else 20.0)))
    error = await failure(agent, "say x")
    assert (error.kind, error.say) == (kind, say)
    assert not agent.alive()


async def test_a_missing_program_says_how_to_get_it(open_acp: Open) -> None:
    agent = open_acp(profile(acp=Acp(("no-such-agent", "acp")), missing="Install it."))
    error = await failure(agent, "say x")
    assert (error.kind, error.say) == ("missing", "The double is not installed here. Install it.")


async def test_a_command_leads_to_the_program_beside_it(
    open_acp: Open, launch: Launch, tmp_path: Path
) -> None:
    program = tmp_path / "double-acp"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tests.doubles.acp_agent\n')
    program.chmod(0o700)
    twofold = profile(begin=("double",), acp=Acp(("double-acp",)))
    agent = open_acp(twofold, command=(str(tmp_path / "double"),))
    assert (await agent.ask(ask("say beside"), Replies())).text == "beside"


async def test_close_ends_the_program(open_acp: Open) -> None:
    agent = open_acp(profile())
    await agent.start()
    assert agent.pid
    pid = agent.pid
    await agent.close()
    await until_gone(pid)
    assert not agent.alive()


async def test_it_uses_the_model_that_it_is_told(open_acp: Open, launch: Launch) -> None:
    await open_acp(profile("options"), model="big").start()
    assert [(row["id"], row["value"]) for row in rows(launch, "option")] == [("m", "big")]


async def test_a_model_that_it_does_not_offer_is_its_settings_affair(
    open_acp: Open, launch: Launch
) -> None:
    await open_acp(profile("options"), model="huge").start()
    assert rows(launch, "option") == []


# ── Sessions ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["", "resume", "late"])
async def test_a_session_goes_on_after_a_restart_and_its_history_is_not_said_again(
    open_acp: Open, launch: Launch, mode: str
) -> None:
    first = open_acp(profile(mode))
    await first.ask(ask("say one"), Replies())
    await first.close()
    agent = open_acp(profile(mode), session_id=first.session_id)
    replies = Replies()
    answer = await agent.ask(ask("say two"), replies)
    assert answer.text == "two"
    assert (agent.resumed, agent.session_id) == (True, first.session_id)
    assert len(rows(launch, "resume" if mode == "resume" else "load")) == 1


@pytest.mark.parametrize(
    ("mode", "session_id"),
    [
        *(("", "acp:lost"), ("resume", "acp:lost"), ("resume instead", "acp:lost")),
        *(("new", "acp:lost"), ("", "of-a-terminal")),
    ],
)
async def test_a_session_that_cannot_go_on_begins_anew(
    open_acp: Open, launch: Launch, mode: str, session_id: str
) -> None:
    agent = open_acp(profile(*mode.split()), session_id=session_id)
    assert (await agent.ask(ask("say new"), Replies())).text == "new"
    assert not agent.resumed
    assert agent.session_id not in (None, session_id)
    tried = [row["id"] for row in rows(launch, "load")]
    assert tried == (["lost"] if (mode, session_id) == ("", "acp:lost") else [])


# ── The persona ─────────────────────────────────────────────────────────────────────────


async def test_a_persona_that_no_file_holds_goes_before_the_first_prompt(
    open_acp: Open, launch: Launch
) -> None:
    agent = open_acp(profile(), persona="You are Ash.")
    answer = await agent.ask(ask("persona"), Replies())
    assert answer.text.endswith("You are Ash.")
    await agent.ask(ask("say x"), Replies())
    first, second = (row["texts"] for row in rows(launch, "prompt"))
    assert (first[1], second) == (ask("persona"), [ask("say x")])


async def test_a_persona_that_a_file_holds_is_in_no_prompt(open_acp: Open, launch: Launch) -> None:
    file = HomeFile("AGENTS.md", lambda setting, _: setting.persona)
    await open_acp(profile(files=(file,)), persona="You are Ash.").ask(ask("say x"), Replies())
    assert (launch.home / "AGENTS.md").read_text() == "You are Ash."
    assert rows(launch, "prompt")[0]["texts"] == [ask("say x")]
