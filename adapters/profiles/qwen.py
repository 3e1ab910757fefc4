"""Qwen Code in its terminal. Measured on 0.24.4, November 2026."""

from __future__ import annotations

import json
import re
from typing import Any

from adapters.cli_profile import (
    Acp,
    Environment,
    HomeFile,
    MemoryAccess,
    ModelChoice,
    Profile,
    Program,
    ReadySigns,
    Setting,
    Setup,
)
from adapters.profiles.json_settings import member_of, object_of
from adapters.records import qwen
from adapters.records.spent import by_qwen, telling
from adapters.screen_profile import (
    AsideRows,
    PromptRows,
    ReplyRows,
    ScreenFrame,
    ScreenProfile,
    ToolRows,
)
from adapters.turn_signs import (
    Controls,
    Hooks,
    Interrupt,
    Permission,
    PromptText,
    PromptTyping,
    RecordFormat,
    Shown,
    Title,
    TurnSigns,
)

HOOK_TIMEOUT_S = 10
HOOKED = ("UserPromptSubmit", "Stop", "StopFailure", "PreCompact")
HOOK_NAME = "moot-session"
MEMORY_SERVER = "moot"
# Seven attempts of its own for a request that fails, each with those of OpenAI's SDK: with its
# defaults that is minutes of silence.
RETRIES = {"maxRetries": 0, "retryInitialDelayMs": 1000, "retryMaxDelayMs": 4000}

# ── Its start ───────────────────────────────────────────────────────────────────────────


def settings_file(setting: Setting, present: str) -> str:
    """`settings.json`: no question at the start, no other host; the rest is the administrator's."""
    settings = object_of(present)
    member_of(settings, "general").update(enableAutoUpdate=False)
    member_of(settings, "privacy")["usageStatisticsEnabled"] = False
    member_of(settings, "telemetry").setdefault("enabled", False)
    member_of(settings, "ide").update(enabled=False, hasSeenNudge=True)
    # what is private must not outlive the session, nor reach another one
    member_of(settings, "memory").update(
        enableManagedAutoMemory=False, enableManagedAutoDream=False, enableAutoSkill=False
    )
    member_of(settings, "agents").update(crossSessionMessaging=False)
    member_of(settings, "tools").setdefault("approvalMode", "default")
    model = member_of(settings, "model")
    model["generationConfig"] = {**RETRIES, **member_of(model, "generationConfig")}
    security = member_of(settings, "security")
    member_of(security, "folderTrust")["enabled"] = False
    if setting.env.get("OPENAI_API_KEY"):
        member_of(security, "auth")["selectedType"] = "openai"
    member_of(settings, "ui").update(
        hideBanner=True,
        hideTips=True,
        enableFollowupSuggestions=False,
        enableWelcomeBack=False,
        enableUserFeedback=False,
        disableWorkflowKeywordTrigger=True,
        showStatusInTitle=True,
        hideWindowTitle=False,
        useTerminalBuffer=False,  # the scrollback keeps what was said
    )
    member_of(member_of(settings, "ui"), "accessibility")["enableLoadingPhrases"] = False
    context = member_of(settings, "context")
    member_of(context, "fileFiltering")["enableRecursiveFileSearch"] = False
    hooks = member_of(settings, "hooks")
    for name in HOOKED:
        hooks[name] = _hooks(setting, hooks.get(name))
    servers = member_of(settings, "mcpServers")
    servers.pop(MEMORY_SERVER, None)
    if setting.memory:
        program, *arguments = setting.memory.command
        servers[MEMORY_SERVER] = {
            "command": program,
            "args": arguments,
            "env": dict(setting.memory.env),
            "trust": True,  # its tools only read: nobody is asked
        }
    return json.dumps(settings, ensure_ascii=False, indent=1)


def _hooks(setting: Setting, present: object) -> list[Any]:
    """The hooks of one event: the administrator's, and that of the session."""
    groups = present if isinstance(present, list) else []
    others = [group for group in groups if HOOK_NAME not in json.dumps(group)]
    hook = {"type": "http", "name": HOOK_NAME, "url": setting.hook_url, "timeout": HOOK_TIMEOUT_S}
    return [*others, {"hooks": [hook]}] if setting.hook_url else others


# ── Typing ──────────────────────────────────────────────────────────────────────────────

_MENTION = re.compile(r"@(?=[^\s\u2060])")


def harmless(text: str) -> str:
    """The prompt without what Qwen Code would take as a command of its own.

    `@` before a path, even in the middle of a word, reads that file. `!` in front turns the box
    into a shell, `/` is a command, `?` shows help.
    """
    text = _MENTION.sub("@\u2060", text)
    return f"> {text}" if text.lstrip()[:1] in tuple("!/?") else text


# ── The whole ───────────────────────────────────────────────────────────────────────────

BOX = r"^[ │]{0,2}> "

LOOK = ScreenProfile(
    name="qwen",
    prompt=PromptRows(
        echo=re.compile(r"  > (.+)"),
        input=re.compile(r"[ │]{0,2}>(?:\s*$|\s{2,}Type your message)"),
    ),
    reply=ReplyRows(bullet=re.compile(r"  [◆✦]\ufe0e?(?: |$)"), margin=4, spare=3, numbered=True),
    tools=ToolRows(tool=re.compile(r"  [✓✗✕x⊷?o-] \w")),
    asides=AsideRows(
        aside=re.compile(r"  (?:●\ufe0e? |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] |[ℹ⚠])"),
        fault=re.compile(r"  [✕✗]\ufe0e? (.+)"),
    ),
    frame=ScreenFrame(scrollbar="│█"),
)

QWEN = Profile(
    name="qwen",
    title="Qwen Code",
    agent="Qwen Code CLI agent",
    program=Program(
        begin=("qwen", "--session-id", "{session_id}"),
        resume=("qwen", "--resume", "{session_id}"),
        options=(("--append-system-prompt", "{persona}"), ("--model", "{model}")),
        chooses_id=True,
        ready=ReadySigns(
            prompt=re.compile(r"^[ │]{0,2}> +Type your message", re.MULTILINE), timeout_s=120.0
        ),
        reads=("/etc/qwen-code",),
    ),
    environment=Environment(
        files=(HomeFile(".qwen/settings.json", settings_file),),
        env=(
            ("NO_PROXY", "127.0.0.1,localhost,::1"),  # the hooks
            (
                "QWEN_CODE_DISABLE_CRON",
                "1",
            ),  # a turn that began by itself would have nobody to answer
        ),
        passes=(
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_MODEL",
            "HTTPS_PROXY",
            "NODE_EXTRA_CA_CERTS",
        ),
        memory=MemoryAccess(HomeFile(".qwen/settings.json", settings_file), ()),
    ),
    setup=Setup(
        missing="Install npm's `@qwen-code/qwen-code` (Node 22 or newer), or say where it is.",
        login="Give Moot an OPENAI_API_KEY and OPENAI_BASE_URL.",
        logins=(".qwen/oauth_creds.json",),
        configs=(".qwen/settings.json",),
        at_least="0.24.4",
        tested="0.24.4",
    ),
    model=ModelChoice(context_tokens=131_072),
    typing=PromptTyping(
        text=PromptText(harmless=harmless),
        echo_s=5.0,
        settle_s=0.3,
        holding=re.compile(rf"{BOX} *(?!Type your message)\S(?![\s\S]*{BOX})", re.MULTILINE),
    ),
    signs=TurnSigns(
        hooks=Hooks(qwen.from_hook),
        record=RecordFormat(
            ".qwen/projects/*/chats/{session_id}.jsonl", telling(qwen.from_record, by_qwen)
        ),
        title=Title(busy=re.compile("^[◐◑◒◓✳]"), idle=re.compile("^(?![◐◑◒◓✳])")),
        fallback_s=3.0,
    ),
    shown=Shown(
        look=LOOK,
        permission=Permission(re.compile(r"^\W*1\. ", re.MULTILINE), late_s=0.0),
    ),
    controls=Controls(
        interrupt=Interrupt(clear=b"\x03", clear_gap_s=3.5),
        compact="/compress",
        tells_compacted=True,
        clear="/clear",
    ),
    acp=Acp(command=("qwen", "--acp")),
)
