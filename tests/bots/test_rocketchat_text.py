"""Markdown in, Rocket.Chat's dialect out; `¦` stands for the zero-width space.

The oracle is Rocket.Chat's own parser: it must read our text as what the Markdown meant.
"""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.markdown.reader import read
from bots.rocketchat.text import LIMIT, size, written
from tests.doubles.published_parser import PublishedParser, published_parser
from tests.doubles.rocketchat_meaning import comparable, rows_meant, rows_read, same

# What the server gives its parser: settings of the same names, at their defaults.
SERVERS_OPTIONS = {
    "colors": False,
    "emoticons": True,
    "katex": {"dollarSyntax": False, "parenthesisSyntax": True},
    "customDomains": [],
}


@pytest.fixture(scope="module")
def parser() -> Iterator[PublishedParser]:
    with published_parser("rocketchat", "@rocket.chat/message-parser", SERVERS_OPTIONS) as started:
        yield started


def check(markdown: str, parser: PublishedParser) -> None:
    expected = rows_meant(read(markdown).blocks)
    got = rows_read(parser.parse(written(markdown)) if written(markdown).strip() else [])
    assert same(expected, got), (written(markdown), comparable(expected), comparable(got))


WORDS = [
    "a",
    "b1",
    "word",
    "snake_case",
    "__",
    "_x",
    "*",
    "**z",
    "~",
    "~/a",
    "`",
    "||",
    ":x:",
    "12:30",
]
WORDS += [
    "漢字",
    "é",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "-",
    "1.",
    "#",
    "|",
    "&",
    "\\\\",
    "\\*",
    "a-b",
    "!",
]
WORDS += [".", "😀", "+", "=", "main.py", "e.g.", "(foo.py)", "v1.2,", "@bob", "#chan", "x*y*z"]

WORDS += ["8)", "D:", "X)", "x=D", ":p", ":D", "<3", ":-/", "O:)", "-_-", "=P", ">:(", "*)", ":*"]
WORDS += [":warning:", ":thumbs_up:", "2*3*4", "a*b", "x**2", "__init__.py", "$5", "$$", "\\\\("]
WORDS += [r"\( E=mc^2 \)", r"\(a_1 * b_2\)", r"\[ x_i = [y] \]", "$$a=b$$", "&lt;p&gt;", "&amp;"]

text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def escaped(words: str) -> str:
    return re.sub(r"([\\`*_~\[\]<>#!|()+.:=$&-])", r"\\\1", words)


def inline_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda x: f"**{x}**"),
        inner.map(lambda x: f"*{x}*"),
        inner.map(lambda x: f"~~{x}~~"),
        inner.map(lambda x: f"({x})"),
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(", ".join),
    )


def labelled(words: str) -> str:
    plain = re.sub(r"[][<>|`]|&lt;p&gt;|\\\[.*", "", words).strip()
    return f"[{plain or 'x'}](https://x.com/a_b)"


WHOLE = [
    "`c`",
    "`` d`e ``",
    "`f_g*h`",
    "https://x.com/a_b_c",
    "<https://x.com/y>",
    "![alt](https://i.jp/k.png)",
]
leaves = st.one_of(text, text.map(escaped), text.map(labelled), st.sampled_from(WHOLE))
inlines = st.recursive(leaves, inline_of, max_leaves=6)
line = inlines.map(lambda words: " ".join(words.split()))


def cell(words: str) -> str:
    """The words without a link, of which a cell knows the plainest alone."""
    words = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", words).replace("](", "").replace("a_b_c", "abc")
    return words.replace("|", "\\|")


block = st.one_of(
    line,
    line,
    st.tuples(st.integers(1, 6), line).map(lambda x: f"{'#' * x[0]} {x[1]}"),
    st.lists(line, min_size=1, max_size=3).map(lambda x: "\n".join(f"- {i}" for i in x)),
    st.lists(line, min_size=1, max_size=3).map(lambda x: "\n\n".join(f"1. {i}" for i in x)),
    st.lists(line, min_size=1, max_size=3).map(lambda x: "\n".join(f"- [x] {i}" for i in x)),
    st.tuples(line, line).map(lambda x: f"- {x[0]}\n  - {x[1]}\n    more\n- b"),
    st.tuples(line, line).map(lambda x: f"> {x[0]}\n> > {x[1]}"),
    st.tuples(line, line).map(lambda x: f"> {x[0]}\n> - {x[1]}\n>\n> ```py\n> x\n> ```"),
    st.sampled_from(["---", "```py\na `b`\n\n\tc ``` d\n```", "~~~c++ x\n```\n~~~", "    in"]),
    st.tuples(line, line).map(
        lambda x: "| a | b |\n|:-:|--:|\n| " + " | ".join(map(cell, x)) + " |"
    ),
)
documents = st.lists(block, min_size=1, max_size=4).map("\n\n".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(markdown=line)
def test_a_line_means_the_same_to_rocket_chats_parser(
    parser: PublishedParser, markdown: str
) -> None:
    check(markdown, parser)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(markdown=documents)
def test_blocks_mean_the_same_to_rocket_chats_parser(
    parser: PublishedParser, markdown: str
) -> None:
    check(markdown, parser)


@pytest.mark.long
@settings(max_examples=5_000, deadline=None, derandomize=True)
@given(markdown=documents)
def test_five_thousand_answers_mean_the_same_to_rocket_chats_parser(
    parser: PublishedParser, markdown: str
) -> None:
    check(markdown, parser)


TABLE = [
    ("steps 7) and 8) done (x, 8) here", "steps 7) and 8¦) done (x, 8¦) here"),
    ("D: drive, x=D and y:) <3", "D¦: drive, x=D and y:) <¦3"),
    ("- 8) b", "- 8¦) b"),
    ("**Note:** a:**b** ~~:)~~", "*Note:* a:¦*b* ~:¦)~"),
    (":warning: :thumbs_up: **:x: b**", ":warning: :thumbs_up: :x: *b*"),
    (r"so \( E=mc^2 \), \(x_1*y_1\)", r"so \(E=mc^2\), \(x_1*y_1\)"),
    (r"\[1\] and \(see below\)", "[1] and (see below)"),
    ("a\n\\[\nx\n+ y\n\\]\nb", "a\n\\[\nx\n+ y\n\\]\nb"),
    ("$$x_1 = 2$$", "\\[\nx_1 = 2\n\\]"),
    ("- by $$x_1 = 2$$\n- **c \\(x\\)**", "- by \\(x_1 = 2\\)\n- *c* \\(x\\)"),
    (r"\\(x\\) it costs $$ and $$", "\\¦(x\\) it costs $$ and $$"),
    ("2*3*4 = 24, x**2 + y**2", r"2\*3\*4 = 24, x\*\*2 + y\*\*2"),
    ("**bold** and *it*, ~~gone~~", "*bold* and _it_, ~gone~"),
    ("***both*** **a *b* c**", "_*both*_ *a _b_ c*"),
    ("foo**bar**baz un*frig*in", r"foo*bar*baz un\*frig\*in"),
    ("**a * b** 2 * 3", r"*a* \* *b* 2 \* 3"),
    ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
    (r"\*args and \*\*kwargs", r"\*args and \*\*kwargs"),
    ("**Run (`make`)**", "*Run (*¦*`make`)*"),
    ("*main.py*, then", "__main.py__, then"),
    ("`a`b``", "`a`b\\`\\`"),
    ("a || b || c :x:", "a |¦| b |¦| c :x:"),
    ("@bob @all #chan a@b.co", "@bob @¦all #chan a@b.co"),
    (
        "see https://x.com/a, **https://x.com/b**",
        "see https://x.com/a, *<https://x.com/b|https://x.com/b>*",
    ),
    ("[t](https://x.y) [a_b `c`](https://x.y)", "[t](https://x.y) <https://x.y|a_b c>"),
    ("a[0] [t](https://x.y)", "a[0] <https://x.y|t>"),
    (
        "[m.py:4](src/m.py#L4) ![i](https://x.y/i.png)",
        "m.py:4 (src/m.py#L4) ![i](https://x.y/i.png)",
    ),
    ("###### Deep", "#### Deep"),
    ("## Why C#", "## Why C#"),
    ("a\n\n#\n\nb", "a\n\n\n\nb"),
    ("* a\n* b\n  - c", "- a\n- b\n    • c"),
    ("1. a\n\n1. b", "1. a\n2. b"),
    ("- [x] a\n- [ ] b", "- [x] a\n- [ ] b"),
    ("- [x] a\n- b", "- ☑ a\n- b"),
    ("> a\n> - b\n> ```\n> c\n> ```", "> a\n> • b\n```\nc\n```"),
    ("~~~c++ x=1\na\n~~~", "```cpp\na\n```"),
    ("***", "---"),
    ("a\n1986\\. b\n\\# c\n\\- d", "a\n1986\\. b\n\\# c\n¦- d"),
    ("|a|b|\n|-|-:|\n|**c**|`d`|", "| a | b |\n|---|--:|\n| *c* | `d` |"),
    (
        "|a|\n|-|\n| ~~*~~<https://x.com/y>~~*~~ |",
        "| a |\n|---|\n| \\*[https://x.com/y](https://x.com/y)\\* |",
    ),
    (
        "**<https://x.com/y>*, a*",
        r"\*\*<https://x.com/y|https://x.com/y>_, a_",
    ),
    ("[_x 8) y_](https://x.com)", "[_x 8¦) y_](https://x.com)"),
    ("- [x](https://x.com/a)\n- [x] a", "- [x](https://x.com/a)\n- ☑ a"),
]


@pytest.mark.parametrize(("markdown", "expected"), TABLE)
def test_markdown_becomes_rocket_chats_dialect(markdown: str, expected: str) -> None:
    assert written(markdown).replace("\u200b", "¦").replace("\u00a0", " ") == expected


@pytest.mark.parametrize("markdown", [markdown for markdown, _ in TABLE])
def test_each_example_means_the_same_to_rocket_chats_parser(
    parser: PublishedParser, markdown: str
) -> None:
    check(markdown, parser)


def test_the_size_is_in_the_units_that_rocket_chat_counts() -> None:
    assert size("😀 **b**") == len("😀 *b*".encode("utf-16-le")) // 2
    assert LIMIT < 5_000
