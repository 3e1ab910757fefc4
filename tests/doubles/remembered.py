"""Rows of every layer of the memory, written straight into its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import Connection, event, insert

from memory.recall.facts import NewFact, StoredFact, add_facts
from store.schema import agent_sessions, episodes, insights, landmarks, observations
from store.timestamps import micros

START = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)
_SCOPE_IN = re.compile(r"\w+\.scope IN \([^)]*\)")
RECORD = {
    "request": "Why do tokens expire so soon?",
    "investigated": "The auth module",
    "learned": "Users complained",
    "completed": "",
    "next_steps": ["Raise it to 30 minutes", "Tell support"],
    "files_read": ["src/auth.py"],
    "files_edited": [],
    "unknown": "x",
}


@dataclass
class Shelf:
    """Writes rows of one scope; each a minute after the last. Every text bears the `mark`."""

    connection: Connection
    scope: str
    mark: str = ""
    _numbers = count(1)

    def _at(self) -> int:
        return micros(START + timedelta(minutes=next(self._numbers)))

    def landmark(self, text: str = "Rotate refresh tokens", **more: Any) -> int:
        values = {
            "scope": self.scope,
            "kind": "decision",
            "text": f"{text}{self.mark}",
            "by_id": "web:budi",
            "by_name": f"Budi{self.mark}",
            "at": self._at(),
        }
        return self._add(landmarks, values | more)

    def episode(self, text: str = "They debated token expiry", **more: Any) -> int:
        values = {
            "scope": self.scope,
            "first_seq": 1,
            "last_seq": 2,
            "text": f"{text}{self.mark}",
            "record": RECORD | {"notes": self.mark},
            "persona": "demo",
            "plain": False,
            "at": self._at(),
        }
        return self._add(episodes, values | more)

    def fact(self, text: str = "Tokens live 30 minutes", **more: Any) -> StoredFact:
        said_at = START + timedelta(minutes=next(self._numbers))
        values = {
            "kind": "decision",
            "source": "s1",
            "person": "web:budi",
            "person_name": f"Budi{self.mark}",
            "origin": "#auth-team",
        }
        new = NewFact(self.scope, text=f"{text}{self.mark}", said_at=said_at, **(values | more))
        return add_facts(self.connection, [new], said_at)[0]

    def observation(self, title: str = "Found the token's expiry", **more: Any) -> str:
        number = next(self._numbers)
        values = {
            "id": f"auth_s1_20260421_{number:03}",
            "scope": self.scope,
            "persona": "demo",
            "session_id": "s1",
            "turn_id": None,
            "kind": "discovery",
            "title": f"{title}{self.mark}",
            "subtitle": f"The limit stands in the auth module{self.mark}",
            "facts": [f"src/auth.py sets the expiry to 15 minutes{self.mark}"],
            "narrative": f"The agent read the module and found a constant.{self.mark}",
            "concepts": ["how-it-works", f"expiry{self.mark}"],
            "files": [f"src/auth.py{self.mark}"],
            "notes": [],
            "at": self._at(),
        }
        self._add(observations, values | more)
        return str((values | more)["id"])

    def insight(self, text: str = "Prefers short answers", **more: Any) -> int:
        values = {
            "scope": self.scope,
            "sender_id": "web:budi",
            "kind": "pin",
            "text": f"{text}{self.mark}",
            "question": f"why?{self.mark}",
            "used_at": self._at(),
        }
        return self._add(insights, values | more)

    def session(self, title: str = "Token expiry", **more: Any) -> None:
        values = {
            "id": f"s{next(self._numbers)}",
            "scope": self.scope,
            "persona": "demo",
            "project": "auth",
            "title": f"{title}{self.mark}",
            "subtitle": f"Why fifteen minutes{self.mark}",
            "overview": f"The agent looked into the expiry of tokens.{self.mark}",
            "started_at": self._at(),
        }
        self.connection.execute(insert(agent_sessions), values | more)

    def fill(self) -> None:
        """One row of each layer."""
        for add in (
            self.landmark,
            self.episode,
            self.fact,
            self.observation,
            self.insight,
            self.session,
        ):
            add()

    def _add(self, table: Any, values: dict[str, Any]) -> int:
        seq: int = self.connection.execute(
            insert(table).returning(table.c.seq), values
        ).scalar_one()
        return seq


def fill(*shelves: tuple[str, str]) -> Callable[[Connection], None]:
    """Work for `Store.write`: one row of each layer in each (scope, mark)."""

    def work(connection: Connection) -> None:
        for scope, mark in shelves:
            Shelf(connection, scope, mark).fill()

    return work


def lying(connection: Connection) -> Connection:
    """Let the database answer every question about some scopes with the rows of all scopes."""

    def lie(
        _connection: Connection, _cursor: object, statement: str, parameters: object, *_more: object
    ) -> tuple[str, object]:
        return _SCOPE_IN.sub(r"(\g<0> OR 1 = 1)", statement), parameters

    event.listen(connection, "before_cursor_execute", lie, retval=True)
    return connection
