"""A program takes back its last exchange by keys, each of which is seen to be taken."""

from __future__ import annotations

import re

import pytest

from adapters.cli_profile import Profile
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.turn_signs import Undo, UndoStep, typed_undo
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies

REPL = r"""
import sys
said = []
while True:
    text = input("you> ")
    if text == "/undo":
        print("taken back: " + said.pop() if said else "nothing to take back")
    elif text == "/quit":
        sys.exit(3)
    else:
        said.append(text)
        print("bot: " + " and ".join(said))
"""


def profile_of(**settings: str) -> Profile:
    command = [program("").program.begin[0], "-c", REPL]
    known = {
        "title": "Mine",
        "ready": "^you>",
        "ready_last_row": True,
        "reply": "bot: ",
        "echo": "you> (.+)",
    }
    given = {**known, "paste": False, "settle_s": 0, "quiet_s": 0.3, "command": command, **settings}
    return generic_profile("mine", GenericSettings.model_validate(given))


async def test_a_described_program_takes_back_its_last_exchange(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(profile_of(undo="/undo", undone="^taken back: two"))
    for text in ("one", "two"):
        await agent.ask(text, Replies())
    assert await agent.undo() == ""
    assert (await agent.ask("three", Replies())).text == "one and three"


async def test_one_that_does_not_show_it_did_not_do_it(open_agent: OpenAgent) -> None:
    agent = open_agent(profile_of(undo="/quit", undone="^taken back"))
    await agent.ask("one", Replies())
    with pytest.raises(AgentError) as caught:
        await agent.undo()
    assert caught.value.say == (
        "Mine did not take its last answer back; what it changed still stands."
    )
    assert not agent.alive()
    assert (await agent.ask("two", Replies())).text == "two"


async def test_one_that_refuses_is_believed_at_once(open_agent: OpenAgent) -> None:
    undo = Undo(
        typed_undo("/undo", re.compile("^taken back", re.MULTILINE)),
        refuses=re.compile("^nothing to take back", re.MULTILINE),
    )
    agent = open_agent(changed(profile_of(), undo=undo))
    with pytest.raises(AgentError, match="not taken back"):
        await agent.undo()


async def test_keys_are_pressed_until_the_row_is_reached_and_left_out_where_it_is_not_there(
    open_agent: OpenAgent,
) -> None:
    body = r"""
import tty; tty.setraw(0)
at, rows = 3, ["one", "two", "three", "stay"]
ready()
def draw():
    marked = [("* " if n == at else "  ") + row for n, row in enumerate(rows)]
    out("\x1b[H\x1b[2J" + "\r\n".join(marked))
while True:
    pressed = key()
    if pressed == b"u":
        at -= 1
        draw()
    elif pressed == b"\r":
        out("\x1b[H\x1b[2Jback to " + rows[at])
    elif pressed == b"x":
        out("wrong")
"""
    steps = (
        UndoStep(b"u", re.compile(r"^\* two", re.MULTILINE), again=True),
        UndoStep(b"x", re.compile("wrong"), where=re.compile("files")),
        UndoStep(b"\r", re.compile("back to two")),
    )
    undo = Undo(steps, takes_files="its files")
    agent = open_agent(changed(program(body), undo=undo))
    await agent.start()
    assert await agent.undo() == "its files"


async def test_a_program_without_any_means_says_what_else_helps(open_agent: OpenAgent) -> None:
    agent = open_agent(profile_of())
    with pytest.raises(AgentError) as caught:
        await agent.undo()
    assert caught.value.say == (
        "Mine can't take back an answer. Ask for what it changed to be undone, or say `!new`."
    )
    assert not agent.alive(), "it is not even started for that"
