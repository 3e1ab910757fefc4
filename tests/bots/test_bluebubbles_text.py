"""Markdown in, the text of a bubble out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.bluebubbles.text import LIMIT, size, written


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** *it* ~~gone~~ `code`", "bold it gone code"),
        ("# Title\n\ntext", "Title\n\ntext"),
        ("[t](https://x.y) <https://x.y> https://x.y", "t (https://x.y) https://x.y https://x.y"),
        ("![alt](https://x.y/i.png)", "alt (https://x.y/i.png)"),
        ("- a\n  - b\n1. c\n- [x] d\n- [ ] e", "• a\n    • b\n1. c\n☑ d\n☐ e"),
        ("> a\n> b", "> a\n> b"),
        ("```py\nif a:\n\tb  \n\n# *c*\n```", "if a:\n\tb  \n\n# *c*"),
        ("| a | b |\n|--|--|\n| **c** | d |\n| e |  |", "a — b\nc — d\ne — "),
        ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
        ("@all snake_case 2 * 3", "@\u200ball snake_case 2 * 3"),
        ("2*3*4 = 24, a*b*c, $5*2*3", "2*3*4 = 24, a*b*c, $5*2*3"),
        ("see __init__.py, x**2 + y**2", "see __init__.py, x**2 + y**2"),
        ('__name__ == "__main__"', '__name__ == "__main__"'),
        ("**2**nd *foo*bar 这是**粗体**文字", "2nd foobar 这是粗体文字"),
        (r"so \( E=mc^2 \) and \[1\]", r"so \( E=mc^2 \) and [1]"),
        ("$$\nx\n+ y\n$$\n\n- b", "$$\nx\n+ y\n$$\n\n• b"),
    ],
)
def test_markdown_becomes_plain_text(markdown: str, expected: str) -> None:
    assert written(markdown) == expected


@given(st.lists(st.text(alphabet="ab *_`#>|-\t\\<&漢", max_size=30), min_size=1, max_size=10))
def test_no_character_of_code_is_lost(lines: list[str]) -> None:
    code = ["x", *lines, "y"]
    assert written("~~~~~~\n" + "\n".join(code) + "\n~~~~~~") == "\n".join(code)


def test_the_size_is_in_the_units_that_a_phone_counts() -> None:
    assert size("😀 **b**") == 4
    assert size("word " * 400) < LIMIT
