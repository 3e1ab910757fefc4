"""What Slack's blocks and Mattermost read themselves means there what it means everywhere."""

import pytest

from bots.markdown.kept import kept

TABLE = [
    ("# A *b*\n\n- **c** `d*e*f` [g](h)", "# A *b*\n\n- **c** `d*e*f` [g](h)"),
    ("2*3*4 = 24, a*b*c, x**2", r"2\*3\*4 = 24, a\*b\*c, x\*\*2"),
    ("*it* a*b*c **d e*f g** h*i*j", r"*it* a\*b\*c **d e*f g** h\*i\*j"),
    ("*it*s and foo**bar**baz", "*it*s and foo**bar**baz"),
    (r"a\*b __init__.py", r"a\*b \_\_init\_\_.py"),
    ("[a](src/__init__.py) <http://a*b*c>", "[a](src/__init__.py) <http://a*b*c>"),
    ("(see https://x.y/a*b*c).", "(see <https://x.y/a*b*c>)."),
    ("https://x.y/__init__.py", "https://x.y/__init__.py"),
    ("&lt;p&gt; a && b &amp; `&lt;`", "&amp;lt;p&amp;gt; a && b &amp;amp; `&lt;`"),
    ("    a*b*c\n    - d*e*f", "    a*b*c\n    - d\\*e\\*f"),
    ("```\na*b*c &lt;\n```", "```\na*b*c &lt;\n```"),
    (r"so \(a_1*b_2\), $$x=1$$", r"so `\(a_1*b_2\)`, `$$x=1$$`"),
    (r"\[1\], \(see below\), $$ and $$", r"\[1\], \(see below\), $$ and $$"),
    (r"\[a=1 \\[2pt] b\]", r"`\[a=1 \\[2pt] b\]`"),
    (r"\(a=1 \\(b)\) \(c", r"`\(a=1 \\(b)\)` \(c"),
    ("`a*b*c``d*e*f`g*h*i``", "`a*b*c``d*e*f`g\\*h\\*i``"),
    ("``a*b*c`\n`d*e*f`", "``a\\*b\\*c`\n`d*e*f`"),
]


@pytest.mark.parametrize(("markdown", "expected"), TABLE)
def test_markdown_is_kept_but_for_what_would_be_read_otherwise(
    markdown: str, expected: str
) -> None:
    assert kept(markdown) == expected


@pytest.mark.parametrize(("opening", "closing"), [("\\[", "\\]"), ("$$", "$$")])
def test_a_formula_on_lines_of_its_own_is_a_block_of_code(opening: str, closing: str) -> None:
    text = f"- so\n  {opening}\n  x_1\n  + y\n  {closing}\n\nb"
    source = f"  {opening}\n  x_1\n  + y\n  {closing}"
    assert kept(text) == f"- so\n  ```\n{source}\n  ```\n\nb"
    assert kept(text, "latex") == "- so\n  ```latex\n  x_1\n  + y\n  ```\n\nb"


def test_what_only_looks_like_such_a_block_stays() -> None:
    for text in ("$$\nand\n$$", "\\[\nx = 1\n\ny\n\\]", "\\[\nx=1\n$$"):
        assert kept(text) == text
