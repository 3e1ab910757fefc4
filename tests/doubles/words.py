"""What a reply says, whatever it is rendered as: its words, without Markdown's syntax."""

import re

INVISIBLE = re.compile("[\u200b\u2060\u00ad\ufeff\u200e\u200f]")
FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*$")
RULE = re.compile(r"\s*\|?(?:[\s:|-]*-{3,}[\s:|-]*|\*{3,}|_{3,}|[—─━]{3,})\s*$")
QUOTE = re.compile(r"\s*(?:>\s?)+")
HEADING = re.compile(r"\s*#{1,6}\s+")
ITEM = re.compile(r"\s*[-*+]\s+(?:\[[ xX]\]\s+)?")
NUMBER = re.compile(r"\s*(?:\d+|[a-z])[.)]?\s+(?=\S)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
MARKS = re.compile(r"[*_`~\\]")


def words(markdown: str) -> list[str]:
    """The words in order. Lists lose their numbers: programs renumber them."""
    lines = []
    for line in INVISIBLE.sub("", markdown).split("\n"):
        if FENCE.match(line) or RULE.match(line):
            continue
        for syntax in (QUOTE, HEADING, ITEM, NUMBER):
            line = syntax.sub("", line, count=1) if syntax.match(line) else line
        if line.lstrip().startswith("|"):
            line = line.replace("|", " ")
        lines.append(MARKS.sub("", LINK.sub(r"\1 (\2)", line)).replace("&amp;", "&"))
    return " ".join(lines).split()
