"""Changes a persona file's text: single keys of its front matter, and nothing else of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from contract.errors import ConfigError
from gateway.settings.personas.personas import parse_persona

_PLAIN = re.compile(r"[A-Za-z][\w-]*")
_HEAD = re.compile(r"\A(---[ \t]*\r?\n)(.*?)(^---[ \t]*$)", re.DOTALL | re.MULTILINE)


def persona_text(
    name: str, agent: str, description: str, now: str | None, **keys: str | None
) -> str:
    """A persona file: the one that is there with this agent, or a new one. Raises ConfigError.

    keys: further ones of its front matter; None: without it.
    """
    if now is None:
        body = f"You are {name.title()}, in a room with people who work together."
        rest = "Answer first, reasons after. What somebody told you in private stays there."
        now = f"---\nagent: {agent}\n---\n{body} {rest}\n"
        keys = {"description": " ".join(description.split()) or None, **keys}
    return with_front(name, now, {"agent": agent, **keys})


def with_front(name: str, text: str, keys: Mapping[str, str | None]) -> str:
    """The text with these keys of one line each; None: without it. Raises ConfigError."""
    found = _HEAD.match(text)
    if found is None:
        raise ConfigError(f"{name}.md: it has no front matter; edit the file")
    head, before = found[2], parse_persona(name, text).front.model_dump(mode="json")
    for key, value in keys.items():
        shown = str(before[key]) if before[key] is not None else None
        if shown != value and not (value is None and not shown):
            head = _with_key(head, key, value)
    made = found[1] + head + found[3] + text[found.end() :]
    after = parse_persona(name, made).front.model_dump(mode="json")
    for key, value in keys.items():
        if str(after[key] or "") != (value or ""):
            raise ConfigError(f"{name}.md: its `{key}` can't be changed from here; edit the file")
    return made


def _with_key(head: str, key: str, value: str | None) -> str:
    there = re.compile(rf"^{key}[ \t]*:.*\n", re.MULTILINE)
    if value is None:
        return there.sub("", head, count=1)
    plain = key == "agent" and _PLAIN.fullmatch(value)
    shown = value if plain else json.dumps(value, ensure_ascii=False)
    line = f"{key}: {shown}\n"
    if there.search(head):
        return there.sub(lambda _: line, head, count=1)
    return head + line
