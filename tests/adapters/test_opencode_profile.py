"""opencode's profile: its settings, its database's rows, what is typed."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import MemoryServer
from adapters.cli_profile import Setting
from adapters.profiles.opencode import OPENCODE, defaults_file, harmless, registry_file, relied_file
from adapters.records.opencode import QUERY, failure, from_record
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    SessionNamed,
    ToolReport,
    ToolUsed,
    TurnEvent,
)
from contract.errors import AgentError

TABLES = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, type text, data text);
INSERT INTO session VALUES ('ses_1', NULL), ('ses_sub', 'ses_1');
"""


class Database:
    """A database as opencode writes it: each change is applied, and told as an event."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(TABLES)
        self.count = 0

    def message(self, ident: str, session: str = "ses_1", **info: Any) -> None:
        """A message that is new or changed."""
        told = {"id": ident, "sessionID": session, **info}
        self._put("message", (ident, session, self.count, json.dumps(info)))
        self._tell("message.updated.1", session, {"info": told})

    def part(self, ident: str, message: str, session: str = "ses_1", **part: Any) -> None:
        """A part that is new or changed."""
        self._put("part", (ident, message, session, json.dumps(part)))
        told = {"id": ident, "messageID": message, **part}
        self._tell("message.part.updated.1", session, {"part": told})

    def _put(self, table: str, values: tuple[object, ...]) -> None:
        self.connection.execute(f"DELETE FROM {table} WHERE id = ?", values[:1])
        self.connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", values)

    def _tell(self, kind: str, session: str, data: Mapping[str, object]) -> None:
        self.count += 1
        row = (f"evt_{self.count}", session, self.count, kind, json.dumps(data))
        self.connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)

    def prompt(self, ident: str, text: str = "a prompt", **more: Any) -> None:
        """A prompt of somebody."""
        self.message(ident, role="user")
        self.part(f"prt_{ident}", ident, type="text", text=text, **more)

    def answer(self, ident: str, parent: str, text: str, **info: Any) -> None:
        """An answer from its beginning to its end."""
        begun = {"role": "assistant", "parentID": parent, **info}
        self.message(ident, **begun)
        self.part(f"prt_{ident}", ident, type="text", text="", time={"start": 1})
        self.part(f"prt_{ident}", ident, type="text", text=text, time={"start": 1, "end": 2})
        self.message(ident, **begun, finish="stop")
        self.message(ident, **begun, finish="stop", time={"created": 1, "completed": 2})

    def events(self, since: int = 0) -> list[TurnEvent]:
        """What the reader makes of the rows."""
        rows = self.connection.execute(QUERY, (since,))
        return [event for row in rows for event in from_record(dict(row))]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "opencode.db")
    with closing(database.connection):
        yield database


def setting(**changes: Any) -> Setting:
    return Setting(Path("/home/x"), Path("/srv/x"), "", **changes)


def relied(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(relied_file(setting(**changes), ""))
    return found


# ── Its database ────────────────────────────────────────────────────────────────────────


def test_a_turn_is_told_once_its_texts_are_whole(database: Database) -> None:
    database.prompt("msg_1")
    database.answer("msg_2", "msg_1", "Hello **there**.")
    assert database.events() == [
        SessionNamed("ses_1"),
        PromptTaken("msg_1"),
        ReplyBlock("Hello **there**.", turn="msg_1"),
        ReplyEnded(turn="msg_1"),
    ]


def test_a_late_change_of_the_prompt_begins_no_turn(database: Database) -> None:
    database.prompt("msg_1")
    database.answer("msg_2", "msg_1", "Hello.")
    seen = database.count
    database.message("msg_1", role="user", summary={"diffs": []})
    assert database.events(seen) == []


def test_a_tool_is_told_with_its_result(database: Database) -> None:
    database.prompt("msg_1")
    database.message("msg_2", role="assistant", parentID="msg_1")
    call = {"type": "tool", "tool": "bash", "callID": "c1"}
    given = {"command": "ls\n-l"}
    database.part("prt_2", "msg_2", **call, state={"status": "pending", "input": {}})
    database.part("prt_2", "msg_2", **call, state={"status": "running", "input": given})
    done = {"status": "completed", "input": given, "output": "a"}
    database.part("prt_2", "msg_2", **call, state=done)
    told = json.dumps(given)
    assert database.events(2) == [
        ToolUsed("bash", "ls -l", "msg_1"),
        ToolReport("c1", "bash", told, turn="msg_1"),
        ToolReport("c1", "bash", told, "a", turn="msg_1"),
    ]


def test_a_message_with_tools_is_no_end_whatever_it_says(database: Database) -> None:
    database.prompt("msg_1")
    database.message("msg_2", role="assistant", parentID="msg_1")
    refused = {"status": "error", "error": "refused"}
    database.part("prt_2", "msg_2", type="tool", tool="bash", callID="c1", state=refused)
    ended: dict[str, Any] = {"finish": "stop", "time": {"completed": 2}}
    database.message("msg_2", role="assistant", parentID="msg_1", **ended)
    assert database.events(2) == [
        ToolReport("c1", "bash", "", "refused", failed=True, turn="msg_1"),
    ]


def test_what_a_subagent_does_is_not_the_reply(database: Database) -> None:
    database.message("msg_1", "ses_sub", role="user")
    database.part("prt_1", "msg_1", "ses_sub", type="text", text="x")
    assert database.events() == []


def compact(database: Database, ident: str, **part: Any) -> None:
    database.message(f"{ident}a", role="user")
    database.part(f"prt_{ident}a", f"{ident}a", type="compaction", **part)
    database.answer(f"{ident}b", f"{ident}a", "A summary.", summary=True)


def test_the_prompt_is_the_same_behind_a_compaction(database: Database) -> None:
    database.prompt("msg_1")
    begun = {"role": "assistant", "parentID": "msg_1"}
    database.message("msg_2", **begun)
    database.message("msg_2", **begun, time={"completed": 2})  # too much for the API
    compact(database, "msg_3", auto=True, overflow=True)
    database.prompt("msg_4")  # the program's own copy
    database.answer("msg_5", "msg_4", "Hello.")
    assert database.events() == [
        SessionNamed("ses_1"),
        PromptTaken("msg_1"),
        ContextCompacted("msg_1"),
        ReplyBlock("Hello.", turn="msg_1"),
        ReplyEnded(turn="msg_1"),
    ]


def test_what_is_typed_behind_a_wanted_compaction_is_a_prompt(database: Database) -> None:
    database.prompt("msg_1")
    database.answer("msg_2", "msg_1", "Hello.")
    compact(database, "msg_3", auto=False)
    database.prompt("msg_4")
    assert PromptTaken("msg_4") in database.events()


def test_a_conversation_that_never_fits_is_given_up(database: Database) -> None:
    database.prompt("msg_1")
    compact(database, "msg_2", auto=True, overflow=True)
    database.prompt("msg_3")
    seen = database.count
    compact(database, "msg_4", auto=True, overflow=True)
    compacted, failed, *_ = database.events(seen)
    assert compacted == ContextCompacted("msg_1")
    assert isinstance(failed, ReplyFailed)
    assert (failed.kind, failed.turn, failed.goes_on) == ("context", "msg_1", True)


def test_an_interrupt_is_an_end(database: Database) -> None:
    database.prompt("msg_1")
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    database.message("msg_2", role="assistant", parentID="msg_1", error=error)
    assert database.events(2) == [ReplyEnded(interrupted=True, turn="msg_1")]


@pytest.mark.parametrize(
    ("name", "status", "message", "kind"),
    [
        ("APIError", 401, "invalid x-api-key", "login"),
        ("ProviderAuthError", None, "no key", "login"),
        ("APIError", 429, "slow down", "limit"),
        ("ContextOverflowError", None, "full", "context"),
        ("APIError", 400, "prompt is too long: 2 > 1", "context"),
        ("UnknownError", None, "", "api"),
    ],
)
def test_an_error_is_one_line_with_its_remedy(
    name: str, status: int | None, message: str, kind: str
) -> None:
    failed = failure({"name": name, "data": {"statusCode": status, "message": message}})
    assert failed.kind == kind
    assert failed.say
    assert "\n" not in str(failed.say)


@pytest.mark.parametrize("row", [{}, {"data": "no json", "turn": None, "role": None, "summary": 0}])
def test_rows_that_nobody_knows_are_passed_over(row: Mapping[str, Any]) -> None:
    assert from_record(row) == ()


# ── Its settings ────────────────────────────────────────────────────────────────────────


def test_it_asks_before_it_acts() -> None:
    permission = json.loads(defaults_file(setting(), ""))["permission"]
    assert permission["*"] == "ask"
    assert not {"bash", "edit", "webfetch"} & permission.keys()


def test_an_api_of_the_environment_becomes_its_provider() -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "sk-secret"}
    for model in ("org/name", "openai/org/name", "openai-compatible/org/name"):
        found = relied(model=model, env=env)
        assert found["model"] == "openai-compatible/org/name"
        provider = found["provider"]["openai-compatible"]
        assert provider["options"]["baseURL"] == "http://127.0.0.1:1/v1"
        assert list(provider["models"]) == ["org/name"]
        assert "sk-secret" not in json.dumps(found)


def test_an_api_without_a_model_is_refused() -> None:
    with pytest.raises(AgentError, match="without a model"):
        relied(env={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})


def test_a_model_of_its_own_providers_stays_as_it_is() -> None:
    found = relied(model="anthropic/claude-sonnet")
    assert found["model"] == "anthropic/claude-sonnet"
    assert "provider" not in found


def test_persona_and_memory_are_told_only_when_there_are_some() -> None:
    assert not {"instructions", "mcp"} & relied().keys()
    memory = MemoryServer(("/bin/moot", "mcp"), (("KEY", "x"),))
    found = relied(persona="You are Ash.", memory=memory)
    assert found["instructions"] == ["/home/x/.moot/persona.md"]
    assert found["mcp"]["moot"]["command"] == ["/bin/moot", "mcp"]
    assert found["mcp"]["moot"]["environment"] == {"KEY": "x"}


def test_its_package_manager_stays_offline_and_keeps_its_settings() -> None:
    once = registry_file(setting(), "fund=false\n")
    assert once == "fund=false\noffline=true\n"
    assert registry_file(setting(), once) == once


# ── Typing, and its screen ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("!ls", "> !ls"),
        ("  /exit", ">   /exit"),
        ("ask @bob", "ask @bob "),
        ("a @b/c d", "a @b/c d"),
    ],
)
def test_no_text_is_a_command(text: str, typed: str) -> None:
    assert harmless(text) == typed


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ("   ⬝■■⬝ Internal server error [retrying in 7s attempt #3]   esc interrupt", ["api"]),
        ("   ⬝■■⬝ Rate limit reached [retrying attempt #4]", ["limit", "api"]),
        ("   ⬝■■⬝ Too Many Requests [retrying in 59m 3s attempt #1]", ["limit", "api"]),
        ("   ⬝Cannot⬝connect (click to expand) [retrying in 4s attemp\n    #3]   esc", ["api"]),
        ("   ⬝■■⬝ Internal server error [retrying in 1s attempt #2]", []),
        ("     a reply of [retrying in 7s attempt #3]", []),
    ],
)
def test_it_is_not_let_try_for_minutes(row: str, kinds: list[str]) -> None:
    assert [d.fault for d in OPENCODE.shown.dialogs if d.breaks and d.pattern.search(row)] == kinds


@pytest.mark.parametrize(
    ("detail", "half"),
    [
        ("# Shell command", True),
        ("# Shell command\n$ ls", False),
        ("→ Read", True),
        ("→ Read notes.md\nPath: notes.md", False),
        ('✱ Glob ""', True),
        ('✱ Glob "*.py"\nPattern: *.py', False),
        ("→ Edit notes.md", False),
        ("", False),
    ],
)
def test_a_question_without_the_tools_input_is_half(detail: str, half: bool) -> None:
    assert OPENCODE.shown.permission
    assert OPENCODE.shown.permission.half
    assert bool(OPENCODE.shown.permission.half.fullmatch(detail)) == half
