"""The lines of an export and of an import: their forms, and what is wrong with one."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from sqlalchemy import JSON, Boolean, Column, Integer, Table
from sqlalchemy.types import BigInteger

from contract.chat import EXTERNAL_ID, SOURCE
from contract.errors import MootError
from memory.scopes import ScopeError, check_scope
from store.schema import (
    agent_sessions,
    episodes,
    facts,
    insights,
    landmarks,
    observations,
    pointers,
    staging,
    tool_uses,
)

VERSION = 1
TABLES: Mapping[str, Table] = {
    "fact": facts,
    "landmark": landmarks,
    "episode": episodes,
    "insight": insights,
    "observation": observations,
    "agent_session": agent_sessions,
    "staging": staging,
    "tool_use": tool_uses,
    "pointer": pointers,
}
"""In the order of an export. fact_speakers travel with their facts."""

LEFT_OUT = frozenset({"indexed_by"})  # of the index, which is made again
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SOME_TIME_OF_IT = time(10)  # a day's 10:00 UTC lies in that day from Hawaii to New Zealand


class ImportFault(MootError):
    """A line that can't be imported. Nothing was."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}; nothing was imported")
        self.line = line


# ── The forms of a line ─────────────────────────────────────────────────────────────────

Day = date
_FORBID = ConfigDict(extra="forbid", strict=True)
_Seq = Annotated[int, Field(ge=0, le=2**62)]
_Key = Annotated[int, Field(ge=1, le=2**62)]
_Moment = Annotated[AwareDatetime, Field(ge=EPOCH)]


class Head(BaseModel):
    """The first line of an export."""

    model_config = _FORBID

    type: Literal["moot-memory"]
    version: Literal[1]


class PlainFact(BaseModel):
    """A fact from elsewhere. at or date: when it was said. person: a sender id, or a name.

    source: facts of one source that follow one another are each other's context.
    """

    model_config = _FORBID

    scope: str
    text: Annotated[str, Field(min_length=1)]
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] = "fact"
    date: Day | None = None
    at: datetime | None = None
    person: str | None = None
    person_name: str | None = None
    origin: str | None = None
    source: str = "import"
    id: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @field_validator("scope")
    @classmethod
    def _scope(cls, value: str) -> str:
        return _checked(value)

    @model_validator(mode="after")
    def _one_time(self) -> PlainFact:
        if self.date and self.at:
            raise ValueError("say `date` or `at`, not both")
        if not self.text.strip():
            raise ValueError("the text is empty")
        return self


def fact_values(fact: PlainFact, now: datetime) -> dict[str, Any]:
    """The values of a plain fact's row, the seq left out."""
    said = fact.at or now
    if fact.date is not None:
        said = datetime.combine(fact.date, SOME_TIME_OF_IT)
    known = is_person(fact.person or "")
    return {
        "id": fact.id or _digest(fact),
        "scope": fact.scope,
        "kind": fact.kind,
        "text": fact.text,
        "person": fact.person if known else None,
        "person_name": fact.person_name or (None if known else fact.person),
        "origin": fact.origin,
        "source": fact.source,
        "data": {},
        "said_at": said.replace(tzinfo=said.tzinfo or UTC),
        "created_at": now,
    }


def _digest(fact: PlainFact) -> str:
    """An id that the same line gets again."""
    given = fact.model_dump_json(exclude_none=True, exclude_defaults=True)
    return hashlib.sha256(given.encode()).hexdigest()[:32]


def is_person(name: str) -> bool:
    """True for a sender id."""
    source, colon, external = name.partition(":")
    return bool(colon and SOURCE.fullmatch(source) and EXTERNAL_ID.fullmatch(external))


def _checked(scope: str) -> str:
    try:
        return check_scope(scope)
    except ScopeError as error:
        raise ValueError(str(error)) from None


def is_time(column: Column[Any]) -> bool:
    return column.name == "at" or column.name.endswith("_at")


def _is_key(column: Column[Any]) -> bool:
    return column.primary_key and column.name == "seq"


def _annotation(column: Column[Any]) -> Any:
    kind: Any = str
    if is_time(column):
        kind = _Moment
    elif isinstance(column.type, JSON):
        kind = Any
    elif isinstance(column.type, Boolean):
        kind = bool
    elif isinstance(column.type, BigInteger | Integer):
        kind = _Key if _is_key(column) else _Seq
    elif column.primary_key or column.unique:
        kind = Annotated[str, Field(min_length=1)]
    return kind | None if column.nullable and kind is not Any else kind


class ExportRow(BaseModel):
    """A row of one of the tables; the fields are its columns."""

    model_config = _FORBID

    @field_validator("scope", check_fields=False)
    @classmethod
    def _scope(cls, value: str) -> str:
        return _checked(value)


def _form(name: str, table: Table) -> type[ExportRow]:
    fields: dict[str, Any] = {"type": (Literal[name], ...)}
    for column in table.columns:
        if column.name not in LEFT_OUT:
            fields[column.name] = (_annotation(column), None if column.nullable else ...)
    if table is facts:
        fields["speakers"] = (list[Annotated[str, Field(min_length=1)]], [])
    return create_model(f"Row_{name}", __base__=ExportRow, **fields)


_FORMS = {name: _form(name, table) for name, table in TABLES.items()}


def _tag(value: Any) -> str | None:
    name = value.get("type", "plain") if isinstance(value, dict) else "plain"
    return name if isinstance(name, str) else None


_CHOICES: Any = Union[  # noqa: UP007  (made at run time)
    tuple(
        Annotated[form, Tag(name)]
        for name, form in [*_FORMS.items(), ("moot-memory", Head), ("plain", PlainFact)]
    )
]
Line = ExportRow | Head | PlainFact
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[_CHOICES, Discriminator(_tag)])


def check_lines(lines: Iterable[bytes]) -> int:
    """Validate every line; return how many there are. Raises ImportFault."""
    count = 0
    replaced: dict[str, tuple[str, int]] = {}
    for number, item in parse_lines(lines):
        count = number
        if isinstance(item, Head) and number > 1:
            raise ImportFault(number, "the version belongs into the first line")
        successor = getattr(item, "replaced_by", None)
        if successor is not None:
            replaced[getattr(item, "id", "")] = (successor, number)
    _refuse_circles(replaced)
    return count


def _refuse_circles(replaced: Mapping[str, tuple[str, int]]) -> None:
    sound: set[str] = set()
    for start in replaced:
        path: dict[str, None] = {}
        at = start
        while at in replaced and at not in sound:
            if at in path:
                raise ImportFault(replaced[at][1], "a fact is replaced by itself in a circle")
            path[at] = None
            at = replaced[at][0]
        sound.update(path)


def parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Line]]:
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not line.strip():
            continue
        try:
            yield number, _LINE.validate_json(line)
        except ValidationError as error:
            raise ImportFault(number, _reason(error.errors(include_url=False)[0])) from None


def _reason(error: ErrorDetails) -> str:
    if error["type"] == "json_invalid":
        return "is not JSON"
    if error["type"].startswith("union_tag"):
        return f"has no type that Moot knows: {', '.join(TABLES)}"
    where = ".".join(str(part) for part in error["loc"][1:])
    message = error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
