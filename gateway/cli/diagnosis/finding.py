"""One finding of a diagnosis, and the installation that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from composer.headings import HEADINGS
from contract.values import dataclass
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas

Mark = Literal["✓", "⚠", "✗"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: ✓ is well, ⚠ works and will surprise somebody, ✗ does not work until it is fixed.

    what: the part of Moot that it is about. remedy: what to do; "": nothing.
    """

    mark: Mark
    what: str
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.mark} {self.what}: {self.text}"
        return f"{line} — {self.remedy}" if self.remedy else line

    @property
    def mistake(self) -> bool:
        """True if it does not work."""
        return self.mark == "✗"


@dataclass(frozen=True)
class Installation:
    """One installation, as checks see it.

    file: moot.toml, which need not be there. asks_agents: an agent that is here is started and
    answers one word, for a few tokens.
    """

    config: Config
    file: Path
    environment: Mapping[str, str]
    now: datetime
    asks_agents: bool = False

    @cached_property
    def personas(self) -> Personas:
        """The personas of the configuration's folder, read once."""
        return Personas(self.config.gateway.personas_folder, tuple(HEADINGS))
