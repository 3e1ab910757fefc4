"""A program whose record tells the session's id, and one whose screen soon stands still."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.agent import Launch
from adapters.profiles.demo import read_row
from adapters.turn_events import SessionNamed, TurnEvent
from adapters.turn_signs import RecordFormat, TurnSigns
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies

WRITE = """
def write(*rows):
    with open(os.path.join(os.environ["HOME"], "log-s1.jsonl"), "a") as file:
        file.write("".join(json.dumps(row) + "\\n" for row in rows))
"""


def read(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    return [SessionNamed("s1")] if row.get("type") == "session" else read_row(row)


NAMED = TurnSigns(record=RecordFormat("log-{session_id}.jsonl", read, poll_s=0.05, opens=True))


async def test_a_record_that_names_its_session_is_read_once(
    open_agent: OpenAgent, launch: Launch
) -> None:
    launch.home.mkdir(exist_ok=True, parents=True)
    (launch.home / "log-old.jsonl").write_text('{"type": "reply", "text": "old", "turn": "0"}\n')
    body = """
ready()
while True:
    text = paste(); enter()
    t = {"turn": text}
    write({"type": "session"}, {"type": "prompt", **t}, {"type": "reply", "text": "one", **t})
    time.sleep(0.4)
    write({"type": "reply", "text": "two", **t}, {"type": "end", "how": "done", **t})
"""
    agent = open_agent(program(WRITE + body, signs=NAMED))
    assert (await agent.ask("first", Replies())).text == "one\n\ntwo"
    assert agent.session_id == "s1"
    assert (await agent.ask("second", Replies())).text == "one\n\ntwo"


async def test_a_reply_that_stands_still_on_the_screen_is_drafted(open_agent: OpenAgent) -> None:
    body = """
ready()
text = paste(); out(text + "\\n\\n"); enter()
state("working"); out("* It begins.\\n\\n> ")
time.sleep(3)
reply("It begins.")
time.sleep(60)
"""
    replies = Replies()
    assert (await open_agent(program(body)).ask("hello", replies)).text == "It begins."
    assert replies.drafts == ["It begins."]
