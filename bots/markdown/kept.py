"""Markdown for platforms that read it themselves: it means there what it means to our reader.

A sign between words that is no emphasis is escaped, an entity is text, and a formula is code. Pure.
"""

from __future__ import annotations

import re

from bots.markdown.parser import (
    BETWEEN,
    DUNDER,
    FORMULA,
    PRODUCT,
    URL,
    has_formula,
    is_formula,
    url_without_tail,
)
from bots.markdown.writer import outside_code

_PARTS = re.compile(
    r"^(?P<indented>(?: {4}|\t)(?![ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])[^\n]*)"
    r"|^(?P<block>(?P<lead>[ \t>]*)(?P<opening>\\\[|\$\$)"
    r"(?P<body>[^\n]*\n(?:(?![ \t>]*(?:\\\[|\$\$\S|\n))[^\n]*\n)*?[^\n]*?)"
    r"(?P<closing>\\\]|\$\$)[ \t]*)$"
    rf"|(?P<formula>{FORMULA.pattern})"
    rf"|(?P<link>\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*|<[^<>\s]+>)|(?P<url>(?i:{URL.pattern}))"
    rf"|(?P<always>{PRODUCT.pattern}|{DUNDER.pattern})|(?P<between>{BETWEEN.pattern})"
    r"|(?P<entity>&(?=#?\w{1,32};))|(?P<opener>(?<![\w*\\])\*+(?=[^\s*]))|(?P<end>(?<=[^\s*])\*+(?!\w)|\n)",
    re.MULTILINE,
)
_SIGN = re.compile(r"[*_]")
_NEEDED = re.compile(r"[*_~\\$&]")


def kept(text: str, latex: str = "") -> str:
    """The Markdown text. latex: the language of a block that is drawn as a formula, "" for none."""
    return outside_code(text, _Keeper(latex).kept) if _NEEDED.search(text) else text


class _Keeper:
    def __init__(self, latex: str) -> None:
        self._latex = latex
        self._open = False  # stars that begin emphasis stand before, in this line

    def kept(self, text: str) -> str:
        self._open = False
        return _PARTS.sub(self._part, text)

    def _part(self, part: re.Match[str]) -> str:
        match part.lastgroup:
            case "block":
                return self._block(part)
            case "formula" if has_formula(part) and "`" not in part[0]:
                return f"`{part[0]}`"
            case "always":
                return _SIGN.sub(r"\\\g<0>", part[0])
            case "between" if not self._open:
                return _SIGN.sub(r"\\\g<0>", part[0])
            case "entity":
                return "&amp;"
            case "url":
                url = url_without_tail(part[0])
                if re.search(r"[*~]", url) and "](" not in url:
                    return f"<{url}>{part[0][len(url) :]}"
            case "opener" | "end" as kind:
                self._open = kind == "opener"
        return part[0]

    def _block(self, part: re.Match[str]) -> str:
        opening, body, lead = part["opening"], part["body"], part["lead"]
        pair = {"\\[": "\\]", "$$": "$$"}[opening] == part["closing"]
        if not pair or not is_formula(body) or "```" in body:
            return part[0]
        source = body.strip() if self._latex else part["block"].strip(" \t>")
        lines = [line.removeprefix(lead) for line in source.split("\n")]
        return "\n".join(lead + line for line in (f"```{self._latex}", *lines, "```"))
