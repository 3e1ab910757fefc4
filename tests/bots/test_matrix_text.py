"""Markdown in, Matrix's HTML out; and a whole event, counted."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.markdown.split import split
from bots.matrix.text import LIMIT, plain, size, written

TABLE = [
    ("**b** *i* ~~s~~ `c`", "<p><strong>b</strong> <em>i</em> <del>s</del> <code>c</code></p>"),
    ("a < b & c > d", "<p>a &lt; b &amp; c &gt; d</p>"),
    (
        r"so \(a<b\)",
        r'<p>so <span data-mx-maths="a&lt;b"><code>\(a&lt;b\)</code></span></p>',
    ),
    ("$$x=1$$", '<div data-mx-maths="x=1"><pre><code>$$x=1$$</code></pre></div>'),
    ("<b>x</b> &lt;", "<p>&lt;b&gt;x&lt;/b&gt; &amp;lt;</p>"),
    ("a\nb", "<p>a<br>b</p>"),
    ("# A\n\n###### B", "<h1>A</h1><h6>B</h6>"),
    ("- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
    ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
    ("- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>"),
    ("- a\n\n  b", "<ul><li><p>a</p><p>b</p></li></ul>"),
    ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
    (
        "```py\nif a < b:\n\n\tx\n```",
        '<pre><code class="language-py">if a &lt; b:\n\n\tx\n</code></pre>',
    ),
    ("```c++ x=1\na\n```", '<pre><code class="language-c++">a\n</code></pre>'),
    ("---", "<hr>"),
    (
        "| a | b |\n|--|--|\n| **c** | d | e |",
        "<table><thead><tr><th>a</th><th>b</th><th></th></tr></thead>"
        "<tbody><tr><td><strong>c</strong></td><td>d</td><td>e</td></tr></tbody></table>",
    ),
    (
        '[t](https://x.y/?a=1&b="2" "why")',
        '<p><a href="https://x.y/?a=1&amp;b=&quot;2&quot;">t</a> (why)</p>',
    ),
    ("[t](src/a.py) [u](javascript:x)", "<p>t (src/a.py) [u](javascript:x)</p>"),
    ("![alt](https://x.y/i.png)", '<p><a href="https://x.y/i.png">alt</a></p>'),
    ("@ann:hs.org, hi", '<p><a href="https://matrix.to/#/@ann:hs.org">@ann:hs.org</a>, hi</p>'),
    ("`@ann:hs.org` a@b.c:1", "<p><code>@ann:hs.org</code> a@b.c:1</p>"),
    ("@room @all", "<p>@\u200broom @\u200ball</p>"),
    (
        "[a][1]\n\n[1]: https://x.y",
        '<p><a href="https://x.y">a</a></p><p>[1]: https://x.y</p>',
    ),
]


@pytest.mark.parametrize(("markdown", "expected"), TABLE)
def test_markdown_becomes_html(markdown: str, expected: str) -> None:
    assert written(markdown) == expected


def test_the_plain_body_is_the_markdown_itself_without_a_call_to_the_room() -> None:
    assert plain("**a** @room\n\n- b\n") == "**a** @\u200broom\n\n- b\n"


def test_code_keeps_its_decorators() -> None:
    code = "`@all`\n\n```ts\n@Group({x: 1})\nclass A {}\n```"
    assert plain(f"@all {code}\n@here") == f"@\u200ball {code}\n@\u200bhere"
    assert plain("```\n@room\n```") == "```\n@\u200broom\n```"  # old clients look everywhere


ALLOWED = {
    "p",
    "strong",
    "em",
    "del",
    "code",
    "pre",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
}
ALLOWED |= {"li", "blockquote", "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"}


class Checker(HTMLParser):
    """Notes what isn't allowed, and whether every tag is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED or any(name not in ("href", "class", "start") for name, _ in attrs):
            self.faults.append(f"{tag} {attrs}")
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"/{tag}")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab *_~`[]()<>|#-+.>0 1\n\n\t\\:!\r&@^\"'=/漢", max_size=200))
def test_whatever_is_written_its_tags_are_allowed_and_closed(text: str) -> None:
    checker = Checker()
    checker.feed(written(text))
    checker.close()
    assert not checker.faults
    assert not checker.open


def event_bytes(text: str) -> int:
    """An encrypted edit as a homeserver keeps it: both bodies twice, base64, and its frame."""
    bodies = {"body": f"* {plain(text)}", "format": "org.matrix.custom.html"}
    bodies |= {"formatted_body": f"* {written(text)}", "msgtype": "m.text"}
    relation = {"rel_type": "m.replace", "event_id": "$" + "e" * 43}
    mentions = {"user_ids": [f"@someone{n}:example.org" for n in range(10)]}
    content = bodies | {"m.new_content": bodies, "m.relates_to": relation, "m.mentions": mentions}
    secret = json.dumps({"type": "m.room.message", "content": content, "room_id": "!" + "r" * 40})
    sealed = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x" * (len(secret) * 4 // 3 + 200)}
    sealed |= {"device_id": "D" * 10, "sender_key": "k" * 43, "session_id": "s" * 43}
    frame = {"content": sealed | {"m.relates_to": relation}, "auth_events": ["$" + "a" * 43] * 10}
    frame |= {"prev_events": ["$" + "p" * 43] * 20, "sender": "@" + "u" * 60, "origin": "o" * 60}
    return len(json.dumps(frame)) + 500  # hashes, signatures, times


@pytest.mark.parametrize(
    "unit", ["word ", "漢字", "😀", '"\\', "- *a* `b`\n", "| a | b |\n", "&<>"]
)
def test_a_piece_fits_an_event_even_as_an_encrypted_edit(unit: str) -> None:
    pieces = split(unit * (24_000 // len(unit)), LIMIT, size)
    assert len(pieces) > 1
    assert max(map(event_bytes, pieces)) <= 65_536
    assert max(map(event_bytes, pieces)) > 50_000  # the limit is not wasted
