"""`moot doctor`: its arguments, its lines, its exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict

from gateway.cli.command_line import add_config, config_file, configured, environment_of


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
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


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print the lines; return the exit code."""
    from contract.errors import ConfigError
    from gateway.cli.doctor.diagnosis import Diagnosis
    from gateway.cli.doctor.doctor import Doctor
    from gateway.core.clock import clock

    logging.getLogger("moot").addHandler(logging.NullHandler())  # its lines tell it, cleaned
    file = config_file(arguments)
    first = []
    environment = dict(os.environ)
    try:
        config = configured(arguments)
    except ConfigError as error:
        lines = [Diagnosis("✗", "configuration", error.say)]
    else:
        try:
            environment = dict(environment_of(arguments))
        except ConfigError as error:
            first = [Diagnosis("✗", "secrets", error.say)]
        asks = not arguments.offline
        doctor = Doctor(config, file, environment, now=clock(), asks=asks, agents=asks)
        lines = first + asyncio.run(doctor.examine())
    if arguments.json:
        text = json.dumps([asdict(line) for line in lines], indent=2, ensure_ascii=False)
    else:
        text = "\n".join(map(str, lines))
    sys.stdout.write(f"{text}\n")
    marks = {line.mark for line in lines}
    return 2 if "✗" in marks else 1 if "⚠" in marks else 0
