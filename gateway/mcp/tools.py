"""The memory as tools that an agent may call, each answered within one reader's scopes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, tzinfo
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.agent import ToolReply
from composer.guard import flat
from contract.values import dataclass
from gateway.mcp.file_desk import FileDesk, NotTaken
from gateway.mcp.long_messages import NOT_THERE, read_piece
from gateway.settings.mistakes.words import place_of, reason_of
from memory.observations.records import Kind
from memory.observations.rows import StoredObservation
from memory.observations.work_log import WorkLog, WorkQuery, WorkReader
from memory.recall.facts import StoredFact
from memory.recall.recall import Recall
from store.timestamps import day, minute

log = structlog.stdlib.get_logger("moot.memory")

PATIENCE_S = 10.0  # somebody in the chat, or an agent's call of a tool, waits for it
TITLE_CHARS = 200
FACT_CHARS = 300
NOTHING = "Nothing was found."
UNSEEN = "There is nothing to look into yet."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SearchArguments(_Arguments):
    """Step 1 of 3: titles of what was done here earlier, with about how many tokens each costs.

    Without any argument: the newest.
    """

    text: str = Field("", description="words to look for")
    concept: str = Field("", description="a concept, exactly")
    file: str = Field("", description="a path relative to the workspace, or its end")
    type: tuple[Kind, ...] = Field((), description="only these types")
    since: date | None = Field(None, description="YYYY-MM-DD")
    until: date | None = Field(None, description="YYYY-MM-DD, that day included")
    limit: Annotated[int, Field(ge=1, le=50)] = 20


class TimelineArguments(_Arguments):
    """Step 2 of 3: the titles around one observation, oldest first."""

    id: str = Field(description="an id that search gave")
    before: Annotated[int, Field(ge=0, le=25)] = 5
    after: Annotated[int, Field(ge=0, le=25)] = 5


class ReadArguments(_Arguments):
    """Step 3 of 3: observations whole, by their ids. Read only those that you need."""

    ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]


class RecallArguments(_Arguments):
    """Facts from long-term memory that bear on a question: what people decided, want and prefer."""

    text: str = Field(min_length=1, description="a question, or some words")
    limit: Annotated[int, Field(ge=1, le=20)] = 5


class SendFileArguments(_Arguments):
    """Hand a file over to the people you talk with: it is posted with your answer, as a file.

    For a plot, a patch, a table: whatever they should have and not only read about.
    """

    path: str = Field(description="a file in your working directory")
    comment: str = Field("", description="one line to go with it")


class ReadMessageArguments(_Arguments):
    """The whole of a message that is too long for a prompt, which holds its beginning and its end.

    Such a message has an attachment `whole-message.txt`, with its path.
    """

    path: str = Field(description="the path behind whole-message.txt in the transcript")
    start: Annotated[int, Field(ge=0)] = Field(0, description="the character to begin with")


SEND_FILE = "send_file"
READ_MESSAGE = "read_message"
TOOLS: Mapping[str, type[_Arguments]] = {
    "search": SearchArguments,
    "timeline": TimelineArguments,
    "read": ReadArguments,
    "recall": RecallArguments,
}


@cache  # a schema takes a millisecond to make
def _told(name: str, model: type[_Arguments]) -> dict[str, Any]:
    return {
        "name": name,
        "description": " ".join((model.__doc__ or "").split()),
        "input_schema": model.model_json_schema(),
    }


SENDING = _told(SEND_FILE, SendFileArguments)
"""The tool that hands a file over, offered in a session."""
READING = _told(READ_MESSAGE, ReadMessageArguments)
"""The tool that reads a long message, offered to an agent that opens no files itself."""
NO_TURN = "No question of anybody's is being answered: there is nobody to send a file to."


async def send_file(arguments: Mapping[str, Any], desk: FileDesk | None) -> ToolReply:
    """The answer of that tool. desk: of the turn that runs; None: none does."""
    if desk is None:
        return ToolReply(NO_TURN, failed=True)
    try:
        wanted = SendFileArguments.model_validate(dict(arguments))
        return ToolReply(await desk.take(wanted.path, wanted.comment))
    except ValidationError as error:
        return _misused(error)
    except NotTaken as refusal:
        return ToolReply(f"Not sent: {refusal}.", failed=True)


async def read_message(arguments: Mapping[str, Any], folder: Path) -> ToolReply:
    """The answer of the tool for long messages. folder: where the session's are."""
    try:
        wanted = ReadMessageArguments.model_validate(dict(arguments))
    except ValidationError as error:
        return _misused(error)
    piece = await read_piece(folder, wanted.path, wanted.start)
    return ToolReply(NOT_THERE, failed=True) if piece is None else ToolReply(piece)


def _misused(error: ValidationError) -> ToolReply:
    """The first of what is wrong with the arguments of a tool."""
    first = error.errors()[0]
    return ToolReply(f"{place_of(first)}: {reason_of(first)}.", failed=True)


class MemoryTools:
    """Answers the tools. recall: None when there is none."""

    def __init__(self, log: WorkLog, recall: Recall | None, zone: tzinfo = UTC) -> None:
        """zone: in which dates and times are told and asked for."""
        self._log = log
        self._recall = recall
        self._zone = zone

    def offered(self) -> list[dict[str, Any]]:
        """Name, description and JSON Schema of each tool that can answer."""
        known = TOOLS.items()
        return [_told(*one) for one in known if one[0] != "recall" or self._recall is not None]

    async def answer(
        self, tool: str, arguments: Mapping[str, Any], reader: WorkReader
    ) -> ToolReply:
        """The answer of a tool. What the reader may not see is not there for it."""
        if (model := TOOLS.get(tool)) is None:
            return ToolReply(f"There is no tool {tool[:40]!r}.", failed=True)
        try:
            wanted = model.model_validate(dict(arguments))
        except ValidationError as error:
            return _misused(error)
        match wanted:
            case SearchArguments():
                found = await self._log.search(reader, _query(wanted, self._zone))
                return ToolReply(self._index(found))
            case TimelineArguments(id=id, before=before, after=after):
                around = await self._log.timeline(reader, id, before=before, after=after)
                return ToolReply(self._index(around))
            case ReadArguments(ids=ids):
                found = await self._log.read(reader, ids)
                whole = json.dumps([self.whole_record(item) for item in found], ensure_ascii=False)
                return ToolReply(whole if found else NOTHING)
            case RecallArguments(text=text, limit=limit):
                return ToolReply(self._list(await self.facts(text, reader, limit)))
        raise AssertionError(tool)

    async def titles(self, text: str, reader: WorkReader, limit: int) -> list[StoredObservation]:
        """Observations that bear on some words."""
        return await self._log.search(reader, WorkQuery(text=text, limit=limit))

    async def observation(self, id: str, reader: WorkReader) -> StoredObservation | None:
        """One observation whole."""
        return next(iter(await self._log.read(reader, [id])), None)

    async def facts(self, text: str, reader: WorkReader, limit: int) -> list[StoredFact]:
        """Facts that bear on some words; none when the index gives no answer."""
        if self._recall is None:
            return []
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._recall.search(text, reader.gate, limit=limit)
        except Exception as error:  # a layer's border: whoever asked can't fix it
            log.warning("memory.not_searched", error=type(error).__name__)
            log.debug("memory.not_searched", exc_info=True)
            return []
        return [fact for fact, _ in found]

    def fact_line(self, fact: StoredFact) -> str:
        """`#number date kind: text (origin)`."""
        origin = f" ({flat(fact.origin)[:80]})" if fact.origin else ""
        said, text = day(fact.said_at, self._zone), flat(fact.text)[:FACT_CHARS]
        return f"#{fact.seq} {said} {fact.kind}: {text}{origin}"

    def index_line(self, item: StoredObservation) -> str:
        """One observation as a line: `id | date | type | title | ~tokens`."""
        title, at = flat(item.title)[:TITLE_CHARS], day(item.at, self._zone)
        return f"{item.id} | {at} | {item.kind} | {title} | ~{item.tokens} tokens"

    def _index(self, found: Sequence[StoredObservation]) -> str:
        """The observations, a line each."""
        return "\n".join(map(self.index_line, found)) or NOTHING

    def whole_record(self, item: StoredObservation) -> dict[str, Any]:
        """An observation as JSON values: nothing in it can be taken for a line of ours."""
        return {
            "id": item.id,
            "date": minute(item.at, self._zone),
            "type": item.kind,
            "title": item.title,
            "subtitle": item.subtitle,
            "facts": item.facts,
            "narrative": item.narrative,
            "concepts": item.concepts,
            "files": item.files,
            "plain": any(note.startswith("plain") for note in item.notes),
        }

    def _list(self, found: Sequence[StoredFact]) -> str:
        """The facts, a line each."""
        return "\n".join(map(self.fact_line, found)) or NOTHING


@dataclass(frozen=True, slots=True)
class SessionTools:
    """The tools of one session.

    look: who looks just now; None: nobody may. desk: takes the files of the turn that runs, which
    gives None while none does; None: files are handed over nowhere. messages: the folder of the
    long messages that its agent was told of; None: it opens them itself.
    """

    memory: MemoryTools
    look: Callable[[], WorkReader | None]
    desk: Callable[[], FileDesk | None] | None = None
    messages: Path | None = None

    def offered(self) -> list[dict[str, Any]]:
        """See `Tools.offered`."""
        own = [*([SENDING] if self.desk else []), *([READING] if self.messages else [])]
        return [*self.memory.offered(), *own]

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        """See `Tools.call`."""
        if self.desk is not None and name == SEND_FILE:
            return await send_file(given, self.desk())
        if self.messages is not None and name == READ_MESSAGE:
            return await read_message(given, self.messages)
        reader = self.look()
        if reader is None:
            return ToolReply(UNSEEN, failed=True)
        return await self.memory.answer(name, given, reader)


def _query(wanted: SearchArguments, zone: tzinfo) -> WorkQuery:
    def moment(day: date | None, at: time) -> datetime | None:
        return None if day is None else datetime.combine(day, at, zone)

    return WorkQuery(
        text=wanted.text,
        concept=wanted.concept,
        file=wanted.file,
        kinds=frozenset(wanted.type),
        since=moment(wanted.since, time.min),
        until=moment(wanted.until, time.max),
        limit=wanted.limit,
    )
