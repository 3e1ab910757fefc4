"""Shared logins, which Moot keeps out of what it posts as it does its own secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from adapters.catalog import profiles
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas

MOST = 1000  # texts in one run: an agent that renews all the time must not make it slow


class LoginSecrets:
    """Lets the redactor know what is secret in the logins that administrators share."""

    def __init__(self, learn: Callable[[Iterable[str]], None]) -> None:
        self._learn = learn
        self._known: set[str] = set()

    def __call__(self, secrets: Sequence[str]) -> None:
        """Know these too."""
        new = set(secrets) - self._known
        if new and len(self._known) + len(new) <= MOST:
            self._known |= new
            self._learn(new)

    def learn_all(self, config: Config, personas: Personas) -> None:
        """Know every login that the configuration and the personas name, whoever reads it."""
        folders: list[Path | None] = [table.login for table in config.agents.values()]
        folders += [persona.front.login for persona in personas.good.values()]
        if not any(folders):
            return
        from adapters.session.login import secrets_of

        for folder in {folder.expanduser() for folder in folders if folder}:
            for profile in profiles().values():
                self(secrets_of(profile, folder))
