"""The driver and the demo agent, in a real terminal."""

import asyncio
import json
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.cli.keyboard import clean
from adapters.profiles.demo import DEMO
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.processes import until_gone
from tests.doubles.replies import Replies

HEADER = """\
[SESSION CONTEXT]
Room: #auth-team (project: saga-ai)
Participants: Andi (backend lead), Budi (frontend)
You are: @demo (demo agent)
Time: 2026-04-21 14:02 Asia/Jakarta

[RAW TRANSCRIPT — most recent 40 messages]
[14:02 | Andi] @demo {question}
[14:02 | Budi] I'd suggest 30 minutes

[CURRENT INVOCATION]
Respond to Andi and Budi in room #auth-team.
"""


def ask(question: str) -> str:
    return HEADER.format(question=question)


def rows(launch: Launch, kind: str) -> list[dict[str, object]]:
    """What the demo agent put on record."""
    files = sorted((launch.home / ".moot-demo").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [row for row in lines if row["type"] == kind]


async def test_the_answer_is_the_records_text_and_says_how_it_ended(open_agent: OpenAgent) -> None:
    answer = await open_agent(DEMO).ask(ask("echo **bold** and `code`"), Replies())
    assert answer.text == "**bold** and `code`"
    assert (answer.source, answer.ended_by) == ("record", "record")


@pytest.mark.parametrize("word", ["help", "code", "table", "unicode", "long", "header"])
async def test_every_answer_arrives_exactly_as_it_was_recorded(
    open_agent: OpenAgent, launch: Launch, word: str
) -> None:
    answer = await open_agent(DEMO).ask(ask(word), Replies())
    assert answer.text == rows(launch, "reply")[0]["text"]


async def test_a_prompt_of_sixty_kilobytes_arrives_byte_for_byte(
    open_agent: OpenAgent, launch: Launch
) -> None:
    filler = "\n".join(
        f"[13:{n % 60:02} | Budi] línea {n} — 日本語 👩‍👩‍👧‍👦 \t tab" for n in range(1200)
    )
    prompt = ask("echo done").replace("[14:02 | Andi]", f"{filler}\n[14:02 | Andi]")
    assert len(prompt.encode()) > 60_000
    agent = open_agent(DEMO)
    for _ in range(2):
        assert (await agent.ask(prompt, Replies())).text == "done"
    typed = rows(launch, "prompt")
    assert [row["text"] for row in typed] == [prompt, prompt]
    assert typed[0]["bytes"] == len(prompt.encode())


HOSTILE = (
    "echo a\x1b[201~\r!rm -rf /\r\x03\x04\x15\x1b\x1b[A\x1b]0;title\x07\x9b201~\x7f\x08\r\n\\"
    "\x1bO\x1b[200~b\x00c\\"
)


async def test_a_hostile_prompt_presses_no_key(open_agent: OpenAgent, launch: Launch) -> None:
    agent = open_agent(DEMO)
    await agent.ask(HOSTILE, Replies())
    await agent.ask("echo still there", Replies())
    typed = rows(launch, "prompt")
    assert [row["text"] for row in typed] == [clean(HOSTILE, DEMO.typing), "echo still there"]


async def test_people_see_what_it_says_while_it_works(open_agent: OpenAgent) -> None:
    replies = Replies()
    answer = await open_agent(DEMO, pace="0.4").ask(ask("slow"), replies)
    assert replies.drafts
    assert replies.drafts[0].startswith("I take")
    assert len(replies.drafts[0]) < len(answer.text)
    assert all("esc to interrupt" not in draft and "─" not in draft for draft in replies.drafts)
    assert answer.tools == ("Wait: five seconds",)


async def test_stop_ends_the_turn_and_the_session_goes_on(
    open_agent: OpenAgent, launch: Launch
) -> None:
    agent = open_agent(DEMO, pace="10")
    replies = Replies()
    asking = asyncio.create_task(agent.ask(ask("slow"), replies))
    async with asyncio.timeout(20):
        await replies.drafted.wait()
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "stopped"
    assert caught.value.partial.startswith("I take")
    assert (await agent.ask(ask("echo on we go"), Replies())).text == "on we go"
    assert [row["how"] for row in rows(launch, "end")] == ["interrupted", "done"]


async def test_stop_works_while_the_program_starts(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    asking = asyncio.create_task(agent.ask(ask("help"), Replies()))
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask(ask("echo hello"), Replies())).text == "hello"


async def test_stop_without_a_turn_does_nothing(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    await agent.interrupt()
    assert (await agent.ask(ask("echo hello"), Replies())).text == "hello"
    await agent.interrupt()
    assert (await agent.ask(ask("echo again"), Replies())).text == "again"


async def test_cancelling_an_ask_interrupts_the_program(
    open_agent: OpenAgent, launch: Launch
) -> None:
    agent = open_agent(DEMO, pace="10")
    replies = Replies()
    asking = asyncio.create_task(agent.ask(ask("slow"), replies))
    async with asyncio.timeout(20):
        await replies.drafted.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await agent.ask(ask("echo on"), Replies())).text == "on"
    assert [row["how"] for row in rows(launch, "end")] == ["interrupted", "done"]


async def test_a_permission_is_asked_with_its_real_choices_and_a_yes_is_a_yes(
    open_agent: OpenAgent,
) -> None:
    replies = Replies([0])
    answer = await open_agent(DEMO).ask(ask("permission"), replies)
    assert "You allowed it." in answer.text
    assert answer.tools == ("Bash: date -u",)
    (question,) = replies.questions
    assert question.id
    assert "Run this command?" in f"{question.title} {question.detail}"
    assert "date -u" in question.detail
    assert [(option.label, option.refuses) for option in question.options] == [
        ("Yes", False),
        ("Yes, and don't ask again in this session", False),
        ("No, and say what to do instead", True),
    ]


async def test_a_no_is_a_no(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    answer = await agent.ask(ask("permission"), Replies([2]))
    assert "You said no" in answer.text
    assert answer.tools == ()


async def test_what_was_allowed_for_good_is_not_asked_again(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    await agent.ask(ask("permission"), Replies([1]))
    replies = Replies()
    assert "need not ask again" in (await agent.ask(ask("permission"), replies)).text
    assert replies.questions == []


async def test_a_question_is_withdrawn_when_the_turn_is_stopped(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    replies = Replies()
    asking = asyncio.create_task(agent.ask(ask("permission"), replies))
    async with asyncio.timeout(20):
        await replies.asked.wait()
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert replies.withdrawn == 1
    assert (await agent.ask(ask("echo on"), Replies())).text == "on"


async def test_a_crash_is_told_and_the_session_is_resumed(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    await agent.ask(ask("echo remember me"), Replies())
    first = agent.session_id
    with pytest.raises(AgentError) as caught:
        await agent.ask(ask("crash"), Replies())
    assert caught.value.kind == "crash"
    assert "code 3" in caught.value.say
    assert not agent.alive()
    answer = await agent.ask(ask("history"), Replies())
    assert "1. echo remember me" in answer.text
    assert (agent.session_id, agent.resumed) == (first, True)


async def test_an_error_of_its_api_is_told(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    with pytest.raises(AgentError) as caught:
        await agent.ask(ask("error"), Replies())
    assert caught.value.kind == "api"
    assert "529" in caught.value.say
    assert (await agent.ask(ask("echo on"), Replies())).text == "on"


async def test_a_closed_session_is_resumed_by_another_agent(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO)
    await agent.ask(ask("echo remember me"), Replies())
    assert not agent.resumed
    await agent.close()
    assert not agent.alive()
    later = open_agent(DEMO, session_id=agent.session_id)
    assert "remember me" in (await later.ask(ask("history"), Replies())).text
    assert later.resumed


async def test_a_session_that_is_gone_begins_anew(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO, session_id="00000000-0000-4000-8000-000000000000")
    assert (await agent.ask(ask("echo hello"), Replies())).text == "hello"
    assert not agent.resumed
    assert agent.session_id != "00000000-0000-4000-8000-000000000000"


async def test_a_program_that_is_not_installed_is_named_with_the_remedy(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(DEMO, command=("no-such-program",))
    with pytest.raises(AgentError) as caught:
        await agent.ask(ask("help"), Replies())
    assert caught.value.kind == "missing"
    assert "not installed" in caught.value.say
    assert str(DEMO.setup.remedy) in caught.value.say


async def test_the_picture_shows_the_terminal(open_agent: OpenAgent) -> None:
    agent = open_agent(DEMO, cols=60, rows=20)
    assert agent.picture() == []
    await agent.ask(ask("echo see me"), Replies())
    picture = agent.picture()
    assert len(picture) == 20
    text = "\n".join("".join(run for run, _ in row) for row in picture)
    assert "see me" in text


async def test_close_ends_the_program_and_may_be_repeated(
    open_agent: OpenAgent, launch: Launch
) -> None:
    agent = open_agent(DEMO)
    await agent.start()
    assert agent.alive()
    pid = agent.pid
    assert pid
    await agent.close()
    await agent.close()
    await until_gone(pid)


async def test_the_persona_and_the_files_lie_in_its_home_alone(
    open_agent: OpenAgent, launch: Launch, tmp_path: Path
) -> None:
    answer = await open_agent(DEMO, persona="You are terse.").ask(ask("hello?"), Replies())
    assert "| Persona | 14 characters |" in answer.text
    persona = launch.home / ".moot-demo" / "persona.md"
    assert persona.read_text() == "You are terse."
    assert persona.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"home", "work"}


async def test_many_sessions_answer_at_once_each_its_own(
    open_agent: OpenAgent, launch: Launch
) -> None:
    agents = [open_agent(DEMO, home=launch.home / str(n)) for n in range(8)]
    answers = await asyncio.gather(
        *(agent.ask(ask(f"echo number {n}"), Replies()) for n, agent in enumerate(agents))
    )
    assert [answer.text for answer in answers] == [f"number {n}" for n in range(8)]
