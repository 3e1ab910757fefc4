"""What is logged: a line an event, for machines and for people; nobody forges a line."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
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
from gateway.observability.log_lines import as_json, human
from gateway.observability.logs import FOREIGN, LONGEST_VALUE, PROSE, Logs, logging_to
from tests.doubles.platform import said
from tests.doubles.running import gateway
from tests.gateway.event_table import PAGE, calls, events, sentences, updated

HOUSE = Path(__file__).parents[2]
log = structlog.stdlib.get_logger("moot.test")
EVENT = re.compile(r"[a-z][a-z_]*\.[a-z][a-z_]*")
ROOMS = ("bots", "adapters", "composer", "memory", "store", "llm", "gateway")


def line(event: str, /, **fields: Any) -> dict[str, Any]:
    """An event as the renderers get it."""
    first = {"time": "2026-11-22T14:07:20.523+01:00", "level": "info", "logger": "moot.test"}
    return {**first, "event": event, **fields}


def json_line(event: dict[str, Any]) -> str:
    return str(as_json(None, "info", event))


def human_line(event: dict[str, Any], *, colour: bool = False, width: int = 120) -> str:
    return str(human(colour=colour, width=width)(None, "info", event))


def logged(log_it: Callable[[], object]) -> list[dict[str, Any]]:
    """What is written meanwhile, as JSON."""
    pipe = Pipe()
    with logging_to(pipe, Redactor(), {}):
        log_it()
    return [json.loads(line) for line in pipe.getvalue().splitlines()]


def told(line: dict[str, Any]) -> dict[str, Any]:
    return {key: line[key] for key in line if key not in ("time", "level", "logger")}


@pytest.mark.usefixtures("calm")
def test_fields_keep_their_types_and_what_is_no_number_becomes_text() -> None:
    error, path = ValueError("no"), Path("/x/y")

    def says() -> None:
        log.info("post.retry", key="t:0", in_s=0.25, tries=3, ok=True, none=None)
        log.info("a.b", reason=error, file=path)

    first, second = map(told, logged(says))
    assert first == {
        "event": "post.retry", "key": "t:0", "in_s": 0.25, "tries": 3, "ok": True, "none": None,
    }  # fmt: skip
    assert second == {"event": "a.b", "reason": "no", "file": "/x/y"}


@pytest.mark.usefixtures("calm")
def test_a_value_is_written_as_it_was_when_it_was_logged() -> None:
    names = ["first"]

    def says() -> None:
        log.info("a.b", names=names)
        logging.getLogger("moot.library").info("%s", names)
        names.append("second")

    assert [line.get("names", line.get("message")) for line in logged(says)] == ["['first']"] * 2


@pytest.mark.usefixtures("calm")
def test_a_value_forges_no_key_no_event_and_no_line() -> None:
    forged = 'x turn=forged event=forged\n{"event": "turn.posted"}\u2028\x1b[31m'
    [found] = logged(lambda: log.info("ingest.typo", key=forged, meant="y"))
    assert told(found) == {"event": "ingest.typo", "key": forged, "meant": "y"}
    assert len(json_line(found).splitlines()) == 1
    plain = human_line(found)
    assert len(plain.splitlines()) == 1
    assert "\x1b" not in plain
    assert 'key="x turn=forged' in plain


@given(st.text(), st.text())
def test_every_line_is_one_line_whatever_its_values_are(first: str, second: str) -> None:
    event = line("a.b", x=first, y=f"before {second}", room=second)
    for text in (json_line(event), human_line(event, colour=True, width=80)):
        assert len((text + "\n").splitlines()) == 1
    back = json.loads(json_line(event))
    assert (back["x"], back["y"], back["room"]) == (first, f"before {second}", second)


@pytest.mark.usefixtures("calm")
def test_a_value_that_is_too_long_is_cut() -> None:
    [found] = logged(lambda: log.info("a.b", reason="x" * 5_000))
    assert found["reason"] == "x" * LONGEST_VALUE + "…"


@pytest.mark.usefixtures("calm")
def test_a_name_that_is_no_utf_8_can_be_written() -> None:
    [found] = logged(lambda: log.info("a.b", file=os.fsdecode(b"named-\xff")))
    assert found["file"].encode() == b"named-\\udcff"


@pytest.mark.usefixtures("calm")
def test_other_libraries_lines_are_prose() -> None:
    library = logging.getLogger("aiohttp.client")
    [found] = logged(lambda: library.warning("can't reach %s turn=%s", "x", "y"))
    assert told(found) == {"event": FOREIGN, "message": "can't reach x turn=y"}
    [found] = logged(lambda: logging.getLogger("moot.sdk").info("Some prose: %s", "x"))
    assert told(found) == {"event": PROSE, "message": "Some prose: x"}


def test_a_librarys_template_that_does_not_fit_loses_no_line() -> None:
    pipe = Pipe()
    logs = Logs(pipe, Redactor(), as_json)
    logs.emit(logging.LogRecord("other", logging.WARNING, "", 0, "prose %s %s", ("only",), None))
    logs.close()
    assert json.loads(pipe.getvalue())["message"] == "prose %s %s"


@pytest.mark.usefixtures("calm")
def test_keys_of_the_line_itself_are_not_overwritten() -> None:
    fields = {"level": "x", "logger": "y", "time": "z"}
    [found] = logged(lambda: log.info("a.b", **fields))
    assert (found["level"], found["logger"]) == ("info", "moot.test")
    assert found["time"] != "z"


@pytest.mark.usefixtures("calm")
def test_json_has_time_level_and_logger_first() -> None:
    def says() -> None:
        with log_context(LogContext(turn="t1", room="r1")):
            log.info("a.b", posts=2, room="r2")

    [found] = logged(says)
    assert list(found) == ["time", "level", "logger", "event", "posts", "room", "turn"]
    assert found["room"] == "r2"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", found["time"])


@pytest.mark.usefixtures("calm")
def test_a_level_that_is_off_hands_nothing_on() -> None:
    told: list[str] = []

    class Value:
        def __init__(self, name: str) -> None:
            self.name = name

        def __str__(self) -> str:
            told.append(self.name)
            return self.name

    pipe = Pipe()
    with logging_to(pipe, Redactor(), {}) as change:
        log.debug("a.b", value=Value("off"))
        change("DEBUG", "json")
        log.debug("c.d", value=Value("on"))
        change("WARNING", "json")
        log.info("e.f", value=Value("off again"))
    assert [json.loads(line)["event"] for line in pipe.getvalue().splitlines()] == ["c.d"]
    assert told == ["on"]


def test_commands_log_plain_lines_to_whoever_listens(caplog: pytest.LogCaptureFixture) -> None:
    log.warning("persona.invalid", file="a.md", reason="'b'; c")
    try:
        raise ValueError("x")
    except ValueError:
        log.exception("bot.crashed", bot="slack")
    assert caplog.messages == ["persona.invalid file=a.md reason='b'; c", "bot.crashed bot=slack"]
    assert "ValueError: x" in caplog.text


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
            log.info("turn.sent", turn="t1", posts=2)
        shown[name] = pipe.getvalue()
    line = json.loads(shown["pipe"])
    assert (line["event"], line["turn"], line["posts"]) == ("turn.sent", "t1", 2)
    assert "\x1b[" in shown["terminal"]
    assert "logger=moot.test" in re.sub(r"\x1b\[[0-9;]*m", "", shown["terminal"])
    assert "\x1b" not in shown["plain"]
    assert shown["plain"].endswith("turn.sent turn=t1 posts=2\n")


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(("level", "count"), [("INFO", 1), ("DEBUG", 3)])
def test_a_terminal_shows_one_line_of_a_question_unless_all_are_wanted(
    level: str, count: int
) -> None:
    screen = Pipe(terminal=True)
    known = {"agent": "demo", "in_ms": 312.0, "chars": 5, "source": "record", "tools": 0}
    with logging_to(screen, Redactor(), {"NO_COLOR": "1", "COLUMNS": "80"}) as change:
        change(level, "auto")
        log.info("prompt.composed", chars=1_000)
        log.info("agent.answered", **known, ended_by="prompt", fault="none", by="slack:U1")
        log.info("post.sent", kind="text", chars=5, key="k")
    lines = screen.getvalue().splitlines()
    assert len(lines) == count
    if level == "INFO":
        assert lines[0].partition("INFO")[2].split() == [
            "answered",
            "in",
            "0.3",
            "s",
            "by=slack:U1",
        ]


def test_a_terminal_shows_the_last_line_of_an_exception() -> None:
    screen = Pipe(terminal=True)
    with logging_to(screen, Redactor(), {"NO_COLOR": "1", "COLUMNS": "80"}) as change:
        change("INFO", "auto")
        try:
            raise ValueError("no")
        except ValueError:
            log.exception("turn.crashed", turn="t")
    [line_] = screen.getvalue().splitlines()
    assert "Traceback" not in line_
    assert 'error="ValueError: no"' in line_


def test_a_slow_pipe_stalls_nobody_and_is_told_what_it_lost() -> None:
    pipe = Pipe()
    pipe.reads.clear()
    with logging_to(pipe, Redactor(), {}):
        for number in range(12_000):
            log.info("a.b", number=number)  # would wait for ever if it waited for the pipe
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
            log.exception("bot.crashed", bot=secret)
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
    event = line("a.b", exception="Traceback\nValueError: x\r\n12:00 INFO a")
    first, *below = human_line(event, width=80).splitlines()
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


@pytest.mark.usefixtures("calm")
async def test_every_line_of_a_turn_tells_turn_room_persona_and_session(tmp_path: Path) -> None:
    pipe = Pipe()
    with logging_to(pipe, Redactor(), {}):
        async with gateway(tmp_path) as moot:
            accepted = await moot.hear(said("@demo secret words of a person"))
            await moot.settle()
    events = [json.loads(line) for line in pipe.getvalue().splitlines()]
    turn_id = accepted.turns[0].id
    of_turn = [event for event in events if event.get("turn") == turn_id]
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
    assert "secret words" not in pipe.getvalue()


def test_every_event_is_named_well_and_the_page_of_events_is_what_the_code_logs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in events() if not EVENT.fullmatch(name)] == []
    assert page == updated(page), "run: python -m tests.gateway.event_table"
    assert [name for name, sentence in sentences(page).items() if not sentence] == []


def test_the_guide_names_only_events_that_there_are() -> None:
    guide = (HOUSE / "docs" / "logs.md").read_text(encoding="utf-8")
    table = guide[guide.index("## Events") :]
    named = {name for name in re.findall(r"`([a-z_]+\.[a-z_]+)`", table) if name != "logs.md"}
    assert named <= events().keys()


def test_an_event_has_fields_of_its_own_names_and_no_values_without() -> None:
    taken = {"time", "level", "logger", "exception"}
    for where, how, event, call in calls():
        assert len(call.args) == (2 if how == "log" else 1), f"{where}: {event} has a bare value"
        assert not taken & {keyword.arg for keyword in call.keywords}, where


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_full_disk_ends_neither_the_work_nor_its_exit_code() -> None:
    code = (
        "import structlog, sys\n"
        "from gateway.observability.logs import logging_to\n"
        "from gateway.core.redaction import Redactor\n"
        "with logging_to(sys.stderr, Redactor(), {}):\n"
        "    for n in range(2_000):\n"
        "        structlog.stdlib.get_logger('moot.test').info('test.line', number=n)\n"
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
