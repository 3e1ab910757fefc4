"""`moot memory delete-person`: a person's everything, from the database, the index and the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from sqlalchemy import Connection

from contract.chat import MOOT
from contract.errors import MootError
from gateway.app.file_store import open_store
from gateway.audit.appending import append
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR, ERASE, ranges
from gateway.cli.command_line import environment_of
from gateway.cli.memory.context import MemoryContext
from gateway.cli.memory.index import index_what_waits
from gateway.cli.memory.person_files import OnDisk, backups_of, find, remove
from gateway.cli.stored_access import check_alone
from gateway.core.clock import clock
from gateway.core.lock import hold
from gateway.core.private_folders import FILES
from gateway.files.shared import SharedFiles
from gateway.sessions import machine_erasures
from gateway.sessions.homes.records import Records, forget_records
from gateway.sessions.room_settings import forget_choices
from gateway.sessions.sessions import digest
from gateway.settings.personas.personas import Personas
from gateway.settings.personas.workspaces import configured_workspaces
from gateway.workers.credentials import places_of
from gateway.workers.erasure_rows import note
from memory.erasure.person import erase_person, erased_rows, person_ids, plan_erasure
from memory.erasure.plan import ErasurePlan
from memory.recall.facts import fact_ids
from memory.transfer.rows import is_person
from store.timestamps import micros, moment
from store.tombstones import bury

ELSEWHERE = "what workers have of these sessions: it goes when Moot runs and reaches {places}"
MACHINES = "what lies on another machine on which Moot led: it goes when Moot starts there"
STAYS = "what other people wrote stays, also where it mentions them"


async def delete_person(on: MemoryContext) -> int:
    """Say what goes; with --yes, do it, for each of a person's ids. Exit code 1: there is nothing
    of them."""
    people = tuple(dict.fromkeys(on.given.person))
    for person in people:
        if not is_person(person):
            raise MootError(f"{person!r} is not a sender id, e.g. slack:U06STGBF4Q0")
    known = False
    if on.given.dry_run or not on.given.yes:
        for person in people:
            plan, on_disk = await _look(on, person)
            _tell(on, plan, on_disk, "would go; say --yes to delete it")
            known |= _is_known(plan, on_disk)
        return 0 if known else 1
    with hold(on.config.gateway.data_dir):
        await check_alone(on.store)
        for person in people:
            plan, on_disk = await _look(on, person)
            await _carry_out(on, plan, on_disk)
            _tell(on, plan, on_disk, "deleted")
            known |= _is_known(plan, on_disk)
    return 0 if known else 1


async def _look(on: MemoryContext, person: str) -> tuple[ErasurePlan, OnDisk]:
    plan = await on.store.read(partial(plan_erasure, person=person))
    async with _files(on) as files:
        attachments = [str(files.here(path)) for path in plan.files]
    personas = Personas(on.config.gateway.personas_folder)
    find_files = partial(
        find,
        on.config.gateway.data_dir,
        attachments=attachments,
        scopes=plan.own | plan.knowing,
        workspaces=configured_workspaces(on.config, personas.good.values()),
    )
    return plan, await asyncio.to_thread(find_files)


@asynccontextmanager
async def _files(on: MemoryContext) -> AsyncIterator[SharedFiles]:
    async with open_store(on.config, environment_of(on.given)) as store:
        yield SharedFiles(on.config.gateway.data_dir / FILES, store)


async def _carry_out(on: MemoryContext, plan: ErasurePlan, on_disk: OnDisk) -> None:
    """The database last: what was broken off is found again by the next call."""
    audit = Audit(on.store, clock, on.config.gateway.data_dir / ANCHOR)
    if on.index is not None:
        await on.index.remove(sorted(plan.facts | plan.reworded))
    async with _files(on) as files:
        await files.forget(plan.files)
        names = sorted(filter(None, map(files.name_anywhere, plan.files)))
        if files.store is not None and on.config.workers is None:  # else the broker has them
            await Records(on.store, files.store).delete(_told(plan))
    await asyncio.to_thread(remove, on_disk, on.config.gateway.data_dir)
    places = places_of(on.config.gateway.data_dir)
    erase = partial(
        erase_noted, plan=plan, now=micros(clock()), known=audit.known(), places=places, files=names
    )
    audit.committed(await on.store.write(erase))
    await on.store.write(partial(forget_choices, ids=person_ids(plan.person)))
    await on.store.scrub()
    if on.index is not None:
        orphans = await on.index.ids() - await on.store.read(fact_ids)
        await on.index.remove(sorted(orphans))
        await index_what_waits(on)


def _told(plan: ErasurePlan) -> set[str]:
    """The scopes whose agents were told something, by their digests."""
    return {digest(scope) for scope in plan.own | plan.knowing}


def erase_noted(
    connection: Connection,
    plan: ErasurePlan,
    now: int,
    known: str = "",
    places: Sequence[str] = (),
    files: Sequence[str] = (),
) -> str:
    """Erase, and note in the same commit which rows of the audit log lost a half; its new head.
    What is told again of it isn't taken any more. known: see `append`. places: those of workers,
    from which the gateway deletes it. files: names of attachments, which go from other machines."""
    bury(connection, person_ids(plan.person), moment(now))
    note(connection, places, plan.own | plan.knowing, moment(now), whole=True)
    machine_erasures.note(connection, "scope", plan.own | plan.knowing, moment(now))
    machine_erasures.note(connection, "file", files, moment(now))
    machine_erasures.note(connection, "fact", plan.reworded, moment(now))
    forget_records(connection, _told(plan))
    erase_person(connection, plan)
    head = ""
    for half, seqs in erased_rows(plan).items():
        if seqs:
            detail = {"half": half, "rows": ranges(seqs)}
            told = head or known
            head = append(connection, act=ERASE, by=MOOT, at=now, detail=detail, known=told)
    return head


def _is_known(plan: ErasurePlan, on_disk: OnDisk) -> bool:
    return bool(plan.counts() or plan.changed or on_disk.files or on_disk.folders)


def _tell(on: MemoryContext, plan: ErasurePlan, on_disk: OnDisk, what: str) -> None:
    data_dir = on.config.gateway.data_dir
    changed = {
        name: len([key for key in rows if key not in plan.rows[name]])
        for name, rows in plan.changed.items()
    }
    erased = plan.own | plan.knowing
    elsewhere = [place or "the broker" for place in places_of(data_dir)] if erased else []
    backups = [str(path) for path in backups_of(data_dir)]
    if on.given.json:
        on.say(
            "",
            person=plan.person,
            deleted=what == "deleted",
            rows=plan.counts(),
            changed=changed,
            scopes=sorted(plan.own),
            sessions=sorted(plan.knowing),
            files=[str(path) for path in on_disk.files],
            folders=[str(path) for path in on_disk.folders],
            left=[str(path) for path in on_disk.left],
            elsewhere=elsewhere,
            backups=backups,
        )
        return
    if not _is_known(plan, on_disk):
        on.say(f"there is nothing of {plan.person}")
        return
    on.say(f"of {plan.person} {what}:")
    _tell_lines(on, plan, on_disk, changed)
    if elsewhere and what == "deleted":
        on.say(f"not yet deleted: {ELSEWHERE.format(places=', '.join(elsewhere))}")
    if what == "deleted" and on.config.store.url:
        on.say(f"not yet deleted: {MACHINES}")
    for path in on_disk.left:
        on.say(f"left, since it is not Moot's: {path}")
    for backup in backups:
        on.say(f"still in it, as it was made before: {backup}")
    on.say(f"({STAYS}; so do backups that lie elsewhere)")


def _tell_lines(
    on: MemoryContext, plan: ErasurePlan, on_disk: OnDisk, changed: Mapping[str, int]
) -> None:
    for name, count in plan.counts().items():
        on.say(f"{count} of {name}")
    for name, count in changed.items():
        on.say(f"{count} of {name} lose what they carry of them")
    for scope in sorted(plan.knowing):
        on.say(f"the agents' sessions in {scope}: they begin again, with empty folders")
    for path in (*on_disk.files, *on_disk.folders):
        on.say(str(path))
