"""The command `moot`."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import logging
import os
import sys
import tomllib
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from pathlib import Path

from contract.errors import ConfigError
from gateway.cli.access.command import add_access
from gateway.cli.audit import add_audit
from gateway.cli.backup import add_backup
from gateway.cli.command_line import add_config, config_file, configured, environment_of
from gateway.cli.diagnosis.commands import add_agents, add_check, add_describe, add_doctor
from gateway.cli.door import ended, open_streams
from gateway.cli.init.command import add_init
from gateway.cli.login import add_login
from gateway.cli.memory.command import add_memory
from gateway.cli.page.commands import add_page
from gateway.cli.run import add_run
from gateway.core.redaction import CleanStream, Redactor, secrets_in
from gateway.observability.logs import log_plainly


def main() -> None:
    """Parse the command line and do what it says. Exit code 2: a mistake to fix.

    What is printed has no secret of the configuration in it, whoever prints it.
    """
    open_streams()
    redactor, debug = Redactor(secrets_in(os.environ)), False
    try:
        arguments = _arguments(sys.argv[1:])
        debug = arguments.debug
        arguments.redactor = redactor = _redactor(arguments)
        code = _do(arguments)
    except SystemExit:
        raise  # argparse has said why
    except BaseException as error:  # noqa: BLE001 - nobody is to read a traceback
        code = ended(error, redactor, debug=debug)
    sys.exit(code)


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
    parser, known = _commands()
    name = next(iter(given), "--help")
    if not name.startswith("-") and name not in known:
        near = difflib.get_close_matches(name, known, 1)
        meant = f"did you mean `moot {near[0]}`? " if near else ""
        print(f"moot: there is no command {name!r}; {meant}`moot help` lists them", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    return parser.parse_args(given or ["--help"])


def _parser() -> argparse.ArgumentParser:
    return _commands()[0]


def _commands() -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser, and the commands that it knows, those of the first day first."""
    parser = argparse.ArgumentParser(prog="moot", description="People and CLI agents in one room.")
    parser.add_argument("--debug", action="store_true", help="print where an error comes from")
    parser.add_argument("--version", action="version", version=f"moot {version('moot')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    help_ = commands.add_parser("help", help="print this, or the options of a command")
    help_.add_argument("about", nargs="?", metavar="COMMAND")  # read in _arguments
    add_init(commands)
    add_run(commands)
    add_check(commands)
    add_doctor(commands)
    add_agents(commands)
    add_describe(commands)
    add_login(commands)
    add_page(commands)
    add_access(commands)
    add_memory(commands)
    add_audit(commands)
    add_backup(commands)
    header = commands.add_parser("header", help="print the header for a briefing")
    header.add_argument("briefing", nargs="?", type=Path, metavar="BRIEFING.json")
    header.add_argument("--schema", action="store_true", help="print the briefing's JSON Schema")
    header.set_defaults(do=_header)
    replay = commands.add_parser("replay", help="print the reply read from a recorded terminal")
    replay.add_argument("recording", type=Path, metavar="RECORDING.jsonl")
    replay.add_argument("--agent", required=True, metavar="NAME", help="e.g. claude-code")
    replay.set_defaults(do=_replay)
    mcp = commands.add_parser("mcp", help="serve the memory to an agent over MCP, on stdio")
    mcp.add_argument("--persona", help="whose work; without --scope: the session's own")
    mcp.add_argument("--scope", metavar="SCOPE", help="e.g. room:slack:C06RY3YBSLE")
    add_config(mcp)
    mcp.set_defaults(do=_mcp)
    return parser, list(commands.choices)


def _header(arguments: argparse.Namespace) -> int:
    from composer.briefing import briefing_schema, parse_briefing
    from gateway.turns.prompt import finished

    if arguments.schema:
        print(json.dumps(briefing_schema(), indent=2, ensure_ascii=False))  # noqa: T201
        return 0
    if arguments.briefing is None:
        raise ConfigError("say which briefing: moot header BRIEFING.json, or --schema")
    _, _, text = finished(parse_briefing(_read(arguments.briefing)), arguments.redactor)
    sys.stdout.buffer.write(text.encode())
    return 0


def _mcp(arguments: argparse.Namespace) -> int:
    if arguments.scope is None:
        from gateway.mcp import pipe

        if not os.environ.get(pipe.URL):
            raise ConfigError(
                "moot mcp: Moot starts it in an agent's session; by hand say whose memory: "
                "--persona claude --scope room:slack:C06RY3YBSLE"
            )
        pipe.main()
        return 0
    from gateway.cli.memory.mcp import serve_database

    config = configured(arguments)
    asyncio.run(serve_database(config, arguments.persona, arguments.scope))
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from adapters.replay import replay

    text = replay(arguments.recording, arguments.agent)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n" * bool(text))
    return 0


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from None
