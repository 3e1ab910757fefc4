"""Claude Code in its terminal.

Measured on 2.1.197 and 2.1.330, November 2026. Where they differ: 2.1.330 wraps a paste of more
than 3 lines or 800 characters in `<pasted_content>` tags, drops invisible characters, lets a
classifier answer permission prompts unless it is told to ask, and keeps the system prompt that a
session began with when it is resumed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.profiles.json_settings import mcp_server, member_of, object_of
from adapters.records import claude
from adapters.records.spent import by_claude, telling
from adapters.screen_profile import RULE, AsideRows, PromptRows, ReplyRows, ScreenProfile, ToolRows
from contract.language import phrase

HOOK_TIMEOUT_S = 24 * 3600  # a permission is held open until the room decides
# Drafts come from MessageDisplay, since with reduced motion the screen shows finished blocks
# alone; about ten a second, no CPU to speak of.
HOOKED = (
    "UserPromptSubmit",
    "MessageDisplay",
    "PermissionRequest",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "Stop",
    "StopFailure",
)

MEMORY_SERVER = "moot"
MEMORY_TOOLS = f"mcp__{MEMORY_SERVER}__*"  # they read, or send what it could say: nobody is asked

# `bypassPermissions` refuses to begin as root, `auto` asks a model of its own.
MODES = {"plan": "plan", "ask": "default", "auto": "dontAsk"}
UNASKED = ("Bash", "Edit", "Write", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Skill")

# ── Its start ───────────────────────────────────────────────────────────────────────────


def state_file(setting: profile.Setting, present: str) -> str:
    """`.claude.json` with its start-up questions answered; what it wrote itself is kept."""
    state = object_of(present)
    state["hasCompletedOnboarding"] = True
    if key := setting.env.get("ANTHROPIC_API_KEY"):
        answers = member_of(state, "customApiKeyResponses")
        approved = [end for end in answers.get("approved") or () if end != key[-20:]]
        answers["approved"] = [*approved, key[-20:]]  # it knows a key by its last 20 characters
        answers.setdefault("rejected", [])
    project = member_of(member_of(state, "projects"), str(setting.workspace))
    project["hasTrustDialogAccepted"] = True
    project.setdefault("hasClaudeMdExternalIncludesApproved", False)
    project["hasClaudeMdExternalIncludesWarningShown"] = True
    return json.dumps(state, ensure_ascii=False, indent=1)


def settings_file(setting: profile.Setting, _present: str) -> str:
    """The settings beside the user's own: the hooks, and that it asks before it acts."""
    hook = {"type": "http", "url": setting.hook_url, "timeout": HOOK_TIMEOUT_S}
    return json.dumps(
        {
            "hooks": {name: [{"hooks": [hook]}] for name in HOOKED} if setting.hook_url else {},
            "permissions": {
                "defaultMode": MODES.get(setting.mode, "default"),
                "allow": [
                    *([MEMORY_TOOLS] if setting.memory else []),
                    *(UNASKED if setting.mode == "auto" else []),
                ],
            },
            "prefersReducedMotion": True,
            "spinnerTipsEnabled": False,
        }
    )


def mcp_file(setting: profile.Setting, _present: str) -> str:
    """The one MCP server that the session has."""
    servers = {}
    if setting.memory:
        # without alwaysLoad 2.1.330 shows the model no tool before it searches for tools
        servers[MEMORY_SERVER] = mcp_server(setting.memory, type="stdio", alwaysLoad=True)
    return json.dumps({"mcpServers": servers})


ENV = (
    # no host but the API's is looked up with these two
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
    ("NO_PROXY", "127.0.0.1,localhost,::1"),  # the hooks
    # a turn that began by itself would have nobody to answer
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_CRON", "1"),
    ("CLAUDE_CODE_ENABLE_AWAY_SUMMARY", "0"),
    ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "0"),
    ("CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY", "1"),
    # what is private must not outlive the session
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    # `@/etc/passwd` in a message is not read; since 2.1.3xx
    ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    # the scrollback keeps what was said
    ("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN", "1"),
)

PASSES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "HTTPS_PROXY",
    "NODE_EXTRA_CA_CERTS",
)

# ── Typing ──────────────────────────────────────────────────────────────────────────────

# A paste of more than 3 lines or 800 UTF-16 units is wrapped in tags by 2.1.330 (of fewer
# lines, where the terminal has less than 13 rows).
PASTE_BREAKS, PASTE_CHARS = 2, 400
COMMANDS = "!/#&?"

_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FILE = re.compile(r'(?<!\S)@(?!\u2060)(?="?[^\s"]*[/\\~]|"|\.\.)')
_LAST_MENTION = re.compile(r"(?<!\S)@\S*\Z")
_BREAK = re.compile("[\n\u2028\u2029]")
_LINE = re.compile("[\n\u2028\u2029]?[^\n\u2028\u2029]+|[\n\u2028\u2029]")
_GRAPHEME = regex.compile(r"\X")
_IMAGE = re.compile(r"\.(?=png|jpe?g|gif|webp)", re.IGNORECASE)


def harmless(text: str) -> str:
    """The prompt without what Claude Code would take as a command of its own.

    Bidi controls make it wait for a second Enter. `@` before a path reads that file (it is told
    not to, but old versions do not listen). An `@word` at the end opens a menu that takes the
    Enter. `!`, `/`, `#` in front are a shell command, a slash command, a note: even behind
    blanks and invisible characters.
    """
    text = _FILE.sub("@\u2060", _BIDI.sub("", text))
    if _LAST_MENTION.search(text):
        text += " "
    first = next((c for c in text if not c.isspace() and unicodedata.category(c) != "Cf"), "")
    return f"> {text}" if first and first in COMMANDS else text


def pieces(text: str) -> Sequence[str]:
    """The prompt as pastes that arrive as they are, and none of which is taken for more.

    A pasted line that is the path of an image is taken for a file dropped on the terminal: it is
    read and sent, from anywhere on the disk. So a paste ends before each such suffix. And a paste
    that begins with `!` runs a command, even one in the middle (2.1.197): so a paste begins with
    a line's end or a blank where it can, and never with a character that means something.
    """
    found = [""]
    for line in _LINE.findall(text):
        ends = [match.end() for match in _IMAGE.finditer(line)]
        for begin, end in pairwise((0, *ends, len(line))):
            for number, part in enumerate(_short(line[begin:end])):
                joined = found[-1] + part
                fits = len(joined) <= PASTE_CHARS and len(_BREAK.findall(joined)) <= PASTE_BREAKS
                behind_dot = begin and not number
                if fits and not behind_dot:
                    found[-1] = joined
                else:
                    found.append(part)
    return [piece for piece in found if piece]


def _short(line: str) -> Iterator[str]:
    """Parts of about `PASTE_CHARS`."""
    start = 0
    while len(line) - start > PASTE_CHARS:
        cut = _cut(line, start)
        yield line[start:cut]
        start = cut
    if start < len(line):
        yield line[start:]


def _cut(line: str, start: int) -> int:
    """Where the part from `start` ends: before a blank, else where a grapheme ends."""
    blank = line.rfind(" ", start + 1, start + PASTE_CHARS + 1)
    if blank > 0:
        return blank
    cut = 0
    for match in _GRAPHEME.finditer(line, start):
        if cut and match.end() - start > PASTE_CHARS:
            break
        if _may_begin(line, match.end()):
            cut = match.end()
    return cut


def _may_begin(line: str, at: int) -> bool:
    """True when a paste may begin there."""
    if at == len(line):
        return True
    return line[at] not in f"{COMMANDS}@" and unicodedata.category(line[at]) != "Cf"


# ── The whole ───────────────────────────────────────────────────────────────────────────

LINE = "─{8,}"
BOX = rf"^{LINE}.*\n❯.*\n{LINE}"  # at the left edge, where no text of a conversation can be


def alone(phrase: str) -> re.Pattern[str]:
    """A phrase that stands where the input box would be, and not in a conversation above it."""
    return re.compile(rf"(?:{phrase})(?![\s\S]*{BOX})", re.MULTILINE)


DIALOGS = (
    signs.DialogRule(alone("(?i:new MCP servers? found)"), keys=b"\x1b", when="start"),
    signs.DialogRule(alone("Allow external CLAUDE\\.md file imports"), keys=b"\x1b", when="start"),
    signs.DialogRule(alone("Resume full session as-is"), keys=b"\x1b", when="start"),
    signs.DialogRule(alone("3\\. Continue without these settings"), keys=b"3", when="start"),
    signs.DialogRule(
        alone("No conversation found with session ID"),
        fault="startup",
        say="{title} has lost this conversation. Ask again: it begins a new one.",
        when="start",
    ),
    signs.DialogRule(alone("Select login method"), fault="login", when="start"),
    signs.DialogRule(
        alone("Unable to connect to Anthropic services"),
        fault="api",
        say="{title} cannot reach its API. Check the network and ANTHROPIC_BASE_URL.",
        when="start",
    ),
    signs.DialogRule(
        alone("Is this a project you created or one you trust|Do you want to use this API key"),
        fault="startup",
        say="{title} asks something at its start that only its terminal can answer.",
        when="start",
    ),
)

LOOK = ScreenProfile(
    name="claude-code",
    prompt=PromptRows(
        echo=re.compile(r"[❯>] (.+)"),
        input=re.compile(r'[❯>](?:\xa0|\s*$| Try ")|[│┃] >'),
        above=re.compile(rf"{RULE}|╭{RULE}|\s{{30}}"),
    ),
    reply=ReplyRows(bullet=re.compile(r"[●⏺] "), margin=2),
    tools=ToolRows(
        tool=re.compile(
            r"[●⏺] (?:[\w.:-]+(?: [\w.:-]+){0,5} ?\(|.*\(ctrl\+[a-z] to (?:expand|see))"
        ),
        tool_bold=True,
        muted_tool=re.compile(r"  [A-Z]\w+ .*\d"),
        result=re.compile(r"  ⎿[ \xa0]{2}(.*)"),
    ),
    asides=AsideRows(
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
    ),
)

# What it changed by commands of the shell stays. The prompt comes back into the box.
UNDO = signs.Undo(
    steps=(
        *signs.typed_undo(
            "/rewind", re.compile(r"^ +Restore the code and/or conversation", re.MULTILINE)
        ),
        signs.UndoStep(b"\x1b[A", re.compile(r"^ +❯ (?!\(current\))", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(r"^ +❯ 1\. Restore .*conversation$", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(rf"^{LINE}.*\n❯\s(?!/rewind).*\S", re.MULTILINE)),
    ),
    refuses=re.compile(r"^ +Nothing to rewind to", re.MULTILINE),
    takes_files="the files that it had edited",
    clear=b"\x03",
)

CLAUDE_CODE = profile.Profile(
    name="claude-code",
    title="Claude Code",
    agent="Claude Code CLI agent",
    program=profile.Program(
        begin=("claude", "--session-id", "{session_id}"),
        # else 2.1.330 sends the system prompt that the conversation began with
        resume=("claude", "--resume", "{session_id}", "--system-prompt-snapshot=off"),
        newer=("--system-prompt-snapshot",),  # 2.1.197 knows it not, and sends the present one
        options=(
            ("--settings", "{home}/.moot/settings.json"),
            ("--append-system-prompt-file", "{home}/.moot/persona.md"),
            ("--model", "{model}"),
        ),
        chooses_id=True,
        ready=profile.ReadySigns(prompt=re.compile(BOX, re.MULTILINE)),
        reads=("/etc/claude-code",),
    ),
    environment=profile.Environment(
        hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com"),
        files=(
            profile.HomeFile(".claude.json", state_file),
            profile.HomeFile(".moot/settings.json", settings_file),
            profile.HomeFile(".moot/persona.md", lambda setting, _: setting.persona),
        ),
        env=ENV,
        passes=PASSES,
        memory=profile.MemoryAccess(
            profile.HomeFile(".moot/mcp.json", mcp_file),
            ("--strict-mcp-config", "--mcp-config", "{home}/.moot/mcp.json"),
        ),
    ),
    setup=profile.Setup(
        install="npm install -g @anthropic-ai/claude-code",
        login=phrase(
            "Give Moot an ANTHROPIC_API_KEY, or a CLAUDE_CODE_OAUTH_TOKEN of "
            "`claude setup-token`, or log in once with `claude` and share that HOME."
        ),
        logins=(".claude/.credentials.json",),
    ),
    model=profile.ModelChoice(own="default", context_tokens=200_000),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless, pieces=pieces),
        picture=signs.PastedPicture(
            re.compile(r"/.+\.(?i:png|jpe?g|gif|webp)"), re.compile(r"\[Image #\d+\]")
        ),
        settle_s=0.15,  # its paste is over 100 ms after the last byte; an Enter before is lost
        holding=re.compile(
            rf"^(?!❯?\s*$)(?!─).+\n{LINE}.*\n(?:(?!─).*\n){{0,7}}(?:(?!─).*)?\Z", re.MULTILINE
        ),
    ),
    signs=signs.TurnSigns(
        hooks=signs.Hooks(claude.from_hook),
        record=signs.RecordFormat(
            ".claude/projects/*/{session_id}.jsonl",
            telling(claude.from_record, by_claude),
            opens=True,
        ),
        title=signs.Title(busy=re.compile("^[⠀-⣿◐-◓]"), idle=re.compile("^✳")),
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(
            re.compile(r"^ (?:Do you want to|Would you like to) .*\?$", re.MULTILINE),
            certain=True,
        ),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(clear=b"\x03", clear_gap_s=1.2),  # it ends at two within 0.8 s
        compact="/compact",
        tells_compacted=True,
        clear="/clear",
        undo=UNDO,
    ),
    # a session that is resumed has the mode that it was in, unless an option says another
    modes={
        "plan": ("--permission-mode", "plan"),
        "ask": (),
        "auto": ("--permission-mode", "dontAsk"),
    },
)
