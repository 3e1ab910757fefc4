"""Small briefings to vary in tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from contract.briefing import Briefing, TranscriptLine
from contract.chat import Room, Speaker

AT = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)
CLAUDE = Speaker("bot:claude", "claude", "bot")
ANDI = Speaker("web:andi", "Andi")
BUDI = Speaker("web:budi", "Budi")


def line(
    id: str, text: str = "hello", by: Speaker = ANDI, minutes: int = 0, **more: Any
) -> TranscriptLine:
    return TranscriptLine(id, by, text, AT + timedelta(minutes=minutes), **more)


def briefing(**given: Any) -> Briefing:
    """Andi asks @claude in the room #auth-team, unless told otherwise."""
    plain: dict[str, Any] = {
        "room": Room("web:auth-team", "auth-team"),
        "you": CLAUDE,
        "agent": "Claude Code CLI agent",
        "triggered_by": ANDI,
        "at": AT,
    }
    return Briefing(**{**plain, **given})
