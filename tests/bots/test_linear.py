"""No text costs more than its length: four times the text is never sixteen times the work."""

import gc
import time
from collections.abc import Callable

import pytest

from bots.bluebubbles import text as bluebubbles
from bots.discord import text as discord
from bots.matrix import text as matrix
from bots.mattermost import text as mattermost
from bots.rocketchat import text as rocketchat
from bots.slack import text as slack

WRITERS: dict[str, Callable[[str], object]] = {
    "slack": slack.mrkdwn,
    "slack-markdown": slack.markdown,
    "rocketchat": rocketchat.written,
    "discord": discord.written,
    "matrix": matrix.written,
    "matrix-body": matrix.plain,
    "mattermost": mattermost.written,
    "mattermost-names": mattermost.names,
    "bluebubbles": bluebubbles.written,
}
UNITS = ["![", "[", "]", "(", "`", "``", "`a", "*", "**", "*a ", "_", "_a ", "a_", "~~", "~~a"]
UNITS += ["<", "<a", "> ", "- ", "\\(", "\\[", "$$", "$$a", "|", "||", "| a ", ":a:", ":)", "@all "]
UNITS += ["# ", "https://", "http://x.y/_", "[a](b)", "[a](", "![a](", "[^1]", "a ", "word. ", "漢"]
UNITS += [
    "\\",
    "\\*",
    "8) ",
    "<!here>",
    "\n",
    "- a\n",
    "1. a\n",
    "> a\n",
    "    a\n",
    "```\n",
    "~~~\n",
]
UNITS += [
    "```a\n",
    "- ```a\n",
    "~~~~a\n",
    "|a|b|\n|-|-|\n",
    "* * *\n",
    "=\n",
    "a\n=\n",
    "\\[\n",
    "$$\n",
]
UNITS += ["$$a\n", "- [ ] a\n", "@a:b ", "a@b.", "a.b.", "a.* ", "a.b*c ", "a-", "<t:", "[a]:b\n"]
UNITS += [
    "**a*",
    "__a_",
    "__init__ ",
    "2*3*4 ",
    "x**2 ",
    "](",
    "[[a]",
    "<a|",
    "<http://a|b> ",
    "\\(\\[",
]
UNITS += [
    "`a``",
    "`\n",
    "a`b_",
    "<a href=x>",
    "&lt;",
    "1. a\n\n1. b\n\n",
    "a  \n",
    "-\n",
    "\\_a",
    "(a",
]
START = 4_000


def seconds(write: Callable[[str], object], text: str) -> float:
    spent = []
    gc.disable()  # it costs more, the more there is
    for extra in range(2):  # another text each time: some writers remember the last ones
        started = time.process_time()
        write(text + "z" * extra)
        spent.append(time.process_time() - started)
    gc.enable()
    return min(spent)


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_is_far_from_sixteen_times_the_work(writer: str, unit: str) -> None:
    write, length = WRITERS[writer], START
    while (short := seconds(write, (unit * length)[:length])) < 0.05 and length < 16_000:
        length *= 4
    if short >= 0.05:
        assert seconds(write, (unit * length * 4)[: length * 4]) < 9 * short
