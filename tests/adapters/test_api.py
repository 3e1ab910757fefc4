"""An agent that is called by API, before a double of that API: what people get of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.agent import TurnContext
from adapters.api.session import ApiAgent
from contract.errors import AgentError
from tests.doubles.api_stage import KEY, PERSONA, ApiStage
from tests.doubles.model_steps import Fault, Message, Text, Thinking
from tests.doubles.replies import Replies

HEADER = "[SESSION CONTEXT]\nRoom: #lab\n\n[CURRENT INVOCATION]\nRespond to Andi in room #lab.\n"
LONG = "\n".join(f"{n}. a line of the long answer, `code` and **bold** in it" for n in range(200))
TORN = "漢字かな交じり文 한국어 é 👩‍👩‍👧‍👦 🇩🇪 🏳️‍🌈 " * 8
TABLE = "| a | b |\n|---|---:|\n| `x|y` | 1 |\n\n```py\nprint('  ```  ')\n```\n\n    indented\n"
CONTEXT = "[Context: Platform=slack, User=Andi, Current time for user: 2026-04-21 02:02 PM (WIB)]"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ApiStage]:
    async with ApiStage.open(tmp_path) as opened:
        yield opened


async def fault(agent: ApiAgent, prompt: str = HEADER) -> AgentError:
    """The error that an ask ends with."""
    with pytest.raises(AgentError) as caught:
        await agent.ask(prompt, Replies())
    return caught.value


# ── Answers ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "message",
    [
        Message((Text("It is 15 minutes."),)),
        Message((Text("  leading and trailing blanks \n\n"),)),
        Message((Text(LONG),)),
        Message((Text(TORN),), delta=1, wire=1),
        Message((Text(TABLE),), delta=7, wire=5),
        Message((Thinking("Let me see. " * 20), Text(TABLE))),
    ],
    ids=["short", "blanks", "long", "torn", "table", "thought"],
)
async def test_the_answer_is_the_models_words_exactly(stage: ApiStage, message: Message) -> None:
    agent = await stage.agent()
    stage.api.queue(message)
    reply = Replies()
    answer = await agent.ask(HEADER, reply)
    words = message.blocks[-1]
    assert isinstance(words, Text)
    assert (answer.text, answer.source, answer.ended_by) == (words.text, "record", "api")
    assert all(words.text.startswith(draft) for draft in reply.drafts)
    assert all(len(one) < len(two) for one, two in itertools.pairwise(reply.drafts))


async def test_text_behind_something_else_is_a_paragraph_of_its_own(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Wait."), Thinking("Hm."), Text("Yes"), Text(", it is."))))
    assert (await agent.ask(HEADER, Replies())).text == "Wait.\n\nYes, it is."


async def test_a_draft_is_shown_while_it_still_speaks(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Half of it and then the rest"),), delta=10, hold=1))
    reply = Replies()
    asking = asyncio.create_task(agent.ask(HEADER, reply))
    async with asyncio.timeout(10):
        await reply.drafted.wait()
    assert reply.drafts == ["Half of it"]
    stage.api.release.set()
    assert (await asking).text == "Half of it and then the rest"


async def test_an_answer_without_a_word_is_none(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message(()), "Now I know.")
    assert (await agent.ask("one", Replies())).text == ""
    assert (await agent.ask("two", Replies())).text == "Now I know."
    assert stage.said() == [("user", ["one", "two"])]


# ── What the API is asked ───────────────────────────────────────────────────────────────


async def test_the_persona_and_the_first_words_are_marked_for_the_cache(stage: ApiStage) -> None:
    agent = await stage.agent(model="claude-opus-5-5", max_tokens=5000)
    ephemeral = {"type": "ephemeral"}
    await agent.ask(HEADER, Replies(occasion=TurnContext(CONTEXT)))
    assert stage.body["system"] == [{"type": "text", "text": PERSONA, "cache_control": ephemeral}]
    assert stage.body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": HEADER, "cache_control": ephemeral},
                {"type": "text", "text": CONTEXT},
            ],
        }
    ]
    assert (stage.body["model"], stage.body["max_tokens"]) == ("claude-opus-5-5", 5000)
    assert stage.api.requests[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_what_was_said_before_is_sent_again_byte_for_byte(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue("one", "two", "three")
    for number in range(3):
        occasion = TurnContext(f"[Context: {number}]")
        await agent.ask(f"{HEADER}{number}", Replies(occasion=occasion))
    first, second, third = (
        [block["text"] for message in body["messages"] for block in message["content"]]
        for body in stage.bodies
    )
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    marked = [
        block["text"]
        for message in stage.body["messages"]
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marked == [f"{HEADER}0", f"{HEADER}2"]


async def test_an_empty_persona_is_no_system_prompt(stage: ApiStage) -> None:
    agent = await stage.agent(persona=" \n")
    await agent.ask(HEADER, Replies())
    assert "system" not in stage.body


# ── Its conversation ────────────────────────────────────────────────────────────────────


async def test_a_new_process_goes_on_in_the_conversation(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue("It is 15.", "As I said.")
    await agent.ask("why?", Replies(occasion=TurnContext(CONTEXT)))
    assert not agent.resumed
    assert stage.record(agent).stat().st_mode & 0o777 == 0o600

    again = await stage.agent(session_id=agent.session_id)
    assert again.resumed
    assert again.session_id == agent.session_id
    await again.ask("again?", Replies())
    assert stage.said() == [
        ("user", ["why?", CONTEXT]),
        ("assistant", ["It is 15."]),
        ("user", ["again?"]),
    ]


async def test_a_question_that_a_crash_left_open_goes_with_the_next(stage: ApiStage) -> None:
    agent = await stage.agent()
    await agent.ask("one", Replies())
    record = stage.record(agent)
    with record.open("ab") as file:
        file.write(b'{"role": "user", "texts": ["asked"]}\n{"role": "assistant", "texts": ["ha')
    again = await stage.agent(session_id=agent.session_id)
    await again.ask("two", Replies())
    assert stage.said() == [
        ("user", ["one"]),
        ("assistant", ["ok"]),
        ("user", ["asked", "two"]),
    ]
    third = await stage.agent(session_id=agent.session_id)
    await third.ask("three", Replies())
    assert stage.said()[-3:] == [
        ("user", ["asked", "two"]),
        ("assistant", ["ok"]),
        ("user", ["three"]),
    ]


async def test_a_record_that_is_no_record_is_no_end_of_the_session(stage: ApiStage) -> None:
    agent = await stage.agent()
    await agent.ask("one", Replies())
    stage.record(agent).write_bytes(b'\xff\x00\n{"role": "assistant", "texts": ["alone"]}\n[]\n')
    again = await stage.agent(session_id=agent.session_id)
    await again.ask("two", Replies())
    assert stage.said() == [("user", ["two"])]


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "a/b", "x" * 65, "", "é"])
async def test_an_id_that_names_no_file_of_ours_begins_anew(
    stage: ApiStage, session_id: str
) -> None:
    agent = await stage.agent(session_id=session_id)
    assert agent.session_id != session_id
    assert not agent.resumed


async def test_two_scopes_never_share_a_word(stage: ApiStage) -> None:
    room, dm = await stage.agent("room"), await stage.agent("dm")
    await room.ask("said in the room", Replies())
    await dm.ask("said in private", Replies())
    assert stage.said() == [("user", ["said in private"])]
    thief = await stage.agent("room", session_id=dm.session_id)
    await thief.ask("what did they say?", Replies())
    assert stage.said() == [("user", ["what did they say?"])]


async def test_a_disk_that_takes_nothing_is_no_reason_not_to_answer(stage: ApiStage) -> None:
    stage.home().mkdir(parents=True)
    (stage.home() / ".moot").write_text("in the way")
    agent = await stage.agent()
    assert (await agent.ask("one", Replies())).text == "ok"
    await agent.ask("two", Replies())
    assert len(stage.said()) == 3


# ── Stopping it ─────────────────────────────────────────────────────────────────────────


async def test_an_interrupt_keeps_what_was_said_and_the_session(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Half of it and then the rest"),), delta=10, hold=1))
    reply = Replies()
    asking = asyncio.create_task(agent.ask("one", reply))
    async with asyncio.timeout(10):
        await reply.drafted.wait()
    async with asyncio.timeout(1):
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert (caught.value.kind, caught.value.partial) == ("stopped", "Half of it")
    assert agent.alive()
    await agent.ask("two", Replies())
    assert stage.said() == [("user", ["one"]), ("assistant", ["Half of it"]), ("user", ["two"])]


async def test_an_interrupt_before_the_first_word_is_heard_too(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("never"),), hold=0))
    asking = asyncio.create_task(agent.ask("one", Replies()))
    async with asyncio.timeout(10):
        await stage.api.holding.wait()
    await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert (caught.value.kind, caught.value.partial) == ("stopped", "")
    await agent.ask("two", Replies())
    assert stage.said() == [("user", ["one", "two"])]


async def test_an_interrupt_of_nothing_changes_nothing(stage: ApiStage) -> None:
    agent = await stage.agent()
    await agent.interrupt()
    assert (await agent.ask("one", Replies())).text == "ok"


async def test_a_cancelled_ask_is_cancelled_and_the_session_can_be_asked(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Half of it and the rest"),), delta=10, hold=1))
    asking = asyncio.create_task(agent.ask("one", Replies()))
    async with asyncio.timeout(10):
        await stage.api.holding.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await agent.ask("two", Replies())).text == "ok"


async def test_a_closed_agent_is_not_alive_and_shows_no_terminal(stage: ApiStage) -> None:
    agent = await stage.agent()
    assert agent.alive()
    assert agent.picture() == ()
    await agent.close()
    assert not agent.alive()


# ── What goes wrong ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("step", "kind", "says"),
    [
        (Fault.unauthorized(), "login", "refused the key"),
        (Fault(403, "permission_error", "no"), "login", "may not use claude-sonnet-5-5"),
        (Fault(402, "billing_error", "pay"), "limit", "no credit"),
        (Fault(400, "invalid_request_error", "Your credit balance is too low"), "limit", "credit"),
        (Fault(404, "not_found_error", "model: x"), "api", "no model claude-sonnet-5-5"),
        (Fault.limited(), "limit", "rate limit"),
        (Fault(429, "rate_limit_error", "slow", {"retry-after": "37"}), "limit", "in 37 s"),
        (Fault.invalid(), "api", "refused the request"),
        (Fault.broken(), "api", "HTTP 500"),
        (Fault.overloaded(), "api", "overloaded"),
    ],
)
async def test_a_fault_is_one_helpful_line_and_the_session_works_again(
    stage: ApiStage, step: Fault, kind: str, says: str
) -> None:
    agent = await stage.agent()
    stage.api.queue(step)
    error = await fault(agent)
    assert error.kind == kind
    assert says in error.say
    assert "\n" not in error.say
    assert KEY not in f"{error}{error.say}"
    stage.api.queue("Here I am again.")
    assert (await agent.ask("again", Replies())).text == "Here I am again."


async def test_the_sdk_repeats_what_the_api_did_not_take(stage: ApiStage) -> None:
    agent = await stage.agent(max_retries=1)
    stage.api.queue(Fault.limited(), "After all.")
    assert (await agent.ask(HEADER, Replies())).text == "After all."


async def test_an_api_that_is_not_there_is_told(stage: ApiStage) -> None:
    agent = await stage.agent(base_url="http://127.0.0.1:9")
    error = await fault(agent)
    assert (error.kind, "can't be reached" in error.say) == ("api", True)


async def test_what_is_no_such_api_is_told(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Fault(200, "page", "<html>"))
    assert "is not the Anthropic API" in (await fault(agent)).say


async def test_an_api_that_says_nothing_is_told(stage: ApiStage) -> None:
    agent = await stage.agent(timeout_s=0.2)
    stage.api.queue(Message((Text("never"),), hold=0))
    error = await fault(agent)
    assert error.kind == "timeout"
    stage.api.forget()
    assert (await agent.ask("again", Replies())).text == "ok"


@pytest.mark.parametrize(
    "broken",
    [
        Message((Text(LONG),), cut=3),
        Fault(529, "overloaded_error", "Overloaded", in_stream=True),
        Fault(500, "api_error", "Internal server error", in_stream=True),
    ],
    ids=["cut", "overloaded", "failed"],
)
async def test_what_breaks_in_mid_answer_is_repeated_once_and_never_doubled(
    stage: ApiStage, broken: Message | Fault
) -> None:
    agent = await stage.agent()
    stage.api.queue(broken, LONG)
    assert (await agent.ask(HEADER, Replies())).text == LONG
    stage.api.queue(broken, broken)
    error = await fault(agent, "again")
    assert error.kind == "api"
    assert "twice" in error.say
    assert LONG.startswith(error.partial)
    assert (await agent.ask("and now", Replies())).text == "ok"


async def test_a_stream_that_just_ends_is_no_answer(stage: ApiStage) -> None:
    agent = await stage.agent()
    ends = Message((Text("Half"),), unended=True)
    stage.api.queue(ends, "Whole.")
    assert (await agent.ask(HEADER, Replies())).text == "Whole."


async def test_an_answer_that_is_cut_off_says_so_and_can_go_on(stage: ApiStage) -> None:
    agent = await stage.agent(max_tokens=2048)
    stage.api.queue(Message((Text("The first half"),), stop="max_tokens"), "the second.")
    error = await fault(agent, "tell me")
    assert error.partial == "The first half"
    assert error.say == "Cut off at 2,048 tokens (`max_tokens`). Ask me to go on."
    await agent.ask("go on", Replies())
    assert stage.said()[1] == ("assistant", ["The first half"])


async def test_thinking_up_to_the_limit_is_told_as_such(stage: ApiStage) -> None:
    agent = await stage.agent(max_tokens=2048)
    stage.api.queue(Message((Thinking("hm " * 50),), stop="max_tokens"))
    assert "said nothing" in (await fault(agent)).say


async def test_a_refusal_is_told_and_its_question_taken_back(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Well, first you"),), stop="refusal"))
    error = await fault(agent, "how do I?")
    assert (error.kind, error.partial) == ("api", "")
    assert "declined" in error.say
    await agent.ask("something else", Replies())
    assert stage.said() == [("user", ["something else"])]


async def test_a_pause_goes_on_by_itself(stage: ApiStage) -> None:
    agent = await stage.agent()
    stage.api.queue(Message((Text("Searching."),), stop="pause_turn"), "Found.")
    assert (await agent.ask("find it", Replies())).text == "Found."
    assert [role for role, _ in stage.said()] == ["user", "assistant"]


# ── Its context ─────────────────────────────────────────────────────────────────────────


async def test_what_is_too_long_loses_its_oldest_turns_and_is_answered(stage: ApiStage) -> None:
    agent = await stage.agent()
    for number in range(6):
        await agent.ask(f"question {number}", Replies())
    stage.api.queue(Fault.too_long(), "Still here.")
    answer = await agent.ask("question 6", Replies())
    assert (answer.text, answer.compacted) == ("Still here.", True)
    said = stage.said()
    assert said[0][0] == "user"
    assert said[0][1] != ["question 0"]
    assert said[-1] == ("user", ["question 6"])
    assert not (await agent.ask("question 7", Replies())).compacted

    again = await stage.agent(session_id=agent.session_id)
    await again.ask("question 8", Replies())
    assert stage.said()[: len(said)] == said


async def test_a_question_that_is_too_long_by_itself_is_refused_and_forgotten(
    stage: ApiStage,
) -> None:
    agent = await stage.agent()
    await agent.ask("one", Replies())
    stage.api.queue(Fault.too_long(), Fault.too_long())
    error = await fault(agent, "much too long")
    assert error.kind == "context"
    await agent.ask("two", Replies())
    assert stage.said() == [("user", ["two"])]


async def test_a_nearly_full_context_lets_go_of_the_oldest_turns(stage: ApiStage) -> None:
    agent = await stage.agent(context_tokens=10_000)
    full = {"input_tokens": 300, "cache_read_input_tokens": 7_000}
    for number in range(4):
        assert not (await agent.ask(f"{number} " * 500, Replies())).compacted
    stage.api.queue(Message((Text("ok"),), usage=full))
    assert (await agent.ask("4 " * 500, Replies())).compacted
    await agent.ask("five", Replies())
    said = stage.said()
    assert said[0][1][0].startswith(("2", "3"))
    assert len(said) < 11


async def test_a_context_that_fills_in_mid_answer_is_told_and_made_free(stage: ApiStage) -> None:
    agent = await stage.agent()
    await agent.ask("one " * 100, Replies())
    stage.api.queue(Message((Text("As far as"),), stop="model_context_window_exceeded"))
    error = await fault(agent, "two")
    assert (error.kind, error.partial) == ("context", "As far as")
    answer = await agent.ask("go on", Replies())
    assert answer.compacted
    assert stage.said()[0] == ("user", ["two"])
