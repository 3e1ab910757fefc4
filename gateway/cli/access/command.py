"""The command line of `moot access` and `moot pair`, whether Moot runs or not."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, get_args

from gateway.cli.command_line import add_config, configured, printable
from gateway.settings.access import Role

if TYPE_CHECKING:
    from gateway.cli.access.registry import Registry


def add_access(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands."""
    access = commands.add_parser("access", help="list roles, give them, take them back")
    below = access.add_subparsers(required=True, metavar="COMMAND", dest="command")
    list_ = below.add_parser("list", help="list who may do what, and who waits")
    list_.add_argument("--json", action="store_true", help="JSON instead of text")
    list_.set_defaults(work=_list)
    grant = below.add_parser("grant", help="give somebody a role")
    grant.add_argument("person", metavar="ID", help="sender id, e.g. slack:U06STGBF4Q0")
    grant.add_argument("role", choices=get_args(Role))
    grant.add_argument("--room", metavar="ID", help="e.g. slack:C06RY3YBSLE; else everywhere")
    grant.add_argument("--persona", metavar="NAME", help="else with every one")
    grant.add_argument("--where", choices=["rooms", "dms"], help="else in both")
    grant.add_argument("--name", help="else the name that they last spoke under")
    grant.set_defaults(work=_grant)
    revoke = below.add_parser("revoke", help="take back roles that were given")
    revoke.add_argument("which", metavar="ID|NUMBER", help="all of a person's, or a listed one")
    revoke.set_defaults(work=_revoke)
    pair = commands.add_parser("pair", help="let in who waits: list their codes, or give one")
    pair.add_argument("code", nargs="?", metavar="CODE", help="the code that somebody was told")
    pair.add_argument("--list", action="store_true", help="list who waits (the default)")
    pair.add_argument("--refuse", metavar="CODE", help="don't let somebody in")
    pair.set_defaults(work=_pair)
    for parser in (list_, grant, revoke, pair):
        add_config(parser)
        parser.set_defaults(do=_do)


def _do(arguments: argparse.Namespace) -> int:
    return asyncio.run(_work(arguments))


async def _work(arguments: argparse.Namespace) -> int:
    from gateway.cli.access.registry import open_registry

    config = configured(arguments)
    if arguments.work is _grant:
        _check_ids(arguments)
    async with open_registry(config, os.environ) as registry:
        code: int = await arguments.work(arguments, registry)
        return code


async def _list(arguments: argparse.Namespace, registry: Registry) -> int:
    known = await registry.overview()
    if arguments.json:
        print(json.dumps(known, indent=2, ensure_ascii=False))  # noqa: T201
        return 0
    _say(f"rooms: {known['rooms']}, direct messages: {known['dms']}")
    for one in known["configured"]:
        people = "everybody" if one["people"] == ["*"] else ", ".join(one["people"])
        at = [*one["rooms"], *one["personas"], *([one["where"]] if one["where"] else [])]
        _say(f"   moot.toml  {one['role']:<6}  {people}{_in(at)}")
    for one in known["grants"]:
        _say(f"{one['seq']:>12}  {_given(one)} (by {one['by_name']})")
    return _tell_waiting(known)


def _check_ids(arguments: argparse.Namespace) -> None:
    """Raises ConfigError before anything is opened."""
    from contract.errors import ConfigError
    from gateway.settings.person_ids import EXAMPLE, is_person_id, room_fault

    if not is_person_id(arguments.person):
        raise ConfigError(f"{arguments.person!r} is nobody's id; {EXAMPLE}")
    if arguments.room and (fault := room_fault(arguments.room)):
        raise ConfigError(f"--room: {fault}")


async def _grant(arguments: argparse.Namespace, registry: Registry) -> int:
    body = {
        "person_id": arguments.person,
        "person_name": arguments.name,
        "role": arguments.role,
        "room_id": arguments.room,
        "persona": arguments.persona,
        "where": arguments.where or "",
    }
    given = await registry.grant(body)
    _say(f"given: {given['seq']}  {_given(given)}")
    return 0


async def _revoke(arguments: argparse.Namespace, registry: Registry) -> int:
    from gateway.settings.person_ids import unaliased

    which = arguments.which
    held = (await registry.overview())["grants"]
    wanted = unaliased(which)
    chosen = [g for g in held if str(g["seq"]) == which or unaliased(g["person_id"]) == wanted]
    for one in chosen:
        await registry.revoke(one["seq"])
        _say(f"taken back: {one['seq']}  {_given(one)}")
    if not chosen:
        _say(f"{which} has no role that was given; moot.toml's are changed there")
    return 0 if chosen else 1


async def _pair(arguments: argparse.Namespace, registry: Registry) -> int:
    code = arguments.refuse or arguments.code
    if not code or arguments.list:
        return _tell_waiting(await registry.overview())
    found = await registry.decide(code, "refuse" if arguments.refuse else "approve")
    if found is None:
        _say("no such code waits: `moot pair` lists those that do; a code is good for 24 hours")
        return 1
    done = "is refused" if arguments.refuse else "is a member in direct messages now"
    _say(f"{found['person_name']} ({found['person_id']}) {done}")
    return 0


def _tell_waiting(known: dict[str, Any]) -> int:
    for one in known["pairings"]:
        until = str(one["expires_at"])[:16].replace("T", " ")
        _say(f"{one['code']}  {one['person_name']} ({one['person_id']}) waits, until {until} UTC")
    if not known["pairings"]:
        _say("nobody waits to be let in")
    return 0


def _given(one: dict[str, Any]) -> str:
    at = [one[key] for key in ("room_id", "persona", "where") if one[key]]
    return f"{one['role']:<6}  {one['person_id']} {one['person_name']}{_in(at)}"


def _in(at: list[str]) -> str:
    return f" ({', '.join(at)})" if at else ""


def _say(text: str) -> None:
    print(printable(text))  # noqa: T201
