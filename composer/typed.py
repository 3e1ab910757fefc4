"""The text that is typed into a program's prompt: no `@` that it could take for a file.

Claude Code reads `@/any/file` without asking. U+2060 (word joiner) behind an `@` makes it
text; people's own U+2060 never gets this far, and the one in replies is taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from composer.labels import MENTIONS

JOINER = "\u2060"

# A name that could not lead out of the folder that the agent works in.
_NO_PATH = re.compile(r"\w[\w' -]*(?:\.[\w' -]+)*")
# Behind a name nothing goes on that could be a path's.
_END = r"(?=[^\w\s/\\~]*(?:\s|\Z))"


def typable(text: str, known_names: Iterable[str], mention_tokens: Iterable[str]) -> str:
    """The text with U+2060 behind each `@` that tags nobody.

    known_names: of personas, their aliases and participants, in any case, with or without
    their `@`; one that looks like a path counts as unknown. mention_tokens: as in the labels;
    one that fits no platform's pattern counts as unknown. Idempotent.
    """
    if "@" not in text:
        return text
    tokens = [token for token in mention_tokens if _fits(token)]
    names = [bare for name in known_names if _NO_PATH.fullmatch(bare := name.strip().lstrip("@"))]
    tags = [re.escape(token) for token in tokens if token.startswith("<")]
    tags += [re.escape(token) + _END for token in tokens if token.startswith("@")]
    tags += [f"@(?i:{re.escape(name)}){_END}" for name in names]
    alternatives = "|".join([*sorted(tags, key=len, reverse=True), f"@{JOINER}", "(@)"])
    return re.sub(alternatives, lambda found: found[0] + (JOINER if found[1] else ""), text)


def untyped(reply: str) -> str:
    """An agent's reply without U+2060."""
    return reply.replace(JOINER, "")


def _fits(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in MENTIONS.values())
