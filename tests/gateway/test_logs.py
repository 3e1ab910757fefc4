"""What is logged: a line an event, for machines and for people; nobody forges a line."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.log_context import (
    LogContext,
    SessionLogContexts,
    log_context,
    own_log_context,
    subject,
)
from gateway.core.redaction import REMOVED, Redactor
from gateway.observability.log_events import EVENT, FOREIGN, PROSE, event_of
from gateway.observability.logs import as_json, human, logging_to
from tests.doubles.platform import said
from tests.doubles.running import gateway

HOUSE = Path(__file__).parents[2]
ROOMS = ("bots", "adapters", "composer", "memory", "store", "gateway")


def record(template: str, *args: object, name: str = "moot.test") -> logging.LogRecord:
    return logging.LogRecord(name, logging.INFO, "", 0, template, args, None)


def told(template: str, *args: object, name: str = "moot.test") -> dict[str, Any]:
    event = event_of(record(template, *args, name=name), {})
    return {key: event[key] for key in event if key not in ("time", "level", "logger")}


def test_the_templates_keys_become_keys_with_their_types() -> None:
    found = told("post.retry key=%s in_s=%.1f tries=%d ok=%s reason=%r", "t:0", 0.25, 3, True, "no")
    assert found == {
        "event": "post.retry", "key": "t:0", "in_s": 0.2, "tries": 3, "ok": True, "reason": "no",
    }  # fmt: skip


def test_a_value_forges_no_key_no_event_and_no_line() -> None:
    forged = 'x turn=forged event=forged\n{"event": "turn.posted"}\u2028\x1b[31m'
    found = told("ingest.typo key=%s meant=%s", forged, "y")
    assert found == {"event": "ingest.typo", "key": forged, "meant": "y"}
    assert len(as_json(found).splitlines()) == 1
    plain = human(colour=False, width=120)(event_of(record("ingest.typo key=%s", forged), {}))
    assert len(plain.splitlines()) == 1
    assert "\x1b" not in plain
    assert 'key="x turn=forged' in plain


@given(st.text(), st.text())
def test_every_line_is_one_line_whatever_its_values_are(first: str, second: str) -> None:
    event = event_of(record("a.b x=%s y=before %s", first, second), {"room": second})
    for line in (as_json(event), human(colour=True, width=80)(event)):
        assert len((line + "\n").splitlines()) == 1
    back = json.loads(as_json(event))
    assert (back["x"], back["y"], back["room"]) == (first, f"before {second}", second)


def test_words_stand_in_a_value_where_the_template_has_them() -> None:
    found = told("persona.invalid file=%s.md reason=%r%s action=left out", "a", "b", "; c")
    assert found == {
        "event": "persona.invalid", "file": "a.md", "reason": "'b'; c", "action": "left out",
    }  # fmt: skip


def test_other_libraries_lines_are_prose() -> None:
    found = told("can't reach %s turn=%s", "x", "y", name="aiohttp.client")
    assert found == {"event": FOREIGN, "message": "can't reach x turn=y"}
    assert told("Some prose: %s", "x")["event"] == PROSE


def test_a_template_that_does_not_fit_loses_no_line() -> None:
    assert told("a.b x=%s y=%s", "only")["x"] == "only"
    assert told("prose %s %s", "only", name="other")["message"] == "prose %s %s"


def test_keys_of_the_line_itself_are_not_overwritten() -> None:
    event = event_of(record("a.b level=%s logger=%s", "x", "y"), {})
    assert (event["level"], event["logger"]) == ("info", "moot.test")
    assert (event["level_"], event["logger_"]) == ("x", "y")


def test_json_tells_time_level_and_logger_first() -> None:
    line = json.loads(as_json(event_of(record("a.b"), {"turn": "t1"})))
    assert list(line) == ["time", "level", "logger", "event", "turn"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", line["time"])


class Pipe(io.StringIO):
    """A stream that is one of a terminal, or of a pipe that nobody reads for a while."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal
        self.reads = threading.Event()
        self.reads.set()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.reads.wait()
        return super().write(text)


@pytest.fixture
def calm() -> Iterator[None]:
    """The loggers' levels as they were."""
    loggers = logging.getLogger(), logging.getLogger("moot")
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    logging.captureWarnings(False)


log = logging.getLogger("moot.test")


@pytest.mark.usefixtures("calm")
def test_a_pipe_gets_json_and_a_terminal_lines_with_colour_unless_it_wants_none() -> None:
    shown = {}
    for name, terminal, env in (
        ("pipe", False, {}),
        ("terminal", True, {"COLUMNS": "120"}),
        ("plain", True, {"NO_COLOR": "1", "COLUMNS": "60"}),
    ):
        pipe = Pipe(terminal=terminal)
        with logging_to(pipe, Redactor(), env):
            log.info("turn.posted turn=%s posts=%d", "t1", 2)
        shown[name] = pipe.getvalue()
    line = json.loads(shown["pipe"])
    assert (line["event"], line["turn"], line["posts"]) == ("turn.posted", "t1", 2)
    assert "\x1b[" in shown["terminal"]
    assert "logger=moot.test" in re.sub(r"\x1b\[[0-9;]*m", "", shown["terminal"])
    assert "\x1b" not in shown["plain"]
    assert shown["plain"].endswith("turn.posted turn=t1 posts=2\n")


@pytest.mark.usefixtures("calm")
def test_a_slow_pipe_stalls_nobody_and_is_told_what_it_lost() -> None:
    pipe = Pipe()
    pipe.reads.clear()
    with logging_to(pipe, Redactor(), {}):
        for number in range(12_000):
            log.info("a.b number=%d", number)  # would wait for ever if it waited for the pipe
        pipe.reads.set()
    lines = [json.loads(line) for line in pipe.getvalue().splitlines()]
    lost = sum(line["lines"] for line in lines if line["event"] == "logs.lost")
    assert lost > 0
    assert len([line for line in lines if line["event"] == "a.b"]) + lost == 12_000


@pytest.mark.usefixtures("calm")
def test_a_pipe_that_is_closed_ends_nothing() -> None:
    pipe = Pipe()
    with logging_to(pipe, Redactor(), {}):
        pipe.close()
        log.info("a.b")


@pytest.mark.usefixtures("calm")
def test_exceptions_warnings_and_libraries_are_told_without_secrets_and_without_locals() -> None:
    secret, pipe = "canary-1-a8f7e6", Pipe()

    def fails() -> None:
        password = f"{secret}-of-a-local"
        assert password
        raise ValueError(f"bad key {secret}\nturn.posted turn=forged")

    with logging_to(pipe, Redactor([secret]), {}) as change:
        import warnings

        change("DEBUG", "json")
        try:
            fails()
        except ValueError:
            log.exception("bot.crashed bot=%s", secret)
        logging.getLogger("aiohttp").warning("url %s", f"https://x?token={secret}")
        logging.getLogger("aiohttp").info("a body: %s", "words of somebody")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"careful with {secret}", UserWarning, stacklevel=1)
    crashed, library, warned = (json.loads(line) for line in pipe.getvalue().splitlines())
    assert crashed["bot"] == REMOVED
    assert crashed["exception"].startswith("Traceback (most recent call last)")
    assert f"ValueError: bad key {REMOVED}" in crashed["exception"]
    assert library["message"] == f"url https://x?token={REMOVED}"
    assert REMOVED in warned["message"]
    assert "canary" not in pipe.getvalue().replace('f"{secret}-of', "")
    assert "words of somebody" not in pipe.getvalue()


def test_for_people_an_exception_stands_indented_below_its_line() -> None:
    event = {**event_of(record("a.b"), {}), "exception": "Traceback\nValueError: x\r\n12:00 INFO a"}
    first, *below = human(colour=False, width=80)(event).splitlines()
    assert first.endswith("a.b")
    assert all(line.startswith("    ") for line in below)


async def test_a_sessions_long_lived_task_tells_the_turn_of_that_moment() -> None:
    heard: list[str] = []
    tick = asyncio.Event()

    async def reads() -> None:
        while True:
            await tick.wait()
            tick.clear()
            heard.append(subject().turn)

    from tests.gateway.test_metrics import turn

    subjects = SessionLogContexts()
    first, second = turn(), turn()
    second = type(second)(**{**{f: getattr(second, f) for f in second.__slots__}, "id": "t2"})
    with subjects.take(first):
        task = asyncio.create_task(reads())
        tick.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    tick.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with subjects.take(second):
        tick.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    task.cancel()
    assert heard == ["t1", "", "t2"]


def test_what_is_told_more_of_a_subject_ends_with_its_block() -> None:
    with log_context(LogContext(bot="slack")), own_log_context(room="slack:C1") as inner:
        assert inner.told() == {"room": "slack:C1", "bot": "slack"}
    assert subject().told() == {}


class Lines(logging.Handler):
    """Records events."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.events.append(event_of(record, subject().told()))


async def test_every_line_of_a_turn_tells_turn_room_persona_and_session(tmp_path: Path) -> None:
    lines = Lines()
    ours = logging.getLogger("moot")
    ours.addHandler(lines)
    level = ours.level
    ours.setLevel(logging.INFO)
    try:
        async with gateway(tmp_path) as moot:
            accepted = await moot.hear(said("@demo secret words of a person"))
            await moot.settle()
    finally:
        ours.removeHandler(lines)
        ours.setLevel(level)
    turn_id = accepted.turns[0].id
    of_turn = [event for event in lines.events if event.get("turn") == turn_id]
    names = [event["event"] for event in of_turn]
    wanted = [
        "turn.queued", "turn.began", "session.opened", "agent.ready", "prompt.window",
        "prompt.memory", "prompt.composed", "prompt.typed", "agent.asked", "agent.answered",
        "answer.planned", "post.sent", "turn.posted",
    ]  # fmt: skip
    assert [name for name in dict.fromkeys(names) if name in wanted] == wanted
    assert len(of_turn) <= 14  # one that starts its program; a busy room must stay readable
    for event in of_turn:
        assert event["room"] == "fake:general"
        assert event["persona"] == "demo"
        assert event["session"] == "demo@room:fake:general"
    assert "secret words" not in json.dumps(lines.events)


def templates() -> list[tuple[str, str]]:
    """What every `log.` call of the house says, and where."""
    found = []
    for folder in ROOMS:
        for path in (HOUSE / folder).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                    continue
                owner, how = call.func.value, call.func.attr
                levels = {"debug", "info", "warning", "error", "exception", "critical", "log"}
                if isinstance(owner, ast.Name) and owner.id == "log" and how in levels:
                    said = call.args[1 if how == "log" else 0]
                    where = f"{path.relative_to(HOUSE)}:{call.lineno}"
                    assert isinstance(said, ast.Constant), f"{where}: say a literal template"
                    found.append((where, str(said.value)))
    return found


def test_every_event_is_well_formed_and_documented() -> None:
    documented = (HOUSE / "docs" / "logs.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^\| `([a-z_.]+)` \|", documented, re.MULTILINE))
    said = {template.partition(" ")[0]: where for where, template in templates()}
    assert [where for name, where in said.items() if not EVENT.fullmatch(name)] == []
    assert sorted(set(said) - names) == []
    assert sorted(names - set(said) - {FOREIGN, PROSE, "logs.lost"}) == []


def test_a_line_that_logs_writes_no_more_than_keys_after_its_event() -> None:
    odd = re.compile(r"[a-z_.]+( [a-z_]+=.*)?", re.DOTALL)
    assert [where for where, template in templates() if not odd.fullmatch(template)] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_full_disk_ends_neither_the_work_nor_its_exit_code() -> None:
    code = (
        "import logging, sys\n"
        "from gateway.observability.logs import logging_to\n"
        "from gateway.core.redaction import Redactor\n"
        "with logging_to(sys.stderr, Redactor(), {}):\n"
        "    for n in range(2_000):\n"
        "        logging.getLogger('moot.test').info('test.line number=%d', n)\n"
        "print('done')\n"
    )
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=HOUSE,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (ran.returncode, ran.stdout) == (0, b"done\n")
