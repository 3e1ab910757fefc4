"""All that one prompt is made of, and the header that is composed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pydantic import AwareDatetime, ConfigDict

from contract.chat import Attachment, Count, Room, Speaker
from contract.values import dataclass

_FORBID = ConfigDict(extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True)
class TranscriptLine:
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
    id: str = ""
    """Names it among those that a living session was given."""
    replaced: str | None = None
    """YYYY-MM-DD, when something else took its place, which stands above it."""
    about: str | None = None
    """The name of whom it is about; the header doesn't say it."""

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
    """Something that the agent did earlier."""

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
    """The kind of the persona, e.g. "Claude Code CLI agent"."""
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
    transcript: tuple[TranscriptLine, ...] = ()
    since_last_reply: bool = False
    """The transcript holds only what a living session has not been given yet."""
    trigger_ids: tuple[str, ...] = ()
    """Ids of the transcript's lines that asked, at least the first; never trimmed."""
    spoke_since: tuple[Speaker, ...] = ()
    """Others who spoke from the trigger until now, in order; if empty, the transcript tells."""
    only_mention: bool = False
    """The message was nothing but a mention of the persona."""
    cut_off: bool = False
    """The persona began on it already, on a machine that went away."""
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
    """Something that a budget took away: from which section, what, and how many characters."""

    section: str
    what: str
    chars: int


@dataclass(frozen=True, slots=True)
class Header:
    """The composed header: `text` is what the agent gets, one newline at its end.

    lines, facts: ids of the transcript's lines, and of the recalled facts, that it shows.
    """

    text: str
    sections: Sequence[Section]
    trims: Sequence[Trim] = ()
    lines: Sequence[str] = ()
    facts: Sequence[str] = ()
