"""docs/command-line.md: every command of `moot` with its options, as the parser has them.

`python -m tests.gateway.command_page` writes the page below its introduction; a test fails while it
is stale.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from gateway.cli.commands import GROUPS, make_parser
from gateway.cli.parser import Parser

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BEGIN = "<!-- from here on made by `python -m tests.gateway.command_page` -->\n"


def rendered(page: str) -> str:
    """The page as it should be; its introduction is kept."""
    parser = make_parser()
    head, _, _ = page.partition(BEGIN)
    return head + BEGIN + "\n" + "\n".join([*_overview(parser), *_commands(parser)]).rstrip() + "\n"


def _overview(parser: Parser) -> Iterator[str]:
    helps = {action.dest: action.help or "" for action in parser.subcommands()}
    for heading, names in GROUPS.items():
        yield f"## {heading}\n\n| command | what it does | example |\n|---|---|---|"
        for name, example in names.items():
            yield f"| [`moot {name}`](#moot-{name}) | {_cell(helps[name])} | `{_cell(example)}` |"
        yield ""


def _commands(parser: Parser) -> Iterator[str]:
    for names in GROUPS.values():
        for name in names:
            yield from _command(parser.below(name), "##")


def _command(parser: Parser, level: str) -> Iterator[str]:
    """A command, then those below it."""
    yield f"{level} {parser.prog}\n"
    if parser.description:
        yield f"{_sentence(parser.description)}\n"
    below = parser.subcommands()
    rows = [
        f"| {_words(action)} | {_meaning(action)} |"
        for action in parser._actions
        if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
        and action.help != argparse.SUPPRESS
        and action.dest not in ("config", "home")  # which the introduction explains
    ]
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows, ""])
    for action in below:
        inner = parser.below(action.dest)
        if not inner.description:
            inner.description = action.help
        yield from _command(inner, f"{level}#")


def _words(action: argparse.Action) -> str:
    value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    if not action.option_strings:
        return f"`{_cell(f'[{value}]' if action.nargs in ('?', '*') else str(value))}`"
    taken = "" if action.nargs == 0 else f" {value}"
    return f"`{_cell(', '.join(action.option_strings) + taken)}`"


def _meaning(action: argparse.Action) -> str:
    required = action.option_strings and action.required
    return _cell(f"{action.help or ''}{' (required)' if required else ''}")


def _sentence(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text("utf-8")), "utf-8")
