"""Record and screen of one program, where one of them says something else or nothing."""

import asyncio
import logging

import pytest

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies

# Draws what `shown` holds, as a program with a box does.
DRAW = r"""
def draw(text, shown):
    rows = "\r\n".join(("* " if not n else "  ") + row for n, row in enumerate(shown.split("\n")))
    out("\r\x1b[J> " + text + "\r\n\r\n" + rows + "\r\n\r\n> ")

def turn(recorded, shown, *rows):
    ready()
    while True:
        text = paste(); enter()
        state("working")
        draw(text, shown)
        for row in rows: record(**row)
        if recorded is not None: record(type="reply", text=recorded)
        record(type="end", how="done")
        state("done")
"""


async def told(launch: Launch, body: str, caplog: pytest.LogCaptureFixture) -> tuple[str, str]:
    """The answer's text once the screen was compared with it, and what was logged."""
    disagreed = asyncio.Event()
    agent = CliAgent(program(DRAW + body), launch, None, disagreed.set)
    try:
        answer = await agent.ask("hello there", Replies())
        async with asyncio.timeout(10):
            await disagreed.wait()
    finally:
        await agent.close()
    return answer.text, caplog.text


async def test_a_screen_that_says_something_else_is_logged_and_the_record_counts(
    launch: Launch, caplog: pytest.LogCaptureFixture
) -> None:
    body = 'turn("The gateway keeps one secret.", "The gateway keeps two secrets.")'
    text, log = await told(launch, body, caplog)
    assert text == "The gateway keeps one secret."
    assert "words=5 lost=2 added=2" in log
    assert "secret" not in log


async def test_a_screen_that_agrees_is_not_logged(
    open_agent: OpenAgent, caplog: pytest.LogCaptureFixture
) -> None:
    agent = open_agent(program(DRAW + 'turn("It **is** so.\\n\\n1. one", "It is so.\\n\\none")'))
    answer = await agent.ask("hello there", Replies())
    assert (answer.text, answer.source) == ("It **is** so.\n\n1. one", "record")
    compared = [task for task in asyncio.all_tasks() if task.get_name().startswith("compare-")]
    async with asyncio.timeout(10):
        await asyncio.gather(*compared)
    assert len(compared) == 1
    assert not [row for row in caplog.records if row.levelno >= logging.WARNING]


async def test_the_next_prompt_does_not_wait_for_the_comparison(open_agent: OpenAgent) -> None:
    agent = open_agent(program(DRAW + 'turn("One.", "Another.")'))
    await agent.ask("hello", Replies())
    (first,) = [task for task in asyncio.all_tasks() if task.get_name().startswith("compare-")]
    await agent.ask("again", Replies())
    assert first.cancelled()


@pytest.mark.parametrize(
    "body",
    [
        'turn(None, "It is so.")',
        'turn("", "It is so.")',
        'turn(None, "It is so.", {"type": "answer", "content": "It is so."})',
    ],
    ids=["no row", "an empty row", "a row of a new kind"],
)
async def test_a_record_without_the_reply_leaves_it_to_the_screen(
    open_agent: OpenAgent, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    answer = await open_agent(program(DRAW + body)).ask("hello", Replies())
    assert (answer.text, answer.source) == ("It is so.", "screen")
    assert "its record has no reply to this turn" in caplog.text
    assert "It is so" not in caplog.text


async def test_a_program_that_stopped_recording_is_read_from_its_screen(
    open_agent: OpenAgent, caplog: pytest.LogCaptureFixture
) -> None:
    body = 'record = lambda **row: None\nturn(None, "It is so.")'
    answer = await open_agent(program(DRAW + body)).ask("hello", Replies())
    assert (answer.text, answer.source, answer.ended_by) == ("It is so.", "screen", "state")
    assert "has the program's record changed?" in caplog.text


async def test_a_reply_that_is_really_empty_stays_so(
    open_agent: OpenAgent, caplog: pytest.LogCaptureFixture
) -> None:
    body = 'draw = lambda text, shown: out("\\r\\x1b[J> " + text + "\\r\\n\\r\\n> ")\nturn("", "")'
    answer = await open_agent(program(DRAW + body)).ask("hello", Replies())
    assert (answer.text, answer.source) == ("", "record")
    assert not [row for row in caplog.records if row.levelno >= logging.WARNING]
