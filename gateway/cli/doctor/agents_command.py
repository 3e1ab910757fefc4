"""`moot agents`: its arguments, its progress on a terminal, its lines."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from gateway.cli.command_line import add_config, configured, environment_of

if TYPE_CHECKING:
    from gateway.cli.doctor.preflight import AgentHealth


def add_agents(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    agents = commands.add_parser(
        "agents",
        help="try each agent: is it here, does it start, is it logged in, does it answer",
        description="Each agent that is installed is started in an empty HOME with the environment "
        "and the login that moot.toml gives it, and asked for one word: that costs a few tokens.",
    )
    agents.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    agents.add_argument("--list", action="store_true", help="look for them only; ask nothing")
    agents.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_config(agents)
    agents.set_defaults(do=run_agents)


def run_agents(arguments: argparse.Namespace) -> int:
    """Exit code 1 when an agent that is here, or that was asked for, is not well."""
    found = asyncio.run(_examine_all(arguments))
    if arguments.json:
        print(json.dumps([asdict(health) for health in found], indent=2))  # noqa: T201
    if arguments.list:
        return 0
    failed = [h for h in found if not h.well and (h.installed or h.name in arguments.names)]
    return 1 if failed else 0


async def _examine_all(arguments: argparse.Namespace) -> list[AgentHealth]:
    from gateway.cli.doctor.preflight import Preflight, wanted

    config = configured(arguments)
    environment = environment_of(arguments)

    def told(name: str, what: str) -> None:
        if what and sys.stderr.isatty():
            sys.stderr.write(f"  {name}: {what} …\n")

    async with Preflight.open(config, environment) as preflight:

        async def examine(name: str) -> AgentHealth:
            health = await preflight.examine(name, told, asks=not arguments.list)
            if not arguments.json:
                print(health, flush=True)  # noqa: T201
            return health

        names = wanted(preflight, arguments.names)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(examine(name), name=f"try-{name}") for name in names]
        return [task.result() for task in tasks]
