"""Working directories that somebody configured: they are not Moot's to delete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona


def configured_workspaces(config: Config, personas: Iterable[Persona] = ()) -> list[Path]:
    """Those of agents and personas, resolved."""
    given = [
        *(
            folder
            for agent in config.agents.values()
            for folder in (agent.workspace, *agent.workspaces.values())
        ),
        *(
            folder
            for persona in personas
            for folder in (persona.front.workspace, *persona.front.workspaces.values())
        ),
    ]
    return [folder.expanduser().resolve() for folder in given if folder is not None]
