"""`moot login`: somebody signs a bot in, in their browser."""

from __future__ import annotations

import argparse
import asyncio
import sys

from gateway.cli.command_line import add_config, configured


def add_login(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    login = commands.add_parser(
        "login", help="sign a bot in, in your browser: Matrix homeservers without passwords"
    )
    login.add_argument("bot", nargs="?", default="matrix", help="its name; default: matrix")
    add_config(login)
    login.set_defaults(do=_login)


def _login(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.app.platforms import sign_in
    from gateway.settings.personas.personas import Personas

    config = configured(arguments)
    personas = Personas(config.gateway.personas_folder)
    learned = arguments.redactor.learn_one
    who = asyncio.run(sign_in(config, arguments.bot, personas, _say, learned))
    _say(f"{arguments.bot} is {who}. Start Moot again if it runs.")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
