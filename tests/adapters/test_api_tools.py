"""The tools by which an agent that is called by API looks into its memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from adapters.agent import ToolReply
from adapters.api.session import ROUNDS
from contract.agent import ToolUse as Used
from tests.doubles.api_stage import ApiStage
from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse
from tests.doubles.replies import Replies

SEARCH = "mcp__moot__search"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ApiStage]:
    async with ApiStage.open(tmp_path) as opened:
        yield opened


class Shelf:
    """One tool, `search`; it fails when it is asked for a failure, and breaks when asked to end."""

    def offered(self) -> Sequence[Mapping[str, Any]]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return [{"name": "search", "description": "Looks.", "input_schema": schema}]

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        assert name == "search"
        if given["text"] == "end":
            raise OSError("the disk is gone")
        return ToolReply(f"found {given['text']}", failed=given["text"] == "failure")


async def test_it_uses_its_tools_and_says_what_it_used(stage: ApiStage) -> None:
    agent = await stage.agent(tools=Shelf())
    thought = Message((Thinking("Where?"), Text("I look."), ToolUse(SEARCH, {"text": "a"})))
    stage.api.queue(thought, ToolUse(SEARCH, {"text": "failure"}), "There it is.")
    reply = Replies()
    answer = await agent.ask("where?", reply)
    assert answer.text == "There it is."
    assert answer.tools == ('search {"text": "a"}', 'search {"text": "failure"}')
    assert answer.uses == (
        Used(SEARCH, '{"text": "a"}', "found a"),
        Used(SEARCH, '{"text": "failure"}', "found failure", failed=True),
    )
    assert reply.drafts[0] == "I look."
    assert [work.chat_lines for work in reply.works] == [
        ["… moot search a"],
        ["✓ moot search a"],
        ["✓ moot search a", "… moot search failure"],
        ["✓ moot search a", "✗ moot search failure"],
    ]
    _, thinking, first, _, second = stage.body["messages"]
    assert thinking["content"][0]["signature"] == "c2lnbmVk"
    assert first["content"][0]["content"] == [{"type": "text", "text": "found a"}]
    assert second["content"][0]["is_error"] is True

    await agent.ask("and now?", Replies())
    assert stage.said() == [
        ("user", ["where?"]),
        ("assistant", ["There it is."]),
        ("user", ["and now?"]),
    ]
    assert psutil.Process().children(recursive=True) == []


async def test_several_tools_at_once_are_answered_in_one_message(stage: ApiStage) -> None:
    agent = await stage.agent(tools=Shelf())
    both = Message((ToolUse(SEARCH, {"text": "a"}), ToolUse(SEARCH, {"text": "b"})))
    stage.api.queue(both, "Both.")
    assert (await agent.ask("where?", Replies())).text == "Both."
    results = stage.body["messages"][-1]["content"]
    assert [result["content"][0]["text"] for result in results] == ["found a", "found b"]


async def test_a_tool_that_is_none_is_told_to_the_model(stage: ApiStage) -> None:
    agent = await stage.agent(tools=Shelf())
    stage.api.queue(ToolUse("bash", {"command": "ls"}), "I can't.")
    answer = await agent.ask("list", Replies())
    assert (answer.text, answer.uses[0].failed) == ("I can't.", True)
    without = await stage.agent("other")
    stage.api.queue(ToolUse("bash", {"command": "ls"}), "I can't.")
    assert (await without.ask("list", Replies())).uses[0].failed


async def test_a_model_that_only_uses_tools_has_to_answer_in_the_end(stage: ApiStage) -> None:
    agent = await stage.agent(tools=Shelf())
    stage.api.queue(*[ToolUse(SEARCH, {"text": "a"})] * (ROUNDS - 1), "Enough.")
    assert (await agent.ask("where?", Replies())).text == "Enough."
    assert len(stage.bodies) == ROUNDS
    assert stage.body["tool_choice"] == {"type": "none"}
    assert all("tool_choice" not in body for body in stage.bodies[:-1])


async def test_what_is_too_long_after_a_tool_is_asked_anew_and_counts_once(
    stage: ApiStage,
) -> None:
    agent = await stage.agent(tools=Shelf())
    await agent.ask("before", Replies())
    use = Message((Text("I look."), ToolUse(SEARCH, {"text": "a"})))
    stage.api.queue(use, Fault.too_long(), use, "Found.")
    answer = await agent.ask("where?", Replies())
    assert (answer.text, len(answer.uses), answer.compacted) == ("Found.", 1, True)


async def test_without_its_memory_it_still_answers(stage: ApiStage) -> None:
    agent = await stage.agent()
    assert (await agent.ask("hello?", Replies())).text == "ok"
    assert "tools" not in stage.body


async def test_a_memory_that_breaks_is_a_tool_that_failed(stage: ApiStage) -> None:
    agent = await stage.agent(tools=Shelf())
    stage.api.queue(ToolUse(SEARCH, {"text": "end"}), "It is gone.")
    answer = await agent.ask("where?", Replies())
    assert (answer.text, answer.uses[0].failed) == ("It is gone.", True)
    assert answer.uses[0].result == "The memory does not answer."
