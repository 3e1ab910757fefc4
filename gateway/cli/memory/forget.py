"""`moot memory forget` and `wipe`: what goes is said first, and goes when that is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection

from contract.errors import MootError
from gateway.cli.memory.context import MemoryContext
from gateway.cli.memory.lists import fact_line
from gateway.core.quoting import number_in
from memory.browse.admin_stats import count_by_scope
from memory.owner.forgetting import Forgotten, ForgottenFact, find_words, forget_words, unlearn
from memory.owner.owner import clear
from memory.private import LEAST_CHARS
from memory.recall.facts import every_fact_in, remove_facts
from memory.recall.recall import Recall
from memory.scopes import check_scope
from memory.transfer.importing import wipe

NOTHING = 1
STAYS = "what people wrote stays in the transcript, and isn't learned from again"


async def forget(on: MemoryContext) -> int:
    """Forget a fact, or all that says some words, in a scope; without --yes only say what would
    go. Exit code 1: there is nothing of it."""
    words, scope = on.given.what.strip(), check_scope(on.given.scope)
    number = number_in(words)
    if number is None and len(words) < LEAST_CHARS:
        raise MootError(
            f"{words!r} is too short: give {LEAST_CHARS} characters, or a fact's number"
        )
    going = await on.store.read(partial(find_words, words=words, scope=scope, number=number))
    _tell_facts(on, going)
    if on.given.yes:
        await on.store.write(partial(unlearn, going=going))
        done = await on.store.write(partial(forget_words, going=going))
        gone = await _remove(on, [fact.id for fact in going.facts])
    else:
        rehearse = partial(_rehearse, going=going)
        done, gone = await on.store.write(rehearse)
    said = sum(map(len, going.said.values()))
    what = "forgotten" if on.given.yes else "would be forgotten; say --yes to do it"
    pins = f"; pinned still, take it out with `!unpin`: {list(done.pins)}" if done.pins else ""
    on.say(
        f"{gone} facts and copies, its words in {done.reworded} rows of summaries, notes and "
        f"observations, {said} messages to learn from: {what} ({STAYS}{pins})",
        forgotten=on.given.yes,
        facts=gone,
        reworded=done.reworded,
        messages=said,
        pins=list(done.pins),
    )
    return 0 if gone or done.reworded or said else NOTHING


def _tell_facts(on: MemoryContext, going: ForgottenFact) -> None:
    for fact in going.facts:
        on.say(fact_line(fact, on.config.gateway.zone), fact=fact.seq, scope=fact.scope)


def _rehearse(connection: Connection, going: ForgottenFact) -> tuple[Forgotten, int]:
    """What forgetting would do; nothing of it stays done."""
    with connection.begin_nested() as tried:
        unlearn(connection, going)
        done = forget_words(connection, going)
        gone = len(remove_facts(connection, [fact.id for fact in going.facts]))
        tried.rollback()
    return done, gone


async def wipe_all(on: MemoryContext) -> int:
    """Everything that memory holds, of a scope or at all, from the database and the index."""
    scope = None if on.given.scope is None else check_scope(on.given.scope)
    scopes = await on.store.read(count_by_scope)
    if scope is not None:
        scopes = [census for census in scopes if census.scope == scope]
    if not on.given.yes:
        rows = sum(sum(census.rows.values()) for census in scopes)
        of = scope or f"{len(scopes)} scopes"
        raise MootError(f"{rows} memories of {of} would be deleted; say --yes to do it")
    count = await (_wipe_every(on) if scope is None else _wipe_scope(on, scope))
    await on.store.scrub()
    on.say(
        f"deleted {count} rows; messages stay, and what was read of them is not learned again",
        deleted=count,
    )
    return 0


async def _wipe_every(on: MemoryContext) -> int:
    if on.index is not None:
        await on.index.clear()
    return await on.store.write(wipe)


async def _wipe_scope(on: MemoryContext, scope: str) -> int:
    """With what was shared of it elsewhere."""
    held = await on.store.read(lambda c: every_fact_in(c, [scope], replaced=True))
    gone = await _remove(on, [fact.id for fact in held])
    return gone + await on.store.write(partial(clear, scope=scope))


async def _remove(on: MemoryContext, ids: Sequence[str]) -> int:
    if on.index is not None:
        return await Recall(on.store, on.index).forget(ids)
    return len(await on.store.write(partial(remove_facts, ids=ids)))
