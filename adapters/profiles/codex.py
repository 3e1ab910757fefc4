"""Codex in its terminal.

Measured on 0.169.0, November 2026, with the models that call tools one by one and those that call
them from a script of their own.
"""

from __future__ import annotations

import re
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.records import codex
from adapters.records.spent import by_codex, telling
from adapters.screen_profile import NEVER, AsideRows, PromptRows, ReplyRows, ScreenProfile, ToolRows
from adapters.turn_events import State
from contract.language import phrase

PROVIDER = SERVER = "moot"  # the names of our own tables
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
RETRIES = 2  # of a request, and of a stream: seconds, where the default (4 and 5) is half a minute
FROM_NOW_ON = (
    "Your role from now on. Where it differs from what you were told of your role when this "
    "conversation began, this counts.\n\n"
)

# ── Its settings ────────────────────────────────────────────────────────────────────────


def config_file(setting: profile.Setting, present: str) -> str:
    """`config.toml`: what the administrator or Codex wrote is kept.

    Text that is no TOML stays as it is: Codex says at its start what is wrong with it.
    """
    try:
        config: Any = tomlkit.parse(present)
    except TOMLKitError:
        return present
    if setting.persona and not setting.resumes:  # a session keeps those that it began with
        config["developer_instructions"] = setting.persona
    _ask_first(config, setting)
    _keep_quiet(config)
    _provide(config, setting)
    if isinstance(servers := config.get("mcp_servers"), dict):
        servers.pop(SERVER, None)
    return tomlkit.dumps(config)


def _ask_first(config: Any, setting: profile.Setting) -> None:
    """Commands may read, in its sandbox, without the network; the rest it must ask for.

    A workspace that is not trusted brings no settings of its own, whose servers and hooks would
    run outside the sandbox.
    """
    config.setdefault("approval_policy", "on-request")
    if "default_permissions" not in config:  # which the older key would switch off
        config.setdefault("sandbox_mode", "read-only")
    workspace = _table(_table(config, "projects"), str(setting.workspace))
    workspace.setdefault("trust_level", "untrusted")
    # else every command sees the key
    _table(config, "shell_environment_policy").setdefault("ignore_default_excludes", False)


def _keep_quiet(config: Any) -> None:
    """No update, no telemetry, no animation, nothing that begins by itself or waits for ever."""
    config["check_for_update_on_startup"] = False
    _table(config, "analytics")["enabled"] = False
    _table(config, "history")["persistence"] = "none"
    _table(config, "tui").update(animations=False, show_tooltips=False)
    _table(config, "notice")["hide_rate_limit_model_nudge"] = True
    features = _table(config, "features")
    features.update(daemon_auto_start=False, unbounded_connection_retries=False, goals=False)
    for name in ("apps", "plugins", "skill_mcp_dependency_install"):
        features.setdefault(name, False)


def _provide(config: Any, setting: profile.Setting) -> None:
    """With a key in the environment Codex needs no login; without one our table goes."""
    key, url = setting.env.get(KEY), setting.env.get(URL)
    ours = config.get("model_provider") in (None, PROVIDER)
    if not (key and ours):
        if ours:
            config.pop("model_provider", None)
        if isinstance(providers := config.get("model_providers"), dict):
            providers.pop(PROVIDER, None)
        return
    config["model_provider"] = PROVIDER
    provider = _table(_table(config, "model_providers"), PROVIDER)
    # of one named OpenAI it wants a compaction that no other API knows
    name = URL if url else "OpenAI"
    provider.update(name=name, env_key=KEY, wire_api="responses")
    provider.update(request_max_retries=RETRIES, stream_max_retries=RETRIES)
    provider.pop("base_url", None)
    if url:
        provider["base_url"] = url


def _table(parent: Any, name: str) -> Any:
    if not isinstance(parent.get(name), dict):
        parent[name] = tomlkit.table()
    return parent[name]


def agents_file(setting: profile.Setting, _present: str) -> str:
    """The persona for a session that goes on: its developer instructions are those of its start,
    and may be of another form of the persona."""
    return f"{FROM_NOW_ON}{setting.persona}" if setting.persona and setting.resumes else ""


def memory_file(setting: profile.Setting, present: str) -> str:
    """`config.toml` with the session's MCP server. Its tools only read: nobody is asked."""
    memory = setting.memory
    try:
        config: Any = tomlkit.parse(present)
    except TOMLKitError:
        return present
    if memory:
        program, *arguments = memory.command
        _table(config, "mcp_servers")[SERVER] = {
            "command": program,
            "args": arguments,
            "env_vars": [name for name, _ in memory.env],
            "default_tools_approval_mode": "approve",
        }
    return tomlkit.dumps(config)


# ── Typing and signs ────────────────────────────────────────────────────────────────────

_LAST_WORD = re.compile(r"(?<!\S)[@$]\S*\Z")


def harmless(text: str) -> str:
    """The prompt without what Codex would take as a command of its own.

    `!` in front runs a shell command, `/` is a slash command. An `@word` or `$word` at the end
    opens a menu that takes the Enter and completes the word.
    """
    if _LAST_WORD.search(text):
        text += " "
    return f"> {text}" if text.lstrip()[:1] in tuple("!/") else text


_STATE = re.compile(r"7501;state=(working|blocked|done|idle|error)\b")


def read_state(osc: str) -> State | None:
    """The state that an OSC 7501 reports."""
    match = _STATE.match(osc)
    return match[1] if match else None  # type: ignore[return-value]  # the pattern's words


DIALOGS = (
    # the workspace's own settings stay disabled, see `_ask_first`
    signs.DialogRule(re.compile(r"^› 1\. Open restricted", re.MULTILINE), keys=b"\r", when="start"),
    # a newer model is offered
    signs.DialogRule(
        re.compile(r"^\W*2\. Use existing model", re.MULTILINE), keys=b"2", when="start"
    ),
    signs.DialogRule(re.compile(r"^\W*2\. Skip$", re.MULTILINE), keys=b"2", when="start"),
    signs.DialogRule(re.compile("Sign in with ChatGPT"), fault="login", when="start"),
    signs.DialogRule(
        re.compile(r"Do you trust the contents of this directory|Hooks need review"),
        fault="startup",
        say="{title} asks something at its start that only its terminal can answer.",
        when="start",
    ),
)

# Before 0.40; as others published it in 2025.
LOOK_2025 = ScreenProfile(
    name="codex-2025",
    prompt=PromptRows(echo=re.compile(r"user()$"), input=re.compile(r"[›▌]")),
    reply=ReplyRows(bullet=re.compile(r"codex$"), tail=re.compile(r"tokens used")),
    tools=ToolRows(tool=re.compile(r"⚡ "), result=re.compile(r"  ⎿ ")),
    asides=AsideRows(aside=re.compile(r"thinking$|exec$")),
)

LOOK = ScreenProfile(
    name="codex",
    prompt=PromptRows(echo=re.compile(r"› (.+)"), input=re.compile(r"›(?: |$)"), above=NEVER),
    reply=ReplyRows(
        bullet=re.compile(r"• "),
        margin=2,
        tail=re.compile(r"  Worked for <?\d+\w*(?: \d+\w*)*(?: • .*)?$"),
        last_block=True,
    ),
    tools=ToolRows(
        tool=re.compile(
            r"• (?:Ran|Running|Explor(?:ed|ing)|Edit(?:ed|ing)|Added|Deleted|Updated Plan"
            r"|Proposed Plan"
            r"|Call(?:ed|ing)|Search(?:ed|ing)|Viewed Image|Wait(?:ed|ing)|Chang(?:ed|ing))\b"
        ),
        tool_bold=True,
        result=re.compile(r"  └ "),
    ),
    asides=AsideRows(
        aside=re.compile(r"• (?:.*esc to interrupt\)|Reconnecting\.\.\. \d)"),
        fault=re.compile(r"■ (?!Conversation interrupted)(.+)"),
        broken_off=re.compile(r"■ Conversation interrupted"),
    ),
    older=(LOOK_2025,),
)

_TOKENS, _CLAIMS = ("tokens",), ("https://api.openai.com/auth", "chatgpt_account_id")
RENEWAL = profile.Renewal(
    file=".codex/auth.json",
    renews=(
        *((*_TOKENS, name) for name in ("id_token", "access_token", "refresh_token")),
        ("last_refresh",),
    ),
    account=(
        (*_TOKENS, "account_id"),
        (*_TOKENS, "id_token", *_CLAIMS),
        (*_TOKENS, "access_token", *_CLAIMS),
    ),
)

# It says itself that files stay as they are.
UNDO = signs.Undo(
    steps=(
        signs.UndoStep(b"\x1b", re.compile("esc again to edit previous message")),
        signs.UndoStep(b"\x1b", re.compile("↵ rewind · esc back")),
        signs.UndoStep(
            b"\r",
            re.compile(
                r"\A(?![\s\S]*↵ rewind)[\s\S]*reverted to this point\.[^\n]*\n\s*› (?!Ask Codex)"
            ),
        ),
    ),
    clear=b"\x03",
)

CODEX = profile.Profile(
    name="codex",
    title="Codex",
    agent="Codex CLI agent",
    program=profile.Program(
        begin=("codex", "--no-daemon", "--no-alt-screen"),
        resume=("codex", "resume", "{session_id}", "--no-daemon", "--no-alt-screen"),
        options=(("-C", "{workspace}"), ("--model", "{model}")),
        newer=("--no-daemon",),  # those that know it not have no daemon
        # the box shows while it is still loading, so its state counts
        ready=profile.ReadySigns(
            prompt=re.compile(r"^› (?!\d\. )", re.MULTILINE),
            state="idle",
            stateless_s=3.0,
            quiet_s=0.3,
        ),
        nests=True,
        reads=("/etc/codex",),
    ),
    environment=profile.Environment(
        hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
        files=(
            profile.HomeFile(".codex/config.toml", config_file),
            profile.HomeFile(".codex/AGENTS.md", agents_file),
        ),
        env=(("CODEX_HOME", "{home}/.codex"),),
        passes=(KEY, URL, "CODEX_CA_CERTIFICATE", "HTTPS_PROXY", "NO_PROXY"),
        memory=profile.MemoryAccess(profile.HomeFile(".codex/config.toml", memory_file), ()),
    ),
    setup=profile.Setup(
        install="npm install -g @openai/codex",
        login=phrase(
            "Give Moot an OPENAI_API_KEY, or log in once with `codex login` and share that HOME."
        ),
        logins=(".codex/auth.json",),
        renewals=(RENEWAL,),
        configs=(".codex/config.toml",),
        at_least="0.151.0",  # which tells no state: after a stop it is ended, and resumed
        tested="0.169.0",
    ),
    # 95 % of 272,000, as it counts itself
    model=profile.ModelChoice(context_tokens=258_000),
    typing=signs.PromptTyping(
        text=signs.PromptText(tab="\t", nfc=False, after_backslash="", harmless=harmless),
        settle_s=0.15,
        holding=re.compile(r"^› (?!Ask Codex to do anything$)(?!\d\. )\S", re.MULTILINE),
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            ".codex/sessions/*/*/*/rollout-*-{session_id}[._]*",
            telling(codex.from_record, by_codex),
            opens=True,
        ),
        states=read_state,
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(re.compile(r"^\s*Would you like to .*\?$", re.MULTILINE)),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(keeps=True),
        compact="/compact",
        tells_compacted=True,
        clear="/clear",
        undo=UNDO,
    ),
    modes={
        "plan": ("-a", "never", "-s", "read-only"),
        "ask": ("-a", "on-request", "-s", "read-only"),
        "auto": ("-a", "never", "-s", "workspace-write"),
    },
)
