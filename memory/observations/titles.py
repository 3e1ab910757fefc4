"""The titles of what an agent did, for a briefing."""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import partial

from sqlalchemy import Connection, bindparam, exists, select

from contract.briefing import Observation
from memory.layers import BriefRequest, LayerAnswers
from memory.observations.rows import StoredObservation
from store.database import Store
from store.rows import from_row
from store.schema import observations
from store.timestamps import day

SHOWN = 10
LOOKED_AT = 40
AHEAD = {"decision": 12, "bugfix": 8, "feature": 6, "refactor": 3, "discovery": 0}
# a decision counts as much as a discovery that is twelve observations newer

_O = observations.c
_NEWEST = (
    select(observations)
    .where(_O.scope == bindparam("scope"), _O.persona == bindparam("persona"))
    .order_by(_O.seq.desc())
    .limit(LOOKED_AT)
)


class ObservationTitles:
    """Shows the most important ones. zone: in which their dates are told."""

    name = "observations"
    deadline_s = 2.0
    held = exists(
        select(_O.seq).where(_O.scope == bindparam("home"), _O.persona == bindparam("persona"))
    )

    def __init__(self, store: Store, zone: tzinfo = UTC) -> None:
        self._store = store
        self._zone = zone

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """Titles of what this persona did here: by their kind, and how new they are."""
        home, persona = ask.invocation.home, ask.invocation.persona
        newest = partial(newest_observations, scope=home, persona=persona)
        found = ask.invocation.gate.admit(self.name, await self._store.read(newest, small=True))
        order = sorted(range(len(found)), key=lambda i: (i - AHEAD.get(found[i].kind, 0), i))
        best = [found[i] for i in order[:SHOWN]]
        return LayerAnswers(
            observations=tuple(
                Observation(item.title, day(item.at, self._zone), item.kind) for item in best
            )
        )


def newest_observations(
    connection: Connection, scope: str, persona: str
) -> list[StoredObservation]:
    """The newest observations of one persona in one scope, as many as are looked at."""
    rows = connection.execute(_NEWEST, {"scope": scope, "persona": persona})
    return [from_row(StoredObservation, row) for row in rows]
