"""Changes a persona file's text: single keys of its front matter, and nothing else of it. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from contract.errors import ConfigError
from gateway.settings.personas.check import FRONT_MATTER
from gateway.settings.personas.front_yaml import FrontLoader
from gateway.settings.personas.personas import parse_persona

_MODE = "mode"  # what is changed of a `sandbox` that is a table


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
    parse_persona(name, now)
    for key, value in {"agent": agent, **keys}.items():
        try:
            now = with_value(now, key, value or "")
        except ConfigError as error:
            raise ConfigError(f"{name}.md: {error}") from None
    parse_persona(name, now)
    return now


def values_of(text: str, keys: Iterable[str]) -> dict[str, str | None]:
    """What these keys have in the front matter, as it is written there; "": they are not there.
    None: it is not one word or sentence, or the front matter can't be read."""
    try:
        node = _mapping(_split(text)[1])
    except ConfigError:
        return dict.fromkeys(keys)
    return {key: _told(_pair(node, key), key) for key in keys}


def with_value(text: str, key: str, value: str) -> str:
    """The text with this value of a key; "": without the key. Everything else, comments and keys
    that nobody knows too, stays byte for byte. Raises ConfigError."""
    before, head, after = _split(text)
    node, value = _mapping(head), " ".join(value.splitlines())
    if (told := _told(_pair(node, key), key)) == value:
        return text
    end = "\r\n" if "\r\n" in head else "\n"
    made = None if told is None else _changed(head, node, key, value, end)
    if made is None or not _is_that_change(head, made, key, value):
        raise ConfigError(f"its `{key}` can't be changed from here; edit the text")
    return before + made + after if before else f"---\n{made}---\n{text}"


def _split(text: str) -> tuple[str, str, str]:
    """The text to its front matter, that, and the rest; three times "" where there is none."""
    found = FRONT_MATTER.match(text)
    if found is not None:
        return text[: found.start(1)], found[1], text[found.end(1) :]
    if text.removeprefix("\ufeff").startswith("---"):
        raise ConfigError("the front matter has no end; close it with a line ---")
    return "", "", ""


def _mapping(head: str) -> yaml.MappingNode | None:
    """What stands in the front matter; None: nothing. Raises ConfigError."""
    try:
        tokens = yaml.scan(head, FrontLoader)
        shared = any(isinstance(token, yaml.AliasToken) for token in tokens)
        node = yaml.compose(head, FrontLoader)
    except (yaml.YAMLError, RecursionError):
        node, shared = None, True
    if shared or not isinstance(node, yaml.MappingNode | None):
        raise ConfigError("the front matter can't be read as fields; edit the text")
    return node


def _pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    found = [pair for pair in pairs if pair[0].value == key]
    return found[-1] if found else None  # of two the last one counts


def _told(pair: tuple[yaml.Node, yaml.Node] | None, key: str) -> str | None:
    if pair is None:
        return ""
    node = pair[1]
    if key == "sandbox":
        if isinstance(node, yaml.MappingNode):
            return _told(_pair(node, _MODE), key)
        if node.tag.endswith(":bool"):  # YAML reads `on` and `off` as a truth value
            return "on" if yaml.SafeLoader.bool_values[node.value.lower()] else "off"
    if not isinstance(node, yaml.ScalarNode):
        return None
    return "" if node.tag.endswith(":null") else str(node.value)


def _changed(head: str, top: yaml.MappingNode | None, key: str, value: str, end: str) -> str:
    node, shown, found = top, key, _pair(top, key)
    if key == "sandbox" and found and isinstance(found[1], yaml.MappingNode):
        node, shown = found[1], _MODE
        found = _pair(node, shown)
    flow = node is not None and bool(node.flow_style)
    word = value if key == "sandbox" else _word(value, flow)
    if found is not None:
        return _replaced(head, found[1], word) if value else _removed(head, *found, flow)
    if not value:
        return head
    line = f"{shown}: {word}"
    if node is None or (node is top and not flow):
        return f"{head}{' ' * (node.start_mark.column if node else 0)}{line}{end}"
    at = node.start_mark.index + flow
    behind = (", " if node.value else "") if flow else end + " " * node.start_mark.column
    return head[:at] + line + behind + head[at:]


def _word(value: str, flow: bool) -> str:
    """A value as YAML, in quotes where it needs some. flow: it stands between brackets."""
    made = yaml.safe_dump(
        {"k": value}, allow_unicode=True, width=math.inf, default_flow_style=flow
    ).rstrip("\n")
    return made[4:-1] if flow else made[3:]


def _replaced(head: str, node: yaml.Node, word: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    old = head[start:end]
    if old:
        return head[:start] + word + old[len(old.rstrip()) :] + head[end:]
    rest = head[end:].lstrip(" \t")
    return f"{head[:start]} {word}{' ' if rest.startswith('#') else ''}{rest}"


def _removed(head: str, key: yaml.Node, node: yaml.Node, flow: bool) -> str:
    start, end = key.start_mark.index, node.end_mark.index
    before, rest = head[:start], head[end:]
    if flow:
        behind = re.sub(r"\A\s*,\s*", "", rest)
        return (before if behind != rest else re.sub(r"\s*,\s*\Z", "", before)) + behind
    if before.endswith(("\n", " ", "\t")) or not before:
        line = before.rstrip(" \t")
        if head[end - 1 : end] == "\n":  # the end of a text of several lines
            return line + rest
        if gone := re.match(r"[ \t]*(?:\r?\n|\Z)", rest):
            return line + rest[gone.end() :]
    return before + rest.lstrip(" \t")  # a comment behind it stays


def _is_that_change(head: str, made: str, key: str, value: str) -> bool:
    """Nothing else has another meaning now."""
    try:
        before, after = (_others(yaml.safe_load(one), key) for one in (head, made))
        return before == after and _told(_pair(_mapping(made), key), key) == value
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, ConfigError):
        return False


def _others(front: Mapping[str, Any] | None, key: str) -> dict[str, Any]:
    kept = dict(front or {})
    mine = kept.pop(key, None)
    more = {k: v for k, v in mine.items() if k != _MODE} if isinstance(mine, dict) else None
    return {**kept, key: more} if more else kept
