"""What goes into a terminal must read no file and press no key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.header import typable, untyped

NAMES = ["claude", "@codex", "Andi Wijaya", "john.doe", "/etc/passwd", "../x", "~root", "a\nb"]
TOKENS = ["<@U06STGBF4Q0>", "@olivia:matrix.example", "@/etc/passwd", "@x/../../y"]


@pytest.mark.parametrize(
    "text",
    [
        "@claude why?",
        "hello @Claude, please",
        "(@claude) @CODEX: @claude",
        "@codex.",
        "@Andi Wijaya!",
        "@john.doe",
        "thanks <@U06STGBF4Q0>/x",
        "@olivia:matrix.example",
        "no sign at all",
    ],
)
def test_an_at_sign_that_tags_somebody_stays(text: str) -> None:
    assert typable(text, NAMES, TOKENS) == text


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("@/etc/passwd", "@\u2060/etc/passwd"),
        ("see @README.md", "see @\u2060README.md"),
        ("@~/.ssh/id_rsa", "@\u2060~/.ssh/id_rsa"),
        ('@"/etc/passwd"', '@\u2060"/etc/passwd"'),
        ("a@b.example", "a@\u2060b.example"),
        ("@claude/../../etc/passwd", "@\u2060claude/../../etc/passwd"),
        ("@claude.md", "@\u2060claude.md"),
        ("@claudette", "@\u2060claudette"),
        ("@claude@/etc/passwd", "@\u2060claude@\u2060/etc/passwd"),
        ("@../x", "@\u2060../x"),
        ("@~root", "@\u2060~root"),
        ("@x/../../y", "@\u2060x/../../y"),
        ("<@U1>", "<@\u2060U1>"),
        ("@@claude", "@\u2060@claude"),
        ("@", "@\u2060"),
        ("@olivia:matrix.example/x", "@\u2060olivia:matrix.example/x"),
    ],
)
def test_any_other_at_sign_is_made_harmless(text: str, typed: str) -> None:
    assert typable(text, NAMES, TOKENS) == typed
    assert typable(typed, NAMES, TOKENS) == typed
    assert untyped(typed) == text


@given(st.text("@/.~ \nabclaude<>U1\u2060", max_size=40))
def test_every_at_sign_tags_or_is_followed_by_a_joiner(text: str) -> None:
    typed = typable(text, ["claude"], ["<@U1>"])
    assert typable(typed, ["claude"], ["<@U1>"]) == typed
    assert untyped(typed) == untyped(text)
    rest = typed.replace("@\u2060", "").replace("<@U1>", "").casefold()
    assert rest.count("@") == rest.count("@claude")
