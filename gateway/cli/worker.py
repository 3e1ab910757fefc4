"""`moot worker`: drive agents on this machine for a gateway elsewhere, and let such machines in."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contract.errors import ConfigError
from gateway.cli.command_line import (
    add_config,
    config_file,
    configured,
    environment_of,
    home_of,
)

if TYPE_CHECKING:
    from gateway.workers.credentials import Key

KEY = "MOOT_WORKER_KEY"


def add_worker(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and those below it."""
    worker = commands.add_parser("worker", help="agents on other machines")
    below = worker.add_subparsers(required=True, metavar="COMMAND", dest="command")
    add = below.add_parser("add", help="beside the gateway: make a key for a worker")
    remove = below.add_parser("remove", help="beside the gateway: let a worker in no more")
    run = below.add_parser("run", help="on the other machine: drive agents for the gateway")
    for command in (add, remove):
        command.add_argument("name", metavar="NAME", help="e.g. w1")
    run.add_argument("--nats", required=True, metavar="URL", help="e.g. tls://broker:4222")
    run.add_argument("--name", required=True, metavar="NAME", help="as it was added")
    run.add_argument("--key", type=Path, metavar="FILE", help=f"its key; default: what {KEY} holds")
    run.add_argument(
        "--seats", type=int, metavar="N", help="the most programs; default: one per GiB of memory"
    )
    for command, do in ((add, _add), (remove, _remove), (run, _run)):
        add_config(command)
        command.set_defaults(do=do)


def _add(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.workers.credentials import FOLDER, RULES, add

    config = configured(arguments)
    file = add(config.gateway.data_dir, arguments.name)
    nats = config.workers.url if config.workers is not None else "tls://BROKER:4222"
    print(  # noqa: T201
        f"The key of {arguments.name}: {file}\n"
        f"Take it to the other machine, and start there:\n"
        f"  moot worker run --nats {nats} --name {arguments.name} --key {file.name}\n"
        f"{_reload(config.gateway.data_dir / FOLDER / RULES)}"
    )
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.workers.credentials import FOLDER, RULES, remove

    data_dir = configured(arguments).gateway.data_dir
    remove(data_dir, arguments.name)
    print(f"{arguments.name} is forgotten.\n{_reload(data_dir / FOLDER / RULES)}")  # noqa: T201
    return 0


def _reload(rules: Path) -> str:
    return f"A broker that runs has to read {rules} again: nats-server --signal reload"


def _run(arguments: argparse.Namespace) -> int:
    """Work until a signal. Raises MootError."""
    from gateway.app.worker import WorkerPost, run_worker
    from gateway.cli.own_process import seal
    from gateway.observability.logs import logging_to
    from gateway.settings.connections import broker_fault
    from gateway.workers.credentials import NAME

    arguments.home = home_of(arguments)  # while its own environment is here
    redactor, own = arguments.redactor, seal()
    if fault := broker_fault(arguments.nats):
        raise ConfigError(f"--nats: {fault}")
    if not NAME.fullmatch(arguments.name):
        raise ConfigError(f"--name: {arguments.name!r} is no name of a worker, e.g. w1")
    if arguments.seats is not None and arguments.seats < 1:
        raise ConfigError("--seats: at least 1")
    with logging_to(sys.stderr, redactor, own) as change:
        config_file(arguments).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        config, environment = configured(arguments), environment_of(arguments, own)
        change(config.logs.level, config.logs.format)
        post = WorkerPost(arguments.nats, arguments.name, _key(arguments, own), arguments.seats)
        redactor.learn_one(post.key.seed)

        async def until_signal() -> None:
            stop, loop = asyncio.Event(), asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop.set)
            await run_worker(config, environment, post, stop, redactor)

        asyncio.run(until_signal())
    return 0


def _key(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Key:
    """Raises ConfigError."""
    from gateway.workers.credentials import Key

    if arguments.key is not None:
        return Key.read(arguments.key)
    if seed := environment.get(KEY):
        return Key.parse(seed, KEY)
    raise ConfigError(f"--key is missing, and {KEY} is not set: `moot worker add` made a key")
