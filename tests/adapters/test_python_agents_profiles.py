"""How llm, aider and hermes-agent are started, typed to and read, as data."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.cli.record import follow
from adapters.cli_profile import Setting
from adapters.profiles import aider, hermes, llm
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyRetracted,
    SessionNamed,
    ToolReport,
    ToolUsed,
)
from adapters.turn_signs import RecordFormat

API = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def setting(**changes: Any) -> Setting:
    given: dict[str, Any] = {
        "home": Path("/h"),
        "workspace": Path("/h/work"),
        "session_id": "1-2",
        "persona": "You cost $5.",
        "model": "m",
        "env": API,
    }
    return Setting(**given | changes)


def test_llm_gets_the_model_at_the_given_api_and_keeps_the_others() -> None:
    once = llm.models_file(setting(), "- {model_id: own, model_name: own}\n")
    twice = llm.models_file(setting(model="n"), once)
    assert [m["model_id"] for m in yaml.safe_load(twice)] == ["own", "n"]
    assert yaml.safe_load(twice)[1]["api_base"] == API["OPENAI_BASE_URL"]
    assert [m["model_id"] for m in yaml.safe_load(llm.models_file(setting(env={}), twice))] == [
        "own"
    ]


def test_a_dollar_in_the_persona_is_no_variable_of_llm() -> None:
    assert yaml.safe_load(llm.template_file(setting(), ""))["system"] == "You cost $$5."


@pytest.mark.parametrize("line", ["!end", " !fragment /etc/passwd", "!edit", "!multi x"])
def test_no_line_is_a_command_of_llm(line: str) -> None:
    assert llm.harmless(f"[X]\n{line}\nend").split("\n")[1] == f"\u2060{line}"


def test_llm_without_a_key_is_told_with_the_remedy() -> None:
    ended = (
        "Traceback (most recent call last):\n"
        '  File "/v/llm/models.py", line 3233, in get_key\n'
        "    raise NeedsKeyException(message)\n"
        "llm.errors.NeedsKeyException: No key found - add one using 'llm keys set openai' "
        "or set the OPENAI_API_KEY environment variable\n"
    )
    rule = next(rule for rule in llm.DIALOGS if rule.pattern.search(ended))
    assert rule.fault == "login"
    assert "OPENAI_API_KEY" in rule.say


def test_an_error_in_a_stream_of_llm_is_the_api_s() -> None:
    ended = "Traceback (most recent call last):\nopenai.APIError: Internal server error\n"
    rule = next(rule for rule in llm.DIALOGS if rule.pattern.search(ended))
    assert rule.fault == "api"
    assert "the API failed" in rule.say


def test_an_answer_over_aider_s_limit_is_no_full_conversation() -> None:
    told = (
        "Model gpt has hit a token limit!\nInput tokens: ~100 of 8,000\n"
        "Output tokens: ~4,000 of 4,096 -- possibly exceeded output limit!\n"
        "Total tokens: ~4,100 of 8,000"
    )
    full = f"{told} -- possibly exhausted context window!"
    found = [
        next(rule.fault for rule in aider.DIALOGS if rule.pattern.search(shown))
        for shown in (told, full)
    ]
    assert found == ["api", "context"]


def test_a_turn_of_llm_is_exact_or_left_to_the_screen() -> None:
    row = {"thread_id": "t", "parts": '[{"type": "text", "text": "a\\n\\n>"}]'}
    assert llm.read_row(row) == (SessionNamed("t"), ReplyEnded("a\n\n>"))
    assert llm.read_row({**row, "parts": '[{"type": "text"}]'}) == (SessionNamed("t"),)
    assert llm.read_row({"parts": "{"}) == ()


def test_aider_has_the_persona_before_its_own_system_prompt() -> None:
    present = "- {name: m, edit_format: diff}\n- {name: other}\n"
    models = yaml.safe_load(aider.models_file(setting(), present))
    assert models[0]["edit_format"] == "diff"
    assert models[0]["system_prompt_prefix"] == "You cost $5."
    assert models[1] == {"name": "other"}


def test_only_what_the_model_answered_is_aiders_reply() -> None:
    head = "LLM RESPONSE 2026-11-22T07:00:00"
    line = {"line": "ASSISTANT x", "since": 3}
    assert aider.read_line({**line, "head": head}) == (ReplyBlock("x", sep="\n"),)
    assert aider.read_line({**line, "head": "TO LLM 2026-11-22T07:00:00"}) == ()
    assert aider.read_line({"line": head, "head": head, "since": 0}) == (ReplyRetracted(),)


def test_an_administrators_settings_of_hermes_are_kept() -> None:
    present = "approvals: {mode: 'off'}\nmodel: own\ndisplay: {skin: x}\n"
    config = yaml.safe_load(hermes.config_file(setting(model=""), present))
    assert config["approvals"]["mode"] == "off"
    assert config["model"]["default"] == "own"
    assert config["display"]["skin"] == "x"


def test_a_use_of_a_tool_by_hermes_is_told_with_its_result() -> None:
    call = (
        '[{"id": "c", "function": {"name": "terminal", "arguments": "{\\"command\\": \\"ls\\"}"}}]'
    )
    told = hermes.read_row({"session_id": "s", "role": "assistant", "tool_calls": call})
    assert told == (
        SessionNamed("s"),
        ToolUsed("terminal", "ls"),
        ToolReport("c", "terminal", '{"command": "ls"}'),
    )
    gave = hermes.read_row({"role": "tool", "tool_call_id": "c", "content": "x"})
    assert gave == (ToolReport("c", "", result="x"),)


@pytest.mark.parametrize("begins", hermes.SUMMARIES)
async def test_what_hermes_writes_anew_when_it_compacts_is_of_no_turn(
    tmp_path: Path, begins: str
) -> None:
    file = tmp_path / hermes.FOLDER / "state.db"
    file.parent.mkdir()
    columns = "session_id, role, content, tool_call_id, tool_calls, tool_name, finish_reason"
    into = "messages (timestamp, role, content, compacted, session_id)"
    insert = f"INSERT INTO {into} VALUES (?, ?, ?, ?, ?)"
    follower = follow(record(), tmp_path, f"{hermes.FOLDER}/state.db")
    with closing(sqlite3.connect(file)) as database:

        def add(*rows: tuple[float, str, str]) -> None:
            database.executemany(insert, [(*row, 0, "s") for row in rows])
            database.commit()

        database.execute(
            f"CREATE TABLE messages (id INTEGER PRIMARY KEY, {columns}, timestamp, compacted)"
        )
        add((1.0, "user", "yes"), (2.0, "assistant", "old"))
        await follower.skip()
        add((3.0, "user", "now"))
        database.execute("UPDATE messages SET compacted = 1")
        kept = (("assistant", f"{begins} x"), ("user", "yes"), ("assistant", "old"))
        add(*((4.0 + n / 1e6, *row) for n, row in enumerate((*kept, ("user", "now")))))
        add((5.0, "assistant", "new"))
        events = await follower.read()
        assert [e for e in events if not isinstance(e, SessionNamed)] == [
            PromptTaken("s:3"),
            ContextCompacted("s:4"),
            ReplyEnded("new"),
        ]
        add((6.0, "user", "yes"))  # said once more
        assert PromptTaken("s:9") in await follower.read()


def record() -> RecordFormat:
    """That of hermes."""
    assert hermes.HERMES.signs.record
    return hermes.HERMES.signs.record


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("HTTP 401: no such key", True),
        ("API call failed after 1 retries: HTTP 500: broken", True),
        ("Context length exceeded: max compression attempts (3) reached.", True),
        ("HTTP 401 means that the key is wrong.", False),
        ("HTTP 401: no such key\n\nThat is what it says.", False),
    ],
)
def test_an_error_that_hermes_tells_as_its_answer_is_known(text: str, fails: bool) -> None:
    assert bool(hermes.SPOKEN_FAULT.search(text)) == fails
