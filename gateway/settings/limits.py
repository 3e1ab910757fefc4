"""[limits] and [prices] in moot.toml: how much people may ask, and what tokens cost."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gateway.settings.tables import PersonaName, Table

Most = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class LimitTable(Table):
    """How much of each in a minute, hour, day or month of `[gateway] timezone`; none: no limit.

    questions: turns of agents. tokens: read and written, those from a cache included. seconds: of
    agents' work.
    """

    questions_a_minute: Most | None = None
    questions_an_hour: Most | None = None
    questions_a_day: Most | None = None
    tokens_a_day: Most | None = None
    tokens_a_month: Most | None = None
    usd_a_day: Amount | None = None
    usd_a_month: Amount | None = None
    seconds_a_day: Amount | None = None
    seconds_a_month: Amount | None = None


class LimitsTable(Table):
    """[limits]: none by itself; see docs/limits.md.

    person, room, persona: what holds for each one of them. guest: instead of person for those whose
    role is guest. people, rooms, personas: what holds for one of them instead, by its id or name.
    owners: which limits hold for owners: none; budgets (tokens, usd, seconds); all.
    """

    person: LimitTable = LimitTable()
    guest: LimitTable | None = None
    room: LimitTable = LimitTable()
    persona: LimitTable = LimitTable()
    people: dict[str, LimitTable] = Field(default_factory=dict)
    rooms: dict[str, LimitTable] = Field(default_factory=dict)
    personas: dict[PersonaName, LimitTable] = Field(default_factory=dict)
    owners: Literal["none", "budgets", "all"] = "budgets"


class PriceTable(Table):
    """[prices.MODEL]: USD per million tokens. cached: of those that came from a cache; default: as
    input."""

    input: Amount
    output: Amount
    cached: Amount | None = None
