"""A record that a program keeps, as its owner describes it in TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from adapters.turn_events import Reader, ReplyBlock, ReplyEnded, SessionNamed, TurnEvent
from adapters.turn_signs import RecordFormat

Value = str | int | float | bool


class RecordSettings(BaseModel):
    """The file in which the program writes down what it said, and how to read it.

    file: relative to its HOME; words like {session_id} are filled in, `*` and `**` stand for
    names; the newest file counts. query: of a SQLite file; `?` in it is the greatest value of
    its first column seen, by which it orders. Keys of a row are paths such as "message.text".
    reply: values that a row with some of the reply has; text: where its text is. end: values of
    the row that ends the turn; without it the first reply ends it. session: where a row names the
    session.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1)
    query: str = ""
    reply: dict[str, Value] = {}
    text: str = Field(min_length=1)
    end: dict[str, Value] = {}
    session: str = ""

    @model_validator(mode="after")
    def _told_apart(self) -> RecordSettings:
        if not self.reply:
            raise ValueError("reply must say which rows are the agent's, e.g. { role = 'agent' }")
        return self

    def record(self) -> RecordFormat:
        """The record for a profile."""
        form: Literal["jsonl", "sqlite"] = "sqlite" if self.query else "jsonl"
        return RecordFormat(self.file, self._reader(), form, self.query)

    def _reader(self) -> Reader:
        def read(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
            events: list[TurnEvent] = []
            if self.session and isinstance(name := at(row, self.session), str):
                events.append(SessionNamed(name))
            if matches(row, self.reply) and isinstance(text := at(row, self.text), str):
                events.append(ReplyBlock(text))
                if not self.end:
                    events.append(ReplyEnded())
            if self.end and matches(row, self.end):
                events.append(ReplyEnded())
            return events

        return read


def matches(row: Mapping[str, Any], values: Mapping[str, Value]) -> bool:
    """True when the row has all of these values."""
    return all(at(row, path) == value for path, value in values.items())


def at(row: object, path: str) -> object:
    """The value at a dotted path, e.g. "content.0.text"; None: nothing."""
    for key in path.split("."):
        if isinstance(row, Mapping):
            row = row.get(key)
        elif isinstance(row, list) and key.isdecimal() and int(key) < len(row):
            row = row[int(key)]
        else:
            return None
    return row
