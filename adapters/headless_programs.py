"""How programs answer one question without a terminal, as data.

Templates replace {instructions} (a file with the system prompt), {model} and {folder} (an empty
directory of this one call, where the program runs). What a program is told goes in by its stdin
and by that file, never by argv.

Claude Code 2.1.330 and Gemini CLI 0.61.0 were run (November 2026); the others are as their own
documentation says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.once import Ran
from adapters.profiles import claude_code
from contract import ModelError, Usage


@dataclass(frozen=True, slots=True)
class Said:
    """What a program answered: its text and what it took."""

    text: str
    usage: Usage


Read = Callable[[Ran], Said]
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
    leaves: tuple[str, ...] = ()
    missing: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


# ── Claude Code ─────────────────────────────────────────────────────────────────────────


class _Door(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _ClaudeUsage(_Door):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class _ClaudeResult(_Door):
    """`--output-format json`. api_error_status: HTTP, when the API refused."""

    result: str = ""
    is_error: bool
    subtype: str
    stop_reason: str | None = None
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: _ClaudeUsage = _ClaudeUsage()
    modelUsage: Mapping[str, Any] = {}  # noqa: N815 - its name


def read_claude(ran: Ran) -> Said:
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
    return Said(told.result, usage)


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
    missing="Install npm's `@anthropic-ai/claude-code`.",
)

# ── Others ──────────────────────────────────────────────────────────────────────────────


def read_plain(title: str) -> Read:
    """The text is all of stdout."""

    def read(ran: Ran) -> Said:
        text = ran.out.decode("utf-8", "replace").strip()
        if ran.code or not text:
            raise _unreadable(title, ran)
        return Said(text, Usage(title))

    return read


class _GeminiTokens(_Door):
    prompt: int = 0
    candidates: int = 0
    thoughts: int = 0
    cached: int = 0


class _GeminiModel(_Door):
    tokens: _GeminiTokens = _GeminiTokens()


class _GeminiStats(_Door):
    models: Mapping[str, _GeminiModel] = {}


class _GeminiResult(_Door):
    response: str
    stats: _GeminiStats = _GeminiStats()


HTTP_CODES = range(400 - 256, 256)  # it ends with the API's HTTP status, of which 8 bits are left


def read_gemini(ran: Ran) -> Said:
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
    return Said(told.response, Usage(name, tokens.prompt, written, tokens.cached))


def _unreadable(title: str, ran: Ran) -> ModelError:
    how = f"it ended with code {ran.code}" if ran.code else "its answer can't be read"
    return ModelError(f"{title}: {how}", passing=False)


PROXIES = ("HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS")

CODEX = HeadlessProgram(
    name="codex",
    title="Codex",
    begin=(
        *("codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only"),
        *("--color", "never", "-C", "{folder}", "-"),
    ),
    with_model=("--model", "{model}"),
    read=read_plain("Codex"),
    passes=("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", *PROXIES),
    leaves=(".codex/sessions", ".codex/history.jsonl"),
    missing="Install npm's `@openai/codex`.",
)
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
    missing="Install npm's `@google/gemini-cli`.",
)
OPENCODE = HeadlessProgram(
    name="opencode",
    title="opencode",
    begin=("opencode", "run"),
    with_model=("--model", "{model}"),
    read=read_plain("opencode"),
    env=(
        ("XDG_DATA_HOME", "{folder}/.data"),  # its sessions' database
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_PERMISSION", '{"*":"deny"}'),
    ),
    passes=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", *PROXIES),
    missing="Install npm's `opencode-ai`.",
)

PROGRAMS: Mapping[str, HeadlessProgram] = {
    program.name: program for program in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)
}
