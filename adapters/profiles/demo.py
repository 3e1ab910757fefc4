"""The demo agent as a profile."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters import turn_events as events
from adapters import turn_signs as signs
from adapters.cli_profile import Environment, HomeFile, Profile, Program, ReadySigns, Setup
from adapters.screen_profile import AsideRows, PromptRows, ReplyRows, ScreenProfile
from contract.language import later, phrase

PROGRAM = Path(__file__).parent.parent / "demo"
_STATE = re.compile(r"7501;state=(working|blocked|done|idle|error)\b")


def read_row(row: Mapping[str, Any]) -> Sequence[events.TurnEvent]:
    """A row of the demo agent's record."""
    turn = str(row.get("turn", ""))
    match row:
        case {"type": "prompt"}:
            return [events.PromptTaken(turn)]
        case {"type": "tool", "tool": str(tool), "detail": str(detail)}:
            return [events.ToolUsed(tool, detail, turn)]
        case {"type": "compacted"}:
            return [events.ContextCompacted(turn)]
        case {"type": "reply", "text": str(text)}:
            return [events.ReplyBlock(text, turn=turn)]
        case {"type": "end", "how": "error", "message": str(message)}:
            return [
                events.ReplyFailed(
                    "api", message, later("The demo agent failed: {message}", message=message), turn
                )
            ]
        case {"type": "end", "how": how}:
            return [events.ReplyEnded(interrupted=how == "interrupted", turn=turn)]
    return []


def read_state(osc: str) -> events.State | None:
    """The state that an OSC 7501 reports."""
    match = _STATE.match(osc)
    return match[1] if match else None  # type: ignore[return-value]  # the pattern's words


LOOK = ScreenProfile(
    name="demo",
    prompt=PromptRows(echo=re.compile(r"❯ (.+)"), input=re.compile(r"❯(?: |$)")),
    reply=ReplyRows(bullet=re.compile(r"● "), margin=2, spare=2),
    asides=AsideRows(
        aside=re.compile(r"  ⎿ |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Thinking"), fault=re.compile(r"● (API Error: .*)")
    ),
)

DEMO = Profile(
    name="demo",
    title="The demo agent",
    agent="demo agent",
    program=Program(
        reads=(str(PROGRAM.parent),),
        begin=(sys.executable, "-I", "-S", str(PROGRAM), "--session-id", "{session_id}"),
        resume=(sys.executable, "-I", "-S", str(PROGRAM), "--resume", "{session_id}"),
        chooses_id=True,
        ready=ReadySigns(state="idle", quiet_s=0.0, timeout_s=20.0),
    ),
    environment=Environment(
        files=(HomeFile(".moot-demo/persona.md", lambda setting, _: setting.persona),),
        passes=("MOOT_DEMO_PACE",),
    ),
    setup=Setup(
        missing=phrase("It comes with Moot: install Moot again."),
        login=phrase("It needs no login."),
        version=(),
    ),
    typing=signs.PromptTyping(
        text=signs.PromptText(tab="\t", nfc=False),
        holding=re.compile(r"^─+\n❯ \S", re.MULTILINE),
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(".moot-demo/{session_id}.jsonl", read_row),
        states=read_state,
        title=signs.Title(busy=re.compile("^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏✋]"), idle=re.compile("^✳")),
        timeout_s=600.0,
    ),
    shown=signs.Shown(
        look=LOOK, permission=signs.Permission(re.compile(r"^ Run this command\?$", re.MULTILINE))
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(clear=b"\x15"), compact="/compact", tells_compacted=True
    ),
)
