"""Answers as agents write them, through every platform's writer: what was meant is what is shown.

Rocket.Chat's own parser judges its dialect; a CommonMark parser without rules of ours judges what
Slack's blocks and Mattermost read themselves, beside Matrix's HTML.
"""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from bots.markdown.reader import read
from bots.matrix import text as matrix
from bots.mattermost import text as mattermost
from bots.rocketchat import text as rocketchat
from bots.slack import text as slack
from tests.doubles.answers import Answers
from tests.doubles.published_parser import PublishedParser, published_parser
from tests.doubles.rocketchat_meaning import comparable, rows_meant, rows_read, same

SERVERS_OPTIONS = {
    "colors": True,
    "emoticons": True,
    "katex": {"dollarSyntax": False, "parenthesisSyntax": True},
    "customDomains": ["intranet"],
}
COMMONMARK = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
STYLES = {"strong": "B", "em": "I", "del": "S", "s": "S", "code": "C"}
BLOCKS = ("li", "blockquote", "pre", "table", *(f"h{n}" for n in range(1, 7)))
SAMPLE = range(60)
ALL = range(5_000)


@pytest.fixture(scope="module")
def parser() -> Iterator[PublishedParser]:
    with published_parser("rocketchat", "@rocket.chat/message-parser", SERVERS_OPTIONS) as started:
        yield started


class Shown(HTMLParser):
    """Each visible character with the styles and blocks around it."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.letters: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.handle_data(dict(attrs).get("alt") or "")
        elif tag not in ("br", "hr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("br", "hr", "img"):
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        around = "".join(sorted({STYLES[tag] for tag in self._open if tag in STYLES}))
        around += "/" + " ".join(tag for tag in self._open if tag in BLOCKS)
        self.letters += [(c, around) for c in data if not c.isspace() and c not in "\u200b\u00a0"]


def shown(html: str) -> list[tuple[str, str]]:
    reader = Shown()
    reader.feed(html)
    reader.close()
    return reader.letters


def check_matrix(markdown: str, words: str) -> None:
    seen = "".join(c for c, _ in shown(matrix.written(markdown)) if c not in "☑☐")
    assert seen == "".join(c for c in words if not c.isspace()), markdown


def check_read_there(write: Callable[[str], str], markdown: str) -> None:
    boxes = markdown.replace("[x]", "☑")
    meant = shown(matrix.written(boxes))
    got = shown(COMMONMARK.render(write(boxes)))
    assert got == meant, (
        write(markdown),
        [(a, b) for a, b in zip(got, meant, strict=False) if a != b][:3],
    )


def check_rocket_chat(markdown: str, parser: PublishedParser) -> None:
    message = rocketchat.written(markdown)
    expected, got = rows_meant(read(markdown).blocks), rows_read(parser.parse(message))
    assert same(expected, got), (message, comparable(expected), comparable(got))


PLATFORMS = ["matrix", "slack", "mattermost", "rocketchat"]


def failures(platform: str, seeds: range, parser: PublishedParser) -> list[str]:
    faults = []
    for seed in seeds:
        markdown, words = Answers(seed, formulas=platform == "rocketchat").answer()
        try:
            match platform:
                case "matrix":
                    check_matrix(markdown, words)
                case "slack":
                    check_read_there(slack.markdown, markdown)
                case "mattermost":
                    check_read_there(mattermost.written, markdown)
                case _:
                    check_rocket_chat(markdown, parser)
        except AssertionError as fault:
            faults.append(f"{seed}: {fault}\n{markdown}")
    return faults


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_answer_is_shown_as_it_was_meant(platform: str, parser: PublishedParser) -> None:
    assert failures(platform, SAMPLE, parser) == []


@pytest.mark.long
@pytest.mark.parametrize("platform", PLATFORMS)
def test_5000_answers_are_shown_as_they_were_meant(platform: str, parser: PublishedParser) -> None:
    assert failures(platform, ALL, parser) == []
