"""`moot service`, `moot status` and `moot logs`: their options, and what they say."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

from contract.errors import ConfigError
from gateway.cli.colours import mark
from gateway.cli.command_line import add_config, config_file, configured, environment_of, same_one
from gateway.cli.home import make_home

if TYPE_CHECKING:
    from gateway.cli.service.managers import ServiceManager


def add_service(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add all three."""
    service = commands.add_parser(
        "service", help="let Moot run in the background, also after a restart"
    )
    below = service.add_subparsers(required=True, metavar="COMMAND")
    install = below.add_parser(
        "install",
        help="write the service of this account, and start it",
        description="On Linux a systemd unit, which starts when you log in; on macOS a launchd "
        "agent. It runs with this command's home and PATH.",
    )
    install.set_defaults(do=_install)
    add_config(install)
    uninstall = below.add_parser("uninstall", help="stop it and delete it; your data stays")
    uninstall.set_defaults(do=_uninstall)
    restart = below.add_parser("restart", help="stop it and start it again")
    restart.set_defaults(do=_restart)
    state = below.add_parser("status", help="whether it is installed and runs")
    state.set_defaults(do=_state)
    logs = below.add_parser("logs", help="its newest log lines")
    plain = commands.add_parser("logs", help="the service's newest log lines")
    for parser in (logs, plain):
        parser.add_argument("-f", "--follow", action="store_true", help="go on with each new one")
        parser.add_argument(
            "-n", "--lines", type=int, default=100, metavar="N", help="default: 100"
        )
        parser.set_defaults(do=_logs)
    for parser in (install, uninstall, restart, state, logs, plain):
        parser.add_argument(
            "--system", action="store_true", help="the machine's, as root: account moot, Linux only"
        )
    status = commands.add_parser("status", help="whether Moot runs, its bots, and its address")
    status.add_argument("--json", action="store_true", help="JSON instead of text")
    add_config(status)
    status.set_defaults(do=run_status)


def _manager(arguments: argparse.Namespace) -> ServiceManager:
    from gateway.cli.service.managers import service_manager_of

    return service_manager_of(sys.platform, os.environ, system=arguments.system)


def _install(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.core.lock import holder

    manager = _manager(arguments)
    if arguments.system:
        made = manager.install("", os.environ)
    else:
        file = config_file(arguments)
        make_home(file.parent)
        folder = configured(arguments).gateway.data_dir
        if (holding := holder(folder)) is not None and not manager.installed:
            raise ConfigError(f"Moot runs with {folder} (process {holding}): stop it first")
        which = ("--config", file) if arguments.config else ("--home", file.parent)
        made = manager.install(" ".join(map(shlex.quote, map(str, which))), os.environ)
    _say(f"wrote {made}")
    for line in manager.next_steps:
        _say(line)
    return 0


def _uninstall(arguments: argparse.Namespace) -> int:
    """Exit code 1: there is none."""
    manager = _manager(arguments)
    if not manager.installed:
        _say("no service is installed")
        return 1
    manager.uninstall()
    _say(f"deleted {manager.file}; your configuration and data stay where they are")
    return 0


def _restart(arguments: argparse.Namespace) -> int:
    manager = _installed(arguments)
    manager.restart()
    _say("restarted; `moot status` shows whether all bots are connected")
    return 0


def _state(arguments: argparse.Namespace) -> int:
    """Exit code 1: it is not installed, or doesn't run."""
    manager = _manager(arguments)
    if not manager.installed:
        _say("· no service is installed: moot service install")
        return 1
    state = manager.state()
    _say(f"{'✓' if state == 'active' else '✗'} {manager.file}: {state}")
    return 0 if state == "active" else 1


def _logs(arguments: argparse.Namespace) -> int:
    return _installed(arguments).logs(arguments.lines, follow=arguments.follow)


def _installed(arguments: argparse.Namespace) -> ServiceManager:
    manager = _manager(arguments)
    if not manager.installed:
        raise ConfigError(
            "no service is installed (moot service install); `moot run` logs to its own terminal"
        )
    return manager


def run_status(arguments: argparse.Namespace) -> int:
    """Exit code 1: it doesn't run, or something is wrong with it. Raises MootError."""
    from gateway.cli.page.client import running
    from gateway.core.lock import holder

    config = configured(arguments)
    home = str(config_file(arguments).parent)
    moot = running(config, environment_of(arguments))
    if moot is None:
        if arguments.json:
            _say(json.dumps({"running": False, "home": home}))
        else:
            _say(f"✗ no Moot runs with the home {home}: moot run{same_one(arguments)}")
        return 1
    health = moot.health()
    detail: dict[str, str] = health.get("detail", {})
    pid = holder(config.gateway.data_dir)
    if arguments.json:
        told = {"running": True, "home": home, "process": pid, "url": moot.url}
        _say(json.dumps(told | {"ok": health["ok"], "detail": detail}))
        return 0 if health["ok"] else 1
    _say(f"✓ Moot runs (process {pid}), home {home}")
    _say(f"✓ page: {moot.url} (`moot open{same_one(arguments)}` prints a link that signs you in)")
    for part, state in detail.items():
        _say(f"{'✓' if state in WELL else '✗'} {part}: {state}")
    return 0 if health["ok"] else 1


WELL = ("ok", "up")


def _say(text: str) -> None:
    print(mark(text, sys.stdout))  # noqa: T201
