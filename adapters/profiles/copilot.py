"""GitHub Copilot CLI in its terminal. Measured on 1.0.102, November 2026."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from adapters import screen_profile
from adapters.cli_profile import (
    DialogRule,
    Footer,
    HomeFile,
    Interrupt,
    MemoryAccess,
    Permission,
    Profile,
    PromptTyping,
    ReadySigns,
    RecordFormat,
    Setting,
    TurnSigns,
)
from adapters.records import copilot
from adapters.records.spent import by_copilot, telling

Json = dict[str, Any]

MEMORY_SERVER = "moot"

# ── Its start ───────────────────────────────────────────────────────────────────────────


def state_file(setting: Setting, present: str) -> str:
    """`config.json`, which the program manages: the workspace is one it may work in."""
    state = _object(present)
    trusted = state.get("trustedFolders")
    folders = trusted if isinstance(trusted, list) else []
    workspace = str(setting.workspace)
    state["trustedFolders"] = folders if workspace in folders else [*folders, workspace]
    return json.dumps(state, ensure_ascii=False, indent=2)


def settings_file(_setting: Setting, present: str) -> str:
    """`settings.json`: the administrator's, but for what would keep a session in others' sight."""
    settings = _object(present)
    settings |= {"banner": "never", "memory": False}  # what is private must not outlive the session
    return json.dumps(settings, ensure_ascii=False, indent=2)


def mcp_file(setting: Setting, _present: str) -> str:
    """The MCP server that looks into the session's memory."""
    memory = setting.memory
    if memory is None:
        return json.dumps({"mcpServers": {}})
    program, *arguments = memory.command
    server = {
        "type": "local",
        "command": program,
        "args": arguments,
        "env": dict(memory.env),
        "tools": ["*"],
    }
    return json.dumps({"mcpServers": {MEMORY_SERVER: server}})


def _object(text: str) -> Json:
    """A JSON object; the program puts lines of comment above it."""
    try:
        value = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE) or "{}")
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
RULE = "─{8,}"
SPINNER = "[◐◓◑◒○◉◎●]"

COPILOT = Profile(
    name="copilot",
    title="Copilot",
    agent="GitHub Copilot CLI agent",
    begin=("copilot", "--session-id={session_id}"),
    resume=("copilot", "--resume={session_id}"),
    options=OPTIONS,
    chooses_id=True,
    files=(
        HomeFile(".copilot/config.json", state_file),
        HomeFile(".copilot/settings.json", settings_file),
        HomeFile(".copilot/copilot-instructions.md", lambda setting, _: setting.persona),
    ),
    derived=offline,
    passes=PASSES,
    ready=ReadySigns(
        prompt=re.compile(rf"^❯[^\n]*\n{RULE}\n(?! *{SPINNER} Loading)", re.MULTILINE),
    ),
    typing=PromptTyping(
        harmless=harmless,
        settle_s=0.2,
        confirm_s=5.0,
        holding=re.compile(rf"^{RULE}\n❯ +\S", re.MULTILINE),
    ),
    signs=TurnSigns(
        record=RecordFormat(
            ".copilot/session-state/{session_id}/events.jsonl",
            telling(copilot.from_record, by_copilot),
            opens=True,
        ),
        footer=Footer(busy=re.compile(rf"^ *{SPINNER} (?:{WORKING})", re.MULTILINE)),
    ),
    look=screen_profile.COPILOT,
    dialogs=(
        DialogRule(
            re.compile(r"(?i)^.*(?:please use /login|not logged in|no authentication).*$", re.M),
            fault="login",
            when="start",
        ),
    ),
    permission=Permission(
        re.compile(r"^│? *(?:Do you want to|Allow) .*\?", re.MULTILINE),
        worded=re.compile(r"tell Copilot what"),
    ),
    interrupt=Interrupt(keys=(b"\x1b", b"\x1b"), gap_s=0.2),
    missing="Install npm's `@github/copilot`, or say where it is with `command`.",
    login="Give Moot a COPILOT_GITHUB_TOKEN, an API by COPILOT_PROVIDER_BASE_URL, or a login.",
    memory=MemoryAccess(
        HomeFile(".moot/mcp.json", mcp_file),
        ("--additional-mcp-config", "@{home}/.moot/mcp.json", f"--allow-tool={MEMORY_SERVER}"),
    ),
    acp=("copilot", "--acp"),
    acp_options=OPTIONS,
    acp_fault=re.compile(rf"(?<=\AError: )(?:{FAULTS}).*"),
    acp_again=re.compile(r"Info: [^\n]* [Rr]etrying\.\.\."),
    configs=(".copilot/config.json", ".copilot/settings.json", ".copilot/mcp-config.json"),
    compact="/compact",
    tells_compacted=True,
    clear="/clear",
    at_least="1.0.102",
    tested="1.0.102",
)
