"""A conversation that has become too long for its model: the session is usable again by itself."""

import asyncio
import re
from dataclasses import replace

import pytest

from adapters.agent import Launch
from adapters.cli_profile import Profile
from adapters.profiles.demo import read_row
from adapters.turn_events import ReplyFailed
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import PRELUDE, changed, program
from tests.doubles.replies import Replies

# Full after two prompts; knows /compact, and tells how it was typed.
FULL = """
size = 0
ready("")
while True:
    first = key()
    if first == b"\\x1b":
        pending = first + pending
        text = paste(); enter()
        state("working")
        size += 1
        with open(os.path.join(os.environ["HOME"], "typed"), "a") as file: file.write(text + "\\n")
        if size > 2: record(type="end", how="error", message="prompt is too long")
        else: record(type="reply", text=f"{text} ({size})"); record(type="end", how="done")
        state("done")
    elif first == b"/":
        line = first
        while not line.endswith(b"\\r"): line += key()
        state("working")
        time.sleep(0.2)
        HOW
"""
GOOD = "size = 0; state('done')"


def read(row: dict[str, object]) -> list[object]:
    events: list[object] = []
    for event in read_row(row):
        if isinstance(event, ReplyFailed):
            events.append(ReplyFailed("context", event.message, event.say))
        else:
            events.append(event)
    return events


def full(how: str, **changes: object) -> Profile:
    profile = program(FULL.replace("HOW", how), **changes)
    record = profile.signs.record
    assert record
    signs = replace(profile.signs, record=replace(record, read=read))  # type: ignore[arg-type]
    return replace(profile, signs=signs)


async def fill(agent: object, asked: int = 3) -> AgentError:
    for n in range(1, asked):
        await agent.ask(f"prompt {n}", Replies())  # type: ignore[attr-defined]
    with pytest.raises(AgentError) as caught:
        await agent.ask(f"prompt {asked}", Replies())  # type: ignore[attr-defined]
    assert caught.value.kind == "context"
    return caught.value


async def test_its_own_command_compacts_it_and_the_line_says_so(open_agent: OpenAgent) -> None:
    agent = open_agent(full(GOOD, compact="/compact"))
    error = await fill(agent)
    assert error.say == (
        "The conversation with The double is too long for its model now. "
        "I had it compacted: ask again."
    )
    assert agent.alive()
    assert (await agent.ask("again", Replies())).text == "again (1)"


async def test_without_such_a_command_the_next_turn_begins_a_new_session(
    open_agent: OpenAgent, launch: Launch
) -> None:
    profile = full(GOOD, resume=("never",), chooses_id=True)
    agent = open_agent(profile)
    error = await fill(agent)
    assert "Its next turn begins a new one" in error.say
    assert agent.session_id is None
    assert not agent.alive()
    assert (await agent.ask("again", Replies())).text == "again (1)"
    assert not agent.resumed
    typed = (launch.home / "typed").read_text().split("\n")
    assert "" not in typed[:-1]


@pytest.mark.parametrize(
    "how",
    [
        "record(type='end', how='error', message='prompt is too long'); state('error')",
        "sys.exit(1)",
    ],
)
async def test_where_compacting_fails_the_next_turn_begins_a_new_session(
    open_agent: OpenAgent, how: str
) -> None:
    agent = open_agent(full(how, compact="/compact"))
    error = await fill(agent)
    assert "Its next turn begins a new one" in error.say
    assert (await agent.ask("again", Replies())).text == "again (1)"


async def test_stop_ends_a_compaction_that_takes_long(open_agent: OpenAgent) -> None:
    agent = open_agent(
        full("record(type='tool', tool='c', detail=''); time.sleep(60)", compact="/compact")
    )
    for n in (1, 2):
        await agent.ask(f"prompt {n}", Replies())
    asking = asyncio.create_task(agent.ask("prompt 3", Replies()))
    await asyncio.sleep(1.0)
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "stopped"
    assert (await agent.ask("again", Replies())).text == "again (1)"


async def test_somebody_may_ask_for_it_before_it_is_full(open_agent: OpenAgent) -> None:
    agent = open_agent(full(GOOD, compact="/compact"))
    await agent.ask("prompt", Replies())
    await agent.compact()
    assert (await agent.ask("again", Replies())).text == "again (1)"


async def test_a_command_of_which_nothing_shows_is_taken_for_done(open_agent: OpenAgent) -> None:
    silent = FULL.replace(
        '        state("working")\n        time.sleep(0.2)\n        HOW', "        size = 0"
    )
    profile = full(GOOD, compact="/compact")
    agent = open_agent(changed(profile, begin=(*profile.program.begin[:-1], PRELUDE + silent)))
    await agent.ask("prompt", Replies())
    async with asyncio.timeout(20):
        await agent.compact()
    assert (await agent.ask("again", Replies())).text == "again (1)"


async def test_a_command_that_only_the_screen_tells_of_is_waited_for(
    open_agent: OpenAgent, launch: Launch
) -> None:
    shows = """
        print("Compacting", end="", flush=True)
        time.sleep(6)  # longer than a command of which nothing shows
        open(os.path.join(os.environ["HOME"], "compacted"), "w").close()
        print("\\r\\x1b[K", end="", flush=True)"""
    alone = FULL.replace('        state("working")\n        time.sleep(0.2)\n        HOW', shows)
    profile = full(GOOD, compact="/compact", compacting=re.compile("Compacting"))
    agent = open_agent(changed(profile, begin=(*profile.program.begin[:-1], PRELUDE + alone)))
    await agent.ask("prompt", Replies())
    async with asyncio.timeout(30):
        await agent.compact()
    assert (launch.home / "compacted").exists()


async def test_a_program_without_the_command_says_so(open_agent: OpenAgent) -> None:
    with pytest.raises(AgentError) as caught:
        await open_agent(full(GOOD)).compact()
    assert caught.value.say == (
        "The double has no command for that. Say `!new` to begin a new conversation."
    )


async def test_one_that_would_tell_of_it_and_does_not_has_compacted_nothing(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(full(GOOD, compact="/compact", tells_compacted=True))
    await agent.ask("prompt", Replies())
    with pytest.raises(AgentError) as caught:
        await agent.compact()
    assert caught.value.say == "The double found nothing to compact."
    assert agent.alive()
