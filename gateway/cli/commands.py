"""The commands of `moot`, by the days on which somebody needs them."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from itertools import chain

from gateway.cli.parser import Groups, Parser
from gateway.cli.run import add_run

GROUPS: Groups = {
    "The first day": {
        "init": "moot init --platform slack --persona claude",
        "run": "moot run --port 8400 --open",
        "open": "moot open",
        "check": "moot check --offline",
        "agents": "moot agents claude-code",
        "login": "moot login matrix",
        "service": "moot service install",
    },
    "Every day": {
        "status": "moot status",
        "logs": "moot logs --follow",
        "ask": 'moot ask "@demo hello"',
        "invite": "moot invite Ana --role member",
        "access": "moot access grant slack:U06STGBF4Q0 owner",
        "pair": "moot pair 4F7KQ2",
        "sessions": "moot sessions list",
        "backup": "moot backup --with-secrets",
        "restore": "moot restore moot-20260421-140200.tar.gz --to tried",
        "worker": "moot worker add w1",
    },
    "Looking into it": {
        "doctor": "moot doctor --offline",
        "memory": "moot memory search 'token expiry' --scope room:web:general",
        "audit": "moot audit show --act permission",
        "describe": "moot describe --name pi -- pi --quiet",
    },
    "For programs": {
        "token": "moot token --name dashboard --read metrics",
        "header": "moot header briefing.json",
        "replay": "moot replay terminal.jsonl --agent claude-code",
        "mcp": "moot mcp --persona claude --scope room:slack:C06RY3YBSLE",
        "completion": 'eval "$(moot completion bash)"',
    },
}


def make_parser(typed: str = "") -> Parser:
    """The parser of everything that can be typed behind `moot`. Where `run` is, it is that of `run`
    alone: a start does not wait for the other commands."""
    parser = Parser(
        prog="moot",
        description="People and CLI agents in one room.",
    )
    parser.groups = GROUPS
    parser.add_argument("--debug", action="store_true", help="print where an error comes from")
    parser.add_argument("--version", action="version", version=f"moot {version('moot')}")
    commands: argparse._SubParsersAction[argparse.ArgumentParser]
    commands = parser.add_subparsers(required=True, metavar="COMMAND")  # type: ignore[assignment]
    if typed == "run":
        add_run(commands)
        _add_example(parser, "run")
    else:
        _add_all(parser, commands)
    return parser


def _add_all(parser: Parser, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from gateway.cli.every_command import ADD

    help_ = commands.add_parser("help", help="print this, or the options of a command")
    help_.add_argument("about", nargs="*", metavar="COMMAND")
    for add in ADD:
        add(commands)
    for name in chain.from_iterable(GROUPS.values()):
        _add_example(parser, name)
    parser.below("completion").set_defaults(whole=parser)


def _add_example(parser: Parser, name: str) -> None:
    example = next(names[name] for names in GROUPS.values() if name in names)
    parser.below(name).epilog = f"Example: {example}"
