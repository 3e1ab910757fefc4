"""`moot run`: its options, the signals that end it, and the link that it prints."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

import structlog
from pydantic import ValidationError

from contract.errors import ConfigError
from gateway.cli.colours import paint
from gateway.cli.command_line import add_config, config_file, configured, environment_of, home_of
from gateway.cli.door import foreseen
from gateway.cli.home import make_home
from gateway.settings.logs import LogFormat, LogLevel
from gateway.settings.mistakes.words import reason_of

if TYPE_CHECKING:
    from gateway.settings.config import Config

log = structlog.stdlib.get_logger("moot.app")


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    run = commands.add_parser("run", help="start Moot")
    run.set_defaults(do=run_moot)
    add_config(run)
    where = run.add_mutually_exclusive_group()
    where.add_argument("--port", type=int, metavar="N", help="of the page; default: 8377")
    where.add_argument("--listen", metavar="HOST:PORT", help="of the page, in place of moot.toml's")
    run.add_argument("--open", action="store_true", help="open the page in the browser")
    run.add_argument("--log", choices=get_args(LogLevel), help="default: [logs] level, INFO")
    run.add_argument(
        "--log-format", choices=get_args(LogFormat), help="default: human on a terminal, else json"
    )


def run_moot(arguments: argparse.Namespace) -> int:
    """Serve until a signal. Raises MootError."""
    gc.disable()  # while all is imported, which stays; `_prepare_process` has it go on
    from gateway.app.run import run
    from gateway.app.service_manager import service_manager
    from gateway.cli.diagnosis.trial import PageTrial
    from gateway.cli.own_process import seal
    from gateway.cli.owner_prompt import confirms_on
    from gateway.observability.logs import logging_to

    arguments.home = home_of(arguments)  # while its own environment is here
    redactor, own = arguments.redactor, seal()
    with logging_to(sys.stderr, redactor, own) as change:
        make_home(config_file(arguments).parent)
        written = configured(arguments)
        config = _listening(written, arguments)
        environment = environment_of(arguments, own)
        change(arguments.log or config.logs.level, arguments.log_format or config.logs.format)

        async def until_signal() -> None:
            stop, at_once = _signals()
            await run(
                config,
                environment,
                started=_started(opens=arguments.open),
                stop=stop,
                at_once=at_once,
                notify=service_manager(os.environ),
                redactor=redactor,
                confirms=confirms_on(sys.stdin),
                checks=PageTrial(written.file or config_file(arguments), written),
            )

        try:
            asyncio.run(until_signal())
        except Exception as error:
            if not foreseen(error):
                log.critical("process.crashed", error=type(error).__name__, exc_info=True)
            raise
    return 0


def _listening(config: Config, arguments: argparse.Namespace) -> Config:
    """The configuration with the address of the command line. Raises ConfigError."""
    address = arguments.listen
    if arguments.port is not None:
        host = config.gateway.listen.rpartition(":")[0]
        address = f"{host}:{arguments.port}"
    if address is None:
        return config
    try:
        asked = type(config.gateway)(listen=address)
    except ValidationError as error:
        option = "--listen" if arguments.listen else "--port"
        raise ConfigError(f"{option}: {reason_of(error.errors()[0])}") from None
    gateway = config.gateway.model_copy(update={"listen": asked.listen})
    return config.model_copy(update={"gateway": gateway})


def _signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Set by the first and by the second signal: finish what runs, and end."""
    stop, at_once = asyncio.Event(), asyncio.Event()

    def told() -> None:
        (at_once if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup: ours, not the agents'
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
    return stop, at_once


def _started(*, opens: bool) -> Callable[[str, str], None]:
    """Says where the page is. A journal keeps what is printed: there the link is for `moot open` to
    print."""

    def started(url: str, link: str) -> None:
        lines = [f"Moot is at {url}"]
        if sys.stdout.isatty():
            shown = paint(link, "bold", sys.stdout)
            how = "Open this to sign in, once, within 30 minutes:"
            lines = ["", *lines, how, "", f"  {shown}", ""]
        elif "JOURNAL_STREAM" not in os.environ:
            lines += [f"Sign in once, within 30 minutes: {link}"]
        print("\n".join(lines), flush=True)  # noqa: T201
        if opens:
            # A browser may be slow to start, and must not hold the loop, nor Moot's end.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    return started
