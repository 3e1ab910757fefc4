"""The HTTP API's values as the page's types (gateway/web/api.d.ts) and as the server shows them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from contract.agent import Answer, Option
from contract.briefing import Trim
from contract.chat import Speaker
from gateway.core import views
from gateway.limits import usage
from gateway.personas.versions import Version
from gateway.settings.personas.check import PersonaFinding
from gateway.web import protocols
from gateway.web.admin import values
from gateway.web.memory import room_memory
from gateway.web.rendering import INLINE, SHOWN
from memory.browse import view_rows
from memory.observations.rows import StoredObservation

WRITTEN = Path(__file__).parents[2] / "gateway" / "web" / "api.d.ts"
# The server's type for each interface; what a function writes field by field is not among them.
MIRRORED: dict[str, type] = {
    "AgentSessionView": view_rows.AgentSessionRow,
    "AnswerView": Answer,
    "BotView": values.BotView,
    "DayView": values.Day,
    "DiskView": values.Disk,
    "EpisodeView": view_rows.EpisodeRow,
    "FactView": view_rows.FactRow,
    "FindingView": PersonaFinding,
    "FoundView": room_memory.MemorySearch,
    "HealthView": protocols.HealthReport,
    "LandmarkView": view_rows.LandmarkRow,
    "LeftOutView": views.LeftOut,
    "MessageView": views.MessageView,
    "NoteView": view_rows.InsightRow,
    "OptionView": Option,
    "PersonaView": views.PersonaView,
    "PostView": views.PostRecord,
    "ProblemView": values.Problem,
    "ReceiptView": protocols.Receipt,
    "RecordView": StoredObservation,
    "ReplyView": protocols.TurnReply,
    "ReportView": usage.Report,
    "RoomLineView": values.RoomLine,
    "RoomView": views.RoomView,
    "ScoredView": views.Scored,
    "SectionView": views.SectionRecord,
    "SessionLineView": values.SessionLine,
    "SessionView": views.SessionView,
    "SpeakerView": Speaker,
    "SpentView": values.PersonaUsage,
    "StateView": views.StateChange,
    "SumView": usage.Sum,
    "SummaryView": values.Summary,
    "TimelineView": views.TimelineView,
    "TimingView": views.Timing,
    "TitleView": view_rows.TitleRow,
    "TodayView": values.Today,
    "TrimView": Trim,
    "TurnLineView": values.TurnLine,
    "TurnPageView": values.TurnPage,
    "TurnRecordView": views.TurnRecord,
    "TurnView": views.TurnView,
    "VersionView": Version,
}
UNSEEN = {"MessageView": {"legacy"}}  # how it is shown, not what
ADDED = {"SummaryView": {"ok": False}}  # worked out as it is shown


def declared() -> dict[str, dict[str, bool]]:
    """The fields of each interface of api.d.ts, and whether they may be null."""
    found = re.findall(r"interface (\w+) \{\n(.*?)\n  \}", WRITTEN.read_text("utf-8"), re.DOTALL)
    return {
        name: {
            field: kind.endswith("| null")
            for field, kind in re.findall(r"^    (\w+): (.*);$", body, re.MULTILINE)
        }
        for name, body in found
    }


def shown(kind: type) -> dict[str, bool]:
    """The fields that the server shows of a type, and whether they may be None."""
    hints: dict[str, Any] = get_type_hints(kind)
    names = SHOWN.get(kind) or [field.name for field in fields(kind)]
    made: dict[str, bool] = {}
    for name in names:
        if INLINE.get(kind) == name:
            made |= shown(hints[name])
        else:
            made[name] = NoneType in get_args(hints.get(name))
    return made
