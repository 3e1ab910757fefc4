"""`moot audit`: look at the audit log, and check that nobody changed it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from contract.errors import MootError
from gateway.cli.command_line import account_name, add_config, configured, printable

if TYPE_CHECKING:
    from gateway.audit.audit import Audit, AuditEntry, AuditFilter
    from gateway.audit.chain import Broken
    from gateway.settings.config import Config

SHOWN = 50
REMEDY = "find out who did that, then `moot audit acknowledge --why ...`"
_AGO = re.compile(r"(\d{1,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_HASH = re.compile(r"[0-9a-f]{64}")


def add_audit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and those below it."""
    audit = commands.add_parser("audit", help="who let which agent do what")
    below = audit.add_subparsers(required=True, metavar="COMMAND", dest="command")
    verify = below.add_parser("verify", help="check the log's chain; exit code 1: it is broken")
    verify.add_argument("--head", type=_head, help="a hash noted earlier: it must be there")
    show = below.add_parser("show", help="print what was noted, oldest first")
    show.add_argument("--room", metavar="ID", help="e.g. slack:C06RY3YBSLE")
    show.add_argument("--person", metavar="ID", help="e.g. slack:U06STGBF4Q0")
    show.add_argument("--persona", metavar="NAME")
    show.add_argument("--act", metavar="WORD", help="e.g. answer")
    show.add_argument("--since", metavar="WHEN", help="e.g. 2026-04-21, 2026-04-21T14:00, 24h, 7d")
    show.add_argument(
        "--limit", type=int, default=SHOWN, help=f"the newest so many ({SHOWN}); 0: all"
    )
    take_note = below.add_parser(
        "acknowledge", help="take note that it is broken: the log keeps who did, and why"
    )
    take_note.add_argument("--why", required=True, help="a sentence for whoever reads the log")
    add_config(take_note)
    take_note.set_defaults(do=_do)
    for command in (verify, show):
        command.add_argument("--json", action="store_true", help="JSON Lines instead of text")
        add_config(command)
    audit.set_defaults(do=_do)
    verify.set_defaults(do=_do)
    show.set_defaults(do=_do)


def _head(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise argparse.ArgumentTypeError("not a hash of the log: 64 of 0-9 and a-f")
    return text


def _do(arguments: argparse.Namespace) -> int:
    import asyncio

    config = configured(arguments)
    return asyncio.run(_look(arguments, config))


async def _look(given: argparse.Namespace, config: Config) -> int:
    from gateway.audit.audit import Audit
    from gateway.audit.chain import ANCHOR
    from gateway.core.clock import clock
    from store.database import Store

    if given.command == "acknowledge":
        return await _acknowledge(given, config)
    async with Store.open(config.store_url, read_only=True) as store:
        audit = Audit(store, clock, config.gateway.data_dir / ANCHOR)
        if given.command == "verify":
            return await _verify(audit, given)
        return await _show(audit, given, config)


async def _acknowledge(given: argparse.Namespace, config: Config) -> int:
    from gateway.audit.audit import Audit
    from gateway.audit.chain import ANCHOR
    from gateway.core.clock import clock
    from gateway.web.signin.names import SHELL
    from store.database import Store

    async with Store.open(config.store_url) as store:
        audit = Audit(store, clock, config.gateway.data_dir / ANCHOR, given.redactor)
        broken = await audit.acknowledge(SHELL, why=given.why, account=account_name())
    if broken is None:
        _say("the audit log is whole: there is nothing to acknowledge")
    else:
        _say(f"acknowledged, in the log itself: {_place(broken)}: {broken.reason}")
    return 0


def _place(broken: Broken) -> str:
    return f"row {broken.seq}" if broken.seq is not None else "the end"


async def _verify(audit: Audit, given: argparse.Namespace) -> int:
    verdict = await audit.verify(given.head or "")
    broken = verdict.broken
    if given.json:
        _say(
            json.dumps(
                {
                    "ok": broken is None,
                    "rows": verdict.rows,
                    "erased": verdict.erased,
                    "head": verdict.head,
                    "broken_seq": broken.seq if broken else None,
                    "broken": broken.reason if broken else None,
                }
            )
        )
    elif broken is None:
        erased = (
            f" ({verdict.erased} halves of rows were erased, as noted)" if verdict.erased else ""
        )
        noted = f", {verdict.acknowledged} times broken and acknowledged" * bool(
            verdict.acknowledged
        )
        _say(
            f"the audit log is whole: {verdict.rows} rows{erased}{noted}\n"
            f"head: {verdict.head or 'none'}"
        )
    else:
        _say(f"the audit log is broken at {_place(broken)}: {broken.reason}")
        _say(f"{verdict.rows} rows before it hold; {REMEDY}")
    return 0 if broken is None else 1


async def _show(audit: Audit, given: argparse.Namespace, config: Config) -> int:
    from gateway.audit.audit import AuditFilter

    zone = config.gateway.zone
    wish = AuditFilter(
        room_id=given.room,
        person_id=given.person,
        persona=given.persona,
        act=given.act,
        since=since(given.since, datetime.now(zone)) if given.since else None,
    )
    found = False
    async for entry in _entries(audit, wish, given.limit):
        found = True
        _say(as_json(entry) if given.json else as_line(entry, zone))
    if not found:
        print("no entry fits that", file=sys.stderr)  # noqa: T201
    return 0


async def _entries(audit: Audit, wish: AuditFilter, limit: int) -> AsyncIterator[AuditEntry]:
    """Those that fit, the oldest first. limit: so many of the newest; 0: all."""
    from gateway.audit.audit import entry_of

    if limit > 0:
        for entry in reversed(await audit.page(wish, before=None, limit=limit)):
            yield entry
        return
    async for rows in audit.rows(wish):
        for row in rows:
            yield entry_of(row)


def since(text: str, now: datetime) -> datetime:
    """A moment as people write it; without a zone of its own it is in that of `now`."""
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        if len(text) == len("2026-04-21"):
            return datetime.combine(date.fromisoformat(text), time(), now.tzinfo)
        at = datetime.fromisoformat(text)
    except ValueError:
        raise MootError(
            f"--since {text!r}: a time is e.g. 2026-04-21, 2026-04-21T14:00 or 24h"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)


def as_json(entry: AuditEntry) -> str:
    """The entry as one line of JSON."""
    by = None if entry.by is None else {"id": entry.by.id, "name": entry.by.name}
    told = {
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "act": entry.act,
        "by": by,
        "persona": entry.persona,
        "room_id": entry.room_id,
        "turn_id": entry.turn_id,
        "detail": dict(entry.detail),
        "hash": entry.hash,
    }
    return json.dumps(told, ensure_ascii=False)


def as_line(entry: AuditEntry, zone: Any) -> str:
    """The entry as one line for people."""
    return printable(" ".join(_parts(entry, zone)))


def _parts(entry: AuditEntry, zone: Any) -> Iterator[str]:
    yield f"{entry.seq}"
    yield f"{entry.at.astimezone(zone):%Y-%m-%d %H:%M:%S}"
    yield entry.act
    yield f"{entry.by.name} <{entry.by.id}>" if entry.by else "<erased>"
    if entry.persona:
        yield f"@{entry.persona}"
    if entry.room_id:
        yield f"in {entry.room_id}"
    for name, value in entry.detail.items():
        if value is not None and value != "":
            yield f"{name}={json.dumps(value, ensure_ascii=False)}"


def _say(line: str) -> None:
    print(line)  # noqa: T201
