"""Checks of the broker and of the workers behind it; they change nothing."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from contract.errors import ConfigError
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.lock import holder
from gateway.observability.telemetry import moot_version
from gateway.settings.connections import WorkersTable
from gateway.workers.credentials import FOLDER, GATEWAY, MOST_BYTES, RULES, Key, places_of
from gateway.workers.messages import VERSION, Beat

if TYPE_CHECKING:  # it brings the client of NATS, which only who has workers needs
    from gateway.workers.link import Link

CONNECT_S = 5.0
STRANGER_S = 1.5  # somebody who is let in is so within milliseconds
BEATS_S = 1.6  # three of them
CANARY_S = 0.5
SKEW_S = 5.0
OLDEST = (2, 10)
CANARY = "moot.to.doctor-canary.word"  # no worker's subject, and nobody's to hear but the gateway's
BACK = "moot.doctor-canary"
INCLUDE = f"include data/{FOLDER}/{RULES} in its configuration, and reload it"
START = "start the broker, or correct `nats` under [workers]"


async def check_workers(of: Installation) -> list[Finding]:
    """The broker, its rights, and the workers that are heard there."""
    table, data_dir = of.config.workers, of.config.gateway.data_dir
    if table is None:
        return []
    key_file = data_dir / FOLDER / f"{GATEWAY}.nk"
    if not key_file.exists():
        return [Finding("⚠", "broker", "nobody has a key yet", "`moot worker add w1` makes one")]
    try:
        key = Key.read(key_file)
        if table.embedded is not None and holder(data_dir) is None:
            return _embedded()
    except ConfigError as error:
        return [Finding("✗", "broker", error.say)]
    faults = list[str]()
    try:
        async with _connected(table.url, key, GATEWAY, CONNECT_S, faults) as link:
            return [*await _broker(link), *await _rights(link, table, data_dir), *(
                await _workers(link, table, data_dir)
            )]  # fmt: skip
    except TimeoutError:
        return [_unreached(faults)]


@asynccontextmanager
async def _connected(
    url: str, key: Key, name: str, within_s: float, faults: list[str]
) -> AsyncIterator[Link]:
    """A connection. faults: gets what went wrong meanwhile. Raises TimeoutError."""
    from gateway.workers.link import Link

    async with contextlib.AsyncExitStack() as stack:
        async with asyncio.timeout(within_s):
            link = await stack.enter_async_context(Link.open(url, key, name, faults.append))
        yield link


def _embedded() -> list[Finding]:
    """A broker of Moot's own, while Moot does not run. Raises ConfigError."""
    from gateway.workers.broker import find

    find()
    return [Finding("✓", "broker", "Moot starts it itself; neither runs now")]


def _unreached(faults: list[str]) -> Finding:
    if any("authorization" in fault.lower() for fault in faults):  # or it just hangs up
        return Finding("✗", "broker", "it does not let the gateway's key in", INCLUDE)
    return Finding(
        "✗", "broker", f"it can't be reached ({faults[-1] if faults else 'nobody answers'})", START
    )


# ── The broker ──────────────────────────────────────────────────────────────────────────


async def _broker(link: Link) -> list[Finding]:
    """Its version, its store, and the size of messages."""
    from gateway.workers.link import LinkDown

    facts, found = link.facts, list[Finding]()
    if facts.version < OLDEST:
        told = f"NATS {'.'.join(map(str, facts.version))} is old"
        found.append(Finding("⚠", "broker", told, "use 2.10 or newer"))
    if facts.most_bytes < MOST_BYTES:
        told = f"a message may have {facts.most_bytes:,} bytes, and records of sessions have more"
        found.append(Finding("✗", "broker", told, INCLUDE))
    try:
        await link.has_store()
    except LinkDown:
        remedy = 'add jetstream { store_dir: "…" } to its configuration'
        found.append(Finding("✗", "broker", "it has no JetStream", remedy))
    return found or [Finding("✓", "broker", "it answers, and has JetStream")]


async def _rights(link: Link, table: WorkersTable, data_dir: Path) -> list[Finding]:
    """A key that is unknown, or a worker's, is tried: does it get further than it may?"""
    unknown = Finding("✗", "broker", "it lets in a key that is not known", INCLUDE)
    with contextlib.suppress(TimeoutError):
        async with _connected(table.url, Key.make(), "doctor", STRANGER_S, []):
            return [unknown]
    keys = [data_dir / FOLDER / f"{name}.nk" for name in places_of(data_dir)[1:]]
    here = next((file for file in keys if file.exists()), None)
    if here is None:  # they were taken to their machines
        return [Finding("✓", "broker", "it lets in no key that is not known")]
    try:
        key, faults = Key.read(here), list[str]()
        async with _connected(table.url, key, here.stem, CONNECT_S, faults) as worker:
            overheard = await _overheard(link, worker)
    except (TimeoutError, ConfigError):
        told = f"it does not let the key of {here.stem} in"
        return [Finding("✗", "broker", told, INCLUDE)]
    if overheard:
        told = f"the key of {here.stem} {' and '.join(overheard)} what is not its own"
        return [Finding("✗", "broker", told, INCLUDE)]
    return [Finding("✓", "broker", f"the key of {here.stem} hears and says only what is its own")]


async def _overheard(link: Link, worker: Link) -> list[str]:
    """Rights that a worker's key has and should not have."""
    word, found = secrets.token_bytes(16), set[str]()

    async def heard(_subject: str, data: bytes) -> None:
        if data == word:
            found.add("hears")

    async def said(_subject: str, data: bytes) -> None:
        if data == word:
            found.add("says")

    for subject in (CANARY, "moot.>", ">"):
        await worker.hear(subject, heard)
    await link.hear(BACK, said)
    await asyncio.sleep(CANARY_S / 5)
    await link.say(CANARY, word)
    await worker.say(BACK, word)
    await asyncio.sleep(CANARY_S)
    return sorted(found)


# ── The workers ─────────────────────────────────────────────────────────────────────────


async def _workers(link: Link, table: WorkersTable, data_dir: Path) -> list[Finding]:
    """Those that were added: whether each is there, in step and of this version."""
    beats = dict[str, tuple[Beat, float]]()

    async def beaten(subject: str, data: bytes) -> None:
        with contextlib.suppress(ValueError):
            beats[subject.split(".")[2]] = Beat.model_validate_json(data), time.time()

    await link.hear("moot.from.*.beat", beaten)
    await asyncio.sleep(BEATS_S)
    names = places_of(data_dir)[1:]
    found = [finding for name in names for finding in _worker(name, beats)]
    found += [
        Finding("⚠", f"pool {pool}", f"{name} was never added", f"`moot worker add {name}`")
        for pool, named in table.pools.items()
        for name in named.names
        if name not in names
    ]
    return found or [Finding("⚠", "workers", "there is none", "`moot worker add w1` begins")]


def _worker(name: str, beats: Mapping[str, tuple[Beat, float]]) -> list[Finding]:
    what = f"worker {name}"
    if name not in beats:
        remedy = f"start `moot worker run` there; `moot worker remove {name}` forgets it"
        return [Finding("⚠", what, "it is not heard", remedy)]
    (beat, heard_at), ours = beats[name], moot_version()
    if beat.version != VERSION:
        told = "it speaks another version of the messages, and is given no work"
        return [Finding("✗", what, told, f"install Moot {ours} there")]
    found = list[Finding]()
    if beat.release and beat.release != ours:
        told = f"it runs Moot {beat.release}, and the gateway {ours}"
        found.append(Finding("⚠", what, told, "install the same there"))
    if beat.clock and (off_s := abs(heard_at - beat.clock)) > SKEW_S:
        told = f"its clock and this one are {off_s:.0f} s apart"
        found.append(Finding("⚠", what, told, "set both by NTP: their logs don't fit together"))
    living = f"{len(beat.sessions)} of {beat.seats} seats taken"
    return found or [Finding("✓", what, f"it is there, {living}")]
