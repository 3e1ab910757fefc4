"""An agent's report of one prompt in the Agent Client Protocol, put together. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ResourceContentBlock,
    SessionNotification,
    TextContentBlock,
    TextResourceContents,
    ToolCall,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from adapters.records.excerpt import changes
from adapters.records.work import WorkSteps, edited, tool_name
from adapters.turn_events import MOST_USES, cut_tool_text
from contract.agent import ToolUse
from contract.values import dataclass
from contract.work import FileChange, StepState, ToolStep

TEXT_CHARS = 1_000_000  # of all it says in a turn; a book has half of that
TITLE_CHARS = 200
IN_A_ROW = 10  # messages without a tool between them; opencode compacts for ever what can't fit
LEFT_OUT = "\n\n[… the rest of it is left out]"
OWN = "mcp__moot__"  # how the memory knows the uses of its own tools

Update = SessionNotification.model_fields["update"].annotation


@dataclass(slots=True)
class Call:
    """A use of a tool, as far as it was told. given, result: as in a ToolUse."""

    kind: str = ""
    title: str = ""
    given: str = ""
    result: str = ""
    failed: bool = False
    ended: bool = False
    paths: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()

    def take(self, told: ToolCall | ToolCallUpdate) -> None:
        """Replace what was known by what is reported; what isn't stays."""
        self.kind = told.kind or self.kind
        self.title = " ".join((told.title or "").split())[:TITLE_CHARS] or self.title
        self.paths = tuple(place.path for place in told.locations or ()) or self.paths
        edits = edits_of(told)
        self.changes = changes_of(told) or self.changes
        if given := as_text(told.raw_input) or "\n".join(edits):
            self.given = cut_tool_text(given)
        if told.status in ("completed", "failed"):
            self.ended, self.failed = True, told.status == "failed"
            self.result = cut_tool_text("\n".join(texts_of(told)) or as_text(told.raw_output))

    @property
    def word(self) -> str:
        """The kind of tool, in the words that people and the memory know."""
        if self.kind in ("", "other") and "moot" in self.title.lower():
            return f"{OWN}{self.title}"
        return WORDS.get(self.kind) or self.title.partition(":")[0] or "Tool"

    @property
    def line(self) -> str:
        """The use of a tool in one line, for people."""
        return self.title if self.title.startswith(self.word) else f"{self.word}: {self.title}"

    def step(self) -> ToolStep:
        """The use of a tool, for people who watch."""
        state: StepState = "running"
        if self.ended:
            state = "failed" if self.failed else "done"
        detail = self.title.removeprefix(self.word).lstrip(": ")
        if len(self.changes) == 1:
            detail = self.changes[0].path
        changes = () if self.failed else self.changes
        return ToolStep(tool_name(self.word), detail, state, "", changes)

    def use(self) -> ToolUse:
        """The use of a tool, for the memory."""
        given = self.given or self.title
        if not self.given and self.paths:
            given = json.dumps({"path": self.paths[0], "title": self.title}, ensure_ascii=False)
        return ToolUse(self.word, given, self.result, self.failed)


WORDS = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Search",
    "execute": "Run",
    "think": "Think",
    "fetch": "Fetch",
    "switch_mode": "Switch",
}


@dataclass(slots=True)
class _TextPart:
    """Some of its message. id: the message's, where the agent tells it. after: a tool was used."""

    id: str | None
    after: bool
    pieces: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(self.pieces)


class AcpTurn:
    """One prompt and what came of it.

    again, last_message: see `Profile.acp_again` and `Profile.acp_last_message`.
    """

    def __init__(self, again: re.Pattern[str] | None = None, *, last_message: bool = False) -> None:
        self.calls: dict[str, Call] = {}
        self.work = WorkSteps()
        self._again = again
        self._last_message = last_message
        self._in_a_row = 0  # messages since a tool was used
        self._asked: dict[str, Call] = {}  # told of by a question alone
        self._blocks: list[_TextPart] = []
        self._after = True  # a tool was used since the last block
        self._left_chars = TEXT_CHARS

    def note(self, update: object) -> None:
        """Something that it told. Its thoughts and the like are its own affair."""
        match update:
            case AgentMessageChunk():
                self._say(said(update), update.message_id)
            case ToolCallStart() | ToolCallProgress() | ToolCallUpdate():
                self.work.put(update.tool_call_id, self.use(update).step())
            case AgentPlanUpdate(entries=entries):
                self.work.list_todos(entry.model_dump() for entry in entries)

    def use(self, told: ToolCall | ToolCallUpdate) -> Call:
        """Take in what is reported further of a use."""
        call = self.calls.get(told.tool_call_id)
        if call is None:
            call = self._asked.pop(told.tool_call_id, None) or Call()
            self.calls[told.tool_call_id] = call
            self._after = True
            self._in_a_row = 0
            if len(self.calls) > MOST_USES:
                del self.calls[next(iter(self.calls))]
        call.take(told)
        return call

    def ask(self, told: ToolCall | ToolCallUpdate) -> Call:
        """Take in what a question reports of a use: in hermes of one that nothing else reports."""
        known = self.calls.get(told.tool_call_id)
        call = known or self._asked.setdefault(told.tool_call_id, Call())
        call.take(told)
        return call

    def _retract(self) -> None:
        """Nothing was said since a tool was used."""
        while not self._after:
            self._after = self._blocks.pop().after

    def _say(self, text: str, message_id: str | None) -> None:
        if not text or self._left_chars <= 0:
            return
        if self._again and self._again.fullmatch(text):
            self._retract()
            return
        last = self._blocks[-1] if self._blocks else None
        if last is None or self._after or (message_id and last.id and message_id != last.id):
            last = _TextPart(message_id, self._after or self._last_message)
            self._blocks.append(last)
            self._after = False
            self._in_a_row += 1
        last.id = message_id or last.id
        last.pieces.append(text if len(text) <= self._left_chars else text[: self._left_chars])
        self._left_chars -= len(text)
        if self._left_chars <= 0:
            last.pieces.append(LEFT_OUT)

    # ── What comes of it ────────────────────────────────────────────────────────────────

    def circles(self) -> bool:
        """True when it says one thing after the other and does nothing."""
        return self._in_a_row > IN_A_ROW

    def draft(self) -> str:
        """All that it has said so far."""
        return "\n\n".join(text for block in self._blocks if (text := block.text()).strip())

    def text(self) -> str:
        """The answer: what was said since a tool was used last, if anything was."""
        answer: list[str] = []
        for block in reversed(self._blocks):
            if (text := block.text()).strip():
                answer.insert(0, text)
            if block.after and answer:
                break
        if self.calls and answer:
            answer[0] = answer[0].lstrip("\n")  # hermes sets it off from what it said before
        return "\n\n".join(answer)

    def tools(self) -> tuple[str, ...]:
        """One line a use, for people."""
        return tuple(call.line for call in self.calls.values() if call.title)

    def uses(self) -> tuple[ToolUse, ...]:
        """The same for the memory."""
        return tuple(call.use() for call in self.calls.values() if call.title or call.given)


# ── Reading ─────────────────────────────────────────────────────────────────────────────


def said(chunk: AgentMessageChunk) -> str:
    """The Markdown of a piece of a message. What is no text has no place in a chat."""
    match chunk.content:
        case TextContentBlock(text=text):
            return text
        case ResourceContentBlock(name=name, uri=uri):
            return f"[{name}]({uri})"
        case EmbeddedResourceContentBlock(resource=TextResourceContents(text=text)):
            return text
    return ""


def texts_of(told: ToolCall | ToolCallUpdate) -> list[str]:
    """The texts that a tool shows."""
    return [
        part.content.text
        for part in told.content or ()
        if isinstance(part, ContentToolCallContent) and isinstance(part.content, TextContentBlock)
    ]


def edits_of(told: ToolCall | ToolCallUpdate) -> list[str]:
    """A tool's changes of files."""
    return [
        f"{part.path}\n\n{changes(part.old_text or '', part.new_text)}"
        for part in told.content or ()
        if isinstance(part, FileEditToolCallContent)
    ]


def changes_of(told: ToolCall | ToolCallUpdate) -> tuple[FileChange, ...]:
    """The same, by their lines."""
    return tuple(
        edited(part.path, part.old_text or "", part.new_text)
        for part in told.content or ()
        if isinstance(part, FileEditToolCallContent)
    )


def as_text(value: Any) -> str:
    """A tool's raw input or output."""
    if value in (None, "", {}, []):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def lines_of(turn: AcpTurn) -> Sequence[str]:
    """The turn as one may watch it."""
    return [*(f"● {line}" for line in turn.tools()), *turn.draft().split("\n")]
