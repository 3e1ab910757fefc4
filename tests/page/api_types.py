"""The values of the HTTP API as TypeScript, made from the values that the server renders.

`python -m tests.page.api_types` writes gateway/web/api.d.ts again; a test holds the two together.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from composer.contents import Contents, GivenKind
from contract.agent import Answer, Option
from contract.briefing import Trim
from contract.chat import Attachment, Speaker
from gateway.access.effects import Effect
from gateway.audit.audit import AuditEntry
from gateway.core import views
from gateway.core.views import OpenQuestion
from gateway.limits.usage import Report, Sum
from gateway.personas.choices import AgentChoice, FolderChoice
from gateway.personas.versions import Version
from gateway.settings.personas.check import PersonaFinding
from gateway.setup.agents import KnownAgent
from gateway.setup.connecting import Connected
from gateway.setup.trial import Tried
from gateway.web import inbox, monitor
from gateway.web.admin import values
from gateway.web.memory.room_memory import MemorySearch
from gateway.web.messages.reads import Unread
from gateway.web.messages.search import Hits, MessageHit
from gateway.web.rendering import INLINE, shown_names
from gateway.web.settings import values as settings
from memory.browse.view_rows import (
    AgentSessionRow,
    EpisodeRow,
    FactRow,
    InsightRow,
    LandmarkRow,
    Page,
    TitleRow,
)
from memory.observations.rows import StoredObservation

WRITTEN = Path(__file__).parents[2] / "gateway" / "web" / "api.d.ts"
HEAD = """\
// The values of the HTTP API, made from the server's models: python -m tests.page.api_types
// A time is a string in ISO 8601 with its zone.

declare namespace Api {
"""
RENDERED: Mapping[str, Any] = {
    "AlertView": values.AlertView,
    "AgentSessionView": AgentSessionRow,
    "AnswerView": Answer,
    "AgentChoiceView": AgentChoice,
    "BotSettingsView": settings.BotSettings,
    "BotView": values.BotView,
    "ChangeView": views.ChangeView,
    "DayView": values.Day,
    "DiskView": values.Disk,
    "EffectView": Effect,
    "EmbedderView": values.Embedder,
    "EntryView": AuditEntry,
    "EpisodeView": EpisodeRow,
    "FactView": FactRow,
    "FactsView": Page[FactRow],
    "FindingView": PersonaFinding,
    "FolderChoiceView": FolderChoice,
    "FoundView": MemorySearch,
    "GivenView": GivenKind,
    "HealthView": monitor.HealthReport,
    "KnownAgentView": KnownAgent,
    "ConnectedView": Connected,
    "ContentsView": Contents,
    "HitView": MessageHit,
    "HitsView": Hits,
    "LandmarkView": LandmarkRow,
    "LeftOutView": views.LeftOut,
    "LoginView": settings.LoginView,
    "MessageView": views.MessageView,
    "NoteView": InsightRow,
    "OptionView": Option,
    "PersonaView": views.PersonaView,
    "PlatformView": settings.PlatformView,
    "PostView": views.PostRecord,
    "ProblemView": values.Problem,
    "ProposalView": settings.Proposal,
    "ReceiptView": inbox.Receipt,
    "RecordView": StoredObservation,
    "ReplyView": inbox.TurnReply,
    "ReportView": Report,
    "RoomLineView": values.RoomLine,
    "RoomView": views.RoomView,
    "ScoredView": views.Scored,
    "SecretView": settings.SecretView,
    "SectionView": views.SectionRecord,
    "SessionLineView": values.SessionLine,
    "SessionView": views.SessionView,
    "SettingsView": settings.SettingsView,
    "SpeakerView": Speaker,
    "SpentView": values.PersonaUsage,
    "StateView": views.StateChange,
    "StepView": views.StepView,
    "SumView": Sum,
    "TimelineView": views.TimelineView,
    "TimingView": views.Timing,
    "TitleView": TitleRow,
    "TitlesView": Page[TitleRow],
    "TodayView": values.Today,
    "TodoView": views.TodoView,
    "ToldView": settings.Told,
    "TrimView": Trim,
    "TriedView": Tried,
    "TurnLineView": values.TurnLine,
    "TurnPageView": values.TurnPage,
    "TurnRecordView": views.TurnRecord,
    "TurnView": views.TurnView,
    "UnreadView": Unread,
    "VersionView": Version,
    "WorkView": views.WorkView,
}
"""Interfaces of values that the server renders field by field."""

COMPOSED: Mapping[str, Mapping[str, Any]] = {
    "ClaimView": {
        "person_id": str, "person_name": str, "room_id": str, "persona": str, "at": datetime,
    },
    "ConfiguredView": {
        "role": str, "people": list[str], "rooms": list[str], "personas": list[str], "where": str,
    },
    "ConnectView": {
        "agents": list[KnownAgent], "personas": list[Connected], "folder": str,
    },
    "DaysView": {"days": list[values.Day]},
    "EntriesView": {"items": list[AuditEntry], "next_before": int | None},
    "FileView": {
        "id": str | None, "name": str, "mime": str, "size_bytes": int, "url": str | None,
        "image": bool,
    },
    "GrantView": {
        "seq": int, "person_id": str, "person_name": str, "role": str, "room_id": str | None,
        "room_name": str | None, "persona": str | None, "where": str, "by_name": str,
        "at": datetime,
    },
    "MemoryView": {
        "scopes": list[str], "landmarks": list[LandmarkRow], "episodes": list[EpisodeRow],
        "facts": Page[FactRow], "observations": Page[TitleRow], "insights": ["PersonView"],
        "sessions": list[AgentSessionRow],
    },
    "ObservationView": {"record": StoredObservation, "timeline": ["PlacedView"]},
    "PairingView": {
        "code": str, "person_id": str, "person_name": str, "room_id": str, "persona": str | None,
        "bot": str, "at": datetime, "expires_at": datetime,
    },
    "PersonView": {"id": str, "name": str, "notes": list[InsightRow]},
    "PlacedView": {
        "seq": int, "id": str, "kind": str, "title": str, "persona": str, "at": datetime,
        "here": bool,
    },
    "QuestionView": {
        "id": str, "room_id": str, "turn_id": str, "persona": str, "title": str, "detail": str,
        "options": list[Option], "digest": str, "may_answer": list[Speaker] | None, "at": datetime,
        "expires_at": datetime | None, "danger": str | None,
    },
    "SummaryView": {"ok": bool} | get_type_hints(values.Summary),
    "VerdictView": {
        "ok": bool, "rows": int, "erased": int, "head": str, "broken": str | None,
        "broken_seq": int | None,
    },
}  # fmt: skip
"""Interfaces of objects that the server puts together itself."""

_NAMES = {value: name for name, value in RENDERED.items()} | {
    Attachment: "FileView",
    OpenQuestion: "QuestionView",
}
_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
    datetime: "string",
    date: "string",
    Any: "unknown",
}


def declarations() -> str:
    """The whole file: an interface for each value, by name."""
    fields = {name: _fields(value) for name, value in RENDERED.items()} | dict(COMPOSED)
    return HEAD + "\n".join(_interface(*named) for named in sorted(fields.items())) + "}\n"


def _fields(value: Any) -> dict[str, Any]:
    """The shown fields of a value's class, with their types."""
    kind = get_origin(value) or value
    hints = get_type_hints(kind)
    if kind is Page:
        return {"items": types.GenericAlias(list, get_args(value)), "next_before": int | None}
    shown: dict[str, Any] = {}
    for name in shown_names(kind):
        if name == "legacy":  # never shown: it says how the text is
            continue
        if INLINE.get(kind) == name:
            shown |= _fields(hints[name])
        else:
            shown[name] = hints[name]
    return shown


def _interface(name: str, fields: Mapping[str, Any]) -> str:
    lines = [f"    {field}: {_type(kind)};\n" for field, kind in fields.items()]
    return f"  interface {name} {{\n{''.join(lines)}  }}\n"


def _type(kind: Any) -> str:
    """The TypeScript of a type; raises KeyError for one that no value has yet."""
    if isinstance(kind, list):
        return f"Array<{kind[0]}>"
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _NAMES:
        return _NAMES[kind]
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, inner)))
    if origin is Literal:
        return "string"
    if origin is not None and issubclass(origin, Mapping):
        return f"Record<string, {_type(inner[1])}>"
    if origin is not None and issubclass(origin, Sequence):
        return f"Array<{_type(inner[0])}>"
    return _PLAIN[kind]


if __name__ == "__main__":
    WRITTEN.write_text(declarations(), encoding="utf-8")
