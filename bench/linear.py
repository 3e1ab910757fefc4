"""No text makes Moot slow: `python -m bench.linear [--chars 2000] [--seed 1] [--random 60]`.

Repeats short pieces of Markdown, of YAML and of mentions, known ones and random ones, to `--chars`
characters and to four times as many, through every reader that people's texts go through, and
prints the longest times a thousand characters and the steepest growth. A piece stands alone, in
front of as many of another one, behind and before others, or with a sign that is there once more
each time. A text is written whole, and cut into posts of 200 characters: a text that just fits a
post takes less than one that just doesn't. Four times the text may take six times as long; what
takes longer is printed again, and is exit code 1.

Time is this thread's CPU time, without the collector of garbage, which Moot lets rest as well; of
what seems too steep, four times as long, the best of three.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random

from bench.markup import PLATFORMS, Platform
from bots.markdown.reader import read
from bots.markdown.split import split
from bots.matrix import text as matrix
from bots.mattermost import text as mattermost
from bots.slack import text as slack
from composer.guard import escape, label
from composer.platform import is_small_talk
from contract.private import private_parts
from gateway.core import reading
from gateway.core.addressing import named
from gateway.core.redaction import Redactor
from gateway.settings.personas.personas import check_persona
from memory.extraction.plain import is_telling
from memory.recall.question import question

PIECES = (
    "![", "[", "[a](", "](", "[a][", "[]", "[x](y ", "*", "**a ", "***a", "_a*", "a_", "* * *\n",
    "x*2", "`", "``", "`a``b", "```\n", "~", "~~a", "<", "<a ", "<http://", "<@U1> ", "<!--", ">",
    "> ", "> - ", "|a|\n", "||", "a|b\n--|--\n", "\\", "\\[", "\\(", "\\(a\\", "$$a", "#", "&",
    "&amp;", "!", "(", "- ", "  - a\n", "\t- ", "1. a\n", "[a]: b\n", "a\n===\n", "---\n", "\n",
    "a\n\n", "a ", "@a ", "https://", "__init__ ", "__a", ":a:", "é", "\u3000", "]", "`a", "**",
    "*a ", "_", "_a ", "~~", "<a", "$$", "|", "| a ", ":)", "@all ", "# ", "http://x.y/_",
    "[a](b)", "![a](", "[^1]", "word. ", "漢", "\\*", "8) ", "<!here>", "- a\n", "> a\n",
    "    a\n", "~~~\n", "```a\n", "- ```a\n", "> ```\na\n", "~~~~a\n", "|a|b|\n|-|-|\n", "=\n",
    "a\n=\n",
    "\\[\n", "$$\n", "$$a\n", "- [ ] a\n", "@a:b ", "a@b.", "a.b.", "a.* ", "a.b*c ", "a-", "<t:",
    "[a]:b\n", "**a*", "__a_", "2*3*4 ", "x**2 ", "[[a]", "<a|", "<http://a|b> ", "\\(\\[",
    "\u0315\u0300", "\ufdfa", "\u3042", "<!--", "<private>", "</private>", "&lt;private",
    "decision: ", "let's go with ", "`!a ", "!pin a\n", "bye ", "is a ", "token=",
    "a-secret-of-ours-which-is-long", "%41", "\\x41", "\u200b", "\n[a", "[you: ", "@everyone ",
    "`a``", "`\n", "a`b_", "<a href=x>", "&lt;", "1. a\n\n1. b\n\n", "a  \n", "-\n", "\\_a", "(a",
)  # fmt: skip
FRONTS = (
    "[", "{", "- ", "? ", "a: [", "&a ", "!x ", "<<: *a\n", '"', "'", "| ", "a:\n", "a: b\n",
    "[[],", "x, ", "a b: c\n", "- a\n", "2001-01-01 ", "0x1 ", "*a ", "#", "@x ",
)  # fmt: skip
SIGNS = "![]()*_`~<>|\\$#&@:-1. \n\ta"
GROWTH, LONGEST = 4, 6.0
TRIES = 3
POST = 200  # characters
SMALL_S = 0.004  # below it the clock, not the text, is measured


Reader = Callable[[str], object]
Shape = Callable[[int], str]
"""A text of that many characters, or some more."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One piece through one reader. ms: for a thousand characters of the longer text."""

    reader: str
    piece: str
    ms: float
    growth: float


def readers() -> dict[str, Reader]:
    """Everything that a text of people or agents goes through, by name."""
    posts: dict[str, Reader] = {one.name: one.written for one in PLATFORMS}
    posts |= {f"{one.name}, in posts": cut(one) for one in PLATFORMS}
    posts |= {"Slack's own": slack.mrkdwn, "Matrix without HTML": matrix.plain, "the reader": read}
    posts |= {"Mattermost": mattermost.written, "Mattermost's names": mattermost.names}
    redactor = Redactor()
    redactor.learn_one("a-secret-of-ours-which-is-long")
    now = datetime.now(UTC)
    return posts | {
        "a message": partial(reading.read, reply=False),
        "a mention": partial(named, personas=()),
        "a decision": reading.worth_pinning,
        "what is private": private_parts,
        "a secret": redactor,
        "a line of a header": escape,
        "a name": label,
        "small talk": is_small_talk,
        "a fact": is_telling,
        "a question": partial(question, now=now),
    }


def cut(platform: Platform) -> Reader:
    """What cuts a text into short posts."""
    return lambda text: split(text, POST, platform.size)


def front(text: str) -> object:
    """The check of a persona file whose front matter the text is."""
    return check_persona("ada", f"---\n{text}\n---\nBe brief.\n")


def pieces(random: Random, count: int) -> Iterator[str]:
    """The known ones, and some of random signs."""
    yield from PIECES
    for _ in range(count):
        yield "".join(random.choices(SIGNS, k=random.randint(1, 9)))


def repeated(piece: str, chars: int) -> str:
    """A text of that many characters, or some more."""
    return piece * (chars // len(piece) + 1)


def shapes(random: Random, count: int) -> Iterator[tuple[str, Shape]]:
    """Texts of any length, by what they are made of: each piece alone, and so many others."""
    for piece in pieces(random, count):
        yield repr(piece), partial(repeated, piece)
    known = list(pieces(random, count))
    for _ in range(count):
        one, other, third = random.sample(known, 3)
        yield f"{one!r} and then {other!r}", partial(halves, one, other)
        yield f"{one!r} between {other!r} and {third!r}", partial(between, other, one, third)
        yield f"{one[0]!r} growing, {other!r}", partial(growing, one[0], other)


def halves(one: str, other: str, chars: int) -> str:
    return repeated(one, chars // 2) + repeated(other, chars // 2)


def between(before: str, piece: str, after: str, chars: int) -> str:
    return f"{before}{repeated(piece, chars)}{after}"


def growing(sign: str, piece: str, chars: int) -> str:
    times = range(1, int((2 * chars) ** 0.5))
    return "".join(sign * number + piece for number in times)[:chars]


def timed(name: str, reader: Reader, piece: str, shape: Shape, chars: int) -> Timed:
    """A shape of a text through a reader; once more if it seems too steep, and four times as long,
    as it does where only the shorter text was too short for something."""
    found = measured(name, reader, piece, (shape(chars), shape(GROWTH * chars)), 1)
    if found.growth <= LONGEST:
        return found
    longer = shape(GROWTH * chars), shape(GROWTH**2 * chars)
    return measured(name, reader, piece, longer, TRIES)


def measured(name: str, reader: Reader, piece: str, texts: tuple[str, str], tries: int) -> Timed:
    short, long = texts
    short_s, long_s = best(reader, short, tries), best(reader, long, tries)
    growth = long_s / max(short_s, SMALL_S / GROWTH) * (GROWTH * len(short) / len(long))
    return Timed(name, piece, long_s * 1e6 / len(long), growth)


def best(reader: Reader, text: str, tries: int) -> float:
    """Seconds, of some tries none of which remembers another one's text."""
    spent = []
    for number in range(tries):
        cold = f"{tries}.{number} {text}"
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
    gc.disable()
    measure = partial(timed, chars=given.chars)
    found = [measure("a persona", front, repr(one), partial(repeated, one)) for one in FRONTS]
    for piece, shape in shapes(Random(given.seed), given.random):
        found += [measure(name, reader, piece, shape) for name, reader in readers().items()]
    steep = [one for one in found if one.growth > LONGEST]
    print(f"{len(found)} texts of {given.chars:,} and {GROWTH * given.chars:,} characters")
    for title, key in (("slowest", "ms"), ("steepest", "growth")):
        for one in sorted(found, key=lambda one: -getattr(one, key))[:5]:
            rate = f"{one.ms:.1f} ms a thousand characters"
            growth = f"{GROWTH} times the text took {one.growth:.1f} times as long"
            print(f"{title}: {one.piece} through {one.reader}: {rate}; {growth}")
    for one in steep:
        print(f"too steep: {one.piece} through {one.reader}: {one.growth:.1f}", file=sys.stderr)
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
