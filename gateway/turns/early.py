"""Edits and deletions that a platform told before their messages."""

from __future__ import annotations

from collections import OrderedDict

from contract.chat import Deleted, Edited, Inbound

_REMEMBERED = 1_000


class EarlyChanges:
    """The last ones, by room and message; forgotten when the process ends."""

    def __init__(self) -> None:
        self._events: OrderedDict[tuple[str, str], Edited | Deleted] = OrderedDict()

    def keep(self, event: Edited | Deleted) -> None:
        """Remember what came of a message that isn't here yet; a deletion stays one."""
        key = (event.room.id, event.message_id)
        if not isinstance(self._events.get(key), Deleted):
            self._events[key] = event
        if len(self._events) > _REMEMBERED:
            self._events.popitem(last=False)

    def is_deleted(self, inbound: Inbound) -> bool:
        """Whether a message was deleted before it came."""
        return isinstance(self._events.get((inbound.room.id, inbound.message_id)), Deleted)

    def edit(self, inbound: Inbound) -> Edited | None:
        """The edit that came before the message; told once."""
        key = (inbound.room.id, inbound.message_id)
        event = self._events.get(key)
        if not isinstance(event, Edited):
            return None
        del self._events[key]
        return event
