"""Mistral Vibe in its terminal.

Measured on 3.0.2, November 2026.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from adapters import cli_profile as profile
from adapters import screen_profile as look
from adapters import turn_signs as signs
from adapters.records import vibe
from adapters.records.spent import by_vibe, telling
from adapters.turn_events import State
from contract.language import phrase

FOLDER = ".vibe"
PROVIDER = "moot"  # the provider and the MCP server that we write
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
MEMORY_TOOLS = ("search", "timeline", "read", "recall")  # they only read: nobody is asked
DEAF_S = 1.0  # a key within 0.3 s of a question was dropped, after 0.5 s none
RETRY_S = 10.0  # its own 300 s are silence in the room

# ── Its start ───────────────────────────────────────────────────────────────────────────


def config_file(setting: profile.Setting, present: str) -> str:
    """`config.toml`: what the administrator or Vibe wrote is kept.

    Text that is no TOML stays as it is: Vibe says at its start what is wrong with it.
    """
    try:
        config: Any = tomlkit.parse(present)
    except TOMLKitError:
        return present
    config.setdefault("default_agent", "ask")  # else it edits files without asking
    config.setdefault("api_retry_max_elapsed_time", RETRY_S)
    _keep_quiet(config)
    _provide(config, setting)
    _without(config, "mcp_servers")
    tools = config.get("tools")
    for name in MEMORY_TOOLS if isinstance(tools, dict) else ():
        tools.pop(f"{PROVIDER}_{name}", None)
    return tomlkit.dumps(config)


def _keep_quiet(config: Any) -> None:
    """No update, no telemetry, no animation, and no turn that begins by itself."""
    for name in (
        "enable_telemetry",
        "enable_update_checks",
        "enable_auto_update",
        "enable_notifications",
        "show_greeting",
        "cursor_blink",
        "autocopy_to_clipboard",
        "file_watcher_for_autocomplete",
    ):
        config[name] = False
    config["disable_welcome_banner_animation"] = True
    config["experimental_enable_tab_status"] = True  # the title tells when it works
    _table(config, "experiments")["enable"] = False
    _table(config, "session_logging").update(enabled=True, save_dir="", generate_titles=False)
    off = config.setdefault("disabled_tools", [])
    off.extend(name for name in ("cron", "ask_user_question") if name not in off)


def _provide(config: Any, setting: profile.Setting) -> None:
    """A provider at OPENAI_BASE_URL with the persona's model, which Vibe has no variable for."""
    _without(config, "providers")
    models = _without(config, "models", "provider")
    url, model = setting.env.get(URL), setting.model
    if url and model:
        provider = {
            "name": PROVIDER,
            "api_base": url,
            "api_key_env_var": KEY if setting.env.get(KEY) else "",
            "api_style": "openai",
            "backend": "generic",
            "emits_finish_reason": False,
        }
        _append(config, "providers", provider)
        _append(config, "models", {"name": model, "provider": PROVIDER, "alias": model})
    elif models:
        config.pop("active_model", None)
    if model:
        config["active_model"] = model


def _without(config: Any, name: str, key: str = "name") -> bool:
    """Take our own entries out of a list of tables; whether there were any."""
    listed = config.get(name)
    if not isinstance(listed, list):
        return False
    ours = [at for at, entry in enumerate(listed) if entry.get(key) == PROVIDER]
    for at in reversed(ours):
        del listed[at]
    if not listed:
        del config[name]
    return bool(ours)


def _append(config: Any, name: str, entry: dict[str, Any]) -> None:
    listed = config.get(name)
    if not isinstance(listed, list):
        listed = config[name] = tomlkit.aot()
    table = tomlkit.table()
    table.update(entry)
    listed.append(table)


def _table(parent: Any, name: str) -> Any:
    if not isinstance(parent.get(name), dict):
        parent[name] = tomlkit.table()
    return parent[name]


def memory_file(setting: profile.Setting, present: str) -> str:
    """`config.toml` with the session's MCP server."""
    memory = setting.memory
    try:
        config: Any = tomlkit.parse(present)
    except TOMLKitError:
        return present
    if memory:
        program, *arguments = memory.command
        server = {
            "name": PROVIDER,
            "transport": "stdio",
            "command": program,
            "args": arguments,
            "env": dict(memory.env),
        }
        _append(config, "mcp_servers", server)
        for name in MEMORY_TOOLS:  # it has no pattern for these
            _table(_table(config, "tools"), f"{PROVIDER}_{name}")["permission"] = "always"
    return tomlkit.dumps(config)


# ── Typing ──────────────────────────────────────────────────────────────────────────────

COMMANDS = "!/&"
_QUIT = re.compile(r"\s*(?:exit|quit|:q|:quit)\s*", re.IGNORECASE)
_NAME = re.compile(r"""(?<![^\s"'/\\])[^\s"'/\\]+(?:(?=[/\\])|(?<=\.)(?=[\w.]))""")
_MENTION = re.compile(r"(?<!\w)@(?!\u2060)")
_QUOTED_MENTION = re.compile(r"""(?<!\w)@(?=["'~])""")
_LAST_MENTION = re.compile(r"(?<!\S)[^\s@]*+@\S*\Z")


def harmless(text: str) -> str:
    """The prompt without what Vibe would take as a command of its own.

    `@` before the name of a file reads it; one at the end opens a menu that takes the Enter.
    """
    text = _NAME.sub(lambda name: _MENTION.sub("@\u2060", name[0]), text)
    text = _QUOTED_MENTION.sub("@\u2060", text)
    if _LAST_MENTION.search(text):
        text += " "
    first = next((c for c in text if not c.isspace() and unicodedata.category(c) != "Cf"), "")
    if _QUIT.fullmatch(text) or (first and first in COMMANDS):
        return f"> {text}"
    return text


# ── Its signs ───────────────────────────────────────────────────────────────────────────

_STATE = re.compile(r"7501;state=(working|blocked|done|idle|error)\b")


def told_state(osc: str) -> State | None:
    """The state that it reports in-band, e.g. "7501;state=idle:app=vibe"."""
    match = _STATE.match(osc)
    return cast(State, match[1]) if match else None


# ── The whole ───────────────────────────────────────────────────────────────────────────

LINE = "─{8,}"
BOX = re.compile(rf"^{LINE}.*─\n>.*\n(?:.*\n){{0,12}}?{LINE}$", re.MULTILINE)
DIALOGS = (
    # what lies in the workspace brings no settings, hooks and servers of its own
    signs.DialogRule(re.compile(r"Trust this folder\?"), keys=b"2", when="start", deaf_s=DEAF_S),
)

LOOK = look.ScreenProfile(
    name="vibe",
    prompt=look.PromptRows(
        echo=re.compile(r"> (.+)"),
        echo_end=re.compile(look.RULE),
        input=re.compile(r">(?:\s|$)"),
        above=re.compile(look.RULE),
    ),
    reply=look.ReplyRows(margin=2, spare=2),
    tools=look.ToolRows(tool=re.compile(r"[■⏵✓✗] \w")),
    asides=look.AsideRows(aside=re.compile(r"  [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ")),
    frame=look.ScreenFrame(scrollbar="▁▂▃▄▅▆▇█▔▀"),
)

UNDO = signs.Undo(
    steps=(
        *signs.typed_undo("/rewind", re.compile(r"^│ +1\. Edit message", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(r"^│ +1\. Keep in current session", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(r"^─{8,}.*\n> \S", re.MULTILINE)),
    ),
    clear=b"\x03",
)

VIBE = profile.Profile(
    name="vibe",
    title="Mistral Vibe",
    agent="Mistral Vibe CLI agent",
    program=profile.Program(
        begin=("vibe",),
        resume=("vibe", "--resume", "{session_id}"),
        ready=profile.ReadySigns(prompt=BOX, state="idle", quiet_s=0.0),
    ),
    environment=profile.Environment(
        hosts=("api.mistral.ai",),
        files=(
            profile.HomeFile(f"{FOLDER}/config.toml", config_file),
            profile.HomeFile(f"{FOLDER}/AGENTS.md", lambda setting, _: setting.persona),
        ),
        passes=(
            "MISTRAL_API_KEY",
            KEY,
            URL,
            "HTTPS_PROXY",
            "SSL_CERT_FILE",
        ),
        memory=profile.MemoryAccess(profile.HomeFile(f"{FOLDER}/config.toml", memory_file), ()),
    ),
    setup=profile.Setup(
        install="pipx install mistral-vibe",
        login=phrase("Give Moot a MISTRAL_API_KEY, or OPENAI_BASE_URL and a `model`."),
        logins=(f"{FOLDER}/.env",),
        configs=(f"{FOLDER}/config.toml", f"{FOLDER}/trusted_folders.toml"),
        at_least="3.0.2",
        tested="3.0.2",
    ),
    model=profile.ModelChoice(in_files=True, context_tokens=200_000),
    typing=signs.PromptTyping(
        text=signs.PromptText(harmless=harmless, tab="\t", nfc=False, after_backslash=""),
        settle_s=0.2,
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            # of all sessions: after `/clear` it is another one
            f"{FOLDER}/logs/session/unified/*/journal/*.jsonl",
            telling(vibe.read_row, by_vibe),
            opens=True,
            segments=True,
        ),
        states=told_state,
        title=signs.Title(busy=re.compile("^>> "), idle=re.compile(r"^(?!>> |\? )")),
        ends_at=frozenset({"login"}),  # it never tries a refused key again
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(
            re.compile(r"^│ Permission for the .* tool", re.MULTILINE),
            deaf_s=DEAF_S,
            certain=True,
        ),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(),
        compact="/compact",
        tells_compacted=True,
        clear="/clear",
        undo=UNDO,
    ),
    acp=profile.Acp(command=("vibe-acp",)),
    modes={"ask": ("--agent", "ask"), "auto": ("--agent", "auto-approve", "--auto-approve")},
)
