"""How much an agent that is called by API thinks, in the forms that the model takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.agent import TurnContext
from adapters.api.settings import ApiSettings, Effort, Thinking, ThinkingForm, forms
from contract.errors import AgentError
from tests.doubles.api_stage import ApiStage
from tests.doubles.model_steps import Fault
from tests.doubles.replies import Replies

SMALL = TurnContext(small_talk=True)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ApiStage]:
    async with ApiStage.open(tmp_path) as opened:
        yield opened


def told(body: dict[str, Any]) -> dict[str, Any]:
    """What a request says of thinking."""
    return {key: body[key] for key in ("thinking", "output_config") if key in body}


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, {}),
        ({"effort": "low"}, {"output_config": {"effort": "low"}}),
        ({"thinking": "adaptive"}, {"thinking": {"type": "adaptive"}}),
        ({"thinking": "off"}, {"thinking": {"type": "disabled"}}),
        ({"thinking": 2048}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (
            {"thinking": "off", "effort": "max"},
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
        ),
        (
            {"thinking": "adaptive", "effort": "xhigh"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        ),
    ],
)
async def test_the_settings_say_how_much_it_thinks(
    stage: ApiStage, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    agent = await stage.agent(**settings)
    await agent.ask("why?", Replies())
    assert told(stage.body) == sent


async def test_small_talk_needs_no_thinking_and_the_next_question_does(stage: ApiStage) -> None:
    agent = await stage.agent(thinking="adaptive")
    await agent.ask("thanks!", Replies(occasion=SMALL))
    assert told(stage.body) == {"thinking": {"type": "disabled"}}
    await agent.ask("why?", Replies())
    assert told(stage.body) == {"thinking": {"type": "adaptive"}}


async def test_what_the_model_refuses_is_asked_for_in_another_form_and_learned(
    stage: ApiStage,
) -> None:
    agent = await stage.agent(thinking="off")
    refused = Fault(400, "invalid_request_error", '"thinking.type.disabled" is not supported')
    stage.api.queue(refused, "Quick.")
    assert (await agent.ask("one", Replies())).text == "Quick."
    assert told(stage.body) == {"thinking": {"type": "between_tools"}}
    before = len(stage.bodies)
    await agent.ask("two", Replies())
    assert len(stage.bodies) == before + 1
    assert told(stage.body) == {"thinking": {"type": "between_tools"}}
    assert [role for role, _ in stage.said()] == ["user", "assistant", "user"]


async def test_a_model_that_always_thinks_is_asked_to_do_it_with_little_effort(
    stage: ApiStage,
) -> None:
    agent = await stage.agent()
    refused = Fault(400, "invalid_request_error", "not supported for this model")
    stage.api.queue(refused, refused, "You are welcome.")
    assert (await agent.ask("thanks", Replies(occasion=SMALL))).text == "You are welcome."
    assert told(stage.body) == {"output_config": {"effort": "low"}}


async def test_a_request_that_is_refused_in_every_form_is_told_once(stage: ApiStage) -> None:
    agent = await stage.agent(thinking=4096, effort="high")
    stage.api.queue(*[Fault.invalid()] * len(forms(4096, "high")))
    with pytest.raises(AgentError, match="HTTP 400"):
        await agent.ask("one", Replies())
    assert (await agent.ask("two", Replies())).text == "ok"
    assert told(stage.body)["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert stage.said() == [("user", ["two"])]


@pytest.mark.parametrize("thinking", ["off", "adaptive", 1024, None])
@pytest.mark.parametrize("effort", ["low", "max", None])
def test_the_last_form_is_one_that_every_model_takes(
    thinking: Thinking, effort: Effort | None
) -> None:
    every = forms(thinking, effort)
    assert every[-1] == ThinkingForm()
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"thinking": "on"}, "at least 1024"),
        ({"thinking": 1000}, "at least 1024"),
        ({"thinking": True}, "at least 1024"),
        ({"thinking": 5000, "max_tokens": 4000}, "max_tokens"),
        ({"effort": "much"}, "'low', 'medium'"),
        ({"max_token": 5}, "Extra inputs"),
    ],
)
def test_settings_that_can_not_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ApiSettings.model_validate(settings)
