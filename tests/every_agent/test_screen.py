"""What the screen shows of a reply is what the record says, word for word, in every agent."""

import asyncio
import re

import pytest

from adapters.cli.session import CliAgent
from adapters.reading.queries import reply_on
from tests.every_agent.stage import HEADER, Stage, asked

pytestmark = pytest.mark.asyncio(loop_scope="session")

REPLIES = {
    "short": "Hello there.",
    "code": "Look:\n\n```python\ndef f():\n    return 1\n```\n\nDone.",
    "CJK": "漢字かな交じり文です。\n\n한국어 문장입니다.",
    "table": "| name | size |\n|---|---|\n| one | 1 |\n| two | 22 |\n\nThat is all.",
}


def words(text: str) -> list[str]:
    """Without Markdown and rules."""
    return re.findall(r"\w+", re.sub(r"```\w*", "", text))


@pytest.mark.parametrize("name", REPLIES)
async def test_the_screen_shows_the_same_words(stage: Stage, agent: CliAgent, name: str) -> None:
    stage.api.when(f"screen: {name}", REPLIES[name])
    prompt = f"screen: {name}"
    await asked(agent, prompt)
    console = agent._process.console
    assert console
    shown = ""
    for _ in range(50):  # it may not be drawn yet
        screen = await console.screen()
        shown = reply_on(screen, stage.cli.profile, f"{HEADER}{prompt}")
        if words(shown) == words(REPLIES[name]):
            return
        await asyncio.sleep(0.1)
    assert shown == REPLIES[name]
