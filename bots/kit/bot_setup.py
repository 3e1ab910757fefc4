"""The values that every bot is given, whatever its platform."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bots.bot import SecretSink, forget
from bots.kit.naming import Named, by_names


@dataclass(frozen=True, slots=True)
class BotSetup:
    """Every bot is given this, whatever its platform."""

    name: str
    """Unique among the configured bots, e.g. "slack"."""

    personas: tuple[str, ...]
    """Names; the first one answers when no name was said."""

    files_dir: Path
    """Where files of people's messages are kept."""

    own_dir: Path
    """Where the bot keeps what it must not forget over a restart; made when it is needed."""

    require_mention: bool = True
    """False: the gateway answers every message of the bot's rooms."""

    is_named: Named | None = None
    """True if a text names one of the personas; None: by the names above."""

    max_file_bytes: int | None = None
    """The largest file that is kept; None: the platform's own limit."""

    secret_found: SecretSink = forget

    now: Callable[[], float] = time.time
    """The time in seconds since 1970."""

    def names_us(self, text: str) -> bool:
        """True if a text names one of the personas as people type it."""
        return (self.is_named or by_names(self.personas))(text)
