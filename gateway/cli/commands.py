"""The commands of `moot`, by the days on which somebody needs them."""

from __future__ import annotations

import argparse
from importlib.metadata import version

from gateway.cli.access.command import add_access
from gateway.cli.audit import add_audit
from gateway.cli.backup import add_backup
from gateway.cli.diagnosis.commands import add_agents, add_check, add_describe, add_doctor
from gateway.cli.init.command import add_init
from gateway.cli.login import add_login
from gateway.cli.memory.command import add_memory
from gateway.cli.page.commands import add_page
from gateway.cli.parser import Groups, Parser
from gateway.cli.programs import add_programs
from gateway.cli.run import add_run
from gateway.cli.service.command import add_service
from gateway.cli.worker import add_worker

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


def make_parser() -> Parser:
    """The parser of everything that can be typed behind `moot`."""
    parser = Parser(
        prog="moot",
        description="People and CLI agents in one room.",
    )
    parser.groups = GROUPS
    parser.add_argument("--debug", action="store_true", help="print where an error comes from")
    parser.add_argument("--version", action="version", version=f"moot {version('moot')}")
    commands: argparse._SubParsersAction[argparse.ArgumentParser]
    commands = parser.add_subparsers(required=True, metavar="COMMAND")  # type: ignore[assignment]
    help_ = commands.add_parser("help", help="print this, or the options of a command")
    help_.add_argument("about", nargs="*", metavar="COMMAND")
    for add in (
        *(add_init, add_run, add_check, add_doctor, add_agents, add_describe, add_login),
        *(add_service, add_page, add_access, add_memory, add_audit, add_backup, add_worker),
        add_programs,
    ):
        add(commands)
    for names in GROUPS.values():
        for name, example in names.items():
            parser.below(name).epilog = f"Example: {example}"
    parser.below("completion").set_defaults(whole=parser)
    return parser
