"""A person in what bots keep over a restart: whom they invited, what waits for a key, devices."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, or_, select

from memory.erasure.plan import ErasurePlan, keys
from store.gateway_schema import bot_keys, bot_states


def find_in_states(connection: Connection, plan: ErasurePlan, ids: Iterable[str]) -> None:
    """Plan each value that knows their id on the platform without the objects that have it, and
    what is known of their devices away."""
    names = frozenset(one.partition(":")[2] for one in ids)
    told = or_(*(bot_states.c.value.contains(one, autoescape=True) for one in sorted(names)))
    of_bots = bot_states.c.bot != ""  # the gateway's own is a copy of its configuration
    for row in connection.execute(select(bot_states).where(told, of_bots)):
        value = json.loads(row.value)
        if (left := _without(value, names)) != value:
            changed = {"value": json.dumps(left, separators=(",", ":"), ensure_ascii=False)}
            plan.changed["bot_states"][row.bot, row.name] = changed
    for name in sorted(names):
        theirs = bot_keys.c.name.startswith(f"{name} ", autoescape=True)
        query = select(*keys(bot_keys)).where(bot_keys.c.kind == "device", theirs)
        plan.rows["bot_keys"].update(tuple(row) for row in connection.execute(query))


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_without(one, names) for one in value if not _is_theirs(one, names)]
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if not _is_theirs(one, names)}
        return {key: _without(one, names) for key, one in kept.items() if key not in names}
    return value


def _is_theirs(value: Any, names: frozenset[str]) -> bool:
    """True for their id, and for an object that has it, itself or in its event."""
    if isinstance(value, dict):
        texts = [one for one in value.values() if isinstance(one, str)]
        return not names.isdisjoint(texts) or _is_theirs(value.get("event"), names)
    return isinstance(value, str) and value in names
