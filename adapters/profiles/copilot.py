"""GitHub Copilot CLI in its terminal. Measured on 1.0.102, November 2026."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adapters import cli_profile as profile
from adapters import screen_profile as look
from adapters import turn_signs as signs
from adapters.profiles.json_settings import mcp_server
from adapters.records import copilot
from adapters.records.spent import by_copilot, telling
from contract.language import phrase

Json = dict[str, Any]

MEMORY_SERVER = "moot"

# ── Its start ───────────────────────────────────────────────────────────────────────────


def state_file(setting: profile.Setting, present: str) -> str:
    """`config.json`, which the program manages: the workspace is one it may work in."""
    state = _object(present)
    trusted = state.get("trustedFolders")
    folders = trusted if isinstance(trusted, list) else []
    workspace = str(setting.workspace)
    state["trustedFolders"] = folders if workspace in folders else [*folders, workspace]
    return json.dumps(state, ensure_ascii=False, indent=2)


# It draws a reply before it writes its record: each of these is less to draw for every piece.
PLAIN: Json = dict.fromkeys(
    ("renderMarkdown", "scrollbar", "terminalProgress", "updateTerminalTitle"), False
)


def settings_file(_setting: profile.Setting, present: str) -> str:
    """`settings.json`: the administrator's, but for what would keep a session in others' sight."""
    settings = PLAIN | _object(present)
    settings |= {"banner": "never", "memory": False}  # what is private must not outlive the session
    return json.dumps(settings, ensure_ascii=False, indent=2)


def mcp_file(setting: profile.Setting, _present: str) -> str:
    """The MCP server that looks into the session's memory."""
    servers = {}
    if setting.memory:
        servers[MEMORY_SERVER] = mcp_server(setting.memory, type="local", tools=["*"])
    return json.dumps({"mcpServers": servers})


def _object(text: str) -> Json:
    """A JSON object; the program puts lines of comment above it."""
    try:
        value = json.loads(re.sub(r"^[^\S\n]*//.*$", "", text, flags=re.MULTILINE) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def offline(env: Mapping[str, str]) -> Mapping[str, str]:
    """With an API of the administrator's, nothing of GitHub is needed."""
    if "COPILOT_PROVIDER_BASE_URL" not in env:
        return {}
    return {"COPILOT_OFFLINE": env.get("COPILOT_OFFLINE", "true")}


PASSES = (
    *("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_GH_HOST"),
    *("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY"),
    *("COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_WIRE_API", "COPILOT_PROVIDER_MODEL_ID"),
    *("COPILOT_PROVIDER_WIRE_MODEL", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS"),
    *("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", "COPILOT_PROVIDER_HEADERS"),
    *("COPILOT_PROVIDER_AZURE_API_VERSION", "COPILOT_MODEL", "COPILOT_OFFLINE"),
    *("HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"),
)

OPTIONS = (
    ("--no-auto-update", "--disable-client-telemetry", "--no-remote-export"),
    ("--no-ask-user",),  # a form of its own: the model asks in its reply
    ("--model", "{model}"),
)

# ── Typing ──────────────────────────────────────────────────────────────────────────────

_FILE = re.compile(r'(?<!\S)@(?!\u2060)(?="?[^\s"]*[/\\~.]|")')
_LAST_MENTION = re.compile(r"(?<!\S)[@#]\S*\Z")


def harmless(text: str) -> str:
    """The prompt without what Copilot would take as a command of its own.

    `!` in front runs a shell command, `/` is a command; `@` names a file, and at the end it opens
    a menu that takes the Enter, as `#` does.
    """
    text = _FILE.sub("@\u2060", text)
    if _LAST_MENTION.search(text):
        text += " "
    return f"> {text}" if text.lstrip()[:1] in ("!", "/", "?", "&") else text


# ── The whole ───────────────────────────────────────────────────────────────────────────

FAULTS = r"\d{3} |Failed to get response from |Authentication failed "
WORKING = r"\w+ing\b[^\n]*\s*\Z|Compacting conversation history \("
LINE = "─{8,}"
SPINNER = "[◐◓◑◒○◉◎●]"

_LOOK = look.ScreenProfile(
    name="copilot",
    prompt=look.PromptRows(
        echo=re.compile(r" ❯ (.+?)(?: {2,}\d\d:\d\d)?$"),
        input=re.compile(r"❯(?:\s|$)"),
        above=re.compile(rf"{look.RULE}| [~/][^ ]*"),
    ),
    reply=look.ReplyRows(bullet=re.compile(r" ● "), margin=3, spare=2),
    tools=look.ToolRows(tool=re.compile(r" [$✓✗] "), result=re.compile(r"   └ ")),
    asides=look.AsideRows(
        aside=re.compile(r" ● Tip: | ! | \[Current\]| ?[◐◓◑◒○◉◎] "), fault=re.compile(r" [✗✘] (.+)")
    ),
    frame=look.ScreenFrame(scrollbar="┃│█▌▐"),
)

# Before 1.0; as others published it in 2025.
LOOK_2025 = replace(
    _LOOK,
    name="copilot-2025",
    prompt=look.PromptRows(
        echo=re.compile(r" │ > (\S.*?) *│?$"),
        echo_end=re.compile(r" ╰─+╯"),
        input=re.compile(r" │ [>❯](?:\s|$)"),
        above=re.compile(rf" ?[╭┌]?{look.RULE}| [~/][^ ]*"),
    ),
    tools=replace(_LOOK.tools, tool=re.compile(r" [$✓✗○] ")),
)

LOOK = replace(_LOOK, older=(LOOK_2025,))

# It leaves alone what others have changed since.
UNDO = signs.Undo(
    steps=(
        *signs.typed_undo("/rewind", re.compile(r"^│ Rewind to a previous point", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(r"^│ ❯ Conversation only", re.MULTILINE)),
        signs.UndoStep(
            b"\x1b[B",
            re.compile(r"^│ ❯ Conversation \+ files", re.MULTILINE),
            where=re.compile(r"^│ +Conversation \+ files +Review", re.MULTILINE),
        ),
        signs.UndoStep(
            b"\r",
            re.compile(r"^│ Enter Restore", re.MULTILINE),
            where=re.compile(r"^│ ❯ Conversation \+ files", re.MULTILINE),
        ),
        signs.UndoStep(b"\r", re.compile(rf"^{LINE}\n❯ +(?!/rewind)\S", re.MULTILINE)),
    ),
    takes_files="the files that it had changed",
    clear=b"\x03",
)

COPILOT = profile.Profile(
    name="copilot",
    title="Copilot",
    agent="GitHub Copilot CLI agent",
    program=profile.Program(
        begin=("copilot", "--session-id={session_id}"),
        resume=("copilot", "--resume={session_id}"),
        options=OPTIONS,
        newer=("--disable-client-telemetry", "--no-remote-export"),
        chooses_id=True,
        ready=profile.ReadySigns(
            prompt=re.compile(rf"^❯[^\n]*\n{LINE}\n(?! *{SPINNER} Loading)", re.MULTILINE),
        ),
    ),
    environment=profile.Environment(
        hosts=("api.github.com", "*.githubcopilot.com"),
        files=(
            profile.HomeFile(".copilot/config.json", state_file),
            profile.HomeFile(".copilot/settings.json", settings_file),
            profile.HomeFile(
                ".copilot/copilot-instructions.md", lambda setting, _: setting.persona
            ),
        ),
        derived=offline,
        passes=PASSES,
        memory=profile.MemoryAccess(
            profile.HomeFile(".moot/mcp.json", mcp_file),
            ("--additional-mcp-config", "@{home}/.moot/mcp.json", f"--allow-tool={MEMORY_SERVER}"),
        ),
    ),
    setup=profile.Setup(
        install="npm install -g @github/copilot",
        login=phrase(
            "Give Moot a COPILOT_GITHUB_TOKEN, an API by COPILOT_PROVIDER_BASE_URL, or a login."
        ),
        configs=(".copilot/config.json", ".copilot/settings.json", ".copilot/mcp-config.json"),
        at_least="1.0.70",
        tested="1.0.102",
    ),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless),
        settle_s=0.2,
        confirm_s=5.0,
        holding=re.compile(rf"^{LINE}\n❯ +\S", re.MULTILINE),
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            ".copilot/session-state/{session_id}/events.jsonl",
            telling(copilot.from_record, by_copilot),
            opens=True,
        ),
        footer=signs.Footer(busy=re.compile(rf"^ *{SPINNER} (?:{WORKING})", re.MULTILINE)),
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=(
            signs.DialogRule(
                re.compile(
                    r"(?i)^.*(?:please use /login|not logged in|no authentication).*$", re.M
                ),
                fault="login",
                when="start",
            ),
        ),
        permission=signs.Permission(
            re.compile(r"^│? *(?:Do you want to|Allow) .*\?", re.MULTILINE),
            worded=re.compile(r"tell Copilot what"),
        ),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(keys=(b"\x1b", b"\x1b"), gap_s=0.2),
        compact="/compact",
        tells_compacted=True,
        clear="/clear",
        undo=UNDO,
    ),
    acp=profile.Acp(
        command=("copilot", "--acp"),
        options=OPTIONS,
        fault=re.compile(rf"(?<=\AError: )(?:{FAULTS}).*"),
        again=re.compile(
            r"Info: [^\n]* [Rr]etrying\.\.\."
            r"|Warning: Removed \d+ attachments? from [^\n]* before retrying\.[^\n]*"
        ),
    ),
    modes={
        "plan": ("--mode", "plan"),
        "ask": ("--mode", "interactive"),
        "auto": ("--mode", "interactive", "--allow-all-tools"),
    },
)
