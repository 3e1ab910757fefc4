"""The connection of a persona to an agent: what is chosen, before any of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from contract.values import dataclass
from gateway.settings.personas.personas import Persona, parse_persona
from gateway.settings.personas.writing import persona_text


@dataclass(frozen=True, slots=True)
class Connection:
    """front: keys of the persona's file as they shall be, None: without it; others stay as they
    are. secrets: variables for moot.env. description: of a persona that is new."""

    persona: str
    agent: str
    front: Mapping[str, str | None] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    description: str = ""

    def text(self, now: str | None) -> str:
        """The persona's file. now: as it is; None: it is new. Raises ConfigError."""
        return persona_text(self.persona, self.agent, self.description, now, **self.front)

    def as_persona(self, now: str | None) -> Persona:
        """The persona as it would be. Raises ConfigError."""
        return parse_persona(self.persona, self.text(now))
