"""`moot init`: its arguments, and writing what came of the questions."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bots import PLATFORMS
from contract.errors import ConfigError
from gateway.cli.command_line import add_config, config_file, same_one

if TYPE_CHECKING:
    from gateway.cli.init.asking import Asker
    from gateway.settings.editing.files import File

_CHOICES = (*PLATFORMS, "page")
INTERRUPTED = 130  # as a shell tells a program that Ctrl-C ended


def add_init(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    init = commands.add_parser(
        "init",
        help="set it up: asks, tries each answer, and writes moot.toml, moot.env and a persona",
        description="Asks for what the options don't say, tries each answer for real, and writes "
        "moot.toml, moot.env (mode 600) and personas/NAME.md. Tokens are never options: they are "
        "typed unseen, or taken from the environment. What stands in the files already is kept.",
    )
    add_config(init)
    init.add_argument(
        "--platform", action="append", default=[], choices=_CHOICES, help="can be repeated"
    )
    init.add_argument(
        "--url",
        action="append",
        default=[],
        metavar="[PLATFORM=]URL",
        help="the server's address; for Slack and Discord: of another API than their own",
    )
    init.add_argument("--name", default="", help="of this account, where a platform has several")
    init.add_argument("--persona", default="", help="one that is there, or a new name")
    init.add_argument("--describe", default="", metavar="TEXT", help="what a new persona does")
    init.add_argument("--agent", default="", help="e.g. claude-code; `moot agents --list`")
    init.add_argument(
        "--workspace", default="", metavar="FOLDER", help="that it works on; none: an empty one"
    )
    init.add_argument(
        "--share-login", action="store_true", help="the agent uses the login of your HOME"
    )
    init.add_argument("--rooms", default="", choices=("open", "closed"), help="who may ask there")
    init.add_argument(
        "--owner", action="append", default=[], metavar="ID", help="slack:U06ST..., or first"
    )
    init.add_argument("--listen", default="", metavar="HOST:PORT", help="of the page")
    init.add_argument("--timezone", default="", help="default: this machine's")
    init.add_argument("--yes", action="store_true", help="ask nothing, and take the defaults")
    init.add_argument("--no-test", action="store_true", help="try neither platform nor agent")
    init.set_defaults(do=run_init)


def run_init(arguments: argparse.Namespace) -> int:
    """Exit code 130: interrupted, and nothing was written. Raises ConfigError."""
    from gateway.cli.init.agent import AgentOptions
    from gateway.cli.init.asking import Asker
    from gateway.cli.init.wizard import Given, Wizard
    from gateway.settings.env_file import with_secrets

    file = config_file(arguments)
    ask = Asker(sys.stdin, sys.stdout, quiet=arguments.yes)
    given = Given(
        file=file,
        which=same_one(arguments),
        platforms=arguments.platform,
        urls=_urls(arguments.url, arguments.platform),
        name=arguments.name,
        persona=arguments.persona,
        description=arguments.describe,
        agent=AgentOptions(
            arguments.agent,
            arguments.workspace,
            share_login=arguments.share_login,
            tries=not arguments.no_test,
        ),
        rooms=arguments.rooms,
        owners=arguments.owner,
        listen=arguments.listen,
        timezone=arguments.timezone,
    )
    try:
        environment = with_secrets(os.environ, file, base=file.parent)
        dialog = Wizard(given, ask, environment, _zone())
        written = _write(dialog.run(), ask, file.parent, dialog.personas_dir)
    except KeyboardInterrupt:
        ask.say("\nStopped: nothing was written.")
        return INTERRUPTED
    if written:
        for line in dialog.afterwards:
            ask.say(line)
    return 0 if written else 1


def _write(files: Sequence[File], ask: Asker, home: Path, personas: Path) -> bool:
    """Show what changes, and write it if that is wanted."""
    from gateway.cli.home import make_home
    from gateway.settings.editing.files import write_all
    from gateway.settings.personas.shipped import bring_shipped

    changed = [file for file in files if file.changes]
    if not changed:
        ask.say("Nothing changes: the files say this already.")
        return True
    ask.say()
    for file in changed:
        ask.say(file.diff())
    if not ask.agrees("Write this?"):
        ask.say("Nothing was written.")
        return False
    make_home(home)
    bring_shipped(personas)
    write_all(changed)
    return True


def _urls(given: Sequence[str], platforms: Sequence[str]) -> dict[str, str]:
    """Platform → address; the platform may be left out where there is one only."""
    urls = {}
    for word in given:
        platform, equals, url = word.partition("=")
        if not equals or platform not in _CHOICES:
            if len(platforms) != 1:
                raise ConfigError(f"--url {word}: say whose it is, e.g. --url slack={word}")
            platform, url = platforms[0], word
        urls[platform] = url
    return urls


def _zone() -> str:
    """This machine's time zone by its IANA name; UTC where that can't be told."""
    from gateway.settings.mistakes.zones import known_zones

    place = Path("/etc/localtime").resolve().parts
    name = "/".join(place[place.index("zoneinfo") + 1 :]) if "zoneinfo" in place else ""
    return name if name in known_zones() else "UTC"
