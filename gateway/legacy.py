"""Rows written before the contract carry prefixes in their text. They stay as they are."""

from __future__ import annotations

import re

BAKED = re.compile(
    r"\[(?:Slack channel:|Discord channel:)[^\]\n]* user:[^\]\n]*\] |\[[^\]\n]{1,64}\]: "
)


def strip_baked(text: str) -> str:
    """A legacy row's text without its prefix. For display only."""
    return text[match.end() :] if (match := BAKED.match(text)) else text
