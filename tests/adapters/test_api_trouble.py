"""What a program shows of its model's API: 429, no network, no login; and the next turn works."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from adapters.cli_profile import Profile
from adapters.screen_profile import AsideRows
from adapters.turn_signs import DialogRule
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies

# Shows what it is asked to show as an error of its API; "fine" is answered.
SHOWS = """
ready()
while True:
    text = paste(); out(text); enter()
    state("working")
    if text == "fine": out("\\r\\n\\r\\n* fine\\r\\n\\r\\n> "); state("done")
    else: out("\\r\\n\\r\\n! " + text + "\\r\\n\\r\\n> "); state("error")
"""


def shows(**changes: object) -> Profile:
    profile = program(SHOWS, **changes)
    look = profile.shown.look
    assert look
    look = replace(look, asides=AsideRows(fault=re.compile(r"! (.+)")))
    return changed(profile, record=None, look=look)


@pytest.mark.parametrize(
    ("shown", "kind", "do"),
    [
        ("429 Too Many Requests", "limit", "Ask again in a few minutes."),
        ("connect ECONNREFUSED 127.0.0.1:9", "api", "ask again in a moment."),
        ("401 Unauthorized", "login", "log it in again"),
        ("It broke", "api", "if that fails too, say `!new`."),
    ],
)
async def test_an_error_on_its_screen_is_one_line_and_the_next_turn_works(
    open_agent: OpenAgent, shown: str, kind: str, do: str
) -> None:
    agent = open_agent(shows())
    with pytest.raises(AgentError) as caught:
        await agent.ask(shown, Replies())
    assert caught.value.kind == kind
    assert caught.value.say.startswith(f"The double reports an error: {shown}. ")
    assert do in caught.value.say
    assert "\n" not in caught.value.say
    assert (await agent.ask("fine", Replies())).text == "fine"


async def test_a_full_context_on_its_screen_begins_a_new_session(open_agent: OpenAgent) -> None:
    agent = open_agent(shows())
    with pytest.raises(AgentError) as caught:
        await agent.ask("prompt is too long: 214000 tokens", Replies())
    assert caught.value.kind == "context"
    assert "begins a new one" in caught.value.say
    assert (await agent.ask("fine", Replies())).text == "fine"


async def test_a_dialog_in_place_of_a_turn_is_told_without_waiting_for_its_deadline(
    open_agent: OpenAgent,
) -> None:
    """Nothing begins after Enter: its login ran out while it idled."""
    body = """
ready()
paste(); enter()
out("\\x1b[2J\\x1b[HYour login ran out.\\r\\n")
time.sleep(60)
"""
    login = DialogRule(re.compile("Your login ran out"), fault="login", when="turn")
    agent = open_agent(program(body, dialogs=(login,), login="Run `double login`."))
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "login"
    assert caught.value.say == "The double is not logged in. Run `double login`."
