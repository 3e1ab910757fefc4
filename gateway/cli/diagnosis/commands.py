"""`moot check`, `moot doctor` and `moot agents`: their options, their lines, their exit codes."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from gateway.cli.colours import mark
from gateway.cli.command_line import add_config, config_file, configured, environment_of

if TYPE_CHECKING:
    from gateway.cli.diagnosis.agents import AgentHealth

Commands = argparse._SubParsersAction


def add_check(commands: Commands[argparse.ArgumentParser]) -> None:
    """`moot check` and its options."""
    check = commands.add_parser("check", help="say what is wrong, and how to fix it")
    check.set_defaults(do=run_check)
    check.add_argument("--offline", action="store_true", help="don't ask the platforms")
    add_config(check)


def add_doctor(commands: Commands[argparse.ArgumentParser]) -> None:
    """`moot doctor` and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="look at everything that Moot stands on; safe to paste into a bug report",
        description="Exit code 0: all is well, 1: something to look at (⚠), 2: a mistake (✗). It "
        "changes nothing, and tells no secret and nobody's name.",
    )
    add_config(doctor)
    doctor.add_argument("--json", action="store_true", help="the lines as JSON")
    doctor.add_argument("--offline", action="store_true", help="ask neither platforms nor agents")
    doctor.set_defaults(do=run_doctor)


def add_agents(commands: Commands[argparse.ArgumentParser]) -> None:
    """`moot agents` and its options."""
    agents = commands.add_parser(
        "agents",
        help="try each agent: is it here, does it start, is it logged in, does it answer",
        description="Each agent that is installed is started in an empty HOME with the environment "
        "and the login that moot.toml gives it, and asked for one word: that costs a few tokens.",
    )
    agents.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    agents.add_argument("--list", action="store_true", help="look for them only; ask nothing")
    agents.add_argument("--json", action="store_true", help="print what was found as JSON")
    agents.add_argument(
        "--explain",
        action="store_true",
        help="of one agent: its screen, which pattern matches which row, the reply that is read",
    )
    add_config(agents)
    agents.set_defaults(do=run_agents)


def add_describe(commands: Commands[argparse.ArgumentParser]) -> None:
    """`moot describe` and its options."""
    describe = commands.add_parser(
        "describe",
        help="watch a terminal program that Moot doesn't know, and write its description",
        description="Starts the program as an agent is started, with an empty HOME, types two "
        "prompts, and proposes its table of moot.toml: what it would read stands beside the "
        "screen. A third prompt checks it. A program that calls a model spends some tokens.",
    )
    describe.add_argument("command", nargs="+", metavar="CMD", help="behind `--`, with its words")
    describe.add_argument("--name", help="of the agent; default: the program's")
    describe.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="TEXT",
        help="typed instead; may be repeated",
    )
    describe.add_argument(
        "--permission-prompt",
        default="",
        metavar="TEXT",
        help="makes it ask for permission, which is refused; else nothing of that is learnt",
    )
    describe.add_argument("--yes", action="store_true", help="write it without asking")
    add_config(describe)
    describe.set_defaults(do=run_describe)


def run_describe(arguments: argparse.Namespace) -> int:
    """Exit code 1: nothing was written."""
    from gateway.cli.diagnosis.describe import DescribeOptions, describe, name_of
    from gateway.cli.init.asking import Asker

    name = arguments.name or name_of(arguments.command)
    wish = DescribeOptions(name, arguments.command, arguments.prompt, arguments.permission_prompt)
    asking = Asker(sys.stdin, sys.stdout, quiet=arguments.yes)
    file = config_file(arguments)
    config, environment = configured(arguments), environment_of(arguments)
    return asyncio.run(describe(config, environment, file, wish, asking))


def _explain(arguments: argparse.Namespace) -> int:
    from contract.errors import ConfigError
    from gateway.cli.diagnosis.explain import explain

    if len(arguments.names) != 1:
        raise ConfigError("--explain needs the name of one agent, e.g. `moot agents pi --explain`")
    config, environment = configured(arguments), environment_of(arguments)
    return asyncio.run(explain(config, environment, arguments.names[0], print))


def run_check(arguments: argparse.Namespace) -> int:
    """Exit code 2: something does not work."""
    from gateway.cli.diagnosis.checks import ASKED, CONFIGURED, examine
    from gateway.cli.diagnosis.finding import Installation
    from gateway.core.clock import clock

    environment = environment_of(arguments)
    file = config_file(arguments)
    of = Installation(configured(arguments), file, environment, clock())
    checks = CONFIGURED if arguments.offline else (*CONFIGURED, *ASKED)
    findings = asyncio.run(examine(of, checks))
    for finding in findings:
        told = f"{finding.text} — {finding.remedy}" if finding.remedy else finding.text
        print(mark(f"{'·' if finding.mark == '✓' else finding.mark} {told}", sys.stdout))  # noqa: T201
    return 2 if any(finding.mistake for finding in findings) else 0


def run_doctor(arguments: argparse.Namespace) -> int:
    """Exit code 2: something does not work; 1: something to look at."""
    from contract.errors import ConfigError
    from gateway.cli.diagnosis.checks import diagnose
    from gateway.cli.diagnosis.finding import Finding, Installation
    from gateway.core.clock import clock

    logging.getLogger("moot").addHandler(logging.NullHandler())  # its lines report it, cleaned
    first: list[Finding] = []
    environment = dict(os.environ)
    try:
        config = configured(arguments)
    except ConfigError as error:
        findings = [Finding("✗", "configuration", error.say)]
    else:
        try:
            environment = dict(environment_of(arguments))
        except ConfigError as error:
            first = [Finding("✗", "secrets", error.say)]
        offline = arguments.offline
        of = Installation(config, config_file(arguments), environment, clock(), not offline)
        findings = first + asyncio.run(diagnose(of, offline=offline))
    if arguments.json:
        print(json.dumps([asdict(line) for line in findings], indent=2, ensure_ascii=False))  # noqa: T201
    else:
        print("\n".join(mark(str(finding), sys.stdout) for finding in findings))  # noqa: T201
    marks = {finding.mark for finding in findings}
    return 2 if "✗" in marks else 1 if "⚠" in marks else 0


def run_agents(arguments: argparse.Namespace) -> int:
    """Exit code 1: an agent that is here, or that was asked for, is not well; with `--list`: is
    missing or too old."""
    if arguments.explain:
        return _explain(arguments)
    found = asyncio.run(_try(arguments))
    if arguments.json:
        print(json.dumps([asdict(health) for health in found], indent=2))  # noqa: T201
    failed = [h for h in found if not h.fine and (h.installed or h.name in arguments.names)]
    return 1 if failed else 0


async def _try(arguments: argparse.Namespace) -> list[AgentHealth]:
    from gateway.cli.diagnosis.agents import Preflight, wanted

    config = configured(arguments)
    environment = environment_of(arguments)

    def told(name: str, what: str) -> None:
        if what and sys.stderr.isatty():
            sys.stderr.write(f"  {name}: {what} …\n")

    async with Preflight.open(config, environment) as preflight:

        async def examine(name: str) -> AgentHealth:
            health = await preflight.examine(name, told, asks=not arguments.list)
            if not arguments.json:
                print(mark(str(health), sys.stdout), flush=True)  # noqa: T201
            return health

        names = wanted(preflight, arguments.names)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(examine(name), name=f"try-{name}") for name in names]
        return [task.result() for task in tasks]
