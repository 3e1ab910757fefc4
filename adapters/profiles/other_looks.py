"""Looks of programs that Moot has no profile for.

Taken from what others published of their screens in 2025: Amp, Auggie, Amazon Q, Cursor Agent,
Goose.
"""

from __future__ import annotations

import re

from adapters.screen_profile import (
    NEVER,
    RULE,
    AsideRows,
    PromptRows,
    ReplyRows,
    ScreenProfile,
    ToolRows,
)

AMP = ScreenProfile(
    name="amp",
    prompt=PromptRows(
        echo=re.compile(r"  ┃(?: (.*))?$"),
        input=re.compile(r"[│┃](?: {2,}.*)?[│┃]?$"),
        above=re.compile(rf"[╭│┃]|{RULE}"),
    ),
    reply=ReplyRows(margin=2, spare=2),
    tools=ToolRows(tool=re.compile(r"  [✓✗✕⋯] (?!Thinking)\S|  ╰ ")),
    asides=AsideRows(aside=re.compile(r"  [✓✗⋯] Thinking| [∿≈∼~⠀-⣿] ")),
)

AUGGIE = ScreenProfile(
    name="auggie",
    prompt=PromptRows(
        echo=re.compile(r" › (.+)"),
        input=re.compile(r"[ │]*│ ›|›\s*$"),
        above=re.compile(rf"{RULE}|[╭┌]{RULE}"),
    ),
    reply=ReplyRows(bullet=re.compile(r" » ?"), margin=3),
    tools=ToolRows(
        tool=re.compile(r" » \S.* - (?:[a-z]+ ){0,2}[a-z]+$"), result=re.compile(r"   ⎿ ")
    ),
    asides=AsideRows(aside=re.compile(r" [⠀-⣿] .*\besc to interrupt")),
)

AMAZON_Q = ScreenProfile(
    name="amazonq",
    # it marks its answers like the prompts
    prompt=PromptRows(echo=NEVER, input=re.compile(r"(?:\[.*\] )?!?> ?$")),
    reply=ReplyRows(bullet=re.compile(r"> (?![ynt]$)")),
    tools=ToolRows(tool=re.compile(r"\W{1,4}Using tool\b")),
    asides=AsideRows(
        aside=re.compile(
            r" [⋮●✓✗↳] ?|Allow this action\?|> [ynt]$|[⠀-⣿] "
            r"|Tool validation failed|\W{1,4}Using tool"
        )
    ),
)

CURSOR = ScreenProfile(
    name="cursor",
    # it frames prompts and commands alike
    prompt=PromptRows(echo=NEVER, input=re.compile(r" │ → "), above=re.compile(rf" ?[┌╭]{RULE}")),
    reply=ReplyRows(margin=2, spare=2),
    tools=ToolRows(tool=re.compile(r" │ \$ |  ⬢ (?!Cursor)| │ Run this command\?")),
    asides=AsideRows(aside=re.compile(r"  ⬡ |  [⠀-⣿] ")),
)

GOOSE = ScreenProfile(
    name="goose",
    prompt=PromptRows(echo=re.compile(r"\( ?O\)> (.+)"), input=re.compile(r"\( ?O\)>")),
    tools=ToolRows(tool=re.compile(r"─── .+ ─{5,}$")),
    asides=AsideRows(aside=re.compile(r"[⠀-⣿◐◓◑◒] ")),
)

OTHER_LOOKS = {look.name: look for look in (AMP, AUGGIE, AMAZON_Q, CURSOR, GOOSE)}
"""By the names that people know the programs by."""
