"""Programs that take no key at first, or nothing more after a fault; real ones in a terminal."""

import asyncio
import re

import pytest

from adapters.profiles.demo import read_row
from adapters.turn_signs import DialogRule, Footer, Interrupt, Permission, RecordFormat, TurnSigns
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies

DROP = """
def drop(seconds, draw=""):
    # What is typed within this time is lost.
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        out(draw)
        if select.select([0], [], [], 0.05)[0]: os.read(0, 65536)

"""


async def test_a_permission_prompt_that_is_deaf_at_first_gets_one_answer(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        f"""{DROP}
ready()
paste(); enter()
state("working")
out("\\x1b[2J\\x1b[H" + "-" * 40 + "\\r\\nMay I?\\r\\n> 1. Yes\\r\\n  2. No\\r\\n")
drop(0.8)
pressed = key()
out("\\x1b[2J\\x1b[H")
reply(repr(pressed)); state("done")
time.sleep(60)
""",
        permission=Permission(re.compile(r"May I\\?"), deaf_s=1.5),
    )
    replies = Replies([1])
    assert (await open_agent(profile).ask("hello", replies)).text == "b'2'"
    assert len(replies.questions) == 1


async def test_a_prompt_is_not_asked_before_it_tells_what_it_is_about(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        """
def ask(*detail):
    rows = ["-" * 40, *(f"  {row}" for row in (*detail, "May I?", "> 1. Yes", "  2. No"))]
    out("\\x1b[2J\\x1b[H" + "\\r\\n".join(rows))

ready()
paste(); enter()
state("working")
ask("A command")
time.sleep(0.6)
ask("A command", "$ touch me")
pressed = key()
out("\\x1b[2J\\x1b[H")
reply(repr(pressed)); state("done")
time.sleep(60)
""",
        permission=Permission(re.compile(r"May I\?"), half=re.compile("A command")),
    )
    replies = Replies([0])
    assert (await open_agent(profile).ask("hello", replies)).text == "b'1'"
    assert [question.detail for question in replies.questions] == ["A command\n$ touch me"]


async def test_a_question_that_swallows_the_keys_of_a_stop_is_no_end(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        """
ready()
paste(); enter()
out("\\x1b[2J\\x1b[H" + "-" * 40 + "\\r\\nMay I?\\r\\n> 1. Yes\\r\\n  2. No\\r\\n")
key(); time.sleep(1.0); os.read(0, 65536); pending = b""  # slow: all three refuse
out("\\x1b[2J\\x1b[Hesc to stop\\r\\n")
key(); key()
record(type="end", how="interrupted")
out("\\x1b[2J\\x1b[H> ")
text = paste(); enter()
reply(text)
time.sleep(60)
""",
        signs=TurnSigns(
            record=RecordFormat("record.jsonl", read_row, poll_s=0.05, grace_s=0.5),
            footer=Footer(busy=re.compile("esc to stop")),
            fallback_s=0.5,
        ),
        permission=Permission(re.compile(r"May I\?")),
        interrupt=Interrupt(keys=(b"\x1b",) * 3, gap_s=0.05, again_s=0.5, clear=b"\x15"),
    )
    agent, replies = open_agent(profile), Replies()
    asking = asyncio.create_task(agent.ask("hello", replies))
    await replies.asked.wait()
    pid = agent.pid
    await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("are you there?", Replies())).text == "are you there?"
    assert agent.pid == pid


async def test_an_enter_that_the_turn_before_swallowed_is_pressed_again(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        """
ready("")
text = paste(); out("> " + text)
enter(); out("\\x1b[2J\\x1b[Hesc to stop\\r\\n> " + text); time.sleep(0.6)
out("\\x1b[2J\\x1b[HStopped.\\r\\n> " + text)
enter()
out("\\x1b[2J\\x1b[H"); reply(text)
time.sleep(60)
""",
        signs=TurnSigns(
            record=RecordFormat("record.jsonl", read_row, poll_s=0.05, grace_s=0.2),
            footer=Footer(busy=re.compile("esc to stop")),
            fallback_s=0.2,
        ),
        confirm_s=0.5,
    )
    assert (await open_agent(profile).ask("hello", Replies())).text == "hello"


async def test_a_dialog_that_draws_all_the_time_and_is_deaf_at_first_is_answered(
    open_agent: OpenAgent,
) -> None:
    trust = DialogRule(re.compile("Trust it"), keys=b"2", when="start", deaf_s=1.0)
    profile = program(
        f"""{DROP}
out("Trust it?\\r\\n")
drop(1.3, ".")
while not select.select([0], [], [], 0.05)[0]: out(".")
pressed = key()
out("\\x1b[2J\\x1b[H")
ready()
paste(); enter()
reply(repr(pressed))
time.sleep(60)
""",
        dialogs=(trust,),
    )
    assert (await open_agent(profile).ask("hello", Replies())).text == "b'2'"


async def test_a_program_that_remembers_a_refused_key_is_started_anew(
    open_agent: OpenAgent,
) -> None:
    refused = DialogRule(re.compile("key refused"), fault="login", when="turn")
    profile = program(
        """
seen = os.path.join(os.environ["HOME"], "seen")
ready()
paste(); enter()
state("working")
if not os.path.exists(seen):
    open(seen, "w").close()
    out("key refused\\r\\n"); state("error")
    time.sleep(60)
reply("a new one"); state("done")
time.sleep(60)
""",
        dialogs=(refused,),
        ends_at=frozenset({"login"}),
    )
    agent = open_agent(profile)
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "login"
    assert (await agent.ask("again", Replies())).text == "a new one"
