"""Mistral Vibe.

Measured on 3.0.2, November 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from adapters import looks
from adapters.profiles.profile import (
    Began,
    Dialog,
    Did,
    Ended,
    HomeFile,
    Interrupt,
    Named,
    Permission,
    Profile,
    Ready,
    Record,
    Said,
    Setting,
    Signs,
    Title,
    TurnEvent,
    Typing,
    Used,
    cut_tool_text,
)

DETAIL_CHARS = 200

SETTINGS: Mapping[str, Any] = {
    "enable_telemetry": False,
    "enable_update_checks": False,
    "enable_notifications": False,
    "experimental_enable_tab_status": True,
    "experimental_enable_model_catalog": False,
    "disable_welcome_banner_animation": True,
    "file_watcher_for_autocomplete": False,
    "autocopy_to_clipboard": False,
    "cursor_blink": False,
    "show_greeting": False,
    "bypass_tool_permissions": False,
}
DEFAULTS: Mapping[str, Any] = {"api_retry_max_elapsed_time": 10.0}


def config_file(setting: Setting, present: str) -> str:
    """`config.toml`, with the API that the environment names."""
    try:
        config = tomlkit.parse(present)
    except TOMLKitError:
        return present  # Vibe says what is wrong with it
    config.update(SETTINGS)
    for key, value in DEFAULTS.items():
        config.setdefault(key, value)
    logging = config.setdefault("session_logging", tomlkit.table())
    logging["generate_titles"] = False
    base = setting.env.get("OPENAI_BASE_URL") or setting.env.get("OPENAI_API_BASE")
    if base and setting.model:
        _ours(
            config,
            "providers",
            "moot",
            {
                "name": "moot",
                "api_base": base,
                "api_key_env_var": "OPENAI_API_KEY" if setting.env.get("OPENAI_API_KEY") else "",
                "backend": "generic",
                "api_style": "openai",
            },
        )
        _ours(
            config,
            "models",
            setting.model,
            {
                "name": setting.model,
                "provider": "moot",
                "alias": setting.model,
            },
        )
    if setting.model:
        config["active_model"] = setting.model
    return tomlkit.dumps(config)


def _ours(config: tomlkit.TOMLDocument, name: str, ident: str, values: Mapping[str, Any]) -> None:
    """Put a table into a list of them, in the place of its namesake."""
    tables = config.get(name)
    tables = [t for t in tables if t.get("name") != ident] if isinstance(tables, list) else []
    config[name] = [*tables, dict(values)]


def persona_file(setting: Setting, present: str) -> str:
    """The user's own instructions, which are part of the system prompt."""
    return setting.persona or present


READY = re.compile(r"^>(?:\s|$)[\s\S]*\[PID \d+\].*\dk? tokens", re.MULTILINE)
_FILE = re.compile(r"(?<!\S)@(?!\u2060)(?=[^\s]*[./\\\\~\"'])")


def harmless(text: str) -> str:
    """`@file` is read and sent; `!` runs a command; `/` is one of Vibe's."""
    text = _FILE.sub("@\u2060", text)
    return f"> {text}" if text[:1] in ("!", "/", "&") else text


# ── Its record ──────────────────────────────────────────────────────────────────────────


def read_row(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    """The events of one line of the journal: what changed in the session as it is shown."""
    payload = row.get("payload")
    changes = payload.get("delta") if isinstance(payload, Mapping) else None
    if row.get("type") != "projection_delta" or not isinstance(changes, list):
        return ()
    return [event for change in changes for event in _changed(change)]


def _changed(change: object) -> Sequence[TurnEvent]:
    match change:
        case {"op": "append_entry", "entry": {"type": "message"} as entry}:
            return _message(entry)
        case {
            "op": "append_entry",
            "entry": {"type": "effect", "detail": dict() as detail} as entry,
        }:
            tool, given = str(detail.get("toolName") or ""), detail.get("input")
            turn = str(entry.get("turnId") or "")
            told = json.dumps(given, ensure_ascii=False)
            did = Did(str(entry.get("id")), tool, cut_tool_text(told), turn=turn)
            return (Used(tool, _detail(given), turn), did) if tool else ()
        case {"op": "set_envelope", "state": {"latestTurn": {"id": str(turn), "status": how}}}:
            return _over(str(how), turn)
    return ()


def _message(entry: Mapping[str, Any]) -> Sequence[TurnEvent]:
    turn = str(entry.get("turnId") or "")
    if entry.get("role") == "user" and entry.get("source") == "turn_start":
        return (Named(str(entry.get("sessionId") or "")), Began(turn))
    if entry.get("role") != "assistant" or entry.get("generationStatus") == "in_progress":
        return ()
    content = entry.get("content")
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    text = "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return (Said(text, turn=turn),) if text else ()


def _over(how: str, turn: str) -> Sequence[TurnEvent]:
    match how:
        case "completed":
            return (Ended(turn=turn),)
        case "interrupted" | "cancelled":
            return (Ended(interrupted=True, turn=turn),)
    return ()  # in progress; what failed is told by the screen


def _detail(given: object) -> str:
    for name in ("command", "path", "file_path", "pattern", "url", "query"):
        if isinstance(given, Mapping) and isinstance(value := given.get(name), str):
            return " ".join(value.split())[:DETAIL_CHARS]
    return ""


# ── The whole ───────────────────────────────────────────────────────────────────────────


def told(words: str) -> re.Pattern[str]:
    """An error behind the last prompt."""
    return re.compile(
        rf"^ *[⎡⎢⎣] Error: (?:(?!^> )[^\0])*?(?:{words})(?![\s\S]*^> \S)", re.MULTILINE
    )


DIALOGS = (
    Dialog(
        told("(?i:too long|context|maximum length)"),
        fault="context",
        say="Mistral Vibe: the conversation is too long. Say `!new` to begin a new one.",
        when="turn",
    ),
    Dialog(
        told("(?i:api key|credential|unauthorized)"),
        fault="login",
        say="Mistral Vibe: the API refused the key. An administrator must check it.",
        when="turn",
    ),
    Dialog(
        told("(?i:rate limit|quota|429)"),
        fault="limit",
        say="Mistral Vibe: the API's rate limit is reached. Ask again in a few minutes.",
        when="turn",
    ),
    Dialog(
        told("."),
        fault="api",
        say="Mistral Vibe: the API failed. Ask again in a moment; if that fails too, say `!new`.",
        when="turn",
    ),
)

VIBE = Profile(
    name="vibe",
    title="Mistral Vibe",
    agent="Mistral Vibe CLI agent",
    begin=("vibe", "--trust", "--agent", "ask"),
    resume=("vibe", "--trust", "--agent", "ask", "--resume", "{session_id}"),
    files=(
        HomeFile(".vibe/config.toml", config_file),
        HomeFile(".vibe/AGENTS.md", persona_file),
    ),
    env=(("VIBE_HOME", "{home}/.vibe"),),
    passes=(
        "MISTRAL_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
    ),
    ready=Ready(prompt=READY, quiet_s=0.0),
    typing=Typing(nfc=False, harmless=harmless, settle_s=0.25),
    signs=Signs(
        record=Record(".vibe/logs/session/unified/*/journal/*.jsonl", read_row, opens=True),
        title=Title(busy=re.compile("^(?:>>|\\?) "), idle=re.compile("^(?!>> |\\? )")),
        fallback_s=3.0,
    ),
    look=looks.VIBE,
    dialogs=DIALOGS,
    permission=Permission(
        re.compile(r"Permission for the .* tool"),
        keys=tuple(b"j" * index + b"\r" for index in range(8)),
        settle_s=1.5,  # an Enter within a second was lost
    ),
    interrupt=Interrupt(keys=(b"\x1b",), clear=b"\x15"),
    missing="Install PyPI's `mistral-vibe`, or say where it is with `command`.",
    stale_after=frozenset({"login"}),  # it never tries a key again that was refused
    login="Give Moot a MISTRAL_API_KEY, or run `vibe --setup` once.",
    context_tokens=128_000,
    acp=("vibe-acp",),
    logins=(".vibe/.env",),
    configs=(".vibe/config.toml",),
    compact="/compact",
    clear="/clear",
    at_least="3.0.0",
    tested="3.0.2",
)
