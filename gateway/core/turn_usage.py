"""The usage of one turn: written to the store, counted by limits and by the metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contract.agent import Usage


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """A turn's usage. person_id: who began the chain that it is of. usage: None: not reported."""

    turn_id: str
    at: datetime
    person_id: str
    room_id: str
    persona: str
    agent: str
    seconds: float
    usage: Usage | None
