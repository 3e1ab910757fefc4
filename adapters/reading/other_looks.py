"""Looks of programs that Moot has no profile for, and of older versions of those that it has.

Taken from what others published of their screens in 2025: Amp, Auggie, Amazon Q, Cursor Agent,
Goose; Codex before 0.40, Copilot CLI before 1.0, opencode 1.0.
"""

from __future__ import annotations

import re
from dataclasses import replace

from adapters.screen_profile import (
    CODEX,
    COPILOT,
    GENERIC,
    LOOKS,
    NEVER,
    OPENCODE,
    RULE,
    ScreenProfile,
)

AMP = ScreenProfile(
    name="amp",
    echo=re.compile(r"  ┃(?: (.*))?$"),
    input=re.compile(r"[│┃](?: {2,}.*)?[│┃]?$"),
    above=re.compile(rf"[╭│┃]|{RULE}"),
    margin=2,
    spare=2,
    tool=re.compile(r"  [✓✗✕⋯] (?!Thinking)\S|  ╰ "),
    aside=re.compile(r"  [✓✗⋯] Thinking| [∿≈∼~⠀-⣿] "),
)

AUGGIE = ScreenProfile(
    name="auggie",
    echo=re.compile(r" › (.+)"),
    input=re.compile(r"[ │]*│ ›|›\s*$"),
    above=re.compile(rf"{RULE}|[╭┌]{RULE}"),
    bullet=re.compile(r" » ?"),
    margin=3,
    tool=re.compile(r" » \S.* - (?:[a-z]+ ){0,2}[a-z]+$"),
    result=re.compile(r"   ⎿ "),
    aside=re.compile(r" [⠀-⣿] .*\besc to interrupt"),
)

AMAZON_Q = ScreenProfile(
    name="amazonq",
    echo=NEVER,  # it marks its answers like the prompts
    input=re.compile(r"(?:\[.*\] )?!?> ?$"),
    bullet=re.compile(r"> (?![ynt]$)"),
    tool=re.compile(r"\W{1,4}Using tool\b"),
    aside=re.compile(
        r" [⋮●✓✗↳] ?|Allow this action\?|> [ynt]$|[⠀-⣿] |Tool validation failed|\W{1,4}Using tool"
    ),
)

CURSOR = ScreenProfile(
    name="cursor",
    echo=NEVER,  # it frames prompts and commands alike
    input=re.compile(r" │ → "),
    above=re.compile(rf" ?[┌╭]{RULE}"),
    margin=2,
    spare=2,
    tool=re.compile(r" │ \$ |  ⬢ (?!Cursor)| │ Run this command\?"),
    aside=re.compile(r"  ⬡ |  [⠀-⣿] "),
)

GOOSE = ScreenProfile(
    name="goose",
    echo=re.compile(r"\( ?O\)> (.+)"),
    input=re.compile(r"\( ?O\)>"),
    tool=re.compile(r"─── .+ ─{5,}$"),
    aside=re.compile(r"[⠀-⣿◐◓◑◒] "),
)

CODEX_2025 = ScreenProfile(
    name="codex-2025",
    echo=re.compile(r"user()$"),
    input=re.compile(r"[›▌]"),
    bullet=re.compile(r"codex$"),
    tool=re.compile(r"⚡ "),
    result=re.compile(r"  ⎿ "),
    aside=re.compile(r"thinking$|exec$"),
    tail=re.compile(r"tokens used"),
)

COPILOT_2025 = replace(
    COPILOT,
    name="copilot-2025",
    echo=re.compile(r" │ > (\S.*?) *│?$"),
    echo_end=re.compile(r" ╰─+╯"),
    input=re.compile(r" │ [>❯](?:\s|$)"),
    above=re.compile(rf" ?[╭┌]?{RULE}| [~/][^ ]*"),
    tool=re.compile(r" [$✓✗○] "),
)

OPENCODE_1_0 = replace(
    OPENCODE,
    name="opencode-1.0",
    echo=re.compile(r"  ┃ ?(.*)$"),
    panel=0,
    tail=re.compile(r"     (?:▣ +)?\w+ (?:· )?[a-z][\w.-]+-\d[\w.-]*\b.*$"),
)

OTHER_LOOKS = {look.name: look for look in (AMP, AUGGIE, AMAZON_Q, CURSOR, GOOSE)}
"""By the names that people know the programs by."""

OLDER_LOOKS: dict[str, tuple[ScreenProfile, ...]] = {
    CODEX.name: (CODEX_2025,),
    COPILOT.name: (COPILOT_2025,),
    OPENCODE.name: (OPENCODE_1_0,),
}
"""What a program's older versions looked like."""


def unstyled(look: ScreenProfile) -> ScreenProfile:
    """The look on a screen that has no colours and no bold: what depends on them is left out."""
    aside = re.compile(f"{look.aside.pattern}|{look.coloured_aside.pattern}")
    return replace(look, echo_coloured=False, input_muted=False, aside=aside)


_ALIASES = {
    "claude": "claude-code",
    "hermes-agent": "hermes",
    "mistral-vibe": "vibe",
    "amazon-q": "amazonq",
    "cursor-agent": "cursor",
}


def look_of(agent: str) -> ScreenProfile:
    """The look of a program by its name; the generic one for a program that is not known."""
    name = _ALIASES.get(agent, agent)
    return LOOKS.get(name) or OTHER_LOOKS.get(name) or GENERIC
