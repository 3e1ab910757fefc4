"""The limits on questions, tokens and money, asked before a question goes to an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any

import structlog
from sqlalchemy import Connection, func, select

from contract.chat import Room, Speaker
from contract.language import phrase, say
from gateway.access.access import Access
from gateway.core.ledger import TurnUsage
from gateway.core.quoting import quoted
from gateway.limits.counters import Counters, Kind, LimitSubject, Over, What, Window, start_of
from gateway.settings.limits import LimitsTable
from store.database import Store, insert_of
from store.gateway_schema import refusals, usage
from store.timestamps import micros, moment

log = structlog.stdlib.get_logger("moot.limits")

NAME_CHARS = 80
_COLUMNS: Mapping[Kind, Any] = {
    "person": usage.c.person_id,
    "room": usage.c.room_id,
    "persona": usage.c.persona,
}
_AMOUNTS: Mapping[What, Any] = {
    "tokens": func.coalesce(usage.c.input_tokens, 0) + func.coalesce(usage.c.output_tokens, 0),
    "usd": func.coalesce(usage.c.cost_usd, 0.0),
    "seconds": usage.c.seconds,
}


class Limits:
    """Counts in memory, where anything is limited; what was taken before is read from the table
    `usage`."""

    def __init__(
        self,
        table: LimitsTable,
        *,
        store: Store,
        access: Access,
        clock: Callable[[], datetime],
        zone: tzinfo,
    ) -> None:
        self._table = table
        self._store = store
        self._access = access
        self._clock = clock
        self._zone = zone
        self._counters = Counters(zone)
        self._told: dict[tuple[str, str, str], int] = {}  # until when, in microseconds
        self._is_ready = False
        self.any = table != LimitsTable()

    def change(self, table: LimitsTable) -> None:
        """Go by another table from now on."""
        if not self.any:  # nothing was counted meanwhile
            self._is_ready = False
        self._table, self.any = table, table != LimitsTable()

    @cached_property
    def _put(self) -> Any:
        insert = insert_of(self._store)(refusals)
        return insert.on_conflict_do_update(
            index_elements=["room_id", "person_id", "reason"],
            set_={"until": insert.excluded.until, "at": insert.excluded.at},
        )

    async def ready(self) -> None:
        """Take in what was counted and told before; at once from the second call on."""
        if self._is_ready:
            return
        await self._store.flush()
        now = self._clock()
        counters, told = await self._store.read(lambda c: (_counted(c, now, self._zone), _told(c)))
        if not self._is_ready:
            self._counters, self._is_ready = counters, True
            self._told = told

    # ── Before a turn ───────────────────────────────────────────────────────────────────

    def take(
        self, by: Speaker, room: Room, personas: Sequence[str]
    ) -> tuple[list[str], Over | None]:
        """Count a question to each of these personas that may be asked; and why others may not."""
        allowed: list[str] = []
        reason: Over | None = None
        for persona in personas:
            over = self._over(by, room, persona)
            reason = reason or over
            if over is None:
                allowed.append(persona)
                self._count(by, room, persona, 1)
        return allowed, reason

    def give_back(self, by: Speaker, room: Room, personas: Sequence[str]) -> None:
        """Undo `take`: the message was there before, so no one was asked again."""
        for persona in personas:
            self._count(by, room, persona, -1)

    def took(self, took: TurnUsage) -> None:
        """Count what a turn took."""
        told = took.usage
        amounts: Mapping[What, float] = {
            "tokens": told.input_tokens + told.output_tokens if told else 0,
            "usd": (told and told.cost_usd) or 0.0,
            "seconds": took.seconds,
        }
        ids: Mapping[Kind, str] = {
            "person": took.person_id,
            "room": took.room_id,
            "persona": took.persona,
        }
        self._counters.add(ids, amounts, took.at)

    def _count(self, by: Speaker, room: Room, persona: str, questions: int) -> None:
        ids: Mapping[Kind, str] = {"person": by.id, "room": room.id, "persona": persona}
        self._counters.add(ids, {"questions": questions}, self._clock())

    def _over(self, by: Speaker, room: Room, persona: str) -> Over | None:
        role = self._access.role(room, by.id, persona)
        if role == "owner" and self._table.owners == "none":
            return None
        rates = role != "owner" or self._table.owners == "all"
        now = self._clock()
        found = (
            self._counters.over(subject, now, rates=rates)
            for subject in self._subjects(by, room, persona, is_guest=role == "guest")
        )
        return next((over for over in found if over is not None), None)

    def _subjects(
        self, by: Speaker, room: Room, persona: str, *, is_guest: bool
    ) -> Iterator[LimitSubject]:
        table = self._table
        usual = table.guest if is_guest and table.guest is not None else table.person
        yield LimitSubject("person", by.id, table.people.get(by.id, usual))
        yield LimitSubject("room", room.id, table.rooms.get(room.id, table.room))
        yield LimitSubject("persona", persona, table.personas.get(persona, table.persona))

    # ── What is said ────────────────────────────────────────────────────────────────────

    def line(self, over: Over, by: Speaker, room: Room) -> str | None:
        """The line to post, in Markdown; None: this room was told of this limit, with this
        amount, already."""
        word = "rate" if over.is_rate else "budget"
        reason = f"{word}:{over.subject.kind}:{over.what}:{over.window}:{over.most}"
        key, now = (room.id, by.id, reason), micros(self._clock())
        if self._told.get(key, 0) > now or by.kind == "bot":
            return None
        until = self._told[key] = micros(over.until)
        self._told = {known: end for known, end in self._told.items() if end > now}
        row = {
            "room_id": room.id,
            "person_id": by.id,
            "reason": reason,
            "until": until,
            "at": now,
        }
        self._store.write_later(lambda connection: connection.execute(self._put, row))
        log.info("limit.reached", room=room.id, sender=by.id, limit=reason)
        return said(over, by, self._clock(), self._zone)


_UNITS: Mapping[What, str] = {"questions": "", "tokens": " tokens", "usd": " USD", "seconds": " s"}
_SPANS: Mapping[Window, str] = {
    "minute": phrase("a minute"),
    "hour": phrase("an hour"),
    "day": phrase("a day"),
    "month": phrase("a month"),
}


def said(over: Over, by: Speaker, now: datetime, zone: tzinfo) -> str:
    """One polite line: which limit it is, and until when."""
    most = f"{over.most:,.2f}" if over.what == "usd" else f"{over.most:,.0f}"
    amount = f"{most}{_UNITS[over.what]}"
    whose = {
        "person": say("your"),
        "room": say("this room's"),
        "persona": say("@{persona}'s", persona=over.subject.id),
    }[over.subject.kind]
    limit = (
        say("limit of {amount} questions", amount=amount)
        if over.is_rate
        else say("budget of {amount}", amount=amount)
    )
    until = over.until.astimezone(zone)
    same_day = until.date() == now.astimezone(zone).date()
    when = f"{until:%H:%M}" if same_day else f"{until:%Y-%m-%d %H:%M}"
    return say(
        "{who}, {whose} {limit} {span} is reached: please ask again from {when} on.",
        who=quoted(by.name, NAME_CHARS),
        whose=whose,
        limit=limit,
        span=say(_SPANS[over.window]),
        when=when,
    )


def _told(connection: Connection) -> dict[tuple[str, str, str], int]:
    rows = connection.execute(select(refusals).where(refusals.c.until.is_not(None)))
    return {(row.room_id, row.person_id, row.reason): row.until for row in rows}


def _counted(connection: Connection, now: datetime, zone: tzinfo) -> Counters:
    """Counters with what the table `usage` holds of the windows that run."""
    counters = Counters(zone)
    day, month = (micros(start_of(window, now, zone)) for window in ("day", "month"))
    for kind, column in _COLUMNS.items():
        sums = [func.sum(amount).label(what) for what, amount in _AMOUNTS.items()]
        for since, before, at in ((month, day, month), (day, None, day)):
            query = select(column.label("id"), *sums).where(usage.c.at >= since).group_by(column)
            if before is not None:
                query = query.where(usage.c.at < before)
            for row in connection.execute(query):
                amounts = {what: float(getattr(row, what)) for what in _AMOUNTS}
                counters.add({kind: row.id}, amounts, moment(at))
        asked = select(column.label("id"), usage.c.at).where(usage.c.at >= day)
        for row in connection.execute(asked.order_by(usage.c.at)):
            counters.add({kind: row.id}, {"questions": 1}, moment(row.at))
    return counters
