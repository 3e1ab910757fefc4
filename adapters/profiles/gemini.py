"""Gemini CLI in its terminal.

Measured on 0.61.0, November 2026. Its record strips invisible characters and HTML comments from
what was said; its AfterAgent hook tells them, but puts a blank between the pieces of the stream.
Together they are exact, see `gemini_events`.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.profiles.json_settings import mcp_server, member_of, object_of, set_members
from adapters.records import gemini, relay
from adapters.records.spent import by_gemini, telling
from adapters.screen_profile import RULE, AsideRows, PromptRows, ReplyRows, ScreenProfile, ToolRows
from contract.errors import AgentFault
from contract.language import phrase

HOOK_TIMEOUT_MS = 10_000
ATTEMPTS = 3  # of a request that fails: 10 would be minutes of silence
MEMORY_SERVER = "moot"
PERSONA_FILE = "MOOT_PERSONA.md"  # GEMINI.md is where it saves what it is told to remember

# ── Shared with Qwen Code, which began as a copy of it ──────────────────────────────────

_MENTION = re.compile(r"@(?=[^\s\u2060])")

COMMON: Mapping[str, Mapping[str, Any]] = {
    "privacy": {"usageStatisticsEnabled": False},
    "ide": {"enabled": False, "hasSeenNudge": True},
    "security.folderTrust": {"enabled": False},
    # `@agent` would attach any file that has "agent" in its name
    "context.fileFiltering": {"enableRecursiveFileSearch": False},
    "ui": {"hideBanner": True, "hideTips": True, "hideWindowTitle": False},
}
"""Settings of both: no question at the start, no other host."""


def set_common(setting: profile.Setting, settings: dict[str, Any]) -> None:
    """Settings of both: the common ones, and the session's memory."""
    set_members(settings, COMMON)
    member_of(settings, "telemetry").setdefault("enabled", False)
    servers = member_of(settings, "mcpServers")
    servers.pop(MEMORY_SERVER, None)
    if setting.memory:
        # its tools only read: nobody is asked
        servers[MEMORY_SERVER] = mcp_server(setting.memory, trust=True)


def with_hook(present: object, name: str, hook: Mapping[str, Any] | None) -> list[Any]:
    """The hooks of one event: the administrator's, and the one of that name; None: without it."""
    groups = present if isinstance(present, list) else []
    others = [group for group in groups if name not in json.dumps(group)]
    return [*others, {"hooks": [{"name": name, **hook}]}] if hook else others


def harmless(text: str) -> str:
    """The prompt without what the program would take as a command of its own.

    `@` before a path, even in the middle of a word, reads that file. `!` in front turns the box
    into a shell, `/` is a command, `?` shows help.
    """
    text = _MENTION.sub("@\u2060", text)
    return f"> {text}" if text.lstrip()[:1] in tuple("!/?") else text


# ── Its start ───────────────────────────────────────────────────────────────────────────


def settings_file(setting: profile.Setting, present: str) -> str:
    """`settings.json`: no question at the start, no other host; the rest is the administrator's."""
    settings = object_of(present)
    set_common(setting, settings)
    set_members(
        settings,
        {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "ui": {
                "errorVerbosity": "full",  # else nothing shows that a request is tried again
                "loadingPhrases": "off",
                "showSpinner": False,
                "dynamicWindowTitle": True,
                "useAlternateBuffer": False,
            },
            "hooksConfig": {"enabled": True, "notifications": False},
        },
    )
    member_of(settings, "general").setdefault("maxAttempts", ATTEMPTS)
    member_of(settings, "model").setdefault("disableLoopDetection", True)  # it cuts long tables off
    if kind := _auth(setting):
        set_members(settings, {"security.auth": {"selectedType": kind}})
    context = member_of(settings, "context")
    context["fileName"] = _file_names(context.get("fileName"))
    hooks = member_of(settings, "hooks")
    hooks["AfterAgent"] = with_hook(hooks.get("AfterAgent"), HOOK_NAME, _hook(setting))
    return json.dumps(settings, ensure_ascii=False, indent=1)


def _auth(setting: profile.Setting) -> str:
    """The kind of login: "" leaves it as it is set."""
    if setting.env.get("GEMINI_API_KEY"):
        return "gemini-api-key"
    if setting.env.get("GOOGLE_API_KEY") or setting.env.get("GOOGLE_GENAI_USE_VERTEXAI"):
        return "vertex-ai"
    return ""


def _file_names(present: object) -> list[str]:
    names = [present] if isinstance(present, str) else present
    kept = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return [*(name for name in kept or ["GEMINI.md"] if name != PERSONA_FILE), PERSONA_FILE]


def _hook(setting: profile.Setting) -> dict[str, Any] | None:
    """The session's hook: a program that posts to its URL."""
    if not setting.hook_url:
        return None
    words = (sys.executable, "-I", "-S", relay.__file__, str(setting.home / URL_FILE))
    return {"type": "command", "command": shlex.join(words), "timeout": HOOK_TIMEOUT_MS}


HOOK_NAME = "moot-session"
URL_FILE = ".moot/hook_url"


# ── The whole ───────────────────────────────────────────────────────────────────────────


def refused(words: str, fault: AgentFault, remedy: str) -> signs.DialogRule:
    """An error of the last turn: no prompt's echo follows it. words: one of them is in it."""
    pattern = rf"^[✕ℹ] (?:.|\n  )*?(?:{words})(?![\s\S]*^ > \S)"
    return signs.DialogRule(re.compile(pattern, re.MULTILINE), fault=fault, say=remedy, when="turn")


DIALOGS = (
    # What it asks when a request was refused again and again: Stop is the last of 2 or 3 choices.
    # Above the choices of a permission the same words are those of a command.
    *(
        signs.DialogRule(
            re.compile(rf"^│\s+{n}\. Stop\s+│$(?![\s\S]*^│ +●? *1\. )", re.MULTILINE),
            str(n).encode(),
            when="turn",
        )
        for n in (2, 3)
    ),
    signs.DialogRule(
        re.compile("Get started[\\s│]+How would you like"),
        fault="login",
        when="start",
    ),
    signs.DialogRule(re.compile("Enter Gemini API Key"), fault="login"),
    signs.DialogRule(
        re.compile(r"Error resuming session|Invalid session identifier"),
        fault="startup",
        say="{title} has lost this conversation. Ask again: it begins a new one.",
        when="start",
    ),
    refused(
        r"API[ _]key|UNAUTHENTICATED|PERMISSION_DENIED|API_KEY_INVALID|\b40[13]\b",
        "login",
        phrase(
            "Gemini's API does not accept the login. An administrator must check GEMINI_API_KEY."
        ),
    ),
    refused(
        r"no\s+final\s+response\s+text|empty\s+text\s+response",  # it guesses at a full context
        "api",
        phrase("Gemini's model gave no answer. Ask again; if that fails too, say `!new`."),
    ),
    refused(
        r"token\s+count|number\s+of\s+tokens|context\s+window|too\s+long",
        "context",
        phrase("This conversation is too long for the model. Say `!new` to begin a new one."),
    ),
    refused(
        r"RESOURCE_EXHAUSTED|\b429\b|[Qq]uota|rate\s+limit|[Uu]sage\s+limit|high\s+demand",
        "limit",
        phrase(
            "Gemini's API refuses more for now: its rate limit or quota. "
            "Ask again in a few minutes."
        ),
    ),
    refused(
        r"NOT_FOUND|is\s+not\s+found|was\s+not\s+found",
        "api",
        phrase("Gemini's API does not have this model. An administrator must choose another one."),
    ),
)

LOOK = ScreenProfile(
    name="gemini",
    prompt=PromptRows(
        echo=re.compile(r" > (.+)"),
        input=re.compile(r"(?:[ │]{1,2}>| \*)(?:\s*$|\s{2,}Type your message)"),
        above=re.compile(rf"{RULE}|╭{RULE}|\s{{30}}| (?:Shift\+Tab|YOLO|auto-accept|shift\+tab)\b"),
    ),
    reply=ReplyRows(bullet=re.compile(r"✦(?: |$)"), margin=2, numbered=True),
    tools=ToolRows(tool=re.compile(r"[╭│]|  [✓✗✕x⊷?o-]  \w")),
    asides=AsideRows(
        aside=re.compile(r"  Executing Hook|.*\(esc to cancel\b| ?(?:[ℹ⚠✕✗✓⊶] |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] )"),
        fault=re.compile(r"✕ (.+)"),
    ),
)

# In its list stand results of tools, too, without a text of their own.
UNDO = signs.Undo(
    steps=(
        *signs.typed_undo("/rewind", re.compile(r"^│ > Rewind", re.MULTILINE)),
        signs.UndoStep(
            b"\x1b[A",
            re.compile(r"^│ ● (?!No files have|Stay at|Cancel )\S", re.MULTILINE),
            again=True,
        ),
        signs.UndoStep(b"\r", re.compile(r"^│ ● 1\. Rewind conversation", re.MULTILINE)),
        signs.UndoStep(
            b"\r",
            re.compile(
                r"^ [>*] +(?!Type your message|/rewind)\S(?![\s\S]*(?:^ [>*] |Confirm Rewind))",
                re.MULTILINE,
            ),
        ),
    ),
    refuses=re.compile("Nothing to rewind to"),
    takes_files="the files that it had edited",
    clear=b"\x03",
)

GEMINI = profile.Profile(
    name="gemini",
    title="Gemini CLI",
    agent="Gemini CLI agent",
    program=profile.Program(
        begin=("gemini", "--session-id", "{session_id}"),
        resume=("gemini", "--resume", "{session_id}"),
        options=(("--model", "{model}"),),
        chooses_id=True,
        ready=profile.ReadySigns(
            # ` *` in the mode that asks nobody
            prompt=re.compile(r"^ [>*] +Type your message", re.MULTILINE),
            title=re.compile("Ready"),
        ),
        reads=("/etc/gemini-cli", sys.executable, relay.__file__),
    ),
    environment=profile.Environment(
        hosts=(
            "generativelanguage.googleapis.com",
            "aiplatform.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
        ),
        files=(
            profile.HomeFile(".gemini/settings.json", settings_file),
            profile.HomeFile(f".gemini/{PERSONA_FILE}", lambda setting, _: setting.persona),
            profile.HomeFile(URL_FILE, lambda setting, _: setting.hook_url),
        ),
        env=(("GEMINI_CLI_NO_RELAUNCH", "1"),),
        passes=(
            "GEMINI_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_API_KEY",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_VERTEX_BASE_URL",
            "HTTPS_PROXY",
            "NO_PROXY",
            "NODE_EXTRA_CA_CERTS",
        ),
        memory=profile.MemoryAccess(profile.HomeFile(".gemini/settings.json", settings_file), ()),
    ),
    setup=profile.Setup(
        install="npm install -g @google/gemini-cli",
        login=phrase(
            "Give Moot a GEMINI_API_KEY, or log in once with `gemini` and share its HOME."
        ),
        logins=(".gemini/oauth_creds.json", ".gemini/google_accounts.json"),
        configs=(".gemini/settings.json",),
        at_least="0.47.0",
        tested="0.61.0",
    ),
    model=profile.ModelChoice(context_tokens=1_048_576),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless, tab="    "),
        echo_s=5.0,
        settle_s=0.3,  # an Enter within 40 ms of a paste is a newline
        holding=re.compile(r"^ [>*] +(?!Type your message)\S(?![\s\S]*^ [>*] )", re.MULTILINE),
    ),
    signs=signs.TurnSigns(
        hooks=signs.Hooks(gemini.from_hook),
        record=signs.RecordFormat(
            ".gemini/tmp/*/chats/session-*.jsonl", telling(gemini.from_record, by_gemini)
        ),
        title=signs.Title(busy=re.compile("^(?:✦|✋|⏲)"), idle=re.compile("^◇")),
        fallback_s=2.0,  # an error and a refusal fire no hook
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(re.compile(r"^│ +●? *1\. ", re.MULTILINE), late_s=0.0),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(clear=b"\x03", clear_gap_s=3.5, goes_on_s=1.5),
        compact="/compress",
        tells_compacted=True,
        compacting=re.compile(r"^ +Compressing chat history\b", re.MULTILINE),
        clear="/clear",
        undo=UNDO,
    ),
    # it offers only its own list of models
    acp=profile.Acp(command=("gemini", "--acp"), options=(("--model", "{model}"),)),
    modes={
        "plan": ("--approval-mode", "plan"),
        "ask": ("--approval-mode", "default"),
        "auto": ("--approval-mode", "yolo"),
    },
)
