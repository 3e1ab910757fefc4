"""Questions of `moot init`: on a terminal, from a pipe, or not at all (`--yes`)."""

from __future__ import annotations

import getpass
import os
import readline
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

from contract.errors import ConfigError

Fault = Callable[[str], str]
"""The mistake in an answer, as a sentence; "": none."""


def fine(_: str) -> str:
    """Any answer will do."""
    return ""


class Asker:
    """Asks one thing after the other. A wrong answer is told why, and asked for again.

    quiet: nothing is asked; what has no default is a mistake. `flag` names what says it instead.
    """

    def __init__(self, given: TextIO, out: TextIO, *, quiet: bool) -> None:
        self._given, self._out = given, out
        self.quiet = quiet

    def say(self, text: str = "") -> None:
        """Print a line."""
        self._out.write(f"{text}\n")
        self._out.flush()

    def text(self, question: str, flag: str, *, default: str = "", fault: Fault = fine) -> str:
        """An answer; nothing: the default. Raises ConfigError."""
        shown = f"{question} [{default}]: " if default else f"{question}: "
        return self._answer(lambda: self._line(shown), flag, default, fault)

    def secret(self, question: str, flag: str, *, fault: Fault = fine) -> str:
        """Likewise, and nobody sees it typed."""
        return self._answer(lambda: self._hidden(f"{question}: "), flag, "", fault)

    def path(self, question: str, flag: str, *, default: str = "", fault: Fault = fine) -> str:
        """A path, which Tab completes on a terminal. Raises ConfigError."""
        shown = f"{question} [{default}]: " if default else f"{question}: "
        return self._answer(lambda: self._completed(shown), flag, default, fault)

    def pause(self, words: str) -> None:
        """Wait for Enter."""
        if not self.quiet:
            self._line(f"{words}: ")

    def optional(self, question: str, *, fault: Fault = fine, hidden: bool = False) -> str:
        """An answer, or "" for none."""
        if self.quiet:
            return ""
        shown = f"{question} (Enter: none): "
        while True:
            answer = self._hidden(shown) if hidden else self._line(shown)
            if not answer or not (wrong := fault(answer)):
                return answer
            self.say(f"  ✗ {wrong}")

    def choose(self, question: str, options: Sequence[tuple[str, str]], flag: str) -> str:
        """One of some (value, what it means); by number or value. The first is the default."""
        self_evident = self.quiet or len(options) == 1
        if self_evident:
            return options[0][0]
        self.say(question)
        for number, (_, meaning) in enumerate(options, 1):
            self.say(f"  {number}) {meaning}")
        values = [value for value, _ in options]
        by_number = {str(number): value for number, value in enumerate(values, 1)}

        def fault(answer: str) -> str:
            known = answer in by_number or answer in values
            return "" if known else f"choose a number from 1 to {len(options)}"

        answer = self.text("Which", flag, default="1", fault=fault)
        return by_number.get(answer, answer)

    def agrees(self, question: str) -> bool:
        """Yes or no; nothing: yes."""
        if self.quiet:
            return True
        return self._line(f"{question} [Y/n]: ").lower() in ("", "y", "yes")

    def _answer(self, read: Callable[[], str], flag: str, default: str, fault: Fault) -> str:
        while True:
            answer = (default if self.quiet else read()) or default
            wrong = fault(answer) if answer else f"say it by {flag}"
            if not wrong:
                return answer
            if self.quiet:
                raise ConfigError(wrong if answer else f"moot init --yes: {wrong}")
            self.say(f"  ✗ {wrong if answer else 'this is needed'}")

    def _line(self, shown: str) -> str:
        self._out.write(shown)
        self._out.flush()
        line = self._given.readline()
        if not line:
            raise self._ended()
        if not self._given.isatty():
            self.say()  # nobody typed the end of the line
        return line.strip()

    def _completed(self, shown: str) -> str:
        if not self._given.isatty():
            return self._line(shown)
        with _completing_paths(), redirect_stdout(sys.__stdout__):  # else input() completes nothing
            try:
                return input(shown).strip()
            except EOFError:
                raise self._ended() from None

    def _hidden(self, shown: str) -> str:
        if not self._given.isatty():
            return self._line(shown)
        try:
            return getpass.getpass(shown, stream=self._out).strip()
        except EOFError:  # Ctrl-D; to read on would wait for another, without a word
            raise self._ended() from None

    def _ended(self) -> ConfigError:
        self.say()
        return ConfigError("the answers ended before everything was asked; nothing was written")


@contextmanager
def _completing_paths() -> Iterator[None]:
    """Tab completes the path of a folder."""
    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(_folder_like)
    readline.set_completer_delims("")
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)


def _folder_like(typed: str, number: int) -> str | None:
    """The folder of that number which begins with what was typed."""
    head, beginning = os.path.split(typed)
    try:
        names = sorted(os.listdir(Path(head or ".").expanduser()))
    except (OSError, RuntimeError):
        return None
    shown = [name for name in names if beginning or not name.startswith(".")]
    found = [
        os.path.join(head, name, "")
        for name in shown
        if name.startswith(beginning) and Path(head or ".", name).expanduser().is_dir()
    ]
    return found[number] if number < len(found) else None
