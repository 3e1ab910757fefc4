"""Programs that hang, or write without end: the turn ends, and the next one works."""

import asyncio
import json
import resource
from pathlib import Path

import pytest

from adapters.cli.record import CHUNK_BYTES, CHUNKS, follow
from adapters.cli.turn import CUT, REPLY_CHARS, TurnState, cut_reply
from adapters.profiles.demo import read_row
from adapters.turn_events import ReplyBlock
from adapters.turn_signs import RecordFormat
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.processes import until_gone
from tests.doubles.programs import program
from tests.doubles.replies import Replies

LINES = RecordFormat("record.jsonl", read_row)

# Hears nothing at all while it prints; "hello" is answered.
DEAF = """
import signal, threading
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
ready()
text = paste(); enter()
state("working")
while text == "flood":
    try: out("flood " * 500 + "\\r\\n")
    except OSError: pass
reply(text); state("done")
time.sleep(60)
"""


def said(text: str) -> str:
    return json.dumps({"type": "reply", "text": text}) + "\n"


async def test_one_that_hears_no_key_and_no_signal_is_ended_at_its_deadline(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(program(DEAF, timeout_s=6.5))
    await agent.start()
    pid = agent.pid
    assert pid
    with pytest.raises(AgentError) as caught:
        await agent.ask("flood", Replies())
    assert caught.value.kind == "timeout"
    assert agent.waiting_bytes() < 2_000_000
    await until_gone(pid)  # 5 s, which the next turn would have to wait
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_stop_ends_one_that_hears_nothing(open_agent: OpenAgent) -> None:
    agent = open_agent(program(DEAF))
    asking = asyncio.create_task(agent.ask("flood", Replies()))
    await asyncio.sleep(1.0)
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_a_record_without_end_is_read_in_pieces_and_the_turn_can_be_stopped(
    open_agent: OpenAgent,
) -> None:
    body = """
ready()
text = paste(); enter()
state("working")
line = json.dumps({"type": "reply", "text": "again and again " * 4000}) + "\\n"
with open(os.path.join(os.environ["HOME"], "record.jsonl"), "a") as file:
    while text == "flood" and not select.select([0], [], [], 0)[0]:
        if file.tell() < 300_000_000: file.write(line); file.flush()
        else: time.sleep(0.01)
if text == "flood":
    record(type="end", how="interrupted"); state("idle")
    text = paste(); enter(); state("working")
reply(text); state("done")
time.sleep(60)
"""
    agent = open_agent(program(body))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    replies = Replies()
    asking = asyncio.create_task(agent.ask("flood", replies))
    async with asyncio.timeout(20):
        await replies.drafted.wait()
        await asyncio.sleep(1.0)
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert len(caught.value.partial) <= REPLY_CHARS
    assert CUT in caught.value.partial
    assert max(len(draft) for draft in replies.drafts) <= 20_000
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kb < 150_000
    async with asyncio.timeout(30):
        assert (await agent.ask("hello", Replies())).text == "hello"


async def test_a_line_of_a_hundred_megabytes_is_left_out_and_the_next_one_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / LINES.glob
    path.write_text(said("before"))
    follower = follow(LINES, tmp_path, LINES.glob)
    assert [event.text for event in await follower.read() if isinstance(event, ReplyBlock)] == [
        "before"
    ]
    with path.open("a") as file:
        file.write('{"type": "reply", "text": "')
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write('"}\n' + said("after"))
    found: list[str] = []
    for _ in range(100_000_000 // (CHUNK_BYTES * CHUNKS) + 1):
        found += [event.text for event in await follower.read() if isinstance(event, ReplyBlock)]
    assert found == ["after"]


@pytest.mark.parametrize("length", [CHUNK_BYTES - 30, CHUNK_BYTES, 3 * CHUNK_BYTES + 7])
async def test_a_long_line_is_whole_however_it_is_cut(tmp_path: Path, length: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(length))
    path = tmp_path / LINES.glob
    path.write_text(said("a") + said(text) + said("b"))
    follower = follow(LINES, tmp_path, LINES.glob)
    events = [*await follower.read(), *await follower.read()]
    assert [event.text for event in events if isinstance(event, ReplyBlock)] == ["a", text, "b"]


async def test_a_line_whose_end_comes_later_is_read_then(tmp_path: Path) -> None:
    path = tmp_path / LINES.glob
    line = said("whole")
    path.write_text(line[:9])
    follower = follow(LINES, tmp_path, LINES.glob)
    assert list(await follower.read()) == []
    with path.open("a") as file:
        file.write(line[9:])
    assert list(await follower.read()) == [ReplyBlock("whole")]


def test_an_answer_without_end_keeps_its_beginning_and_its_end() -> None:
    assert cut_reply("x" * REPLY_CHARS) == "x" * REPLY_CHARS
    cut = cut_reply("begin" + "x" * 10 * REPLY_CHARS + "end")
    assert len(cut) <= REPLY_CHARS
    assert cut.startswith("begin")
    assert cut.endswith("xend")
    assert cut.count(CUT) == 1


def test_blocks_without_end_are_kept_within_bounds() -> None:
    turn = TurnState(program("").signs)
    for n in range(3_000):
        turn.note(ReplyBlock(f"{n} " + "x" * 1_000), "record", 0.0)
    assert len(turn.draft()) <= 2 * REPLY_CHARS + 2_000
    assert turn.draft().startswith("0 x")
    assert turn.draft().count(CUT) == 1


async def test_an_endless_answer_is_posted_with_its_beginning_and_end(
    open_agent: OpenAgent,
) -> None:
    body = """
ready()
text = paste(); enter()
state("working")
for n in range(40): record(type="reply", text=f"{n} " + "word " * 20_000)
record(type="end", how="done"); state("done")
time.sleep(60)
"""
    answer = await open_agent(program(body)).ask("hello", Replies())
    assert len(answer.text) <= REPLY_CHARS
    assert answer.text.startswith("0 word word")
    assert CUT in answer.text
