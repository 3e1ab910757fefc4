"""A command of `moot` from its first word to its exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tomllib
from contextlib import redirect_stdout, suppress

from contract.errors import ConfigError
from gateway.cli.command_line import config_file, environment_of
from gateway.cli.commands import make_parser
from gateway.cli.door import ended, open_streams
from gateway.core.redaction import CleanStream, Redactor, secrets_in
from gateway.observability.logs import log_plainly


def moot(words: list[str]) -> int:
    """Parse the command line and do what it says. Exit code 2: a mistake to fix.

    What is printed has no secret of the configuration in it, whoever prints it.
    """
    open_streams()
    redactor, debug = Redactor(secrets_in(os.environ)), False
    try:
        arguments = _arguments(words)
        debug = arguments.debug
        arguments.redactor = redactor = _redactor(arguments)
        return _do(arguments)
    except SystemExit:
        raise  # argparse has said why
    except BaseException as error:  # noqa: BLE001 - nobody is to read a traceback
        return ended(error, redactor, debug=debug)


def _do(arguments: argparse.Namespace) -> int:
    log_plainly()
    # Without any handler Python prints a warning raw each time that a persona is read. `moot run`
    # has handlers of its own; check and doctor tell of it themselves.
    logging.getLogger("moot.personas").addHandler(logging.NullHandler())
    with redirect_stdout(CleanStream(sys.stdout, arguments.redactor)):
        code: int = arguments.do(arguments)
        sys.stdout.flush()
    return code


def _redactor(arguments: argparse.Namespace) -> Redactor:
    """Knows the secrets of the environment, of moot.env and of moot.toml, mistakes or not."""
    redactor = Redactor(secrets_in(os.environ))
    with suppress(ConfigError):  # whoever needs them says so
        redactor.learn(secrets_in(environment_of(arguments)))
    try:
        file = config_file(arguments)
        redactor.learn(secrets_in(tomllib.loads(file.read_text(encoding="utf-8"))))
    except (ConfigError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        pass  # whoever loads it says so
    return redactor


def _arguments(given: list[str]) -> argparse.Namespace:
    """What was typed, parsed. `moot` and `moot help` print the commands."""
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    return make_parser(next(iter(given), "")).parse_args(given or ["--help"])
