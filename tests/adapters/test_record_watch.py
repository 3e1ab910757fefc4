"""The ends of turns that nothing but their signs tell, however seldom anybody looks."""

import asyncio
import os
import re
import resource
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from adapters.cli.record_watch import RecordWatch
from adapters.profiles.demo import read_row, read_state
from adapters.turn_signs import DialogRule, Footer, RecordFormat, TurnSigns
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies

AN_HOUR = 3600.0
PROMPT = re.compile(r"^>\s*\Z", re.MULTILINE)


linux = pytest.mark.skipif(sys.platform != "linux", reason="only it tells of files that change")


@linux
@pytest.mark.parametrize("glob", ["record.jsonl", "re*.jsonl"])
async def test_what_is_written_into_a_record_is_read_at_once(
    open_agent: OpenAgent, glob: str
) -> None:
    signs = TurnSigns(record=RecordFormat(glob, read_row, poll_s=AN_HOUR), timeout_s=20.0)
    body = """
record(type="other")
ready()
while True:
    text = paste(); enter()
    time.sleep(0.3)
    record(type="reply", text=text)
    time.sleep(0.1)
    record(type="end", how="done")
"""
    agent = open_agent(program(body, signs=signs))
    assert (await agent.ask("one", Replies())).text == "one"
    assert (await agent.ask("two", Replies())).text == "two"


AHEAD = TurnSigns(
    record=RecordFormat("record.jsonl", read_row, grace_s=AN_HOUR, ahead=True),
    states=read_state,
    footer=Footer(busy=None, idle=PROMPT),
    fallback_s=AN_HOUR,
    timeout_s=20.0,
)


async def test_a_record_that_is_ahead_needs_no_more_than_the_next_prompt(
    open_agent: OpenAgent,
) -> None:
    body = """
ready()
text = paste(); out(text + "\\r\\n"); enter()
state("working")
record(type="reply", text="Hello.")
out("Hello.\\r\\n")
state("done")
time.sleep(0.2)
out("> ")
time.sleep(60)
"""
    answer = await open_agent(program(body, signs=AHEAD)).ask("hello", Replies())
    assert (answer.text, answer.source) == ("Hello.", "record")


async def test_a_question_in_its_line_is_no_end_of_a_turn(open_agent: OpenAgent) -> None:
    body = """
ready()
text = paste(); out(text + "\\r\\n"); enter()
state("working")
record(type="reply", text="First.")
out("First.\\r\\n")
out("Go on? ")
state("done")
pressed = key()
state("working")
record(type="reply", text=f"Then {pressed}.")
out("\\r\\n> ")
state("done")
time.sleep(60)
"""
    rule = DialogRule(re.compile(r"Go on\?\s*\Z"), keys=b"n", when="turn")
    answer = await open_agent(program(body, signs=AHEAD, dialogs=(rule,))).ask("hello", Replies())
    assert answer.text == "First.\n\nThen b'n'."


@linux
async def test_every_watch_of_a_folder_hears_until_it_is_closed(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    heard = {name: asyncio.Event() for name in ("one", "two", "other")}
    watches = {name: RecordWatch(event.set) for name, event in heard.items()}
    watches["one"].follow(folders[0])  # it isn't there yet; what all of them share is open now
    for folder in folders:
        folder.mkdir()
    opened = len(os.listdir("/proc/self/fd"))
    for name, watch in watches.items():
        watch.follow(folders[name == "other"])
    assert len(os.listdir("/proc/self/fd")) == opened  # the kernel has 128 for each user
    (folders[0] / "record.jsonl").write_text("row\n")
    await asyncio.wait_for(heard["one"].wait(), 5)
    await asyncio.wait_for(heard["two"].wait(), 5)
    assert not heard["other"].is_set()
    watches["one"].close()
    heard["one"].clear()
    heard["two"].clear()
    (folders[0] / "record.jsonl").write_text("row\nrow\n")
    (folders[1] / "record.jsonl").write_text("row\n")
    await asyncio.wait_for(heard["two"].wait(), 5)
    await asyncio.wait_for(heard["other"].wait(), 5)
    assert not heard["one"].is_set()
    watches["two"].close()
    watches["other"].close()
    again = RecordWatch(heard["one"].set)
    again.follow(folders[0])
    assert len(os.listdir("/proc/self/fd")) == opened  # to close it would hold up the loop
    (folders[0] / "record.jsonl").write_text("row\nrow\nrow\n")
    await asyncio.wait_for(heard["one"].wait(), 5)
    again.close()


@linux
def test_a_loop_that_is_closed_leaves_nothing_open(tmp_path: Path) -> None:
    async def follow() -> int:
        watch = RecordWatch(lambda: None)
        watch.follow(tmp_path)
        watch.close()
        return len(os.listdir("/proc/self/fd"))

    first = asyncio.run(follow())
    assert [asyncio.run(follow()) for _ in range(5)] == [first] * 5


@linux
async def test_a_kernel_without_a_place_for_a_watch_is_logged_once(tmp_path: Path) -> None:
    watches = [RecordWatch(lambda: None) for _ in range(2)]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with capture_logs() as logs:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, most[1]))
        try:
            for watch in watches:
                watch.follow(tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert [line["event"] for line in logs] == ["record.unwatched"]
    heard = asyncio.Event()
    late = RecordWatch(heard.set)
    late.follow(tmp_path)
    (tmp_path / "record.jsonl").write_text("row\n")
    await asyncio.wait_for(heard.wait(), 5)
    for watch in (*watches, late):
        watch.close()
