"""llm, the command line of one model, in its chat.

Measured on 0.36, November 2026. It reads with GNU readline, which takes a bracketed paste although
Python does not announce it; inside `!multi` the paste is one line of input, whatever it holds.
Any error of the API ends the program, and so does an interrupt: it is resumed by its conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from adapters import cli_profile as profile
from adapters import turn_signs as signs
from adapters.records.spent import by_llm, telling
from adapters.screen_profile import NEVER, AsideRows, PromptRows, ScreenProfile
from adapters.turn_events import ReplyBlock, ReplyEnded, SessionNamed, ToolUsed, TurnEvent
from contract.language import phrase

FOLDER = ".config/io.datasette.llm"

# ── Its start ───────────────────────────────────────────────────────────────────────────


def models_file(setting: profile.Setting, present: str) -> str:
    """`extra-openai-models.yaml` with the model at OPENAI_BASE_URL, which llm itself does not read.

    Entries of others are kept; ours is marked.
    """
    try:
        listed = yaml.safe_load(present)
    except yaml.YAMLError:
        return present  # llm says what is wrong with it
    models = listed if isinstance(listed, list) else []
    kept = [m for m in models if not (isinstance(m, dict) and m.get("moot"))]
    base = setting.env.get("OPENAI_BASE_URL") or setting.env.get("OPENAI_API_BASE")
    if base and setting.model:
        kept.append(
            {
                "model_id": setting.model,
                "model_name": setting.model,
                "api_base": base,
                **({"api_key_name": "openai"} if setting.env.get("OPENAI_API_KEY") else {}),
                "moot": True,
            }
        )
    if kept == models and present:
        return present
    return yaml.safe_dump(kept, allow_unicode=True, sort_keys=False)


def template_file(setting: profile.Setting, _present: str) -> str:
    """A template whose system prompt is the persona. `$` would begin a variable."""
    system = setting.persona.replace("$", "$$")
    return yaml.safe_dump({"system": system}, allow_unicode=True)


# ── Typing ──────────────────────────────────────────────────────────────────────────────

# A Python with libedit instead of readline reads a paste line by line: then these would be obeyed.
_COMMAND = re.compile(r"^(?=\s*!(?:multi|end|edit|fragment)\b)", re.MULTILINE)


def harmless(text: str) -> str:
    """The prompt without lines that llm would obey inside `!multi`: `!fragment` reads a file."""
    return _COMMAND.sub("\u2060", text)


# ── Its record ──────────────────────────────────────────────────────────────────────────

# A turn is one answer of the model; its id is a ULID, so they sort by time. After an empty answer
# the last message of the conversation is still the prompt.
QUERY = """
SELECT t.id, t.thread_id, t.model, t.input_tokens, t.output_tokens, t.token_details, (
  SELECT json_group_array(json_object('type', p.type, 'tool', p.tool_name, 'text', p.text))
  FROM (
    SELECT p.* FROM parts AS p JOIN messages AS m ON m.hash = p.message_hash
    WHERE m.hash = t.tip_message_hash AND m.role = 'assistant' ORDER BY p.position
  ) AS p
) AS parts
FROM turns AS t WHERE t.id > ? ORDER BY t.id
"""


def read_row(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    """The events of one turn, which llm writes when it is over."""
    try:
        parts = [part for part in json.loads(row.get("parts") or "[]") if isinstance(part, dict)]
    except (TypeError, ValueError):
        return ()
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    tools = [part.get("tool") for part in parts if part.get("type") == "tool_call"]
    named = SessionNamed(str(row.get("thread_id", "")))
    exact = [text for text in texts if isinstance(text, str)]
    if tools:
        return (
            named,
            *(ReplyBlock(text, sep="") for text in exact),
            *(ToolUsed(str(t)) for t in tools),
        )
    # a text that quotes a fragment is not kept as it is: then the screen tells it
    return (named, ReplyEnded("".join(exact))) if len(exact) == len(texts) else (named,)


# ── The whole ───────────────────────────────────────────────────────────────────────────

PROMPT = re.compile(r"^>\s*\Z", re.MULTILINE)


def last(words: str) -> re.Pattern[str]:
    """The error at the end of the traceback with which llm ended."""
    return re.compile(
        rf"^(?:(?:openai|llm\.errors)\.\w+: |Error: )(?:{words})[^\0]*\Z", re.MULTILINE
    )


DIALOGS = (
    signs.DialogRule(
        last(r"(?i:[^\0]{0,400}(?:too long|context.length|maximum context))"),
        fault="context",
        say="{title}: the conversation is too long for the model. Say `!new` to begin a new one.",
    ),
    signs.DialogRule(
        last(r"No key found|[^\0]{0,200}api_key client option must be set"),
        fault="login",
        say="{title} has no key. An administrator gives Moot an OPENAI_API_KEY, "
        "or runs `llm keys set openai`.",
    ),
    signs.DialogRule(
        last("Error code: 40[13]"),
        fault="login",
        say="{title}: the API refused the key. An administrator must check OPENAI_API_KEY, "
        "or `llm keys set`.",
    ),
    signs.DialogRule(
        last("Error code: 429"),
        fault="limit",
        say="{title}: the API's rate limit or quota is reached. Ask again in a few minutes.",
    ),
    signs.DialogRule(
        last(r"'?[^'\n]+'? is not a known model|Unknown model|Error code: 404"),
        fault="api",
        say="{title} does not know this model. An administrator must choose another `model`.",
    ),
    signs.DialogRule(
        re.compile(r"^openai\.API(?:Connection|Timeout)Error: [^\0]*\Z", re.MULTILINE),
        fault="api",
        say="{title} cannot reach its API. Ask again in a moment.",
    ),
    signs.DialogRule(
        # one that came in a stream has no code
        re.compile(r"^(?:openai\.\w+: |Error: Error code: \d)[^\0]*\Z", re.MULTILINE),
        fault="api",
        say="{title}: the API failed. Ask again in a moment; if that fails too, say `!new`.",
    ),
)

LOOK = ScreenProfile(
    name="llm",
    prompt=PromptRows(
        echo=re.compile(r"> (!multi)$"),
        echo_end=re.compile(r"!end$"),
        input=re.compile(r">\s*$"),
        above=NEVER,
    ),
    asides=AsideRows(
        fault=re.compile(r"Error: (.+)"),
        report=re.compile(
            # a stream that breaks off leaves it behind the last word, with the HTTP client's on top
            r'Traceback \(most recent call last\):\n +File "[^"\n]*'
            r'(?:llm|runpy|site-packages)[^"\n]*", line \d'
            r"|^Error: .*\s*\Z",
            re.MULTILINE,
        ),
    ),
)

LLM = profile.Profile(
    name="llm",
    title="llm",
    agent="llm chat, a model without tools",
    program=profile.Program(
        begin=("llm", "chat"),
        resume=("llm", "chat", "--cid", "{session_id}"),
        options=(
            ("-t", "{home}/.moot/persona.yaml"),
            ("-m", "{model}"),
        ),
        ready=profile.ReadySigns(prompt=PROMPT, bracketed_paste=False, quiet_s=0.2),
        shell_terminal=True,
    ),
    environment=profile.Environment(
        hosts=("api.openai.com",),
        files=(
            profile.HomeFile(f"{FOLDER}/extra-openai-models.yaml", models_file),
            profile.HomeFile(".moot/persona.yaml", template_file),
            # an old readline has it off
            profile.HomeFile(".moot/inputrc", lambda _, __: "set enable-bracketed-paste on\n"),
        ),
        env=(("LLM_USER_PATH", f"{{home}}/{FOLDER}"), ("INPUTRC", "{home}/.moot/inputrc")),
        passes=(
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_API_BASE",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "MISTRAL_API_KEY",
            "HTTPS_PROXY",
            "SSL_CERT_FILE",
        ),
    ),
    setup=profile.Setup(
        install="pipx install llm",
        login=phrase("Give Moot an OPENAI_API_KEY, or run `llm keys set openai` once."),
        logins=(f"{FOLDER}/keys.json",),
        configs=(
            f"{FOLDER}/extra-openai-models.yaml",
            f"{FOLDER}/default_model.txt",
            f"{FOLDER}/aliases.json",
        ),
        at_least="0.36",  # its record of turns is younger than 0.27's tables
        tested="0.36",
    ),
    model=profile.ModelChoice(context_tokens=128_000),
    typing=signs.PromptTyping(
        text=signs.PromptText(nfc=False, harmless=harmless),
        prompt=PROMPT,
        before=b"!multi\r",
        submit=b"\r!end\r",
        settle_s=0.1,
    ),
    signs=signs.TurnSigns(
        record=signs.RecordFormat(
            f"{FOLDER}/logs.db", telling(read_row, by_llm), format="sqlite", query=QUERY
        ),
        footer=signs.Footer(busy=None, idle=PROMPT),
        fallback_s=10.0,  # a quotation that is streamed slowly looks like the prompt
    ),
    shown=signs.Shown(look=LOOK, dialogs=DIALOGS),
    controls=signs.Controls(interrupt=signs.Interrupt(ends=True)),
)
