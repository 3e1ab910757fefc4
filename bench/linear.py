"""No text makes Moot slow: `python -m bench.linear [--chars 2000] [--seed 1] [--random 60]`.

Repeats short pieces of Markdown, of YAML and of mentions, known ones and random ones, to `--chars`
characters and to four times as many, through every reader that people's texts go through, and
prints the longest times a thousand characters and the steepest growth. Four times the text may take
six times as long; what takes longer is printed again, and is exit code 1.

Time is this thread's CPU time, the best of three.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from bench.markup import PLATFORMS
from bots.markdown.reader import read
from bots.matrix import text as matrix
from bots.mattermost import text as mattermost
from bots.slack import text as slack
from gateway.settings.personas.personas import check_persona

PIECES = (
    "![", "[", "[a](", "](", "[a][", "[]", "[x](y ", "*", "**a ", "***a", "_a*", "a_", "* * *\n",
    "x*2", "`", "``", "`a``b", "```\n", "~", "~~a", "<", "<a ", "<http://", "<@U1> ", "<!--", ">",
    "> ", "> - ", "|a|\n", "||", "a|b\n--|--\n", "\\", "\\[", "\\(", "\\(a\\", "$$a", "#", "&",
    "&amp;", "!", "(", "- ", "  - a\n", "\t- ", "1. a\n", "[a]: b\n", "a\n===\n", "---\n", "\n",
    "a\n\n", "a ", "@a ", "https://", "__init__ ", "__a", ":a:", "é", "\u3000", "]", "`a", "**",
    "*a ", "_", "_a ", "~~", "<a", "$$", "|", "| a ", ":)", "@all ", "# ", "http://x.y/_",
    "[a](b)", "![a](", "[^1]", "word. ", "漢", "\\*", "8) ", "<!here>", "- a\n", "> a\n",
    "    a\n", "~~~\n", "```a\n", "- ```a\n", "~~~~a\n", "|a|b|\n|-|-|\n", "=\n", "a\n=\n",
    "\\[\n", "$$\n", "$$a\n", "- [ ] a\n", "@a:b ", "a@b.", "a.b.", "a.* ", "a.b*c ", "a-", "<t:",
    "[a]:b\n", "**a*", "__a_", "2*3*4 ", "x**2 ", "[[a]", "<a|", "<http://a|b> ", "\\(\\[",
    "`a``", "`\n", "a`b_", "<a href=x>", "&lt;", "1. a\n\n1. b\n\n", "a  \n", "-\n", "\\_a", "(a",
)  # fmt: skip
FRONTS = (
    "[", "{", "- ", "? ", "a: [", "&a ", "!x ", "<<: *a\n", '"', "'", "| ", "a:\n", "a: b\n",
    "[[],", "x, ", "a b: c\n", "- a\n", "2001-01-01 ", "0x1 ", "*a ", "#", "@x ",
)  # fmt: skip
SIGNS = "![]()*_`~<>|\\$#&@:-1. \n\ta"
GROWTH, LONGEST = 4, 6.0
TRIES = 3
SMALL_S = 0.004  # below it the clock, not the text, is measured


@dataclass(frozen=True, slots=True)
class Timed:
    """One piece through one reader. ms: for a thousand characters of the longer text."""

    reader: str
    piece: str
    ms: float
    growth: float


def readers() -> dict[str, Callable[[str], object]]:
    """Everything that a text of people or agents goes through, by name."""
    posts: dict[str, Callable[[str], object]] = {one.name: one.posts for one in PLATFORMS}
    posts |= {"Slack's own": slack.mrkdwn, "Matrix without HTML": matrix.plain, "the reader": read}
    return posts | {"Mattermost": mattermost.written, "Mattermost's names": mattermost.names}


def front(text: str) -> object:
    """The check of a persona file whose front matter the text is."""
    return check_persona("ada", f"---\n{text}\n---\nBe brief.\n")


def pieces(random: Random, count: int) -> Iterator[str]:
    """The known ones, and some of random signs."""
    yield from PIECES
    for _ in range(count):
        yield "".join(random.choices(SIGNS, k=random.randint(1, 9)))


def timed(name: str, reader: Callable[[str], object], piece: str, chars: int) -> Timed:
    """The piece, repeated, through a reader."""
    short, long = (piece * (n // len(piece) + 1) for n in (chars, GROWTH * chars))
    short_s, long_s = best(reader, short), best(reader, long)
    growth = long_s / max(short_s, SMALL_S / GROWTH)
    return Timed(name, piece, long_s * 1e6 / len(long), growth)


def best(reader: Callable[[str], object], text: str) -> float:
    """Seconds, of some tries none of which remembers another one's text."""
    spent = []
    for number in range(TRIES):
        cold = f"{number} {text}"
        began = time.thread_time()
        reader(cold)
        spent.append(time.thread_time() - began)
    return min(spent)


def main() -> int:
    """Print the slowest and the steepest; 1 if one is too steep."""
    parser = argparse.ArgumentParser(prog="python -m bench.linear")
    parser.add_argument("--chars", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=60)
    given = parser.parse_args()
    random = Random(given.seed)
    measure = partial(timed, chars=given.chars)
    found = [measure("a persona", front, piece) for piece in FRONTS]
    for piece in pieces(random, given.random):
        found += [measure(name, reader, piece) for name, reader in readers().items()]
    steep = [one for one in found if one.growth > LONGEST]
    # a neighbour may have been in the way
    steep = [again for one in steep if (again := repeated(one, given.chars)).growth > LONGEST]
    print(f"{len(found)} texts of {given.chars:,} and {GROWTH * given.chars:,} characters")
    for title, key in (("slowest", "ms"), ("steepest", "growth")):
        for one in sorted(found, key=lambda one: -getattr(one, key))[:5]:
            rate = f"{one.ms:.1f} ms a thousand characters"
            growth = f"{GROWTH} times the text took {one.growth:.1f} times as long"
            print(f"{title}: {one.piece!r} through {one.reader}: {rate}; {growth}")
    for one in steep:
        print(f"too steep: {one.piece!r} through {one.reader}: {one.growth:.1f}", file=sys.stderr)
    return 1 if steep else 0


def repeated(one: Timed, chars: int) -> Timed:
    """The same measurement once more."""
    reader = front if one.reader == "a persona" else readers()[one.reader]
    return timed(one.reader, reader, one.piece, chars)


if __name__ == "__main__":
    sys.exit(main())
