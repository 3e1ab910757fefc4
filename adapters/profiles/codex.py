"""Codex in its terminal."""

from __future__ import annotations

import re
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from adapters import looks
from adapters.profiles import codex_events
from adapters.profiles.profile import (
    Dialog,
    HomeFile,
    Interrupt,
    Permission,
    Profile,
    Ready,
    Record,
    Setting,
    Signs,
    State,
    Typing,
)

PROVIDER = "moot"


def config_file(setting: Setting, present: str) -> str:
    config: Any = _document(present)
    config.setdefault("approval_policy", "on-request")
    config.setdefault("sandbox_mode", "read-only")
    config["check_for_update_on_startup"] = False
    if setting.persona:
        config["developer_instructions"] = setting.persona
    provider = _table(config.setdefault("model_providers", tomlkit.table(True)), PROVIDER)
    provider["name"] = "OpenAI"
    provider["base_url"] = setting.env["OPENAI_BASE_URL"]
    provider["env_key"] = "OPENAI_API_KEY"
    provider["wire_api"] = "responses"
    provider["request_max_retries"] = 1
    provider["stream_max_retries"] = 1
    config["model_provider"] = PROVIDER
    projects = config.setdefault("projects", tomlkit.table(True))
    _table(projects, str(setting.workspace))["trust_level"] = "trusted"
    _table(config, "analytics")["enabled"] = False
    tui = _table(config, "tui")
    tui["animations"] = False
    tui["show_tooltips"] = False
    notice = _table(config, "notice")
    notice["hide_full_access_warning"] = True
    features = _table(config, "features")
    for name in ("plugins", "apps", "daemon_auto_start"):
        features[name] = False
    return tomlkit.dumps(config)


def _document(text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except TOMLKitError:
        return tomlkit.document()


def _table(parent: Any, name: str) -> Any:
    if not isinstance(parent.get(name), dict):
        parent[name] = tomlkit.table()
    return parent[name]


_STATE = re.compile(r"7501;state=(working|blocked|done|idle|error)\b")


def read_state(osc: str) -> State | None:
    """What an OSC 7501 says."""
    match = _STATE.match(osc)
    return match[1] if match else None  # type: ignore[return-value]  # the pattern's words


def harmless(text: str) -> str:
    return f"> {text}" if text.lstrip()[:1] in tuple("!/") else text


CODEX = Profile(
    name="codex",
    title="Codex",
    agent="Codex CLI agent",
    begin=("codex", "--no-daemon", "--no-alt-screen"),
    resume=("codex", "resume", "--no-daemon", "--no-alt-screen", "{session_id}"),
    options=(("--model", "{model}"),),
    files=(HomeFile(".codex/config.toml", config_file),),
    env=(("CODEX_HOME", "{home}/.codex"),),
    passes=("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ready=Ready(prompt=re.compile(r"^› (?!\d\. )", re.MULTILINE), state="idle"),
    typing=Typing(tab="\t", nfc=False, after_backslash="", settle_s=0.15, harmless=harmless),
    signs=Signs(
        record=Record(
            ".codex/sessions/*/*/*/rollout-*-{session_id}.jsonl",
            codex_events.from_record,
            opens=True,
        ),
        states=read_state,
    ),
    look=looks.CODEX,
    dialogs=(Dialog(re.compile(r"^\W+2\. Use existing model", re.M), keys=b"2\r"),),
    permission=Permission(re.compile(r"^\s*Would you like to .*\?$", re.MULTILINE)),
    interrupt=Interrupt(),
    acp=(),
)
