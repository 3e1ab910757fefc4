"""Mistakes against TOML's grammar, in words: all of a text at once, as far as they can be told
apart."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from typing import Any

from contract.values import dataclass

_AT = re.compile(r"\(at line (\d+), column \d+\)")
_CURLY = re.compile("[\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")
_TWICE = re.compile(r"Cannot (?:declare|overwrite|mutate)")
_TRUTHS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_NOTHING = frozenset({"none", "null", "nil", "~"})
_STATEMENT = re.compile(r"\s*(?:[\w.-]+\s*=|\[)")
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_QUOTED_OR_SAID = re.compile(r"\"(?:\\.|[^\"])*\"|'[^']*'|#.*")
_MOST = 20  # told at once


@dataclass(frozen=True, slots=True)
class Syntax:
    """One mistake. line: from 1; None: the end of the text."""

    line: int | None
    says: str


@dataclass(frozen=True, slots=True)
class Toml:
    """A file's text as far as it is TOML. values: None: too little is left to go on with. text:
    with blank lines in place of what is none."""

    values: dict[str, Any] | None
    text: str
    mistakes: list[Syntax]


def read_toml(text: str) -> Toml:
    """Read what can be read, and find all that can't."""
    lines = text.splitlines()
    found: list[Syntax] = []
    while len(found) < _MOST:
        left = "\n".join([*lines, "#", ""])  # so that each mistake has a line behind it
        try:
            return Toml(tomllib.loads(left), left, found)
        except tomllib.TOMLDecodeError as error:
            at = _AT.search(str(error))
            number = _line_of(int(at[1]), lines) if at else _open_text(lines)
            if number is None or any(one.line == number for one in found):
                return Toml(None, "", found or [Syntax(None, _at_the_end(str(error)))])
            found.append(_take_out(number, lines, str(error)))
    return Toml(None, "", found)


def _take_out(number: int, lines: list[str], message: str) -> Syntax:
    """One mistake; the lines that it spoils are left blank."""
    line, end = lines[number - 1], number
    if "Unclosed array" in message and (begin := _list_before(lines, number)) < number:
        while end <= len(lines) and not _STATEMENT.match(lines[end - 1]):
            end += 1
        lines[begin - 1 : end - 1] = [""] * (end - begin)
        return Syntax(begin, 'a comma or the ] is missing in the list: write ["one", "two"]')
    if line.lstrip().startswith("["):  # whose are the keys below it?
        end += len(_until_next_table(lines[number:]))
    lines[number - 1 : end] = [""] * (end - number + 1)
    return Syntax(number, _words(line, message))


def _until_next_table(rest: list[str]) -> list[str]:
    """The keys of a table whose header can't be read."""
    count = next((n for n, line in enumerate(rest) if line.lstrip().startswith("[")), len(rest))
    return rest[:count]


def _list_before(lines: list[str], number: int) -> int:
    """The line on which a list begins that isn't closed before line `number`."""
    for begin in range(number - 1, 0, -1):
        if "=" in lines[begin - 1] and "[" in lines[begin - 1].partition("=")[2]:
            return begin
    return number


def _open_text(lines: list[str]) -> int | None:
    """The first line with a text that begins and doesn't end."""
    for number, line in enumerate(lines, 1):
        value = line.partition("=")[2].strip()
        if value[:1] in ("'", '"') and value.count(value[0]) % 2:
            return number
    return None


def _line_of(number: int, lines: list[str]) -> int:
    """An end that is missing is found in the line behind it, or at its end."""
    while number > 1 and (number > len(lines) or not lines[number - 1].strip()):
        number -= 1
    return number


def _at_the_end(message: str) -> str:
    if "array" in message.lower():
        return "a list begins with [ and doesn't end: close it with ]"
    if "string" in message.lower() or "multiline" in message.lower():
        return "a text begins with quotes and doesn't end: close it with \""
    return "something begins and doesn't end: look for a missing quote or bracket"


def _words(line: str, message: str) -> str:
    said = line.strip()
    if _CURLY.search(said):
        return 'the quotes are curly: write straight ones, "…"'
    if said.startswith(_CONFLICT):
        return "a merge conflict is left here: keep one side, and delete its marks"
    if odd := _odd_character(line):
        return f"there is a character here that TOML can't use, {odd}: type this line again"
    if said.startswith("["):
        return _of_header(said, message)
    key, equals, value = (part.strip() for part in said.partition("="))
    if not equals:
        return _without_equals(said, message)
    if _TWICE.search(message):
        return f"{key} stands here a second time: keep one of the two"
    if not key or (" " in key and not key.startswith(('"', "'"))):
        return f"{key!r} is no key: a key is one word, with = behind it"
    return _of_value(key, value, message)


def _odd_character(line: str) -> str:
    """The first character that can stand nowhere in TOML, or not outside of quotes; "": none."""
    if found := _CONTROL.search(line):
        return f"U+{ord(found[0]):04X}"
    bare = _QUOTED_OR_SAID.sub("", line)
    key = bare.partition("=")[0]
    for character in bare:
        hidden = unicodedata.category(character)[0] in "ZC" and character not in " \t"
        if hidden or (character in key and not character.isascii()):
            name = unicodedata.name(character, "without a name").lower()
            return f"U+{ord(character):04X} ({name})"
    return ""


def _of_header(said: str, message: str) -> str:
    inside = said.strip("[] ").partition("]")[0].strip()
    if _TWICE.search(message):
        return (
            f"[{inside}] stands here a second time: put its keys below the first one, or write "
            f"[[{inside}]] each time where there are several"
        )
    if re.match(r"\[+[^\[\]]+\]+\s*[^\s\]#]", said):
        return f"[{inside}] stands on a line of its own: write its keys below it"
    left, right = said.count("["), said.partition("#")[0].count("]")
    if left != right or left > 2:
        return f"the brackets don't match: write [{inside}], or [[{inside}]] for one of several"
    return f"{said!r} is no table's name: write [name], or [[name]] for one of several"


def _without_equals(said: str, message: str) -> str:
    if said.startswith(("//", ";", "--", "/*")):
        return "a comment begins with #"
    key, colon, value = (part.strip() for part in said.partition(":"))
    if said.startswith(("{", "}")):
        return "this is JSON, and moot.toml is TOML: write [table], and key = value below it"
    if colon and not value and re.fullmatch(r"[\w-]+", key):
        return f"this is YAML, and moot.toml is TOML: write [{key}], and key = value below it"
    if colon and re.fullmatch(r"[\w-]+", key):
        return f"write = instead of the colon: {key} = {_quoted(value)}"
    if _TWICE.search(message):
        return f"{said!r} stands here a second time: keep one of the two"
    if re.fullmatch(r"[\w.-]+", said):
        return f"there is no value: write {said} = …"
    return "there is no = here: write key = value, or put # before a comment"


def _of_value(key: str, value: str, message: str) -> str:
    bare = value.partition("#")[0].strip()
    if not bare:
        return f"there is no value behind the =: write one, or put # before {key}"
    if bare.lower() in ("true", "false") or bare.lower() in _TRUTHS:
        return f"write {key} = {_TRUTHS.get(bare.lower(), bare.lower())}, in lower case"
    if bare.lower() in _NOTHING:
        return f"TOML has no {bare}: put # before {key} to leave it out"
    if bare[0] in "\"'" and (bare.count(bare[0]) < 2 or "Illegal" in message):
        if "Unescaped" in message or "\\" in bare:
            return "a \\ in a text in double quotes stands twice: \\\\"
        return f"the text doesn't end: write {key} = {_quoted(bare.strip(bare[0]))}"
    if "\\" in bare and bare[0] == '"':
        return "a \\ in a text in double quotes stands twice: \\\\"
    if bare[0] == "[":
        return f'the list can\'t be read: write {key} = ["one", "two"]'
    if bare[0] == "{":
        return f'the table can\'t be read: write {key} = {{ name = "value" }} in one line'
    if bare[0] in "\"'":
        return f'only one text may stand behind {key} =, and a quote within it is written \\"'
    if re.fullmatch(r"0\d+", bare):
        return f"a number begins with no 0: write {key} = {bare.lstrip('0') or '0'}"
    if re.fullmatch(r"[\d.]+,[\d.]+", bare):
        return f"a number has a point, no comma: write {key} = {bare.replace(',', '.')}"
    return f"a text stands in quotes: write {key} = {_quoted(bare)}"


def _quoted(text: str) -> str:
    bare = text.strip("\"'")
    return f'"{bare}"' if len(bare) <= 60 and '"' not in bare else '"…"'
