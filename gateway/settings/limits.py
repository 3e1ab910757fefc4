"""[limits], [prices] and [budget] in moot.toml: how much people may ask, what tokens cost, and how
much a prompt may hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contract.briefing import Budget
from gateway.settings.tables import PersonaName, Table

Most = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class LimitTable(Table):
    """The limit of each in a minute, hour, day or month of `[gateway] timezone`; None: no limit."""

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
    """[limits] in moot.toml; see docs/limits.md.

    guest stands in for person, and a table in people, rooms or personas for the general one: each
    as a whole.
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
    """[prices.MODEL]: USD per million tokens."""

    input: Amount
    output: Amount
    cached: Amount | None = None


class BudgetTable(Table):
    """[budget]: see contract.Budget."""

    total: Annotated[int, Field(ge=1000)] | None = None
    message: Annotated[int, Field(ge=100)] | None = None
    transcript: Annotated[int, Field(ge=100)] | None = None
    window_messages: Annotated[int, Field(ge=1, le=1000)] | None = None

    def budget(self) -> Budget:
        """The budget with this table's changes."""
        return Budget(**self.model_dump(exclude_none=True))
