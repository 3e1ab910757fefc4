"""The real Claude Code in a terminal, against a double of its API: tools and stopping."""

import asyncio
import json

import pytest

from adapters.cli.session import CliAgent
from contract.errors import AgentError
from tests.doubles.claude_stage import HEADER, Stage, asked, held, works_again
from tests.doubles.model_steps import Message, Text, ToolUse
from tests.doubles.replies import Replies

pytestmark = pytest.mark.asyncio(loop_scope="module")

# ── Tools and questions ─────────────────────────────────────────────────────────────────


async def test_an_allowed_tool_runs(stage: Stage, claude: CliAgent) -> None:
    command = {"command": "touch allowed && echo made", "description": "Make a file"}
    stage.api.queue(Message((Text("I make it."), ToolUse("Bash", command))), "**Made** it.")
    reply = Replies([0])
    answer = await claude.ask(f"{HEADER}make it", reply)
    assert (stage.work() / "allowed").exists()
    assert answer.text == "**Made** it."
    assert answer.tools == ("Bash: touch allowed && echo made",)
    (use,) = answer.uses
    assert (use.tool, use.result, use.failed) == ("Bash", "made", False)
    assert json.loads(use.given)["command"] == "touch allowed && echo made"
    (question,) = reply.questions
    assert "touch allowed && echo made" in question.detail
    assert [option.refuses for option in question.options] == [False, False, True]


async def test_a_refused_tool_does_not_run_and_the_turn_goes_on(
    stage: Stage, claude: CliAgent
) -> None:
    stage.api.queue(ToolUse("Bash", {"command": "touch refused"}), "Then not.")
    assert (await asked(claude, f"{HEADER}make it", 2)).text == "Then not."
    assert not (stage.work() / "refused").exists()
    assert "refused this" in json.dumps(stage.api.turns[-1].body["messages"][-1])


async def test_two_tools_of_a_turn_are_asked_one_after_the_other(
    stage: Stage, claude: CliAgent
) -> None:
    tools = [ToolUse("Bash", {"command": f"touch {name}"}) for name in ("first", "second")]
    stage.api.queue(Message((Text("Two."), *tools)), "One of them.")
    reply = Replies([0, 2])
    answer = await claude.ask(f"{HEADER}make two", reply)
    assert answer.text == "One of them."
    assert [(stage.work() / name).exists() for name in ("first", "second")] == [True, False]
    assert [use.failed for use in answer.uses] == [False, True]
    assert len(reply.questions) == 2


async def test_a_question_that_waits_is_asked_once(stage: Stage, claude: CliAgent) -> None:
    stage.api.queue(ToolUse("Write", {"file_path": "late.txt", "content": "x"}), "Late.")
    reply = Replies()
    asking = asyncio.create_task(claude.ask(f"{HEADER}write", reply))
    await asyncio.wait_for(reply.asked.wait(), 10)
    await asyncio.sleep(3.5)  # the dialog stands on the screen meanwhile
    assert len(reply.questions) == 1
    assert not asking.done()
    await claude.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert reply.withdrawn == 1
    assert not (stage.work() / "late.txt").exists()


async def test_a_lasting_permission_lasts(stage: Stage, claude: CliAgent) -> None:
    for name in ("one.txt", "two.txt"):
        arguments = {"file_path": str(stage.work() / name), "content": name}
        stage.api.when(name, ToolUse("Write", arguments), "Written.")
    first, second = Replies([1]), Replies()
    await claude.ask(f"{HEADER}write one.txt", first)
    await claude.ask(f"{HEADER}write two.txt", second)
    assert "all edits in this session" in first.questions[0].options[1].label
    assert second.questions == []
    assert (stage.work() / "two.txt").read_text() == "two.txt"


async def test_its_own_questions_get_the_room_s_answers(stage: Stage, claude: CliAgent) -> None:
    def question(text: str, *labels: str) -> dict[str, object]:
        options = [{"label": label, "description": f"it is {label}"} for label in labels]
        return {"question": text, "header": "Choice", "multiSelect": False, "options": options}

    questions = [question("Which colour?", "Red", "Blue"), question("Which size?", "S", "L")]
    stage.api.queue(ToolUse("AskUserQuestion", {"questions": questions}), "Blue and S.")
    reply = Replies([1, 0])
    assert (await claude.ask(f"{HEADER}ask us", reply)).text == "Blue and S."
    assert [asked.title for asked in reply.questions] == ["Which colour?", "Which size?"]
    result = json.dumps(stage.api.turns[-1].body["messages"][-1])
    assert "Blue" in result
    assert "Red" not in result


async def test_a_question_may_be_left_for_the_chat(stage: Stage, claude: CliAgent) -> None:
    options = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    ask = {"question": "Which?", "header": "X", "multiSelect": False, "options": options}
    stage.api.queue(ToolUse("AskUserQuestion", {"questions": [ask]}), "Which one do you want?")
    assert (await asked(claude, f"{HEADER}ask us", 2)).text == "Which one do you want?"


async def test_a_subagent_s_tools_are_asked_for_and_its_words_are_not_the_reply(
    stage: Stage, claude: CliAgent
) -> None:
    stage.api.when("look for me", ToolUse("Bash", {"command": "touch helped"}), "its own words")
    task = {"description": "look", "prompt": "look for me", "subagent_type": "general-purpose"}
    stage.api.when("send a subagent", ToolUse("Agent", task), "It has looked.")
    answer = await asked(claude, f"{HEADER}send a subagent", 0)
    assert answer.text == "It has looked."
    assert (stage.work() / "helped").exists()


# ── Stopping ────────────────────────────────────────────────────────────────────────────


async def stopped(stage: Stage, claude: CliAgent, reply: Message) -> AgentError:
    stage.api.hold()
    stage.api.queue(reply)
    asking = asyncio.create_task(asked(claude, f"{HEADER}slowly"))
    await held(stage, asking)
    await asyncio.sleep(0.3)
    async with asyncio.timeout(10.0):
        await claude.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    stage.api.release.set()
    return caught.value


async def test_an_interrupt_keeps_what_was_said(stage: Stage, claude: CliAgent) -> None:
    text = "The first line.\n\nThe second line.\n\nThe third line that"
    error = await stopped(stage, claude, Message((Text(f"{text} nobody saw"),), delta=4, hold=13))
    assert error.kind == "stopped"
    assert error.partial.startswith("The first line.")
    assert text.startswith(error.partial)
    assert await works_again(stage, claude)


async def test_an_interrupt_before_the_first_word_leaves_nothing_in_the_box(
    stage: Stage, claude: CliAgent
) -> None:
    error = await stopped(stage, claude, Message((Text("never"),), hold=0))
    assert (error.kind, error.partial) == ("stopped", "")
    assert await works_again(stage, claude)


async def test_a_cancelled_ask_leaves_the_session_usable(stage: Stage, claude: CliAgent) -> None:
    stage.api.hold()
    stage.api.queue(Message((Text("never"),), hold=0))
    asking = asyncio.create_task(asked(claude, f"{HEADER}slowly"))
    await held(stage, asking)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    stage.api.release.set()
    assert await works_again(stage, claude)
