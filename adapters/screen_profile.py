"""What the programs look like on a screen: one `ScreenProfile` for each, as data.

Taken from terminals recorded in November 2026: Claude Code 2.1.197, Codex 0.169.0, Gemini CLI
0.61.0, Qwen Code 0.24.4, opencode 1.18.33, Copilot CLI 1.0.102, Mistral Vibe 3.0.2, aider
0.86.2, hermes-agent 0.19.0, llm 0.36. Marks of older versions are kept where they are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NEVER = re.compile(r"(?!)")
RULE = r"[─━═╌▀▄]{10,}"


@dataclass(frozen=True, slots=True)
class ScreenProfile:
    """How to find a reply, and what is not part of it. Patterns match at a row's beginning.

    echo: a row of a prompt as the program shows it after Enter; group 1 is its text.
    echo_coloured: only rows whose mark is coloured are echoes.
    echo_end: the row that ends the echo, where the prompt's further rows look like a reply's.
    input: the row of the input box; input_muted: only when what it holds is blank or grey.
    above: rows that may stand between a reply and its box.
    bullet: how the first row of a message begins; None when messages have no mark, and every
    row indented by `margin` belongs to one.
    margin: columns before the reply's text. spare: columns left empty at the right margin.
    tool: the first row of a tool's call; messages before it are not the last reply.
    tool_bold: only when the first word is bold.
    muted_tool: the same for rows that begin in grey, with or without a mark.
    result: a row of a tool's output below a bullet; directly behind the echo, group 1 is an
    error in the reply's place.
    aside: rows that belong to no message, with what is indented under them; muted_aside,
    coloured_aside: only if they begin in grey, or in a colour.
    tail: rows that are no part of a message when nothing but such rows follows.
    fault: an error of the program; group 1 is its text. broken_off: shows that the turn was: then
    what was said before its last tool is no reply.
    last_block: only the last message is the reply.
    panel: columns of a panel at the right, shown when the screen has more than `panel_from`.
    scrollbar: characters of a scroll bar in the last column. numbered: code has line numbers.
    fence_names: the language's name stands above code.
    choices: labels of a question whose choices stand in one row.
    unknown: nothing is known of how a reply looks.
    """

    name: str
    echo: re.Pattern[str]
    input: re.Pattern[str]
    bullet: re.Pattern[str] | None = None
    margin: int = 0
    spare: int = 0
    echo_coloured: bool = False
    echo_end: re.Pattern[str] = NEVER
    above: re.Pattern[str] = re.compile(RULE)
    tool: re.Pattern[str] = NEVER
    tool_bold: bool = False
    muted_tool: re.Pattern[str] = NEVER
    result: re.Pattern[str] = NEVER
    aside: re.Pattern[str] = NEVER
    muted_aside: re.Pattern[str] = NEVER
    coloured_aside: re.Pattern[str] = NEVER
    tail: re.Pattern[str] = NEVER
    fault: re.Pattern[str] = NEVER
    broken_off: re.Pattern[str] = NEVER
    last_block: bool = False
    panel: int = 0
    panel_from: int = 0
    scrollbar: str = ""
    numbered: bool = False
    fence_names: bool = False
    choices: re.Pattern[str] = NEVER
    input_muted: bool = False
    unknown: bool = False

    def text_cols(self, cols: int) -> int:
        """The columns that are left for the conversation on a screen of `cols`."""
        return cols - self.panel if cols > self.panel_from else cols


CLAUDE_CODE = ScreenProfile(
    name="claude-code",
    echo=re.compile(r"[❯>] (.+)"),
    input=re.compile(r'[❯>](?:\xa0|\s*$| Try ")|[│┃] >'),
    above=re.compile(rf"{RULE}|╭{RULE}|\s{{30}}"),
    bullet=re.compile(r"[●⏺] "),
    margin=2,
    tool=re.compile(r"[●⏺] (?:[\w.:-]+(?: [\w.:-]+){0,5} ?\(|.*\(ctrl\+[a-z] to (?:expand|see))"),
    tool_bold=True,
    muted_tool=re.compile(r"  [A-Z]\w+ .*\d"),
    result=re.compile(r"  ⎿[ \xa0]{2}(.*)"),
    aside=re.compile(
        r"  ⎿[ \xa0]{2}(?:Interrupted|\(no content\)|Tip:|(?:Read|Referenced|Listed) )"
    ),
    muted_aside=re.compile(r"  Thought for \d"),
    broken_off=re.compile(r"  ⎿[ \xa0]{2}Interrupted"),
    coloured_aside=re.compile(  # at work
        r"[●⏺·✻✶✳✢✽*∴] [A-Z][\w'-]+(?: [\w'-]+){0,3}…(?: \(|$)"
    ),
    fault=re.compile(
        r"(?:[●⏺] |  ⎿[ \xa0]{2})((?:API Error|Invalid API key|Not logged in|Prompt is too long"
        r"|Credit balance|.*usage limit reached|.*hit your .*limit).*)"
    ),
)

CODEX = ScreenProfile(
    name="codex",
    echo=re.compile(r"› (.+)"),
    input=re.compile(r"›(?: |$)"),
    above=NEVER,
    bullet=re.compile(r"• "),
    margin=2,
    tool=re.compile(
        r"• (?:Ran|Running|Explor(?:ed|ing)|Edit(?:ed|ing)|Added|Deleted|Updated Plan|Proposed Plan"
        r"|Call(?:ed|ing)|Search(?:ed|ing)|Viewed Image|Wait(?:ed|ing)|Chang(?:ed|ing))\b"
    ),
    tool_bold=True,
    result=re.compile(r"  └ "),
    aside=re.compile(r"• (?:.*esc to interrupt\)|Reconnecting\.\.\. \d)"),
    tail=re.compile(r"  Worked for <?\d+\w*(?: \d+\w*)*(?: • .*)?$"),
    fault=re.compile(r"■ (?!Conversation interrupted)(.+)"),
    broken_off=re.compile(r"■ Conversation interrupted"),
    last_block=True,
)

GEMINI = ScreenProfile(
    name="gemini",
    echo=re.compile(r" > (.+)"),
    input=re.compile(r"[ │]{1,2}>(?:\s*$|\s{2,}Type your message)"),
    above=re.compile(rf"{RULE}|╭{RULE}|\s{{30}}| (?:Shift\+Tab|YOLO|auto-accept|shift\+tab)\b"),
    bullet=re.compile(r"✦(?: |$)"),
    margin=2,
    tool=re.compile(r"[╭│]|  [✓✗✕x⊷?o-]  \w"),
    aside=re.compile(r"  Executing Hook| ?(?:[ℹ⚠✕✗✓⊶] |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] )"),
    fault=re.compile(r"✕ (.+)"),
    numbered=True,
)

QWEN = ScreenProfile(
    name="qwen",
    echo=re.compile(r"  > (.+)"),
    input=re.compile(r"[ │]{0,2}>(?:\s*$|\s{2,}Type your message)"),
    bullet=re.compile(r"  [◆✦]\ufe0e?(?: |$)"),
    margin=4,
    spare=3,
    tool=re.compile(r"  [✓✗✕x⊷?o-] \w"),
    aside=re.compile(r"  (?:●\ufe0e? |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] |[ℹ⚠])"),
    fault=re.compile(r"  [✕✗]\ufe0e? (.+)"),
    scrollbar="│█",
    numbered=True,
)

COPILOT = ScreenProfile(
    name="copilot",
    echo=re.compile(r" ❯ (.+?)(?: {2,}\d\d:\d\d)?$"),
    input=re.compile(r"❯(?:\s|$)"),
    above=re.compile(rf"{RULE}| [~/][^ ]*"),
    bullet=re.compile(r" ● "),
    margin=3,
    spare=2,
    tool=re.compile(r" [$✓✗] "),
    result=re.compile(r"   └ "),
    aside=re.compile(r" ● Tip: | ! | \[Current\]| ?[◐◓◑◒○◉◎] "),
    fault=re.compile(r" [✗✘] (.+)"),
    scrollbar="┃│█▌▐",
)

OPENCODE = ScreenProfile(
    name="opencode",
    echo=re.compile(r"  ┃(?:  (.*))?$"),
    echo_coloured=True,
    input=re.compile(r"  ╹▀{5}"),
    above=re.compile(r"  ┃"),
    margin=5,
    spare=4,
    tool=re.compile(r"  ┃  [$#→←%✱] "),
    muted_tool=re.compile(r"     [→←%✱⚙$~] \w"),
    tail=re.compile(r"     ▣ +\w+ · "),
    panel=42,
    panel_from=120,
    scrollbar="█▀▄",
    choices=re.compile(r"Allow once|Allow always|Reject|Confirm|Cancel"),
)

VIBE = ScreenProfile(
    name="vibe",
    echo=re.compile(r"> (.+)"),
    echo_end=re.compile(RULE),
    input=re.compile(r">(?:\s|$)"),
    above=re.compile(RULE),
    margin=2,
    spare=2,
    tool=re.compile(r"[■⏵✓✗] \w"),
    aside=re.compile(r"  [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] "),
    scrollbar="▁▂▃▄▅▆▇█▔▀",
)

AIDER = ScreenProfile(
    name="aider",
    echo=re.compile(r"\w*> ?(?!>)(.*)"),
    input=re.compile(r"\w*>\s*$"),
    tail=re.compile(r"Tokens: .* received"),
    fault=re.compile(r"(litellm\.\w+Error.*)"),
)

HERMES = ScreenProfile(
    name="hermes",
    echo=re.compile(r"● (.+)"),
    input=re.compile(r"❯(?:\s|$)"),
    above=re.compile(rf"{RULE}| ⚕ "),
    bullet=re.compile(r"╭─ ⚕ .*─╮$"),
    margin=4,
    spare=2,
    tool=re.compile(r"  ┊ "),
    fence_names=True,
)

LLM = ScreenProfile(
    name="llm",
    echo=re.compile(r"> (!multi)$"),
    echo_end=re.compile(r"!end$"),
    input=re.compile(r">\s*$"),
    above=NEVER,
    fault=re.compile(r"Error: (.+)"),
)

# A program that nobody looked at: what stands behind the prompt is guessed.
GENERIC = ScreenProfile(
    name="generic",
    unknown=True,
    echo=NEVER,
    input=re.compile(r"\s{0,3}[│┃]?\s?\w{0,12}[❯›>»](?:\s|\xa0|$)"),
    input_muted=True,
    above=re.compile(rf"{RULE}|[╭┌╰└]{RULE}|\s{{30}}"),
    scrollbar="┃│█▌▐▁▂▃▄▅▆▇▔▀║",
)

LOOKS = {
    look.name: look
    for look in (
        *(CLAUDE_CODE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE, VIBE, AIDER, HERMES, LLM),
        GENERIC,
    )
}
