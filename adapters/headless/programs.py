"""Programs that answer one question without a terminal, as data.

Templates replace {instructions} (a file with the system prompt), {model} and {folder} (an empty
directory of this one call, where the program runs). What a program is told goes in by its stdin
and by that file, never by argv.

Run in November 2026: Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, opencode 1.18.33.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.profiles import claude_code, codex, gemini, opencode
from adapters.pty.process_group import RunResult
from contract.agent import Usage
from contract.errors import ModelError
from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class HeadlessAnswer:
    """A program's answer: its text and what it took."""

    text: str
    usage: Usage


Read = Callable[[RunResult], HeadlessAnswer]
"""Reads what a program wrote. Raises ModelError, whose message holds nothing of it."""


@dataclass(frozen=True, slots=True)
class HeadlessProgram:
    """A program in its headless mode.

    begin: argv. with_model: what is added to it when a model was chosen. told: its system prompt is
    the {instructions} file; else the instructions go before the prompt. env: templates. passes:
    variables of the gateway's own environment that it gets. leaves: what it keeps of a call, as
    globs below its HOME: removed afterwards. missing: what to do when it is not installed.
    files: written into {folder} before, by name.
    """

    name: str
    title: str
    begin: tuple[str, ...]
    with_model: tuple[str, ...]
    read: Read
    told: bool = False
    env: tuple[tuple[str, str], ...] = ()
    passes: tuple[str, ...] = ()
    settings: Callable[[Mapping[str, str]], tuple[str, ...]] = lambda _: ()
    leaves: tuple[str, ...] = ()
    missing: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


# ── Claude Code ─────────────────────────────────────────────────────────────────────────


class _ProgramJson(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _ClaudeUsage(_ProgramJson):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class _ClaudeResult(_ProgramJson):
    """`--output-format json`. api_error_status: HTTP, when the API refused."""

    result: str = ""
    is_error: bool
    subtype: str
    stop_reason: str | None = None
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: _ClaudeUsage = _ClaudeUsage()
    modelUsage: Mapping[str, Any] = {}  # noqa: N815 - its name


def read_claude(ran: RunResult) -> HeadlessAnswer:
    """One JSON object, also of a failure."""
    try:
        told = _ClaudeResult.model_validate_json(ran.out)
    except ValidationError:
        raise _unreadable("Claude Code", ran) from None
    tokens = told.usage
    cached = tokens.cache_read_input_tokens
    usage = Usage(
        model=next(iter(told.modelUsage), "claude-code"),
        input_tokens=tokens.input_tokens + cached + tokens.cache_creation_input_tokens,
        output_tokens=tokens.output_tokens,
        cached_tokens=cached,
        cost_usd=told.total_cost_usd,
    )
    if told.is_error or told.subtype != "success":
        status = told.api_error_status
        what = f"Claude Code: it reports {'an error' if status is None else f'HTTP {status}'}"
        passing = status is not None and (status >= 500 or status in (408, 429))
        raise ModelError(what, passing=passing, usage=usage)
    if told.stop_reason in ("max_tokens", "refusal", "model_context_window_exceeded"):
        what = f"Claude Code: the answer was cut off ({told.stop_reason})"
        raise ModelError(what, passing=False, usage=usage)
    return HeadlessAnswer(told.result, usage)


CLAUDE_CODE = HeadlessProgram(
    name="claude-code",
    title="Claude Code",
    begin=(
        *("claude", "-p", "--output-format", "json"),
        *("--tools", "", "--strict-mcp-config", "--disable-slash-commands"),
        *("--setting-sources", "", "--permission-mode", "dontAsk"),
        *("--no-session-persistence", "--system-prompt-file", "{instructions}"),
    ),
    with_model=("--model", "{model}"),
    read=read_claude,
    told=True,
    env=(*claude_code.ENV, ("CLAUDE_CODE_MAX_RETRIES", "3")),
    passes=claude_code.PASSES,
    missing=f"Install it: `{claude_code.CLAUDE_CODE.setup.install}`.",
)

# ── Codex ───────────────────────────────────────────────────────────────────────────────


class _CodexItem(_ProgramJson):
    type: str = ""
    text: str = ""


class _CodexFault(_ProgramJson):
    message: str = ""


class _CodexUsage(_ProgramJson):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class _CodexEvent(_ProgramJson):
    """A line of `--json`: thread.started, turn.started, item.completed, turn.completed, ..."""

    type: str
    item: _CodexItem = _CodexItem()
    error: _CodexFault = _CodexFault()
    usage: _CodexUsage = _CodexUsage()


def read_codex(ran: RunResult) -> HeadlessAnswer:
    """The last message of a turn that was completed."""
    try:
        events = [_CodexEvent.model_validate_json(line) for line in ran.out.splitlines() if line]
    except ValidationError:
        raise _unreadable("Codex", ran) from None
    last = events[-1] if events else _CodexEvent(type="")
    if last.type == "turn.failed":
        raise _codex_failed(last.error.message)
    said = [event.item.text for event in events if event.item.type == "agent_message"]
    if ran.code or last.type != "turn.completed" or not said:
        raise _unreadable("Codex", ran)
    tokens = last.usage
    usage = Usage("codex", tokens.input_tokens, tokens.output_tokens, tokens.cached_input_tokens)
    return HeadlessAnswer(said[-1], usage)


def _codex_failed(message: str) -> ModelError:
    """Codex tells the HTTP status in words alone."""
    found = re.search(r"\bstatus:? (\d{3})\b", message)
    status = int(found[1]) if found else 0
    passing = status >= 500 or status in (408, 429) or "high demand" in message
    return ModelError(
        f"Codex: it reports {f'HTTP {status}' if status else 'an error'}", passing=passing
    )


def codex_settings(env: Mapping[str, str]) -> tuple[str, ...]:
    """With a key in the environment it needs no login."""
    if codex.KEY not in env:
        return ()
    named = {"name": "OpenAI", "env_key": codex.KEY, "wire_api": "responses"}
    if url := env.get(codex.URL):
        named["base_url"] = url
    table = ",".join(f"{name}={json.dumps(value)}" for name, value in named.items())
    provider = f"model_providers.{codex.PROVIDER}={{{table}}}"
    return ("-c", f'model_provider="{codex.PROVIDER}"', "-c", provider)


CODEX = HeadlessProgram(
    name="codex",
    title="Codex",
    begin=(
        *("codex", "exec", "--json", "--ephemeral", "--skip-git-repo-check"),
        *("--sandbox", "read-only", "--color", "never", "-C", "{folder}"),
        *(  # it only answers: no shell, no search, nothing from other hosts
            word
            for setting in (
                *("features.shell_tool=false", "features.multi_agent=false"),
                *("features.apps=false", "features.plugins=false", "features.goals=false"),
                *('web_search="disabled"', "analytics.enabled=false"),
                *("check_for_update_on_startup=false", "project_doc_max_bytes=0"),
                "features.unbounded_connection_retries=false",
            )
            for word in ("-c", setting)
        ),
        "-",
    ),
    with_model=("--model", "{model}"),
    read=read_codex,
    passes=("CODEX_API_KEY", *codex.CODEX.environment.passes),
    settings=codex_settings,
    leaves=(".codex/sessions", ".codex/history.jsonl", ".codex/logs_*"),
    missing=f"Install it: `{codex.CODEX.setup.install}`.",
)

# ── Others ──────────────────────────────────────────────────────────────────────────────


def read_plain(title: str) -> Read:
    """The text is all of stdout."""

    def read(ran: RunResult) -> HeadlessAnswer:
        text = ran.out.decode("utf-8", "replace").strip()
        if ran.code or not text:
            raise _unreadable(title, ran)
        return HeadlessAnswer(text, Usage(title))

    return read


class _GeminiTokens(_ProgramJson):
    prompt: int = 0
    candidates: int = 0
    thoughts: int = 0
    cached: int = 0


class _GeminiModel(_ProgramJson):
    tokens: _GeminiTokens = _GeminiTokens()


class _GeminiStats(_ProgramJson):
    models: Mapping[str, _GeminiModel] = {}


class _GeminiResult(_ProgramJson):
    response: str
    stats: _GeminiStats = _GeminiStats()


HTTP_CODES = range(400 - 256, 256)  # it ends with the API's HTTP status, of which 8 bits are left


def read_gemini(ran: RunResult) -> HeadlessAnswer:
    """`--output-format json`: one object with `response`; a failure is told by the exit code."""
    if ran.code in HTTP_CODES:
        status = ran.code + 256
        passing = status >= 500 or status in (408, 429)
        raise ModelError(f"Gemini CLI: it reports HTTP {status}", passing=passing)
    try:
        told = _GeminiResult.model_validate_json(ran.out)
    except ValidationError:
        raise _unreadable("Gemini CLI", ran) from None
    if ran.code:
        raise _unreadable("Gemini CLI", ran)
    models = told.stats.models.items()
    name, used = next(iter(models), ("Gemini CLI", _GeminiModel()))
    tokens = used.tokens
    written = tokens.candidates + tokens.thoughts
    return HeadlessAnswer(told.response, Usage(name, tokens.prompt, written, tokens.cached))


def _unreadable(title: str, ran: RunResult) -> ModelError:
    how = f"it ended with code {ran.code}" if ran.code else "its answer can't be read"
    return ModelError(f"{title}: {how}", passing=False)


PROXIES = ("HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS")
GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},  # with a base URL it finds none
    "general": {"enableAutoUpdate": False, "maxAttempts": 3},
    "privacy": {"usageStatisticsEnabled": False},
    "tools": {"core": ["none"]},
    "skills": {"enabled": False},
    "hooksConfig": {"enabled": False},
}
GEMINI = HeadlessProgram(
    name="gemini",
    title="Gemini CLI",
    begin=("gemini", "--output-format", "json"),  # headless, since stdin is no terminal
    with_model=("--model", "{model}"),
    read=read_gemini,
    told=True,
    env=(
        ("GEMINI_CLI_NO_RELAUNCH", "1"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("GEMINI_SYSTEM_MD", "{instructions}"),
    ),
    files={".gemini/settings.json": json.dumps(GEMINI_SETTINGS)},
    passes=("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", *PROXIES),
    leaves=(".gemini/tmp", ".gemini/history", ".gemini/projects.json"),
    missing=f"Install it: `{gemini.GEMINI.setup.install}`.",
)


class _OpencodeCache(_ProgramJson):
    read: int


class _OpencodeTokens(_ProgramJson):
    input: int
    output: int
    cache: _OpencodeCache


class _OpencodePart(_ProgramJson):
    """The words of a `text`, the tokens of a `step_finish`."""

    type: str
    text: str | None = None
    tokens: _OpencodeTokens | None = None


class _OpencodeEvent(_ProgramJson):
    """A line of `--format json`."""

    type: str
    part: _OpencodePart | None = None
    error: Mapping[str, Any] | None = None


def read_opencode(ran: RunResult) -> HeadlessAnswer:
    """`--format json`: a line an event; each step of the model has its texts and its tokens."""
    try:
        events = [_OpencodeEvent.model_validate_json(line) for line in ran.out.splitlines()]
    except ValidationError:
        raise _unreadable("opencode", ran) from None
    parts = [one.part for one in events if one.part and one.type in ("text", "step_finish")]
    usage = _opencode_usage([part.tokens for part in parts if part.type == "step-finish"])
    if errors := [one.error or {} for one in events if one.type == "error"]:
        raise _opencode_failed(errors[0], usage)
    texts = [part.text for part in parts if part.type == "text" and part.text is not None]
    if ran.code or not texts:
        raise _unreadable("opencode", ran)
    return HeadlessAnswer("\n\n".join(texts), usage)


def _opencode_usage(told: Sequence[_OpencodeTokens | None]) -> Usage:
    steps = [tokens for tokens in told if tokens]
    return Usage(
        model="opencode",
        input_tokens=sum(step.input for step in steps),
        output_tokens=sum(step.output for step in steps),
        cached_tokens=sum(step.cache.read for step in steps),
    )


def _opencode_failed(error: Mapping[str, Any], usage: Usage) -> ModelError:
    data = error.get("data")
    status = data.get("statusCode") if isinstance(data, Mapping) else None
    what = f"opencode: it reports {'an error' if status is None else f'HTTP {status}'}"
    passing = isinstance(status, int) and (status >= 500 or status in (408, 429))
    return ModelError(what, passing=passing, usage=usage)


OPENCODE = HeadlessProgram(
    name="opencode",
    title="opencode",
    begin=("opencode", "run", "--format", "json"),
    with_model=("--model", "{model}"),
    read=read_opencode,
    env=(
        ("XDG_DATA_HOME", "{folder}/.data"),  # its sessions' database
        ("NPM_CONFIG_OFFLINE", "true"),  # it looks for a package of types
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_CONFIG_CONTENT", '{"agent": {"title": {"disable": true}}, "share": "disabled"}'),
        ("OPENCODE_PERMISSION", '{"*":"deny"}'),
    ),
    passes=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", *PROXIES),
    missing=f"Install it: `{opencode.OPENCODE.setup.install}`.",
)

PROGRAMS: Mapping[str, HeadlessProgram] = {
    program.name: program for program in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)
}
