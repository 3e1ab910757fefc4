"""A program that tells by hooks and by a record, and names its session itself."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from adapters.cli.hooks import HookListener
from adapters.cli_profile import Profile
from adapters.turn_events import (
    HookQuestion,
    PromptTaken,
    ReplyBlock,
    ReplyDelta,
    ReplyEnded,
    SessionNamed,
    TurnEvent,
)
from adapters.turn_signs import Hooks, RecordFormat
from contract.agent import Option, Question
from contract.errors import AgentError
from gateway.web.listening.listener import serving_hooks
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies

POST = r"""
import http.client, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])

def hook(**payload):
    connection = http.client.HTTPConnection(url.hostname, url.port)
    connection.request("POST", url.path, json.dumps(payload))
    return json.loads(connection.getresponse().read())
"""

QUESTION = Question("", "May I?", "ls", (Option("Yes"), Option("No", refuses=True)))


def read(payload: Mapping[str, Any]) -> Sequence[TurnEvent]:
    match payload:
        case {"is": "began"}:
            return [PromptTaken()]
        case {"is": "delta", "text": str(text)}:
            return [ReplyDelta(text)]
        case {"is": "asked"}:
            return [HookQuestion(QUESTION, ({"do": "allow"}, {"do": "deny"}))]
        case {"is": "ended", "text": str(text), "whole": bool(whole)}:
            return [ReplyEnded(text, whole=whole)]
        case {"is": "said", "text": str(text)}:
            return [ReplyBlock(text)]
        case {"is": "named", "id": str(session_id)}:
            return [SessionNamed(session_id)]
    return []


def hooked(body: str, **changes: object) -> Profile:
    profile = program(POST + body, **changes)
    signs = replace(
        profile.signs,
        hooks=Hooks(read),
        record=RecordFormat("record-{session_id}.jsonl", read, poll_s=0.05, grace_s=1.0),
        states=None,
    )
    return changed(profile, begin=(*profile.program.begin, "{hook_url}"), signs=signs)


@pytest.fixture
async def hooks() -> AsyncIterator[HookListener]:
    async with HookListener.open(serving_hooks()) as listener:
        yield listener


async def test_a_hook_ends_the_turn_with_its_text(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    agent = open_agent(
        hooked("""
ready()
while True:
    text = paste(); enter()
    hook(**{"is": "began"})
    hook(**{"is": "ended", "text": text.upper(), "whole": True})
"""),
        hooks=hooks,
    )
    for _ in range(2):
        answer = await agent.ask("hello", Replies())
        assert (answer.text, answer.source, answer.ended_by) == ("HELLO", "record", "hook")


async def test_a_hook_with_the_last_block_waits_for_the_record(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    agent = open_agent(
        hooked("""
ready()
paste(); enter()
hook(**{"is": "ended", "text": "Two.", "whole": False})
time.sleep(0.2)
with open(os.path.join(os.environ["HOME"], "record-x.jsonl"), "w") as file:
    file.write('{"is": "said", "text": "One."}\\n{"is": "said", "text": "Two."}\\n')
time.sleep(60)
"""),
        hooks=hooks,
    )
    assert (await agent.ask("hello", Replies())).text == "One.\n\nTwo."


async def test_a_record_that_comes_late_and_in_pieces_loses_and_doubles_nothing(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    profile = hooked("""
ready()
for turn in range(3):
    paste(); enter()
    hook(**{"is": "ended", "text": f"Three of {turn}.", "whole": False})
    for words in ("One", "Two", "Three"):
        time.sleep(0.3)  # three times its grace
        with open(os.path.join(os.environ["HOME"], "record-x.jsonl"), "a") as file:
            print(json.dumps({"is": "said", "text": f"{words} of {turn}."}), file=file)
time.sleep(60)
""")
    assert profile.signs.record
    record = replace(profile.signs.record, grace_s=0.1)
    agent = open_agent(changed(profile, record=record), hooks=hooks)
    for turn in range(3):
        text = (await agent.ask("hello", Replies())).text
        assert text == f"One of {turn}.\n\nTwo of {turn}.\n\nThree of {turn}."


ASKS = """
ready()
while True:
    paste(); enter()
    hook(**{"is": "began"})
    did = hook(**{"is": "asked"})["do"]
    hook(**{"is": "ended", "text": did, "whole": True})
"""


@pytest.mark.parametrize(("choice", "did"), [(0, "allow"), (1, "deny"), (7, "deny")])
async def test_a_hooks_question_is_held_until_the_room_decides(
    open_agent: OpenAgent, hooks: HookListener, choice: int, did: str
) -> None:
    replies = Replies([choice])
    assert (await open_agent(hooked(ASKS), hooks=hooks).ask("hello", replies)).text == did
    (question,) = replies.questions
    assert (question.title, question.detail) == ("May I?", "ls")
    assert question.id


async def test_stop_refuses_what_is_asked(open_agent: OpenAgent, hooks: HookListener) -> None:
    agent = open_agent(hooked(ASKS), hooks=hooks)
    replies = Replies()
    asking = asyncio.create_task(agent.ask("hello", replies))
    async with asyncio.timeout(20):
        await replies.asked.wait()
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert replies.withdrawn == 1


async def test_a_question_outside_a_turn_is_refused(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    agent = open_agent(
        hooked("""
early = hook(**{"is": "asked"})["do"]
ready()
paste(); enter()
hook(**{"is": "ended", "text": early, "whole": True})
time.sleep(60)
"""),
        hooks=hooks,
    )
    assert (await agent.ask("hello", Replies())).text == "deny"


async def test_what_it_streams_is_the_draft_and_never_the_answer(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    agent = open_agent(
        hooked("""
ready()
paste(); enter()
for _ in range(3):
    hook(**{"is": "delta", "text": "la "})
    time.sleep(0.2)
hook(**{"is": "ended", "text": "A song.", "whole": True})
time.sleep(60)
"""),
        hooks=hooks,
    )
    replies = Replies()
    assert (await agent.ask("hello", replies)).text == "A song."
    assert replies.drafts[-1] == "la la la "


async def test_a_session_that_names_itself_is_resumed_by_that_name(
    open_agent: OpenAgent, hooks: HookListener
) -> None:
    body = """
ready()
paste(); enter()
hook(**{"is": "named", "id": "s-1"})
with open(os.path.join(os.environ["HOME"], "record-s-1.jsonl"), "a") as file:
    file.write('{"is": "said", "text": "from the record"}\\n')
hook(**{"is": "ended", "text": "from the record", "whole": False})
"""
    profile = hooked(body)
    tell = "ready(); paste(); enter()\nhook(**{'is': 'ended', 'text': sys.argv[2], 'whole': True})"
    resumed = (*hooked(tell).program.begin, "{session_id}")
    agent = open_agent(changed(profile, resume=resumed), hooks=hooks)
    assert (await agent.ask("hello", Replies())).text == "from the record"
    assert agent.session_id == "s-1"
    async with asyncio.timeout(20):
        while agent.alive():
            await asyncio.sleep(0.01)
    assert (await agent.ask("hello", Replies())).text == "s-1"
    assert agent.resumed


@pytest.mark.parametrize("name", ["../../x", "*", "--yolo", "", "a b"])
async def test_a_name_that_is_no_id_is_not_taken(
    open_agent: OpenAgent, hooks: HookListener, name: str
) -> None:
    body = f"""
ready()
paste(); enter()
hook(**{{"is": "named", "id": {name!r}}})
hook(**{{"is": "ended", "text": "hello", "whole": True}})
time.sleep(60)
"""
    agent = open_agent(hooked(body), hooks=hooks)
    assert (await agent.ask("hello", Replies())).text == "hello"
    assert agent.session_id is None


async def test_a_closed_session_hears_no_hooks(open_agent: OpenAgent, hooks: HookListener) -> None:
    agent = open_agent(
        hooked("""
ready()
paste(); enter()
hook(**{"is": "ended", "text": sys.argv[1], "whole": True})
time.sleep(60)
"""),
        hooks=hooks,
    )
    url = (await agent.ask("hello", Replies())).text
    await agent.close()
    async with aiohttp.ClientSession() as http, http.post(url, json={}) as response:
        assert response.status == 404


async def test_a_program_with_hooks_runs_without_a_listener(open_agent: OpenAgent) -> None:
    agent = open_agent(
        hooked("""
ready()
paste(); out("hello"); enter()
title("busy")
out("\\r\\n* hook_url is " + repr(sys.argv[1]) + "\\r\\n\\r\\n> ")
time.sleep(0.2)
title("idle")
time.sleep(60)
""")
    )
    answer = await agent.ask("hello", Replies())
    assert answer.text == "hook_url is ''"
