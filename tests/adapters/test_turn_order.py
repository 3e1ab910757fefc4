"""Which words are the answer, and which turn a row belongs to."""

import asyncio

from adapters.cli.paste import BEGIN, END, keystrokes
from adapters.cli.permission import Asking, refuse
from adapters.cli.turn import Turn
from adapters.cli_profile import (
    Asked,
    Began,
    Ended,
    Failed,
    Hooks,
    Record,
    Said,
    Signs,
    Streamed,
    Typing,
    Used,
)
from contract.agent import Option, Question
from tests.doubles.replies import Replies

OPENS = Signs(
    hooks=Hooks(lambda row: []), record=Record("*", lambda row: [], grace_s=1.0, opens=True)
)
LOOSE = Signs(hooks=Hooks(lambda row: []), record=Record("*", lambda row: [], grace_s=1.0))


def test_late_rows_of_the_turn_before_are_not_this_one_s() -> None:
    turn = Turn(OPENS, past=["one"])
    turn.follows()
    turn.note(Said("late"), "record", 0.0)
    turn.note(Began("one"), "record", 0.0)
    turn.note(Said("late as well"), "record", 0.0)
    turn.note(Began("two"), "hook", 0.0)
    turn.note(Used("Bash"), "record", 0.0)
    turn.note(Began("two"), "record", 0.0)
    turn.note(Said("mine"), "record", 0.0)
    turn.note(Ended("mine", whole=False, turn="two"), "hook", 0.0)
    assert (turn.over(0.0), turn.text(), turn.tools) == ("hook", "mine", [])


def test_a_new_record_may_have_its_rows_in_any_order() -> None:
    turn = Turn(OPENS)
    turn.note(Began("one"), "hook", 0.0)
    turn.note(Said("said"), "record", 0.0)
    turn.note(Began("one"), "record", 0.0)
    turn.note(Ended("said", whole=False, turn="one"), "hook", 0.0)
    assert turn.text() == "said"


def test_a_record_that_names_no_turns_is_believed() -> None:
    turn = Turn(LOOSE)
    turn.follows()
    turn.note(Said("said"), "record", 0.0)
    turn.note(Ended(), "record", 0.0)
    assert turn.text() == "said"


def test_the_answer_is_what_was_said_since_the_last_tool() -> None:
    turn = Turn(LOOSE)
    for event in (Said("I look."), Used("Bash"), Said("It is"), Said("late.", sep=" ")):
        turn.note(event, "record", 0.0)
    turn.note(Ended(), "record", 0.0)
    assert turn.text() == "It is late."
    assert turn.draft() == "I look.\n\nIt is late."


def test_when_nothing_was_said_since_the_tool_the_words_before_it_count() -> None:
    turn = Turn(LOOSE)
    for event in (Said("All of it."), Used("TodoWrite"), Said("  \n")):
        turn.note(event, "record", 0.0)
    turn.note(Ended(), "record", 0.0)
    assert turn.text() == "All of it."


def test_words_before_a_tool_do_not_pass_for_the_last_ones() -> None:
    turn = Turn(LOOSE)
    turn.note(Said("Done."), "record", 0.0)
    turn.note(Used("Bash"), "record", 0.0)
    turn.note(Ended("Done.", whole=False), "hook", 0.0)
    assert turn.over(0.0) is None
    turn.note(Said("It is "), "record", 0.1)
    turn.note(Said("Done.", sep=""), "record", 0.1)
    assert (turn.over(0.1), turn.text()) == ("hook", "It is Done.")


def test_a_record_that_never_catches_up_leaves_the_last_block() -> None:
    turn = Turn(LOOSE)
    turn.note(Said("I look."), "record", 0.0)
    turn.note(Used("Bash"), "record", 0.0)
    turn.note(Ended("Done.", whole=False), "hook", 0.0)
    assert (turn.over(1.0), turn.text()) == ("hook", "Done.")


def test_a_draft_is_what_streams_until_the_record_has_more() -> None:
    turn = Turn(LOOSE)
    turn.note(Streamed("\n\nOne line.\n"), "hook", 0.0)
    assert turn.draft() == "One line."
    turn.note(Said("One line.\nTwo."), "record", 0.0)
    assert turn.draft() == "One line.\nTwo."
    turn.note(Failed("api", "x"), "hook", 0.0)
    assert turn.over(0.0) == "hook"


def test_a_prompt_may_go_in_as_several_pastes() -> None:
    typing = Typing(harmless=str.upper, pieces=lambda text: text.split(","), before=b"\x15")
    typed = b"\x15" + BEGIN + b"A" + END + BEGIN + b"B" + END
    assert keystrokes("a,b", typing) == typed


def asking(*responses: "dict[str, str] | Asked") -> Asked:
    options = (*(Option(f"{n}") for n in range(len(responses) - 1)), Option("No", refuses=True))
    return Asked(Question("", f"{len(responses)}?", "", options), responses)


async def test_a_choice_may_lead_to_another_question() -> None:
    last = asking({"it": "a"}, {"it": "b"}, {"it": "no"})
    replies = Replies([0, 1])
    assert await Asking(replies).respond(asking(last, {"it": "never"})) == {"it": "b"}
    assert [question.title for question in replies.questions] == ["2?", "3?"]


async def test_a_question_that_is_withdrawn_in_the_middle_is_refused() -> None:
    last = asking({"it": "a"}, {"it": "no"})
    replies = Replies([0])
    room = Asking(replies)
    answering = asyncio.create_task(room.respond(asking(last, {"it": "first no"})))
    while len(replies.questions) < 2:
        await asyncio.sleep(0)
    assert room.responding == 1
    await room.close()
    assert await answering == {"it": "no"}
    assert room.responding == 0


def test_the_response_that_refuses_is_known_without_asking() -> None:
    assert refuse(asking({"it": "a"}, {"it": "no"})) == {"it": "no"}
