"""aider, in its ask mode: it answers, and changes nothing.

Measured on 0.86.2, November 2026. Its chat history is Markdown in which a reply's `> ` and `#### `
are its own marks; its log of what goes to and comes from the model marks every line by its role.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.screen_profile import AsideRows, PromptRows, ReplyRows, ScreenProfile, ToolRows
from adapters.turn_events import ReplyBlock, ReplyRetracted, TurnEvent
from contract.language import phrase

# ── Its start ───────────────────────────────────────────────────────────────────────────

# Models that refuse a temperature; aider knows them by name, but not once they have settings.
_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-5)", re.IGNORECASE)


def models_file(setting: profile.Setting, present: str) -> str:
    """`.aider.model.settings.yml` with the persona before the model's system prompt."""
    try:
        listed = yaml.safe_load(present)
    except yaml.YAMLError:
        return present  # aider says what is wrong with it
    models = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    if not setting.model:
        return present
    mine = next((m for m in models if m.get("name") == setting.model), None)
    if mine is None:
        mine = {"name": setting.model}
        if _REASONING.search(setting.model):
            mine["use_temperature"] = False
        models.append(mine)
    mine["system_prompt_prefix"] = setting.persona
    mine.setdefault("reminder", "sys")  # not a line below what people wrote
    return yaml.safe_dump(models, allow_unicode=True, sort_keys=False)


def prices_file(_setting: profile.Setting, present: str) -> str:
    """The list of models' prices that aider would fetch when it is a day old: always just written.

    The list that came with aider's own packages is looked at all the same.
    """
    return '{"sample_spec": {}}\n' + ("" if present.endswith("\n\n") else "\n")


# An administrator's `env` goes before these, a flag would not let it.
ENV = (
    ("AIDER_EDIT_FORMAT", "ask"),
    ("AIDER_GIT", "false"),
    ("AIDER_GITIGNORE", "false"),
    ("AIDER_CHECK_UPDATE", "false"),
    ("AIDER_SHOW_RELEASE_NOTES", "false"),
    ("AIDER_ANALYTICS", "false"),
    ("AIDER_SHOW_MODEL_WARNINGS", "false"),
    ("AIDER_DETECT_URLS", "false"),
    ("AIDER_SUGGEST_SHELL_COMMANDS", "false"),
    ("AIDER_NOTIFICATIONS", "false"),
    ("AIDER_PRETTY", "false"),  # the reply as it is written, in Markdown
    ("AIDER_CHAT_LANGUAGE", "the language that they write in"),  # else that of LANG
    # else 1,024 for a model that it does not know: every second turn would be a summary's
    ("AIDER_MAX_CHAT_HISTORY_TOKENS", "32000"),
    ("AIDER_INPUT_HISTORY_FILE", "{home}/.moot/aider/input"),
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
)

PASSES = (
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_BASE",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "OLLAMA_API_BASE",
    "HTTPS_PROXY",
    "SSL_CERT_FILE",
)

# ── Typing ──────────────────────────────────────────────────────────────────────────────


def harmless(text: str) -> str:
    """`!` runs a command, `/` is one of aider's, `{` begins a text of many lines."""
    return f"> {text}" if text[:1] in ("!", "/", "{") else text


# ── Its record ──────────────────────────────────────────────────────────────────────────

ROLE = "ASSISTANT "
REPLY = ("LLM RESPONSE ", f"{ROLE}</thinking-content-")  # what stands above a reply
HEADS = re.compile(
    r"^(?:(?:TO LLM|LLM RESPONSE) \d{4}-\d\d-\d\dT"
    rf"|{ROLE}</?thinking-content-[0-9a-f]{{32}}>$)"
)


def read_line(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    """The events of one line of the log. What goes to the model repeats the conversation."""
    line, head, since = row.get("line"), row.get("head"), row.get("since")
    if not isinstance(line, str) or not isinstance(head, str):
        return ()
    if since == 0 and head:
        return (ReplyRetracted(),)  # the next attempt, or what came of it, or of its thoughts
    if not head.startswith(REPLY) or not line.startswith(ROLE):
        return ()
    if since == 1 and head.startswith(ROLE) and line == ROLE:
        return ()  # between thoughts and reply
    return (ReplyBlock(line[len(ROLE) :], sep="\n"),)


# ── The whole ───────────────────────────────────────────────────────────────────────────

PROMPT = re.compile(r"^\w*> *\Z|^\w*>\s*\Z", re.MULTILINE)


def told(words: str) -> re.Pattern[str]:
    """An error of the API behind the last prompt that was sent."""
    return re.compile(rf"^litellm\.(?:{words})(?![\s\S]*^\w*> \S)", re.MULTILINE)


DIALOGS = (
    signs.DialogRule(re.compile(r"\(Y\)es/\(N\)o[^\n]*\]: *\s*\Z"), keys=b"n\r"),
    # It would go on for two minutes.
    signs.DialogRule(
        re.compile(r"Retrying in (?:[2-9]|\d\d)\.\d seconds\.\.\..*(?:\n.*)?\s*\Z"), keys=b"\x03"
    ),
    signs.DialogRule(
        told(
            "ContextWindowExceededError"
            "|BadRequestError(?:(?!^\\w*> )[^\\0])*?(?i:too long|maximum context)"
        ),
        fault="context",
        say="{title}: the conversation is too long for the model. Say `!new` to begin a new one.",
    ),
    signs.DialogRule(
        re.compile(r"possibly exceeded output limit!(?![\s\S]*exhausted context window!)"),
        fault="api",
        say="{title}: the answer was longer than its model may write. Ask for a shorter one.",
    ),
    signs.DialogRule(
        re.compile(r"has (?:possibly )?hit a token limit!", re.MULTILINE),
        fault="context",
        say="{title}: the conversation is too long for the model. Say `!new` to begin a new one.",
    ),
    signs.DialogRule(
        told(
            "AuthenticationError|PermissionDeniedError"
            "|BadRequestError(?:(?!^\\w*> )[^\\0])*?(?i:(?:invalid|incorrect)[ \\w-]*api.key)"
        ),
        fault="login",
        say="{title}: the API refused the key. An administrator must check it.",
    ),
    signs.DialogRule(
        told("RateLimitError"),
        fault="limit",
        say="{title}: the API's rate limit or quota is reached. Ask again in a few minutes.",
    ),
    signs.DialogRule(
        told("NotFoundError|BadRequestError(?:(?!^\\w*> )[^\\0])*?LLM Provider NOT provided"),
        fault="api",
        say="{title} does not know this model. An administrator must choose another `model`.",
    ),
    signs.DialogRule(
        told(r"\w+"),
        fault="api",
        say="{title}: the API failed. Ask again in a moment; if that fails too, say `!new`.",
    ),
    signs.DialogRule(
        re.compile(r"^Login to OpenRouter or create a free account", re.MULTILINE),
        fault="login",
        when="start",
    ),
)

HISTORY = (
    *("--chat-history-file", "{home}/.moot/aider/{session_id}.md"),
    *("--llm-history-file", "{home}/.moot/aider/{session_id}.log"),
)

LOOK = ScreenProfile(
    name="aider",
    prompt=PromptRows(echo=re.compile(r"\w*> ?(?!>)(.*)"), input=re.compile(r"\w*>\s*$")),
    reply=ReplyRows(tail=re.compile(r"Tokens: .* received")),
    tools=ToolRows(tool=re.compile(r"► \*\*ANSWER\*\*")),  # above it stand its thoughts
    asides=AsideRows(
        fault=re.compile(r"(litellm\.\w+Error.*)"),
        report=re.compile(
            r"^litellm\.\w+: |^Retrying in [\d.]+ seconds|^Empty response received from LLM"
            r"|^Model \S+ has (?:possibly )?hit a token limit|^\^C"
            r"|^-+\s+► \*\*THINKING\*\*(?![\s\S]*^► \*\*ANSWER\*\*)",
            re.MULTILINE,
        ),
    ),
)

AIDER = profile.Profile(
    name="aider",
    title="aider",
    agent="aider, in ask mode",
    program=profile.Program(
        begin=("aider", *HISTORY),
        resume=("aider", *HISTORY, "--restore-chat-history"),
        options=(("--model", "{model}"),),
        chooses_id=True,
        ready=profile.ReadySigns(prompt=PROMPT),
        shell_terminal=True,
    ),
    environment=profile.Environment(
        hosts=(
            "api.openai.com",
            "api.anthropic.com",
            "generativelanguage.googleapis.com",
            "openrouter.ai",
        ),
        files=(
            profile.HomeFile(".aider.model.settings.yml", models_file),
            profile.HomeFile(".aider/caches/model_prices_and_context_window.json", prices_file),
            profile.HomeFile(".moot/aider/{session_id}.log", lambda _, __: ""),  # it grows fast
        ),
        env=ENV,
        passes=PASSES,
    ),
    setup=profile.Setup(
        install="pipx install aider-chat",
        login=phrase("Give Moot the key of the model's API, e.g. OPENAI_API_KEY."),
        logins=(".aider/oauth-keys.env",),
        configs=(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
        at_least="0.80",  # its log marks every line by its role since then
        tested="0.86.2",
    ),
    model=profile.ModelChoice(context_tokens=128_000),
    typing=signs.PromptTyping(
        text=signs.PromptText(nfc=False, harmless=harmless),
        settle_s=0.15,
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            ".moot/aider/{session_id}.log",
            read_line,
            format="text",
            heads=HEADS,
            grace_s=0.5,
            ahead=True,
        ),
        paste_mode=True,
        footer=signs.Footer(busy=None, idle=PROMPT),
        fallback_s=10.0,
    ),
    shown=signs.Shown(look=LOOK, dialogs=DIALOGS),
    controls=signs.Controls(interrupt=signs.Interrupt(keys=(b"\x03",)), compact="", clear="/clear"),
)
