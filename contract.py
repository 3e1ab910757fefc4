"""The language of the house: values that pass between its rooms, and the root of its errors.

Standard library and pydantic only; imports no room. Values are frozen. Times are aware
datetimes; sizes are bytes; names of fields carry their units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

# ── Errors ──────────────────────────────────────────────────────────────────────────────
#
# MootError                what went wrong, for the log, and `.say`, for the person in the chat
# ├── Rejected             an ingest message breaks the contract; `.field` names where
# ├── ConfigError          moot.toml or a persona file; file, key and remedy in one sentence
# ├── AgentError           the agent could not answer; `.kind` says why
# ├── ModelError           the model behind the memory did not answer; `.passing`: try later
# └── PlatformError        a platform's call failed; `.outcome` says whether it may have happened


class MootError(Exception):
    """Root of the house's errors. `say` is the one line that the person in the chat reads."""

    def __init__(self, message: str, *, say: str | None = None) -> None:
        super().__init__(message)
        self.say = say or message


class Rejected(MootError):
    """An ingest message that breaks the contract. Nothing of it was stored."""

    def __init__(self, field_name: str, reason: str) -> None:
        super().__init__(f"{field_name}: {reason}")
        self.field = field_name


class ConfigError(MootError):
    """A mistake in the configuration or in a persona: one sentence with file, key and remedy."""


AgentFault = Literal[
    "missing",  # the program is not installed
    "login",  # it asks for a login
    "api",  # its model's API refused or failed
    "limit",  # rate limit or quota
    "context",  # the prompt is too long
    "crash",  # the process ended in mid-answer
    "timeout",  # no end of the turn within its time
    "startup",  # it never became ready
    "disk",  # there is no space where it writes
    "stopped",  # somebody said !stop
]


class AgentError(MootError):
    """The agent could not answer. `partial`: what it had said until then; `usage`: what it took."""

    def __init__(
        self, kind: AgentFault, message: str, *, say: str | None = None, partial: str = ""
    ) -> None:
        super().__init__(message, say=say)
        self.kind: AgentFault = kind
        self.partial = partial
        self.usage: Usage | None = None


class ModelError(MootError):
    """A call to the model that works behind the memory failed.

    `passing`: it may succeed later (rate limit, overload, no network); else it is a mistake to
    mend (a wrong key, an unknown model) or an answer that can't be used. `usage`: what it took
    all the same. The message holds nothing of the conversation.
    """

    def __init__(
        self, message: str, *, passing: bool, say: str | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(message, say=say)
        self.passing = passing
        self.usage = usage


class PlatformError(MootError):
    """A call to a platform failed.

    `outcome`: "refused" it did not happen and would not if repeated; "retry" it did not happen,
    try again after `retry_after_s`; "unknown" it may have happened: look before repeating.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Literal["refused", "retry", "unknown"],
        retry_after_s: float = 1.0,
        say: str | None = None,
    ) -> None:
        super().__init__(message, say=say)
        self.outcome = outcome
        self.retry_after_s = retry_after_s


# ── Who and where ───────────────────────────────────────────────────────────────────────

SenderType = Literal["human", "bot"]
RoomKind = Literal["room", "dm", "gdm"]
Count = Annotated[int, Field(ge=0, le=2**53)]  # the greatest that every JSON reader keeps exact


@dataclass(frozen=True, slots=True)
class Speaker:
    """Somebody in a room.

    id: `<source>:<external id>`, stable. mention: what tags this person on the platform,
    e.g. `<@U06STGBF4Q0>`, or None. role: e.g. "backend lead", or None.
    """

    id: str
    name: str
    kind: SenderType = "human"
    mention: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """A room, a direct message or a group DM. id: `<source>:<external id>`."""

    id: str
    name: str
    kind: RoomKind | str = "room"
    project: str | None = None

    @property
    def external_id(self) -> str:
        """The platform's own id of the room."""
        return self.id.partition(":")[2]

    @property
    def source(self) -> str:
        """The platform."""
        return self.id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Voice:
    """Who speaks in a post. avatar: address of a picture (http or https), or None."""

    name: str
    avatar: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer goes: a room, and the thread in it if there is one.

    voice: the persona that speaks, for a bot's account that serves several of them; None: the
    account itself. only_for: id of a slash command: who gave it is the
    only one to see the answer, where the platform can do that.
    """

    room: Room
    thread_id: str | None = None
    voice: Voice | None = None
    only_for: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file beside a message. path: where its bytes are on this machine, or None if not kept."""

    name: str
    mime: str
    size_bytes: Count
    path: str | None = None


# ── The ingest contract ─────────────────────────────────────────────────────────────────

SOURCE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
EXTERNAL_ID = re.compile(r"[^\s*\x00-\x1f\x7f]{1,255}")
SOURCE_ALIASES = {"bluebubbles": "bb"}  # `bb:` is valid for source `bluebubbles`


class IngestMetadata(BaseModel):
    """Everything about a message but its text. Only the first four fields are validated.

    Extra keys are kept. An optional field of the wrong shape counts as absent and its name
    is in `ignored`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    source: str
    sender_id: str
    sender_display_name: str = Field(min_length=1)
    sender_type: SenderType

    channel_external_id: str | None = None
    mention_token: str | None = None
    thread_context: str | None = None
    is_from_me: bool = False
    passive: bool = False
    trigger_rag: bool = True
    include_in_memory: bool = True
    recipient_id: str | None = None
    message_guid: str | None = None

    @field_validator("source")
    @classmethod
    def _source(cls, value: str) -> str:
        if not SOURCE.fullmatch(value):
            raise ValueError("a platform's name in lower case, e.g. slack")
        return value

    def speaker(self) -> Speaker:
        """The sender as the header shows them."""
        mention = None if self.sender_type == "bot" else self.mention_token
        return Speaker(self.sender_id, self.sender_display_name, self.sender_type, mention)


REQUIRED_METADATA = ("source", "sender_id", "sender_display_name", "sender_type")


def parse_metadata(raw: Mapping[str, Any]) -> IngestMetadata:
    """Validate the metadata of an ingest message, from a platform or from the API.

    Raises Rejected naming the first required field that is missing or wrong. Optional fields
    of the wrong shape are dropped: they are metadata, and the person's message is not lost
    for them.
    """
    kept = dict(raw)
    for _ in range(len(IngestMetadata.model_fields)):
        try:
            meta = IngestMetadata.model_validate(kept, strict=True)
            break
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if name in REQUIRED_METADATA:
                reason = "is required" if first["type"] == "missing" else first["msg"]
                raise Rejected(name, reason) from None
            kept.pop(name)
    prefixes = {meta.source, SOURCE_ALIASES.get(meta.source, meta.source)}
    prefix, colon, external = meta.sender_id.partition(":")
    if not colon or prefix not in prefixes or not EXTERNAL_ID.fullmatch(external):
        raise Rejected("sender_id", f"must be {meta.source}:<external id>, without blanks or *")
    return meta


def likely_typos(meta: IngestMetadata) -> dict[str, str]:
    """Extra keys within edit distance 2 of a known one, each with the key that was meant."""
    known = IngestMetadata.model_fields.keys()
    near = {
        extra: min(known, key=lambda name: _edit_distance(extra, name))
        for extra in (meta.model_extra or {})
    }
    return {extra: name for extra, name in near.items() if _edit_distance(extra, name) <= 2}


def _edit_distance(one: str, other: str) -> int:
    """Levenshtein's."""
    if abs(len(one) - len(other)) > 2:
        return 3
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@dataclass(frozen=True, slots=True)
class Inbound:
    """One message as a platform delivered it.

    content: exactly what the person typed. message_id: the platform's own id. mentioned: the
    bot's account was addressed by the platform's own means (a mention, a DM, a reply to it).
    files: attachments whose bytes are on disk. hop: 0 from a person; n for the n-th answer in
    a chain of bots. reply_to: platform id of the message replied to.
    """

    content: str
    meta: IngestMetadata
    room: Room
    message_id: str
    sent_at: datetime
    thread_id: str | None = None
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    mentioned: bool = False


SCHEDULED, SLASH = "schedule:", "slash:"
"""What ids of messages begin with that stand on no platform: scheduled runs, slash commands."""


def stands(message_id: str) -> bool:
    """Whether a message is to be seen on its platform: can be replied to, and marked."""
    return not message_id.startswith((SCHEDULED, SLASH))


@dataclass(frozen=True, slots=True)
class Edited:
    """A stored message's text was changed on the platform."""

    room: Room
    message_id: str
    content: str
    edited_at: datetime


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message was deleted on the platform."""

    room: Room
    message_id: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """Somebody pressed a button of a question. option: index into its options, from 0."""

    question_id: str
    option: int
    by: Speaker


@dataclass(frozen=True, slots=True)
class Pinned:
    """Somebody pinned a message by the platform's own means, or with a 📌, or took the pin back."""

    room: Room
    message_id: str
    by: Speaker
    pinned: bool = True


Event = Inbound | Edited | Deleted | Chosen | Pinned


# ── Questions and answers of an agent ───────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a question. refuses: choosing it means no."""

    label: str
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent's program asks in mid-turn: its title, details and real choices.

    title, detail: plain text, shown as it is: what is asked must not be able to dress itself up.
    """

    id: str
    title: str
    detail: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One use of a tool by an agent, as its hooks or its record tell.

    given, result: text, cut to TOOL_TEXT characters each; the result is empty when it is not
    known. failed: the tool reported an error.
    """

    tool: str
    given: str
    result: str = ""
    failed: bool = False


TOOL_TEXT = 8_000  # enough for a diff or a test run's end; an observer reads it, not a person


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent said, in Markdown, and how the driver knows.

    source: "record" the program's own record of it, "screen" read from the terminal.
    ended_by: the sign that ended the turn, e.g. "hook", "record", "title", "api". tools: one line a
    use, for people; uses: the same for the memory. compacted: the program compacted its context.
    usage: what its calls of the model took; None: it doesn't tell.
    """

    text: str
    source: Literal["record", "screen"] = "record"
    ended_by: str = ""
    tools: tuple[str, ...] = ()
    uses: tuple[ToolUse, ...] = ()
    compacted: bool = False
    usage: Usage | None = None


# ── Calls of the model behind the memory ────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model must call once. schema: JSON Schema of its input, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it, not yet checked against the schema."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call took. cost_usd: None when nobody told the price.

    input_tokens: all that was read; cached_tokens: those of them that came from a cache.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model answered: text, the calls of tools in their order, and what it took."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage


# ── What the composer is given ──────────────────────────────────────────────────────────

_FORBID = ConfigDict(extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True)
class Line:
    """A message in the transcript."""

    id: str
    """Names the message among the briefing's `trigger_ids`."""
    by: Speaker
    text: str
    """Exactly what was typed, without any prefix."""
    at: AwareDatetime
    """With its offset from UTC; shown as HH:MM in the briefing's time zone."""
    attachments: tuple[Attachment, ...] = ()

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Fact:
    """A recall hit."""

    text: str
    kind: str = "fact"
    """E.g. "fact" or "preference"; "project" is printed as `(project memory)`."""
    date: str | None = None
    """YYYY-MM-DD."""
    origin: str | None = None
    """Where it was learned, e.g. "DM" or "#room"."""
    score: float = 0.0
    """Relevance; the best are shown, best first."""

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Note:
    """A pin or a recommendation on a person."""

    text: str
    score: float = 0.0
    """Relevance to the message; the best are shown, best first."""

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Landmark:
    """A pinned decision."""

    text: str
    date: str
    """YYYY-MM-DD."""
    by: str
    """The name of who pinned it."""

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Observation:
    """What the agent did earlier."""

    title: str
    date: str | None = None
    """YYYY-MM-DD."""
    kind: str | None = None
    """E.g. "bugfix"."""

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """An earlier message of the thread. `by` as in a Line."""

    by: Speaker
    text: str

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps in characters, and how many of each are shown.

    Over the total, units are trimmed in a fixed order; the session context, the messages that
    triggered and the invocation never are.
    """

    total: Count = 60_000
    """The whole header."""
    message: Count = 4_000
    """One message of the transcript: its first 60 % and its last 30 % stay."""
    transcript: Count = 24_000
    window_messages: Count = 40
    """The configured window; the heading names it."""
    recall_shown: Count = 5
    recall_text: Count = 300
    notes: Count = 800
    """Pins and recommendations together, with their headings."""
    note_text: Count = 150
    pins_shown: Count = 2
    recommendations_shown: Count = 1
    landmarks_shown: Count = 10
    landmark_text: Count = 500
    summary: Count = 4_000
    thread_shown: Count = 15
    thread_text: Count = 400
    observations_shown: Count = 10
    observation_text: Count = 200
    participants_shown: Count = 20
    agent_context_tokens: Count | None = None
    """The agent's context window, counted as 4 characters a token; 70 % of it is a cap too."""

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that one prompt is made of."""

    room: Room
    you: Speaker
    """The persona that answers: kind "bot", name e.g. "claude"."""
    agent: str
    """What the persona is, e.g. "Claude Code CLI agent"."""
    triggered_by: Speaker
    """Who asked; in a direct message the other person; kind "bot" when a bot asks."""
    at: AwareDatetime
    """The trigger's time, with its offset from UTC."""
    timezone: str = "UTC"
    """IANA name of the zone in which times are shown, e.g. "Asia/Jakarta"."""
    participants: tuple[Speaker, ...] = ()
    """The roster where it is known; else the senders in the window count."""
    recall: tuple[Fact, ...] = ()
    pins: tuple[Note, ...] = ()
    recommendations: tuple[Note, ...] = ()
    landmarks: tuple[Landmark, ...] = ()
    summary: str = ""
    """The episodic summary of the last session; may have several lines."""
    observations: tuple[Observation, ...] = ()
    """The most important first."""
    thread: tuple[ThreadMessage, ...] = ()
    """Earlier messages of the thread, newest last."""
    thread_context: str = ""
    """A block that the platform rendered already; used when `thread` is empty."""
    transcript: tuple[Line, ...] = ()
    since_last_reply: bool = False
    """The transcript holds only what a living session has not been given yet."""
    trigger_ids: tuple[str, ...] = ()
    """Ids of the transcript's lines that asked, at least the first; never trimmed."""
    spoke_since: tuple[Speaker, ...] = ()
    """Others who spoke from the trigger until now, in order; if empty, the transcript tells."""
    only_mention: bool = False
    """The message was nothing but a mention of the persona."""
    hop: Count = 0
    """0 when a person asks; n for the n-th answer in a chain of bots."""
    max_hops: Count = 2
    budget: Budget = field(default_factory=Budget)

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a header as it was given: its heading's name, text, and where it came from."""

    name: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Trim:
    """What a budget took away: from which section, what, and how many characters."""

    section: str
    what: str
    chars: int


@dataclass(frozen=True, slots=True)
class Header:
    """The composed header: `text` is what the agent gets, one newline at its end."""

    text: str
    sections: Sequence[Section]
    trims: Sequence[Trim] = ()
