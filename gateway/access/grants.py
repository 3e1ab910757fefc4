"""Roles that were given while Moot runs: kept in the database, beside those of moot.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import structlog
from sqlalchemy import Connection, Row, bindparam, select, update

from contract.chat import Room, Speaker
from contract.errors import Rejected
from contract.values import dataclass
from gateway.access.access import Access, Grant, Where
from gateway.access.refusals import Refusals
from gateway.audit.audit import Audit
from gateway.settings.access import Role
from gateway.settings.person_ids import is_person_id, unaliased
from store.database import Store
from store.gateway_schema import grants, pairings
from store.schema import rooms
from store.timestamps import micros, moment

log = structlog.stdlib.get_logger("moot.access")

_C = grants.c
_LIVE = (
    select(grants, rooms.c.name.label("room_name"))
    .outerjoin(rooms, rooms.c.id == _C.room_id)
    .where(_C.ended_at.is_(None))
    .order_by(_C.seq)
)
_END = update(grants).where(_C.seq == bindparam("of")).values(ended_at=bindparam("now"))
_PUT = grants.insert().returning(_C.seq)
_NO_CODE = (  # who has a role in direct messages needs no code any more
    update(pairings)
    .where(
        pairings.c.person_id == bindparam("person"),
        pairings.c.state.in_(["waiting", "displaced", "refused"]),
    )
    .values(state="expired")
)


@dataclass(frozen=True, slots=True)
class GrantSpan:
    """The range of a kept role. room_id, persona: None: all. within: see Grant.where."""

    room_id: str | None = None
    persona: str | None = None
    within: Where = ""


EVERYWHERE = GrantSpan()


@dataclass(frozen=True, slots=True)
class KeptGrant:
    """A role that was given. seq: its number, never used again."""

    seq: int
    role: Role
    person: Speaker
    span: GrantSpan
    room_name: str | None
    by: Speaker
    at: datetime

    def grant(self) -> Grant:
        """The role in the form that Access asks for."""
        span = self.span
        return Grant(
            self.role,
            frozenset({self.person.id}),
            frozenset({span.room_id}) if span.room_id else frozenset(),
            frozenset({span.persona}) if span.persona else frozenset(),
            span.within,
        )


class Grants:
    """Gives roles and takes them back. `Access.kept` is replaced once the change is on disk."""

    def __init__(
        self,
        store: Store,
        access: Access,
        refusals: Refusals,
        audit: Audit,
        clock: Callable[[], datetime],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._access = access
        self._refusals = refusals
        self._audit = audit
        self._clock = clock
        self._changed = changed

    async def load(self) -> None:
        """Read them."""
        self.took_effect(await self.listed())

    async def listed(self) -> list[KeptGrant]:
        """The roles that hold now, the oldest first."""
        return await self._store.read(live)

    async def grant(self, person: Speaker, role: Role, span: GrantSpan, by: Speaker) -> KeptGrant:
        """Give a role; it takes the place of another kept one of theirs for the same span.

        Raises Rejected when the id is none, or a bot would be an owner.
        """
        check(person, role, span)
        now = self._clock()

        def work(connection: Connection) -> tuple[KeptGrant, list[KeptGrant], str]:
            new = self.put(connection, person, role, span, by, now)
            return new, live(connection), self.note_in(connection, "grant", new, by)

        new, held, head = await self._store.write(work)
        self.took_effect(held, head)
        return new

    def put(
        self,
        connection: Connection,
        person: Speaker,
        role: Role,
        span: GrantSpan,
        by: Speaker,
        now: datetime,
    ) -> KeptGrant:
        """The same in a commit of the caller's, who calls `note_in` in it, and `took_effect`."""
        for held in live(connection):
            if _is_theirs(held, person.id) and held.span == span:
                connection.execute(_END, {"of": held.seq, "now": micros(now)})
        values = {
            "person_id": person.id,
            "person_name": person.name,
            "role": role,
            "room_id": span.room_id,
            "persona": span.persona,
            "within": span.within,
            "by_id": by.proven.id,
            "by_name": by.proven.name,
            "at": micros(now),
        }
        seq = connection.execute(_PUT, values).scalar_one()
        self._refusals.forget(connection, person.id)
        if span.room_id is None and span.within != "rooms":
            connection.execute(_NO_CODE, {"person": person.id})
        return next(held for held in live(connection) if held.seq == seq)

    async def revoke(self, by: Speaker, chosen: Callable[[KeptGrant], bool]) -> list[KeptGrant]:
        """Take back what is chosen of those that hold now; return it."""
        now = self._clock()

        def work(connection: Connection) -> tuple[list[KeptGrant], list[KeptGrant], str]:
            gone, head = [held for held in live(connection) if chosen(held)], ""
            for held in gone:
                connection.execute(_END, {"of": held.seq, "now": micros(now)})
                self._refusals.forget(connection, held.person.id)
                head = self.note_in(connection, "revoke", held, by)
            return gone, live(connection), head

        gone, left, head = await self._store.write(work)
        self.took_effect(left, head)
        return gone

    def took_effect(self, held: Sequence[KeptGrant], head: str = "") -> None:
        """Apply roles that are on disk from now on. head: of the audit log, see Audit.committed."""
        self._audit.committed(head)
        self._access.kept = tuple(one.grant() for one in held)
        self._changed()

    def note_in(self, connection: Connection, act: str, kept: KeptGrant, by: Speaker) -> str:
        """A change for the audit log, in the commit that makes it; see Audit.note_in."""
        span = kept.span
        room = Room(span.room_id, kept.room_name or span.room_id) if span.room_id else None
        log.info("access.changed", act=act, person=kept.person.id, role=kept.role, by=by.id)
        return self._audit.note_in(
            connection,
            act,
            by,
            persona=span.persona,
            room=room,
            person=kept.person.id,
            role=kept.role,
            within=span.within,
        )


def check(person: Speaker, role: Role, span: GrantSpan) -> None:
    """Raise Rejected for what can't be kept."""
    if not is_person_id(person.id):
        raise Rejected("person_id", "must be <source>:<external id>, without blanks or *")
    if span.room_id is not None and not is_person_id(span.room_id):  # of the same form
        raise Rejected("room_id", "must be <source>:<external id>, without blanks or *")
    if role == "owner" and person.kind == "bot":
        raise Rejected("role", "a bot is never an owner")


def of_person(person_id: str, span: GrantSpan | None = None) -> Callable[[KeptGrant], bool]:
    """Chooses a person's kept roles for a span; None: all of them."""
    return lambda held: _is_theirs(held, person_id) and span in (None, held.span)


def _is_theirs(held: KeptGrant, person_id: str) -> bool:
    return unaliased(held.person.id) == unaliased(person_id)


def live(connection: Connection) -> list[KeptGrant]:
    """The roles that hold, the oldest first."""
    return [_kept(row) for row in connection.execute(_LIVE)]


def _kept(row: Row[tuple[object, ...]]) -> KeptGrant:
    return KeptGrant(
        row.seq,
        row.role,
        Speaker(row.person_id, row.person_name),
        GrantSpan(row.room_id, row.persona, row.within),
        row.room_name,
        Speaker(row.by_id, row.by_name),
        moment(row.at),
    )
