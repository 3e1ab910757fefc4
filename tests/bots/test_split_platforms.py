"""The same long texts through every platform's own limit: nothing torn, nothing lost."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.bluebubbles import text as bluebubbles_text
from bots.discord import text as discord_text
from bots.markdown.split import pieces, split
from bots.matrix import text as matrix_text
from bots.mattermost import text as mattermost_text
from bots.rocketchat import text as rocketchat_text
from bots.slack import text as slack_text


@dataclass(frozen=True)
class Platform:
    name: str
    written: Callable[[str], str]
    size: Callable[[str], int]
    limit: int


PLATFORMS = [
    Platform("slack", slack_text.markdown, slack_text.markdown_chars, slack_text.MARKDOWN_CHARS),
    Platform("mrkdwn", slack_text.mrkdwn, slack_text.size_bytes, slack_text.LIMIT_BYTES),
    *(
        Platform(module.__name__.split(".")[1][:-5], module.written, module.size, module.LIMIT)
        for module in (
            rocketchat_text,
            discord_text,
            matrix_text,
            bluebubbles_text,
            mattermost_text,
        )
    ),
]
on_every_platform = pytest.mark.parametrize("platform", PLATFORMS, ids=lambda p: p.name)

FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")
OPENING = re.compile(r"`{3}|~{3}")


def code_of(piece: str) -> list[str]:
    """The lines within a Markdown text's fences, which must be closed."""
    lines: list[str] = []
    fence = ""
    for line in piece.split("\n"):
        found = FENCE.match(line)
        if not fence and found:
            fence = found[1]
        elif fence and found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        elif fence:
            lines.append(line)
    assert not fence, piece[-300:]
    return lines


LANGUAGES = ["python", "c++", ""]


def listing(count: int) -> list[str]:
    """Code with what is easily lost: tabs, blanks at the end, blank lines, fences within."""
    odd = ["\tif a < b:  ", "", "    `tick` ``two``", "~~~", "x" * 300, "| a | b |", "- *no* list"]
    odd += ["漢字 = '👨‍👩‍👧‍👦'", "  ", "</code></pre>", "\\*[x](y)\\", "@all :x: snake_case__"]
    return [odd[n % 29] if n % 29 < len(odd) else f"line {n} = {n * n}" for n in range(count)]


@on_every_platform
@pytest.mark.parametrize("language", LANGUAGES)
def test_481_lines_of_code_come_out_as_they_were(platform: Platform, language: str) -> None:
    code = listing(481)
    text = f"Here:\n\n```{language}\n" + "\n".join(code) + "\n```\n\nDone."
    cut = split(text, platform.limit, platform.size)
    assert all(platform.size(piece) <= platform.limit for piece in cut)
    assert [line for piece in cut for line in code_of(piece)] == code
    assert all(piece.startswith(f"```{language}\n") for piece in cut[1:] if code_of(piece))


@pytest.mark.parametrize("platform", PLATFORMS[1:4], ids=lambda p: p.name)
def test_481_lines_of_code_are_posted_as_they_were(platform: Platform) -> None:
    code = listing(481)
    cut = split("```py\n" + "\n".join(code) + "\n```", platform.limit, platform.size)
    posts = [slack_text.unescaped(platform.written(piece)) for piece in cut]
    assert all(post.startswith("```") and post.endswith("\n```") for post in posts)
    assert [line for post in posts for line in post.split("\n")[1:-1]] == code


ROWS = [
    f"| name {n} | {'value ' * (n % 9)}| `code {n}` | [l](https://x.com/{n}) |" for n in range(400)
]


@on_every_platform
def test_the_rows_of_a_table_longer_than_a_post_stay_whole(platform: Platform) -> None:
    text = "Intro.\n\n| a | b | c | d |\n|---|---|--:|---|\n" + "\n".join(ROWS) + "\n\nEnd.\n"
    cut = split(text, platform.limit, platform.size)
    assert len(cut) > 1
    assert all(platform.size(piece) <= platform.limit for piece in cut)
    lines = [line for piece in cut for line in piece.split("\n")]
    assert [line for line in lines if line.startswith("| name")] == ROWS
    posts = "\n".join(platform.written(piece) for piece in cut)
    assert all(len(re.findall(rf"name {n}\b", posts)) == 1 for n in range(400))


REPLY = (
    "# Report\n\n"
    + "Some *words* on `code`, a [link](https://x.com/a_b), and **more** of them. " * 12
    + "\n\n1. First\n\n   ```sh\n   make all\n   ```\n\n2. Second\n   - with *more*\n\n"
    + "```python\n"
    + "\n".join(f"    value[{n}] = compute({n})" for n in range(40))
    + "\n```\n\n| a | b |\n|---|--:|\n"
    + "\n".join(f"| row {n} | {n} |" for n in range(20))
    + "\n\n> Quoted, 漢字 👨‍👩‍👧‍👦.\n\n"
)


@on_every_platform
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_reply_of_30_kilobytes_arrives_whole(platform: Platform, end: str) -> None:
    text = (REPLY * 13).replace("\n", end)
    assert len(text) > 30_000
    cut = pieces(text, platform.limit, platform.size)
    assert "".join(piece.body for piece in cut) == text
    assert all(platform.size(piece.text) <= platform.limit for piece in cut)
    code = [line for piece in cut for line in code_of(piece.text.replace("\r\n", "\n"))]
    assert [line for line in code if line.startswith("    value")] == [
        f"    value[{n}] = compute({n})" for _ in range(13) for n in range(40)
    ]


@on_every_platform
@pytest.mark.parametrize("unit", ["x", "漢", "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "&", "["])
def test_a_single_word_of_10000_characters_is_cut_between_graphemes(
    platform: Platform, unit: str
) -> None:
    text = unit * (10_000 // len(unit))
    cut = pieces(text, platform.limit, platform.size)
    assert "".join(piece.body for piece in cut) == text
    assert all(platform.size(piece.text) <= platform.limit for piece in cut)
    ends = {found.end() for found in regex.finditer(r"\X", text)}
    at = 0
    for piece in cut:
        at += len(piece.body)
        assert at in ends


FRAGMENTS = ["# h", "text *a* **b** `c`", "- a", "  - b", "1. x", "> q", "> > r", "", "---", "***"]
FRAGMENTS += [
    "```py",
    "```",
    "~~~~",
    "> ```",
    "  ```",
    "    code",
    "| a | b |",
    "|---|--:|",
    "| c | d |",
]
FRAGMENTS += [
    "long " * 30,
    "漢字" * 40,
    "👨‍👩‍👧‍👦" * 20,
    "e\u0301" * 50,
    "[l](http://x/" + "y" * 60 + ")",
]
FRAGMENTS += [
    "- [ ] t",
    "x" * 300,
    "<@123456789012345678>",
    "@ann:hs.org",
    "a\r\nb",
    "\\*" * 40,
    "  \t",
]


@on_every_platform
@settings(max_examples=40, deadline=None)
@given(
    text=st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=40).map("\n".join),
    limit=st.sampled_from([400, 700]),
)
def test_the_bodies_put_together_are_the_text_and_each_piece_fits(
    platform: Platform, text: str, limit: int
) -> None:
    limit *= 4 if platform.name == "matrix" else 1  # it counts both bodies, twice
    cut = pieces(text, limit, platform.size)
    assert "".join(piece.body for piece in cut) == text
    assert all(platform.size(piece.text) <= limit for piece in cut)


@on_every_platform
@settings(max_examples=100, deadline=None)
@given(
    text=st.text(
        alphabet="ab *_~`[]()<>|#-+.>0 1\n\n\t\\:!\r&@^\"'=/漢é\u0301\u200d😀\ud800", max_size=300
    )
)
def test_whatever_the_text_it_is_written(platform: Platform, text: str) -> None:
    assert isinstance(platform.written(text), str)


PROSE = ["word", " ", "  ", "1. ", "- ", "a@b.c", "@all", "http", "://", "x.y", "&amp;", "|", "#"]
PROSE += [*"*_`!+\\\n\t\0\x0b\u00a0é日", "~~", "[a](b)", "<i>"]


@on_every_platform
@settings(max_examples=300, deadline=None)
@given(
    text=st.lists(st.sampled_from(PROSE), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda text: not OPENING.search(text))
)
def test_a_line_of_prose_is_written_like_a_line_of_a_longer_text(
    platform: Platform, text: str
) -> None:
    """Blank lines behind a text change nothing, and it goes the whole way through the reader."""
    assert platform.written(text) == platform.written(text + "\n\n")
