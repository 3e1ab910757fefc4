"""The command lines of `moot open`, `token`, `invite`, `sessions` and `ask`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import webbrowser
from typing import Any, get_args

from contract.errors import ConfigError
from gateway.cli.command_line import add_config, configured, environment_of, printable
from gateway.settings.access import Role

NOT_RUNNING = "no Moot runs here: `moot run` starts it, and prints a link"


def add_page(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add them all."""
    open_ = commands.add_parser("open", help="print a link that signs the owner in, once")
    open_.add_argument("--as", dest="person", metavar="NAME", help="another owner's account")
    open_.add_argument("--no-browser", action="store_true", help="print it only")
    open_.set_defaults(do=run_open)
    token = commands.add_parser("token", help="print a token for programs: of the API, or less")
    token.add_argument("which", nargs="?", choices=("list", "revoke"), metavar="list|revoke NAME")
    token.add_argument("revoked", nargs="?", metavar="NAME", help=argparse.SUPPRESS)
    token.add_argument("--name", help="which one; it is made if there is none")
    token.add_argument("--read", choices=("metrics",), default="", help="good for that alone")
    token.set_defaults(do=run_token)
    invite = commands.add_parser("invite", help="print a link that gives somebody an account")
    invite.add_argument("name", metavar="NAME", help="as others will see it")
    invite.add_argument("--role", choices=get_args(Role), help="by default member")
    invite.set_defaults(do=run_invite)
    sessions = commands.add_parser("sessions", help="list who is signed in where, and end that")
    sessions.add_argument("which", nargs="?", choices=("list", "revoke"), default="list")
    sessions.add_argument("id", nargs="?", metavar="ID", help="as listed")
    sessions.add_argument("--json", action="store_true", help="JSON instead of text")
    sessions.set_defaults(do=run_sessions)
    ask = commands.add_parser("ask", help='ask from here: moot ask "@demo hello"')
    ask.add_argument("text", help="as you would write it in the room")
    ask.add_argument("--room", default="general", help="a room of the page: its name or its id")
    ask.add_argument("--wait", type=float, default=1800.0, metavar="SECONDS", help="at most 3600")
    ask.add_argument("--json", action="store_true", help="the API's answer instead of the reply")
    ask.set_defaults(do=run_ask)
    for parser in (open_, token, invite, sessions, ask):
        add_config(parser)


def run_open(arguments: argparse.Namespace) -> int:
    """Raises MootError."""
    from gateway.cli.page.client import running

    moot = running(configured(arguments), environment_of(arguments))
    if moot is None:
        raise ConfigError(NOT_RUNNING)
    body = {"person": arguments.person} if arguments.person else {}
    url = str(moot.ask("POST", "/api/page/links", body)["url"])
    _say(f"Works once, within 30 minutes: {url}")
    seen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if sys.stdout.isatty() and (seen or sys.platform == "darwin") and not arguments.no_browser:
        webbrowser.open(url)
    return 0


def run_token(arguments: argparse.Namespace) -> int:
    """Raises MootError."""
    return asyncio.run(_token(arguments))


async def _token(arguments: argparse.Namespace) -> int:
    from gateway.cli.page.desk import open_desk
    from gateway.core.private_folders import OWNER_SECRET
    from gateway.web.signin.secret import derived, read_secret

    config = configured(arguments)
    async with open_desk(config, environment_of(arguments)) as desk:
        if arguments.which == "list":
            for one in await desk.tokens():
                used = str(one["used_at"] or "never")[:16].replace("T", " ")
                _say(f"{one['name']:<20}  {one['reads']:<8}  last used: {used}")
            return 0
        if arguments.which == "revoke":
            name = arguments.revoked or arguments.name or "script"
            done = await desk.revoke(name)
            _say(f"{name} is revoked" if done else f"there is no token {name}")
            return 0 if done else 1
        name = arguments.name or arguments.read or "script"
        salt = await desk.token(name, arguments.read)
    secret = read_secret(config.gateway.data_dir)
    if secret is None:
        raise ConfigError(
            f"{config.gateway.data_dir / OWNER_SECRET} can't be read: run this as its owner"
        )
    _say(derived(secret, salt, arguments.read))
    return 0


def run_invite(arguments: argparse.Namespace) -> int:
    """Raises MootError."""
    return asyncio.run(_invite(arguments))


async def _invite(arguments: argparse.Namespace) -> int:
    from gateway.cli.page.desk import open_desk

    async with open_desk(configured(arguments), environment_of(arguments)) as desk:
        made = await desk.invite(arguments.name, arguments.role)
    _say(f"For {made['person_name']} ({made['person_id']}), once, within 3 days: {made['url']}")
    return 0


def run_sessions(arguments: argparse.Namespace) -> int:
    """Raises MootError."""
    return asyncio.run(_sessions(arguments))


async def _sessions(arguments: argparse.Namespace) -> int:
    from gateway.cli.page.desk import open_desk

    async with open_desk(configured(arguments), environment_of(arguments)) as desk:
        if arguments.which == "revoke":
            if not arguments.id:
                raise ConfigError("say which: `moot sessions` lists their ids")
            done = await desk.end(arguments.id)
            _say(
                "signed out"
                if done
                else f"there is no session {arguments.id}: `moot sessions list` shows them"
            )
            return 0 if done else 1
        found = await desk.sessions()
    if arguments.json:
        _say(json.dumps(found, ensure_ascii=False))
        return 0
    for one in found:
        seen = str(one["seen_at"])[:16].replace("T", " ")
        who = f"{one['person_name']} ({one['person_id']})"
        _say(f"{one['id']}  {who}  {one['address']}  seen {seen}  {one['user_agent'][:60]}")
    if not found:
        _say("nobody is signed in")
    return 0


def run_ask(arguments: argparse.Namespace) -> int:
    """Raises MootError. Exit code 1: there is no answer."""
    from gateway.cli.page.client import running

    moot = running(configured(arguments), environment_of(arguments))
    if moot is None:
        raise ConfigError(NOT_RUNNING)
    me = moot.ask("GET", "/api/me").get("house_owner") or _of_this_account()
    room = arguments.room if ":" in arguments.room else f"web:{arguments.room.lstrip('#')}"
    body = {
        "content": arguments.text,
        "metadata": {
            "source": "web",
            "sender_id": me["id"],
            "sender_display_name": me["name"],
            "sender_type": "human",
        },
        "room": room,
        "wait": arguments.wait,
    }
    receipt = moot.ask("POST", "/api/submit", body, wait_s=arguments.wait + 30)
    replies = receipt.get("replies") or []
    if arguments.json:
        _say(json.dumps(receipt, ensure_ascii=False))
    else:
        _show(replies)
    return 0 if replies and all(one["state"] == "posted" for one in replies) else 1


def _show(replies: list[dict[str, Any]]) -> None:
    if not replies:
        _complain("nobody answers that: name a persona, e.g. moot ask '@demo hello'")
    for one in replies:
        if one["state"] == "posted":
            lines = [printable(line) for line in one["text"].split("\n")]
            _say(
                "\n".join(lines) if len(replies) == 1 else f"{one['persona']}:\n" + "\n".join(lines)
            )
        else:
            _complain(one["error"] or f"{one['persona']} has not answered ({one['state']})")


def _of_this_account() -> dict[str, str]:
    """Whoever is at this terminal, before there is an account on the page."""
    import getpass

    from gateway.web.signin.names import person_of

    person_id, name = person_of(getpass.getuser())
    return {"id": person_id, "name": name}


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _complain(text: str) -> None:
    print(f"moot: {printable(text)}", file=sys.stderr)  # noqa: T201
