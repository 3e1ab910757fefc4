"""Qwen Code in its terminal. Measured on 0.24.4, November 2026."""

from __future__ import annotations

import json
import re

from adapters import cli_profile as profile
from adapters import screen_profile as look
from adapters import turn_signs as signs
from adapters.profiles.gemini import harmless, set_common, with_hook
from adapters.profiles.json_settings import member_of, object_of, set_members
from adapters.records import qwen
from adapters.records.spent import by_qwen, telling
from contract.language import phrase

HOOK_TIMEOUT_S = 10
HOOKED = ("UserPromptSubmit", "Stop", "StopFailure", "PreCompact")
HOOK_NAME = "moot-session"
# Seven attempts of its own for a request that fails, each with those of OpenAI's SDK: with its
# defaults that is minutes of silence.
RETRIES = {"maxRetries": 0, "retryInitialDelayMs": 1000, "retryMaxDelayMs": 4000}

# ── Its start ───────────────────────────────────────────────────────────────────────────


def settings_file(setting: profile.Setting, present: str) -> str:
    """`settings.json`: no question at the start, no other host; the rest is the administrator's."""
    settings = object_of(present)
    set_common(setting, settings)
    set_members(
        settings,
        {
            "general": {"enableAutoUpdate": False},
            # what is private must not outlive the session, nor reach another one
            "memory": {
                "enableManagedAutoMemory": False,
                "enableManagedAutoDream": False,
                "enableAutoSkill": False,
            },
            "agents": {"crossSessionMessaging": False},
            "ui": {
                "enableFollowupSuggestions": False,
                "enableWelcomeBack": False,
                "enableUserFeedback": False,
                "disableWorkflowKeywordTrigger": True,
                "showStatusInTitle": True,
                "useTerminalBuffer": False,  # the scrollback keeps what was said
            },
            "ui.accessibility": {"enableLoadingPhrases": False},
        },
    )
    member_of(settings, "tools").setdefault("approvalMode", "default")
    model = member_of(settings, "model")
    model["generationConfig"] = {**RETRIES, **member_of(model, "generationConfig")}
    if setting.env.get("OPENAI_API_KEY"):
        set_members(settings, {"security.auth": {"selectedType": "openai"}})
    hooks = member_of(settings, "hooks")
    url = setting.hook_url
    hook = {"type": "http", "url": url, "timeout": HOOK_TIMEOUT_S} if url else None
    for name in HOOKED:
        hooks[name] = with_hook(hooks.get(name), HOOK_NAME, hook)
    return json.dumps(settings, ensure_ascii=False, indent=1)


# ── The whole ───────────────────────────────────────────────────────────────────────────

BOX = r"^[ │]{0,2}[>*] "  # `*` in the mode that asks nobody
READY = re.compile(rf"{BOX} *Type your message", re.MULTILINE)

LOOK = look.ScreenProfile(
    name="qwen",
    prompt=look.PromptRows(
        echo=re.compile(r"  > (.+)"),
        input=re.compile(r"(?:[ │]{0,2}>| {0,2}\*)(?:\s*$|\s{2,}Type your message)"),
    ),
    reply=look.ReplyRows(
        bullet=re.compile(r"  [◆✦]\ufe0e?(?: |$)"), margin=4, spare=3, numbered=True
    ),
    tools=look.ToolRows(tool=re.compile(r"  [✓✗✕x⊷?o-] \w")),
    asides=look.AsideRows(
        aside=re.compile(r"  (?:●\ufe0e? |[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] |[ℹ⚠])"),
        fault=re.compile(r"  [✕✗]\ufe0e? (.+)"),
    ),
    frame=look.ScreenFrame(scrollbar="│█"),
)

QWEN = profile.Profile(
    name="qwen",
    title="Qwen Code",
    agent="Qwen Code CLI agent",
    program=profile.Program(
        begin=("qwen", "--session-id", "{session_id}"),
        resume=("qwen", "--resume", "{session_id}"),
        options=(("--append-system-prompt", "{persona}"), ("--model", "{model}")),
        chooses_id=True,
        ready=profile.ReadySigns(prompt=READY, timeout_s=120.0),
        reads=("/etc/qwen-code",),
    ),
    environment=profile.Environment(
        hosts=(
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "chat.qwen.ai",
            "portal.qwen.ai",
        ),
        files=(profile.HomeFile(".qwen/settings.json", settings_file),),
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
        memory=profile.MemoryAccess(profile.HomeFile(".qwen/settings.json", settings_file), ()),
    ),
    setup=profile.Setup(
        install="npm install -g @qwen-code/qwen-code",
        needs="Node 22 or newer",
        login=phrase("Give Moot an OPENAI_API_KEY and OPENAI_BASE_URL."),
        logins=(".qwen/oauth_creds.json",),
        configs=(".qwen/settings.json",),
        at_least="0.21.2",
        tested="0.24.4",
    ),
    model=profile.ModelChoice(context_tokens=131_072),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless),
        echo_s=5.0,
        settle_s=0.3,
        holding=re.compile(rf"{BOX} *(?!Type your message)\S(?![\s\S]*{BOX})", re.MULTILINE),
    ),
    signs=signs.TurnSigns(
        hooks=signs.Hooks(qwen.from_hook),
        record=signs.RecordFormat(
            ".qwen/projects/*/chats/{session_id}.jsonl", telling(qwen.from_record, by_qwen)
        ),
        title=signs.Title(busy=re.compile("^[◐◑◒◓✳]"), idle=re.compile("^(?![◐◑◒◓✳])")),
        # a release whose title says nothing, e.g. 0.21.2, tells of a refusal nowhere else
        footer=signs.Footer(busy=re.compile(r"\besc to cancel\)"), idle=READY),
        fallback_s=3.0,
    ),
    shown=signs.Shown(
        look=LOOK,
        permission=signs.Permission(re.compile(r"^\W*1\. ", re.MULTILINE), late_s=0.0),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(clear=b"\x03", clear_gap_s=3.5),
        compact="/compress",
        tells_compacted=True,
        clear="/clear",
    ),
    acp=profile.Acp(command=("qwen", "--acp")),
    modes={
        "plan": ("--approval-mode", "plan"),
        "ask": ("--approval-mode", "default"),
        "auto": ("--approval-mode", "yolo"),
    },
)
