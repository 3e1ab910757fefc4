"""`moot memory rebuild`, `check` and `consolidate`."""

from __future__ import annotations

from functools import partial

from gateway.cli.memory.context import CountedIndex, MemoryContext, progress
from gateway.core.clock import clock
from memory.browse.admin_stats import compare, count_waiting, forget_index
from memory.consolidation.consolidation import Consolidation, Outcome, scopes_to_consolidate
from memory.model import Calls
from memory.recall.recall import Recall
from memory.scopes import check_scope


async def index_what_waits(on: MemoryContext) -> int:
    """Give the index what it doesn't hold; return how many facts those were."""
    if on.index is None:
        return 0
    waiting = await on.store.read(count_waiting)
    with progress("indexing", waiting, "facts") as count:
        counted = CountedIndex(on.index, count, on.index.name)
        return await Recall(on.store, counted).index_pending()


async def rebuild(on: MemoryContext) -> int:
    """Empty the index and fill it again."""
    await on.searched().clear()
    await on.store.write(forget_index)
    count = await index_what_waits(on)
    on.say(f"indexed {count} facts", indexed=count)
    return 0


async def check(on: MemoryContext) -> int:
    """Compare: facts that the index lacks, and entries that belong to no fact."""
    index = on.searched()
    held = await index.ids()
    found = await on.store.read(partial(compare, held=held, index=index.name))
    lost = found.missing - found.waiting
    told = [f"{found.facts} facts", f"{len(held)} entries in the index {index.name}"]
    told += [f"{len(found.waiting)} wait to be indexed"] * bool(found.waiting)
    told += [f"{len(lost)} are missing"] * bool(lost)
    told += [f"{len(found.orphaned)} entries belong to no fact"] * bool(found.orphaned)
    remedy = "sound" if found.sound else "fix it with: moot memory rebuild"
    on.say(
        f"{', '.join(told)}: {remedy}",
        facts=found.facts,
        indexed=len(held),
        waiting=len(found.waiting),
        missing=sorted(lost),
        orphaned=sorted(found.orphaned),
    )
    return 0 if found.sound else 1


async def consolidate(on: MemoryContext) -> int:
    """One pass over a scope, or over every one. Exit code 1: it could not be finished."""
    model = on.model
    calls = None if model is None else Calls(model, on.store, clock)
    model_of = None if calls is None else partial(calls.of, "consolidation")
    consolidation = Consolidation(on.store, index=on.index, model=model_of, clock=clock)
    scopes = await on.store.read(scopes_to_consolidate)
    if on.given.scope is not None:
        scopes = [check_scope(on.given.scope)]
    outcomes: list[Outcome] = []
    with progress("consolidating", len(scopes), "scopes") as count:
        for scope in scopes:
            outcomes.append(await consolidation.run(scope))
            count(1)
    for outcome in outcomes:
        _tell(on, outcome)
    if model is None and not on.given.json:
        on.say("without a model only near duplicates are found: see [memory] model")
    return 1 if any(outcome.stopped for outcome in outcomes) else 0


def _tell(on: MemoryContext, outcome: Outcome) -> None:
    stopped = "; not finished, the next pass goes on" if outcome.stopped else ""
    on.say(
        f"{outcome.scope}  {outcome.merged} merged, {outcome.superseded} superseded, "
        f"{outcome.duplicates} duplicates, {outcome.refused} refused, "
        f"{outcome.calls} calls{stopped}",
        scope=outcome.scope,
        merged=outcome.merged,
        superseded=outcome.superseded,
        duplicates=outcome.duplicates,
        refused=outcome.refused,
        calls=outcome.calls,
        stopped=outcome.stopped,
    )
