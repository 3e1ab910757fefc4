"""Reads the command line: says what was meant by a mistyped word, and prints help by groups."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from gateway.cli.colours import paint

_REQUIRED = re.compile(r"the following arguments are required: (.*)")
_NUMBER = re.compile(r"invalid (?:int|float) value: (.*)")

Groups = Mapping[str, Mapping[str, str]]
"""Heading → command → an example of it."""


class Parser(argparse.ArgumentParser):
    """Of `moot`, or of one of its commands: those below it are made of the same class."""

    groups: Groups = MappingProxyType({})
    color = False  # from Python 3.14 on argparse has colours of its own

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **{"formatter_class": HelpFormatter, **named})

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one sentence."""
        help_ = " ".join(("moot help", *self.prog.split()[1:]))
        message = message.removeprefix("argument ")
        message = _REQUIRED.sub(r"\1 is missing", message)
        message = _NUMBER.sub(r"\1 is not a number", message)
        end = "" if message.endswith("?") else ";"
        print(f"{self.prog}: {message}{end} `{help_}` shows how", file=sys.stderr)  # noqa: T201
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Nothing is left over: whose options these are is known here alone."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left[0].partition("=")[0]))
        return found, left

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"there is one word too many: {word!r}"
        near = difflib.get_close_matches(word, self._option_string_actions, 1)
        return f"there is no option {word}{_meant(near)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raises argparse.ArgumentError: what was meant, or what there is."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        near = difflib.get_close_matches(str(value), choices, 1)
        below = isinstance(action, argparse._SubParsersAction)
        told = _meant(near)
        if not near and not self.groups:  # the commands of `moot` are a page of their own
            told = f", but {', '.join(choices)}"
        what = "command" if below else "choice"
        raise argparse.ArgumentError(
            None if below else action, f"there is no {what} {value!r}{told}"
        )

    # ── Help ────────────────────────────────────────────────────────────────────────────────

    def format_help(self) -> str:
        """The commands by their groups; of a command, its options and an example."""
        if not self.groups:
            return super().format_help()
        lines = [self.format_usage().rstrip(), "", self.description or ""]
        told = {action.dest: action.help or "" for action in self.subcommands()}
        for heading, names in self.groups.items():
            lines += ["", paint(f"{heading}:", "bold", sys.stdout)]
            for name in names:
                lines.append(f"  {paint(f'{name:<12}', 'cyan', sys.stdout)}  {told[name]}")
        lines += ["", "`moot help COMMAND` shows its options and an example of it."]
        return "\n".join(lines) + "\n"

    def subcommands(self) -> Sequence[argparse.Action]:
        """What stands below it, each with its name as `dest`; [] below a last command."""
        return [
            below
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for below in action._choices_actions
        ]

    def below(self, name: str) -> Parser:
        """The parser of a command below it."""
        (found,) = (
            action.choices[name]
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
        )
        assert isinstance(found, Parser)
        return found


class HelpFormatter(argparse.HelpFormatter):
    """Headings in bold; the example as it is typed."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def start_section(self, heading: str | None) -> None:
        """Begin a part of the help."""
        super().start_section(heading and paint(heading, "bold", sys.stdout))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("Example"):
            return "".join(f"{indent}{line}\n" for line in text.splitlines())
        return super()._fill_text(text, width, indent)


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""
