"""hermes-agent, in its classic terminal.

Measured on 0.19.0, November 2026. It asks before commands that it holds for dangerous (deleting
trees, other people's permissions, piping a download into a shell), and before no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from adapters import cli_profile as profile
from adapters import turn_events as events
from adapters import turn_signs as signs
from adapters.records.work import arguments_of, detail_of
from adapters.screen_profile import RULE, PromptRows, ReplyRows, ScreenProfile, ToolRows
from contract.language import phrase

FOLDER = ".hermes"
TESTED = "0.19.0"
CONTEXT = 128_000  # tokens, where the administrator's settings don't say

# ── Its start ───────────────────────────────────────────────────────────────────────────

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "approvals": {"mode": "manual", "timeout": 86_400},  # the room's time-out comes first
    "security": {"allow_lazy_installs": False, "tirith_enabled": False},  # else it fetches tirith
    "model_catalog": {"enabled": False},
    "display": {
        "final_response_markdown": "raw",
        "interface": "cli",
        "streaming": True,
        "bell_on_complete": False,
    },
    # what is private must not outlive the session, and no turn begins by itself
    "memory": {"memory_enabled": False, "user_profile_enabled": False, "nudge_interval": 0},
    "skills": {"creation_nudge_interval": 0},
    "curator": {"enabled": False},
    "agent": {"api_max_retries": 1},
}
# An administrator's go first.
DEFAULTS = {("approvals", "mode"), ("agent", "api_max_retries"), ("security", "tirith_enabled")}


def config_file(setting: profile.Setting, present: str) -> str:
    """`config.yaml`, with the API that the environment names."""
    try:
        config = yaml.safe_load(present)
    except yaml.YAMLError:
        return present  # hermes says what is wrong with it
    config = config if isinstance(config, dict) else {}
    for name, values in SETTINGS.items():
        section = _section(config, name)
        for key, value in values.items():
            if (name, key) not in DEFAULTS or key not in section:
                section[key] = value
    base = setting.env.get("OPENAI_BASE_URL") or setting.env.get("OPENAI_API_BASE")
    if base:
        model = _section(config, "model")
        model.update(provider="custom", base_url=base)
        model.setdefault("context_length", CONTEXT)  # else it asks the API on ten paths
    if setting.model:
        _section(config, "model")["default"] = setting.model
    return yaml.safe_dump(config, allow_unicode=True, sort_keys=False)


def update_file(_setting: profile.Setting, present: str) -> str:
    """The outcome of its look for a newer version, which no setting turns off: none, for ever."""
    never = {"ts": 4_102_444_800, "behind": 0, "rev": None, "ver": TESTED}
    return present if present and TESTED not in present else json.dumps(never)


def catalog_file(setting: profile.Setting, present: str) -> str:
    """hermes' copy of the list of the world's models, just written. One's own API is not in it."""
    if not (setting.env.get("OPENAI_BASE_URL") or setting.env.get("OPENAI_API_BASE")):
        return present
    return '{"custom": {"models": {}}}\n' + ("" if present.endswith("\n\n") else "\n")


def memory_file(setting: profile.Setting, present: str) -> str:
    """The same with the session's MCP server; its key comes from the environment."""
    config = yaml.safe_load(present) or {}
    assert setting.memory
    program, *arguments = setting.memory.command
    server = {"command": program, "args": arguments, "env": dict(setting.memory.env)}
    _section(config, "mcp_servers")["moot"] = server
    return yaml.safe_dump(config, allow_unicode=True, sort_keys=False)


def _section(config: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(config.get(name), dict):
        config[name] = {"default": config[name]} if isinstance(config.get(name), str) else {}
    section: dict[str, Any] = config[name]
    return section


# ── Typing ──────────────────────────────────────────────────────────────────────────────

_FILE = re.compile(r"@(?=(?:file|folder|git|url|diff|staged)\b)")


def harmless(text: str) -> str:
    """The prompt without `@file:` and the like, whose contents hermes would add, nor a command."""
    text = _FILE.sub("@\u2060", text)
    return f"> {text}" if text[:1] in ("!", "/") else text


# ── Its record ──────────────────────────────────────────────────────────────────────────

# When it compacts, also in mid-turn, it rewrites what it keeps: some microseconds apart, the old
# rows marked. These copies are none of the turn's.
QUERY = """
SELECT id, session_id, role, content, tool_call_id, tool_calls, tool_name, finish_reason
FROM messages AS m WHERE id > ? AND NOT (
  EXISTS (
    SELECT 1 FROM messages AS n
    WHERE n.id IN (m.id - 1, m.id + 1) AND abs(n.timestamp - m.timestamp) < 0.00001
  ) AND EXISTS (
    SELECT 1 FROM messages AS o
    WHERE o.session_id = m.session_id AND o.id < m.id AND o.compacted AND o.role = m.role
      AND o.content IS m.content AND o.tool_call_id IS m.tool_call_id
  )
) ORDER BY id
"""
# Begins what stands for the compacted messages, in any role; the other, where a message that was
# kept stands above it.
SUMMARIES = ("[CONTEXT COMPACTION", "[PRIOR CONTEXT — for reference only")


def read_row(row: Mapping[str, Any]) -> Sequence[events.TurnEvent]:
    """The events of one message."""
    named = events.SessionNamed(str(row.get("session_id", "")))
    text = row.get("content")
    text = text if isinstance(text, str) else ""
    if text.startswith(SUMMARIES):
        return (events.ContextCompacted(f"{row.get('session_id')}:{row.get('id')}"),)
    match row.get("role"):
        case "user":
            return (named, events.PromptTaken(f"{row.get('session_id')}:{row.get('id')}"))
        case "assistant":
            if calls := _calls(row.get("tool_calls")):
                said = (events.ReplyBlock(text),) if text else ()
                return (named, *said, *(event for call in calls for event in _used(call)))
            return (named, events.ReplyEnded(text))
        case "tool":
            ident = str(row.get("tool_call_id") or "")
            name = str(row.get("tool_name") or "")
            return (events.ToolReport(ident, name, result=text),) if ident else ()
    return ()


def _calls(value: object) -> Sequence[Mapping[str, Any]]:
    try:
        calls = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return ()
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else ()


def _used(call: Mapping[str, Any]) -> Sequence[events.TurnEvent]:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    name, given = str(function.get("name") or ""), str(function.get("arguments") or "")
    did = events.ToolReport(str(call.get("id") or name), name, given)
    return (events.ToolUsed(name, detail_of(arguments_of(given))), did)


# ── The whole ───────────────────────────────────────────────────────────────────────────

PROMPT = re.compile(r"^❯(?:\s|$)", re.MULTILINE)
IDLE = re.compile(r"^ ⚕ .*✓ .*\n─+\n❯(?:\s|$)", re.MULTILINE)


def told(words: str) -> re.Pattern[str]:
    """The report of hermes behind the last prompt."""
    return re.compile(rf"^\s*(?:❌|📝|💀|⚠️)[^\n]*?(?:{words})(?![\s\S]*^● )", re.MULTILINE)


DIALOGS = (
    signs.DialogRule(
        told("(?i:context (?:length|too large)|too long)"),
        fault="context",
        say="{title}: the conversation is too long for the model. Say `!new` to begin a new one.",
        when="turn",
    ),
    signs.DialogRule(
        told("HTTP 40[13]|AuthenticationError"),
        fault="login",
        say="{title}: the API refused the key. An administrator must check it.",
        when="turn",
    ),
    signs.DialogRule(
        told("HTTP 429|RateLimitError|Rate limited"),
        fault="limit",
        say="{title}: the API's rate limit or quota is reached. Ask again in a few minutes.",
        when="turn",
    ),
    signs.DialogRule(
        told("HTTP 404"),
        fault="api",
        say="{title}: the API has no such model. An administrator must choose another.",
        when="turn",
    ),
    signs.DialogRule(
        told(r"HTTP \d+|API (?:call )?failed"),
        fault="api",
        say="{title}: the API failed. Ask again in a moment; if that fails too, say `!new`.",
        when="turn",
    ),
)

# Over ACP an error is told as if it were the answer: one line, and nothing else.
SPOKEN_FAULT = re.compile(
    r"\A(?:HTTP \d{3}: |(?:API call failed|Invalid API response) after \d+ retr|Error: "
    r"|Context length exceeded|Request payload too large|Billing or credits exhausted: ).+\Z"
)

LOOK = ScreenProfile(
    name="hermes",
    prompt=PromptRows(
        echo=re.compile(r"● (.+)"), input=re.compile(r"❯(?:\s|$)"), above=re.compile(rf"{RULE}| ⚕ ")
    ),
    reply=ReplyRows(bullet=re.compile(r"╭─ ⚕ .*─╮$"), margin=4, spare=2, fence_names=True),
    tools=ToolRows(tool=re.compile(r"  ┊ ")),
)

UNDO = signs.Undo(
    steps=(
        *signs.typed_undo("/undo", re.compile(r"^│ ❯ \[1\] Approve Once", re.MULTILINE)),
        signs.UndoStep(b"\r", re.compile(r"Undid \d+ turn(?![\s\S]*\[1\] Approve Once)")),
    ),
    refuses=re.compile(r"No (?:user )?messages? (?:found )?to undo"),
    clear=b"\x03",
)

HERMES = profile.Profile(
    name="hermes",
    title="hermes-agent",
    agent="hermes-agent CLI agent",
    program=profile.Program(
        begin=("hermes", "chat", "--cli"),
        resume=("hermes", "chat", "--cli", "--no-restore-cwd", "--resume", "{session_id}"),
        options=(("--model", "{model}"),),
        ready=profile.ReadySigns(prompt=PROMPT),
    ),
    environment=profile.Environment(
        hosts=("openrouter.ai", "api.openai.com", "api.anthropic.com"),
        files=(
            profile.HomeFile(f"{FOLDER}/config.yaml", config_file),
            profile.HomeFile(
                f"{FOLDER}/SOUL.md", lambda setting, present: setting.persona or present
            ),
            profile.HomeFile(f"{FOLDER}/.update_check", update_file),
            profile.HomeFile(f"{FOLDER}/models_dev_cache.json", catalog_file),
        ),
        env=(("HERMES_HOME", f"{{home}}/{FOLDER}"),),
        passes=(
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_API_BASE",
            "OPENROUTER_API_KEY",
            "ANTHROPIC_API_KEY",
            "NOUS_API_KEY",
            "GOOGLE_API_KEY",
            "HTTPS_PROXY",
            "SSL_CERT_FILE",
        ),
        memory=profile.MemoryAccess(profile.HomeFile(f"{FOLDER}/config.yaml", memory_file), ()),
    ),
    setup=profile.Setup(
        install="pipx install hermes-agent",
        login=phrase("Give Moot the key of the model's API, or run `hermes setup` once."),
        logins=(f"{FOLDER}/auth.json", f"{FOLDER}/.env"),
        configs=(f"{FOLDER}/config.yaml",),
        at_least=TESTED,  # its settings change with every release
        tested=TESTED,
    ),
    model=profile.ModelChoice(context_tokens=CONTEXT),
    typing=signs.PromptTyping(
        text=signs.PromptText(nfc=False, harmless=harmless),
        settle_s=0.2,
        prompt=PROMPT,
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            f"{FOLDER}/state.db", read_row, format="sqlite", query=QUERY, opens=True
        ),
        footer=signs.Footer(busy=re.compile(r"Ctrl\+C (?:to )?(?:cancel|interrupt)"), idle=IDLE),
        fallback_s=2.0,  # its status line says that it is done
    ),
    shown=signs.Shown(
        look=LOOK,
        dialogs=DIALOGS,
        permission=signs.Permission(re.compile(r"Dangerous Command")),
    ),
    controls=signs.Controls(
        interrupt=signs.Interrupt(keys=(b"\x03",)),
        compact="/compress",
        tells_compacted=True,
        clear="/new",
        undo=UNDO,
    ),
    acp=profile.Acp(command=("hermes", "acp"), fault=SPOKEN_FAULT),
)
