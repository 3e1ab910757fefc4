"""`moot doctor`: its arguments, its lines, its exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict
from pathlib import Path


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="look at everything that Moot stands on; safe to paste into a bug report",
        description="Exit code 0: all is well, 1: something to look at (⚠), 2: a mistake (✗). It "
        "changes nothing, and tells no secret and nobody's name.",
    )
    doctor.add_argument("--config", type=Path, help="default: ./moot.toml if there is one")
    doctor.add_argument("--json", action="store_true", help="the lines as JSON")
    doctor.add_argument("--offline", action="store_true", help="ask neither platforms nor agents")
    doctor.set_defaults(do=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print the lines; return the exit code."""
    from contract import ConfigError
    from gateway.clock import clock
    from gateway.config import load_config
    from gateway.diagnosis import Line
    from gateway.doctor import Doctor
    from gateway.env_file import with_secrets

    logging.getLogger("moot").addHandler(logging.NullHandler())  # its lines tell it, cleaned
    file: Path = (arguments.config or Path("moot.toml")).absolute()
    first = []
    environment = dict(os.environ)
    try:
        config = load_config(arguments.config, base=Path.cwd())
    except ConfigError as error:
        lines = [Line("✗", "configuration", error.say)]
    else:
        try:
            environment = dict(with_secrets(os.environ, arguments.config, base=Path.cwd()))
        except ConfigError as error:
            first = [Line("✗", "secrets", error.say)]
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
