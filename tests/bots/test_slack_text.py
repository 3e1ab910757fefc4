"""Markdown in, Slack's mrkdwn out; `¦` stands for the zero-width space."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.slack.text import LIMIT_BYTES, markdown, mrkdwn, size_bytes, typed

TABLE = [
    # Emphasis
    ("plain text", "plain text"),
    ("**bold**", "*bold*"),
    ("__bold__", "*bold*"),
    ("*it* and _it_", "_it_ and _it_"),
    ("~~gone~~", "~gone~"),
    ("***both***", "_*both*_"),
    ("**a *b* c**", "*a _b_ c*"),
    ("**a **b** c**", "*a b c*"),
    ("**two\nlines**", "*two*\n*lines*"),
    ("foo**bar**baz", "foo¦*bar*¦baz"),
    ("这是**重点**。", "这是¦*重点*¦。"),
    ("(**x**), **y**.", "(*x*), *y*."),
    ("`a`s", "`a`¦s"),
    # Headings
    ("# Title", "*Title*"),
    ("### A *b* `c` **d**", "*A _b_ `c` d*"),
    ("Setext\n===", "*Setext*"),
    # What Slack would misread
    (r"\*not\* bold", "*¦not* bold"),
    (r"\_x\_ \~y\~", "_¦x_ ~¦y~"),
    ("snake_case_name 2 * 3 * 4 ~/a ~/b", "snake_case_name 2 * 3 * 4 ~/a ~/b"),
    ("*args, **kwargs", "*args, **kwargs"),
    (r"\> no quote", "¦&gt; no quote"),
    # Escaping
    ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
    ("2*3*4 = 24, __init__.py", "2*3*4 = 24, __init__.py"),
    (r"so \( a_b*c \), `c`", r"so `\( a_b*c \)`, `c`"),
    ("f:\n\\[\nx\n+ y\n\\]", "f:\n```\n\\[\nx\n+ y\n\\]\n```"),
    ("AT&amp;T &lt;", "AT&amp;amp;T &amp;lt;"),
    ("<div class='x'>*y*</div>", "&lt;div class='x'&gt;_y_&lt;/div&gt;"),
    ("<!-- note -->", "&lt;!-- note --&gt;"),
    ("Vec<std::string::String>", "Vec&lt;std::string::String&gt;"),
    # Mentions
    ("<@U06STGBF4Q0> hi", "<@U06STGBF4Q0> hi"),
    ("<@W123|olivia> <#C123|general>", "<@W123|olivia> <#C123|general>"),
    ("<@u123> <@U1-2> <@UABC def>", "&lt;@u123&gt; &lt;@U1-2&gt; &lt;@UABC def&gt;"),
    ("<!here> <!channel>", "&lt;!here&gt; &lt;!channel&gt;"),
    ("<!subteam^S012|@all> <!here|@here>", "&lt;!subteam^S012|@¦all&gt; &lt;!here|@¦here&gt;"),
    ("@here @channel @everyone @all @HERE", "@¦here @¦channel @¦everyone @¦all @¦HERE"),
    ("全员@all!", "全员@¦all!"),
    ("bob@all.com @allen", "bob@all.com @allen"),
    ("`@here <@U06STGBF4Q0>`", "`@here &lt;@U06STGBF4Q0&gt;`"),
    # Links
    ("[t](https://x.y/a?b=1&c=2)", "<https://x.y/a?b=1&amp;c=2|t>"),
    ("[**t** `c`](https://x.y)", "<https://x.y|t c>"),
    ("**[t](https://x.y)**", "*<https://x.y|t>*"),
    ("[](https://x.y)", "<https://x.y>"),
    ("[t](https://x.y/a|b)", "<https://x.y/a%7Cb|t>"),
    ('[t](https://x.y "why")', "<https://x.y|t> (why)"),
    ("[@here](https://x.y)", "<https://x.y|@¦here>"),
    ("[r][1]\n\n[1]: https://x.y", "<https://x.y|r>\n\n[1]: https://x.y"),
    ("<https://x.y>", "<https://x.y>"),
    ("<https://x.y|spec>", "<https://x.y|spec>"),
    ("<a@b.c>", "<mailto:a@b.c|a@b.c>"),
    ("see https://x.y/z.", "see https://x.y/z."),
    ("(https://x.y/a_(b)_c)", "(<https://x.y/a_(b)_c>)"),
    ("**https://x.y/z**", "*https://x.y/z*"),
    ("[m.py:4](src/m.py#L4)", "m.py:4 (src/m.py#L4)"),
    ("[x](javascript:alert)", "[x](javascript:alert)"),
    ("![alt](https://x.y/i.png)", "<https://x.y/i.png|alt>"),
    ("![](https://x.y/i.png)", "<https://x.y/i.png>"),
    # Code
    ("`a < b & *c*`", "`a &lt; b &amp; *c*`"),
    ("``a`b``", "``a`b``"),
    ("```py\nif a < b:\n    *c*\n\n\treturn\n```", "```\nif a &lt; b:\n    *c*\n\n\treturn\n```"),
    ("~~~~ js\n```\n~~~~", "```\n``¦`\n```"),
    ("```\nopen", "```\nopen\n```"),
    ("    indented *code*", "```\nindented *code*\n```"),
    # Lists
    ("- a\n* b\n+ c", "• a\n• b\n• c"),
    ("- a\n  - b\n    - c\n- d", "• a\n    • b\n        • c\n• d"),
    ("3. a\n4. b\n7) c", "3. a\n4. b\n7) c"),
    ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c"),
    ("- [ ] a\n- [x] b\n1. [X] c", "☐ a\n☑ b\n1. ☑ c"),
    ("- a\n\n- b", "• a\n\n• b"),
    ("- a\n  more\n\n  para", "• a\n    more\n\n    para"),
    ("- a\n  ```\n  x\n    y\n  ```\n- b", "• a\n```\nx\n  y\n```\n• b"),
    ("-", "•"),
    # Quotes and rules
    ("> a\n> b", "> a\n> b"),
    ("> a\n>\n> b", "> a\n>\n> b"),
    ("> a\n> > b", "> a\n> &gt; b"),
    ("> ```\n> x > y\n> ```", "```\nx &gt; y\n```"),
    ("- > q", "•\n> q"),
    ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
    # Lines
    ("a\nb  \nc\\\nd", "a\nb\nc\nd"),
    ("a\n\n\n\nb", "a\n\n\n\nb"),
    ("a\n    b\n  c", "a\n    b\n  c"),
    ("\n\na\n\n", "a"),
    ("a\r\nb\rc", "a\nb\nc"),
]


@pytest.mark.parametrize(("markdown", "expected"), TABLE)
def test_markdown_becomes_mrkdwn(markdown: str, expected: str) -> None:
    assert mrkdwn(markdown).replace("\u200b", "¦") == expected


def test_a_table_is_an_aligned_code_block_with_its_rows_intact() -> None:
    table = "| 名前 | n < 9 |\n|:-:|--:|\n| 日本語 | **1** |\n| x\\|y | 22222 | extra |"
    assert mrkdwn(table).split("\n") == [
        "```",
        "|  名前  | n &lt; 9 |       |",
        "|:------:|------:|-------|",
        "| 日本語 |     1 |       |",
        "|  x|y   | 22222 | extra |",
        "```",
    ]


def test_the_rows_of_a_table_cut_off_from_its_header_are_a_table_too() -> None:
    assert mrkdwn("| a | bbb |\n| cc | d |\n\ntext").split("\n") == [
        "```",
        "| a   | bbb |",
        "| cc  | d   |",
        "```",
        "",
        "text",
    ]


def test_a_list_that_begins_inside_a_nested_list_is_no_code() -> None:
    assert mrkdwn("    - b\n    - c\n2. d") == "• b\n• c\n2. d"


def test_the_size_is_that_of_the_escaped_bytes() -> None:
    assert size_bytes("a<é") == len("a&lt;é".encode())
    assert LIMIT_BYTES < 4_000


SCRAPS = [*"<>@!|^`*[]() \n#U1\\&;", "<!here>", "<!subteam^S1|@x>", "<@U12", "<#C12", "](http://x"]
SCRAPS += ["@channel", "@here.x", "https://x", "mailto:a@b.c", "lt;"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SCRAPS), max_size=40).map("".join))
def test_whatever_is_written_no_token_but_people_channels_and_links_comes_out(text: str) -> None:
    live = re.findall(r"<[^>]*>?", mrkdwn(text))
    allowed = re.compile(r"<(?:[@#][A-Z0-9]{3,}(?:\|[^<>|]*)?|(?:https?|mailto):[^<>]+)>")
    assert all(allowed.fullmatch(token) for token in live)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A\n\n- **b** *c*\n  - [d](https://x.y) <@U06STGBF4Q0>", None),
        ("```c\nif (a < b && @here) \\(x\\)\n```\n`@all`", None),
        (
            "@here <!channel> <!subteam^S1> `<!here>`",
            "@¦here <¦!channel> <¦!subteam^S1> `<¦!here>`",
        ),
        (r"so \( E=mc^2 \) and \[ a_1 * b_2 \]", r"so `\( E=mc^2 \)` and `\[ a_1 * b_2 \]`"),
        ("~~~\nopen, @here", "~~~\nopen, @¦here"),
        ("`a \\`@here\\` `@all`", "`a \\`@¦here\\` `@all`"),
    ],
)
def test_markdown_for_slack_stays_as_it_is_but_calls_nobody(text: str, shown: str | None) -> None:
    assert markdown(text).replace("\u200b", "¦") == (text if shown is None else shown)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SCRAPS), max_size=40).map("".join))
def test_markdown_for_slack_never_calls_a_room(text: str) -> None:
    assert not re.search(r"<!(here|channel|everyone|subteam\^)", markdown(text))
    added = re.compile(r"[\u200b`\\<>]|amp;")
    assert added.sub("", markdown(text)) == added.sub("", text.strip("\n"))


@pytest.mark.parametrize("text", [">" * 3000 + " x", "- " * 3000 + "x", "[" * 3000, "*a " * 3000])
def test_nesting_without_end_is_written_all_the_same(text: str) -> None:
    assert "x" not in text or "x" in mrkdwn(text)


@pytest.mark.parametrize(
    ("text", "was_typed"),
    [
        ("a &lt; b &amp;&amp; c", "a < b && c"),
        ("&amp;lt; &amp;amp;", "&lt; &amp;"),
        ("<http://x.y|x.y> <http://x.y/>", "x.y http://x.y/"),
        ("<https://x.y/?a=1&amp;b=2>", "https://x.y/?a=1&b=2"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("<https://x.y|the spec>", "<https://x.y|the spec>"),
        (
            "<@U1> <@U1|o> <#C1|c> <!here> <!subteam^S1>",
            "<@U1> <@U1|o> <#C1|c> <!here> <!subteam^S1>",
        ),
        ("<>", "<>"),
        ("<b>raw</b> <x &lt; y>", "<b>raw</b> <x < y>"),
    ],
)
def test_a_text_of_slack_is_read_as_it_was_typed(text: str, was_typed: str) -> None:
    assert typed(text) == was_typed
