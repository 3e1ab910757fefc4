"""opencode in its terminal. Measured on 1.18.33, November 2026.

Its settings come in layers, each over the one before: `config.json`, `opencode.json`,
`opencode.jsonc`, the file that OPENCODE_CONFIG names, a project's own. The first is Moot's
defaults, the next two are the administrator's, the fourth is what Moot relies on.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.records import opencode
from adapters.records.spent import by_opencode, telling
from adapters.screen_profile import (
    AsideRows,
    PromptRows,
    ReplyRows,
    ScreenFrame,
    ScreenProfile,
    ToolRows,
)
from contract.errors import AgentError
from contract.language import later, phrase

Json = dict[str, Any]

DATABASE = ".local/share/opencode/opencode.db"
RELIED = ".moot/opencode.json"
PERSONA = ".moot/persona.md"
MEMORY_SERVER = "moot"

# ── Its start ───────────────────────────────────────────────────────────────────────────

PROVIDER = "openai-compatible"  # the one that OPENAI_BASE_URL makes

# What it may do unasked: look at the workspace, plan, and hand work to a subagent, which asks as
# well. `question` and leaving a plan open dialogs of their own kind: the model asks in its reply.
ASKS: Json = {
    "*": "ask",
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("list", "glob", "grep", "lsp", "skill", "task"), "allow"),
    **dict.fromkeys(("todoread", "todowrite", f"{MEMORY_SERVER}_*"), "allow"),
    **dict.fromkeys(("question", "plan_enter", "plan_exit"), "deny"),
}


def defaults_file(_setting: profile.Setting, _present: str) -> str:
    """The settings that the administrator's own may change."""
    return json.dumps({"permission": ASKS}, indent=1)


def relied_file(setting: profile.Setting, _present: str) -> str:
    """The settings that Moot relies on, and the API that the environment names."""
    relied: Json = {
        "autoupdate": False,
        "share": "disabled",
        "agent": {"title": {"disable": True}},  # a request a session, for a title nobody sees
        "experimental": {"continue_loop_on_deny": True},  # a refusal is not the end of a turn
    }
    if setting.mode:  # over what the administrator's own files allow
        relied["permission"] = ASKS if setting.mode != "auto" else ASKS | {"*": "allow"}
    if setting.persona:
        relied["instructions"] = [str(setting.home / PERSONA)]
    if setting.memory:
        relied["mcp"] = {MEMORY_SERVER: memory_server(setting)}
    return json.dumps(relied | api(setting), indent=1)


def api(setting: profile.Setting) -> Json:
    """The model, and the provider that OPENAI_BASE_URL makes. Raises AgentError without a model."""
    model = setting.model or setting.env.get("OPENAI_MODEL", "")
    url = setting.env.get("OPENAI_BASE_URL", "")
    if not url:
        return {"model": model} if model else {}
    name = re.sub(rf"^(?:openai|{PROVIDER})/", "", model)
    if not name:
        say = later(
            "opencode needs to know the model behind OPENAI_BASE_URL. Set the persona's `model`."
        )
        raise AgentError("startup", "opencode: OPENAI_BASE_URL without a model", say=say)
    provider = {
        "npm": "@ai-sdk/openai-compatible",  # part of the program
        "name": "API",
        "options": {"baseURL": url, "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {name: {"name": name}},
    }
    chosen = f"{PROVIDER}/{name}"
    return {"model": chosen, "small_model": chosen, "provider": {PROVIDER: provider}}


def memory_server(setting: profile.Setting) -> Json:
    """The MCP server that looks into the session's memory."""
    assert setting.memory
    return {
        "type": "local",
        "command": list(setting.memory.command),
        "environment": dict(setting.memory.env),
        "enabled": True,
    }


def registry_file(_setting: profile.Setting, present: str) -> str:
    """opencode looks for a package of types at each start, unless npm is set offline."""
    line = "offline=true"
    return present if line in present.split("\n") else f"{present.rstrip()}\n{line}\n".lstrip()


ENV = (
    ("OPENCODE_CONFIG", f"{{home}}/{RELIED}"),
    ("OPENCODE_DB", f"{{home}}/{DATABASE}"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_MOUSE", "1"),
    # none there: for code on the screen it would fetch a grammar of each language
    ("OTUI_TREE_SITTER_WORKER_PATH", "{home}/.moot/no-parsers.js"),
)

PASSES = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"),
    *("GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY", "GROQ_API_KEY"),
    *("MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "GITHUB_TOKEN"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
    *("AZURE_API_KEY", "AZURE_RESOURCE_NAME", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"),
)

# ── Typing ──────────────────────────────────────────────────────────────────────────────


def harmless(text: str) -> str:
    """The prompt without what opencode would take as a command of its own.

    `!` in front opens a shell, `/` a menu, `@` at the end another, which takes the Enter.
    """
    if re.search(r"(?:^|\s)@\S*\Z", text):
        text += " "
    return f"> {text}" if text.lstrip()[:1] in ("!", "/") else text


# ── The whole ───────────────────────────────────────────────────────────────────────────

# The first takes a question back, two are an interrupt; a slow machine hears all three while the
# question stands, and goes on. Plain ones that arrive together are another key.
ESC = b"\x1b[27u"
# It asks before it has the tool's input: a command that nobody could read.
HALF = re.compile(
    r"(?:# (?:Shell command|Unknown Task)|→ (?:Read|List)|% WebFetch"
    r"|(?:✱ (?:Glob|Grep)|◈ [^\"\n]*) \"\")\s*"
)
BOX = r"^ *┃  .*\S.*\n *╹▀{5}"
# It tries five times, for a minute altogether, or as long as the API says.
# A long message squeezes the spinner and takes a second row.
RETRYING = (
    r"^ *[⬝■][⬝■ ]*(?P<seen>{what})(?: \(click to expand\))?\s+"
    r"\[retrying (?:in \d+[dhm]|[^\]]{{0,80}}#[3-9]\])"
)
LIMITED = r"(?=(?i:.*(?:rate.?limit|usage limit|limit reached|quota|too many requests|\b429\b))).+?"

DIALOGS = (
    signs.DialogRule(
        re.compile(RETRYING.format(what=LIMITED), re.MULTILINE),
        fault="limit",
        say="{title}: {seen} Ask again in a few minutes.",
        when="turn",
        breaks=True,
    ),
    signs.DialogRule(
        re.compile(RETRYING.format(what=".+?"), re.MULTILINE),
        fault="api",
        say="{title}: {seen} Ask again in a moment.",
        when="turn",
        breaks=True,
    ),
)

_LOOK = ScreenProfile(
    name="opencode",
    prompt=PromptRows(
        echo=re.compile(r"  ┃(?:  (.*))?$"),
        echo_coloured=True,
        input=re.compile(r"  ╹▀{5}"),
        above=re.compile(r"  ┃"),
    ),
    reply=ReplyRows(margin=5, spare=4, tail=re.compile(r"     ▣ +\w+ · ")),
    asides=AsideRows(aside=re.compile(r"     [+▸▾-] Thought: \d")),
    tools=ToolRows(tool=re.compile(r"  ┃  [$#→←%✱] "), muted_tool=re.compile(r"     [→←%✱⚙$~] \w")),
    frame=ScreenFrame(panel=42, panel_from=120, scrollbar="█▀▄"),
    choices=re.compile(r"Allow once|Allow always|Reject|Confirm|Cancel"),
)

# As others published it in 2025.
LOOK_1_0 = replace(
    _LOOK,
    name="opencode-1.0",
    prompt=replace(_LOOK.prompt, echo=re.compile(r"  ┃ ?(.*)$")),
    reply=replace(
        _LOOK.reply, tail=re.compile(r"     (?:▣ +)?\w+ (?:· )?[a-z][\w.-]+-\d[\w.-]*\b.*$")
    ),
    frame=replace(_LOOK.frame, panel=0),
)

LOOK = replace(_LOOK, older=(LOOK_1_0,))

_CLAIMS = ("https://api.openai.com/auth", "chatgpt_account_id")
RENEWAL = profile.Renewal(
    file=".local/share/opencode/auth.json",
    renews=tuple(("openai", name) for name in ("access", "refresh", "expires")),
    account=(("openai", "accountId"), ("openai", "access", *_CLAIMS)),
)

# The prompt comes back into the box, below the line that says that it is reverted.
UNDO = signs.Undo(
    steps=signs.typed_undo(
        "/undo", re.compile(r"to restore\n[ ┃\n]*┃ +(?!/undo)(?!\w+ +· )\S", re.MULTILINE)
    ),
    takes_files="in a Git repository, the files that it had changed",
    clear=b"\x03",
)

OPENCODE = profile.Profile(
    name="opencode",
    title="opencode",
    agent="opencode CLI agent",
    program=profile.Program(
        begin=("opencode",),
        resume=("opencode", "--session", "{session_id}"),
        ready=profile.ReadySigns(prompt=re.compile(BOX, re.MULTILINE)),
    ),
    environment=profile.Environment(
        hosts=(
            "api.openai.com",
            "api.anthropic.com",
            "generativelanguage.googleapis.com",
            "openrouter.ai",
        ),
        files=(
            profile.HomeFile(".config/opencode/config.json", defaults_file),
            profile.HomeFile(".config/opencode/.npmrc", registry_file),
            profile.HomeFile(RELIED, relied_file),
            profile.HomeFile(PERSONA, lambda setting, _: setting.persona),
        ),
        env=ENV,
        passes=PASSES,
        memory=profile.MemoryAccess(profile.HomeFile(RELIED, relied_file), ()),
    ),
    setup=profile.Setup(
        install="npm install -g opencode-ai",
        login=phrase(
            "Give Moot an API's key, or OPENAI_BASE_URL, or a login of `opencode auth login`."
        ),
        logins=(".local/share/opencode/auth.json",),
        renewals=(RENEWAL,),
        configs=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
        at_least="1.17.0",
        tested="1.18.33",
    ),
    model=profile.ModelChoice(in_files=True),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless),
        settle_s=0.2,
        holding=re.compile(r"^ *┃  .*\[Pasted ~\d+ lines\]", re.MULTILINE),
        confirm_s=5.0,
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            DATABASE,
            telling(opencode.from_record, by_opencode),
            "sqlite",
            opencode.QUERY,
        ),
        footer=signs.Footer(
            busy=re.compile(r"\besc (?:again to )?interrupt\b"), idle=re.compile(BOX, re.MULTILINE)
        ),
        fallback_s=30.0,  # of looking idle: on a busy machine its first request takes so long
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(
            re.compile(
                r"^ *┃ +△ (?:Permission required|Always allow|Reject permission)", re.MULTILINE
            ),
            keys=(b"\r", b"\x1b[C\r", b"\x1b[C\x1b[C\r"),
            half=HALF,
            certain=True,
        ),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(keys=(ESC, ESC, ESC), again_s=1.0, clear=b"\x15"),
        compact="/compact",
        clear="/new",
        undo=UNDO,
    ),
    acp=profile.Acp(command=("opencode", "acp"), last_message=True),
    modes={
        "plan": ("--agent", "plan"),
        "ask": ("--agent", "build"),
        "auto": ("--agent", "build"),
    },
)
