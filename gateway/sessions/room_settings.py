"""Choices made in a room by command, for one persona there: its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, delete, select

from contract.chat import Speaker
from gateway.settings.personas.personas import Persona
from store.database import Store
from store.gateway_schema import room_settings, schedules
from store.timestamps import micros


class RoomSettings:
    """Kept on disk; each is read once."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._models: dict[tuple[str, str], str | None] = {}

    async def model(self, persona: str, scope: str) -> str | None:
        """The model that was chosen; None: the persona's own."""
        key = (persona, scope)
        if key not in self._models:
            of = select(room_settings.c.model).where(
                room_settings.c.persona == persona, room_settings.c.scope == scope
            )

            def work(connection: Connection) -> str | None:
                return connection.execute(of).scalar()

            self._models.setdefault(key, await self._store.read(work, small=True))
        return self._models[key]

    async def choose_model(self, persona: str, scope: str, model: str | None, by: Speaker) -> None:
        """Choose it, from the next turn on; None: the persona's own again."""
        row = {"scope": scope, "persona": persona}
        gone = delete(room_settings).where(
            room_settings.c.persona == persona, room_settings.c.scope == scope
        )
        new = room_settings.insert().values(
            **row, model=model, by_id=by.id, at=micros(self._clock())
        )

        def work(connection: Connection) -> None:
            connection.execute(gone)
            if model is not None:
                connection.execute(new)

        await self._store.write(work)
        self._models[persona, scope] = model

    async def applied(self, persona: Persona, scope: str) -> Persona:
        """The persona as it was set in a scope."""
        key = (persona.name, scope)
        model = self._models[key] if key in self._models else await self.model(*key)
        if model is None:
            return persona
        return replace(persona, front=persona.front.model_copy(update={"model": model}))


def forget_choices(connection: Connection, ids: frozenset[str]) -> None:
    """Delete what somebody chose in rooms, and what they scheduled."""
    for table in (room_settings, schedules):
        connection.execute(delete(table).where(table.c.by_id.in_(ids)))
