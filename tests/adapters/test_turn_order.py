"""Which words are the answer, and which turn a row belongs to."""

import asyncio

from adapters.cli.keyboard import BEGIN, END, keystrokes
from adapters.cli.turn import TurnState
from adapters.session.session import RoomQuestions, refuse
from adapters.turn_events import (
    HookQuestion,
    PromptTaken,
    ReplyBlock,
    ReplyDelta,
    ReplyEnded,
    ReplyFailed,
    ToolUsed,
)
from adapters.turn_signs import Hooks, PromptText, PromptTyping, RecordFormat, TurnSigns
from contract.agent import Option, Question
from tests.doubles.replies import Replies

OPENS = TurnSigns(
    hooks=Hooks(lambda row: []), record=RecordFormat("*", lambda row: [], grace_s=1.0, opens=True)
)
LATE_S = 10.0
LOOSE = TurnSigns(
    hooks=Hooks(lambda row: []),
    record=RecordFormat("*", lambda row: [], grace_s=1.0, late_s=LATE_S),
)


def test_late_rows_of_the_turn_before_are_not_this_one_s() -> None:
    turn = TurnState(OPENS, past=["one"])
    turn.follows()
    turn.note(ReplyBlock("late"), "record", 0.0)
    turn.note(PromptTaken("one"), "record", 0.0)
    turn.note(ReplyBlock("late as well"), "record", 0.0)
    turn.note(PromptTaken("two"), "hook", 0.0)
    turn.note(ToolUsed("Bash"), "record", 0.0)
    turn.note(PromptTaken("two"), "record", 0.0)
    turn.note(ReplyBlock("mine"), "record", 0.0)
    turn.note(ReplyEnded("mine", whole=False, turn="two"), "hook", 0.0)
    assert (turn.over(0.0), turn.text(), turn.tools) == ("hook", "mine", [])


def test_a_new_record_may_have_its_rows_in_any_order() -> None:
    turn = TurnState(OPENS)
    turn.note(PromptTaken("one"), "hook", 0.0)
    turn.note(ReplyBlock("said"), "record", 0.0)
    turn.note(PromptTaken("one"), "record", 0.0)
    turn.note(ReplyEnded("said", whole=False, turn="one"), "hook", 0.0)
    assert turn.text() == "said"


def test_a_record_that_names_no_turns_is_believed() -> None:
    turn = TurnState(LOOSE)
    turn.follows()
    turn.note(ReplyBlock("said"), "record", 0.0)
    turn.note(ReplyEnded(), "record", 0.0)
    assert turn.text() == "said"


def test_the_answer_is_what_was_said_since_the_last_tool() -> None:
    turn = TurnState(LOOSE)
    for event in (
        ReplyBlock("I look."),
        ToolUsed("Bash"),
        ReplyBlock("It is"),
        ReplyBlock("late.", sep=" "),
    ):
        turn.note(event, "record", 0.0)
    turn.note(ReplyEnded(), "record", 0.0)
    assert turn.text() == "It is late."
    assert turn.draft() == "I look.\n\nIt is late."


def test_when_nothing_was_said_since_the_tool_the_words_before_it_count() -> None:
    turn = TurnState(LOOSE)
    for event in (ReplyBlock("All of it."), ToolUsed("TodoWrite"), ReplyBlock("  \n")):
        turn.note(event, "record", 0.0)
    turn.note(ReplyEnded(), "record", 0.0)
    assert turn.text() == "All of it."


def test_words_before_a_tool_do_not_pass_for_the_last_ones() -> None:
    turn = TurnState(LOOSE)
    turn.note(ReplyBlock("Done."), "record", 0.0)
    turn.note(ToolUsed("Bash"), "record", 0.0)
    turn.note(ReplyEnded("Done.", whole=False), "hook", 0.0)
    assert turn.over(0.0) is None
    turn.note(ReplyBlock("It is "), "record", 0.1)
    turn.note(ReplyBlock("Done.", sep=""), "record", 0.1)
    assert (turn.over(0.1), turn.text()) == ("hook", "It is Done.")


def test_a_record_that_never_catches_up_leaves_the_last_block() -> None:
    turn = TurnState(LOOSE)
    turn.note(ReplyBlock("I look."), "record", 0.0)
    turn.note(ToolUsed("Bash"), "record", 0.0)
    turn.note(ReplyEnded("Done.", whole=False), "hook", 0.0)
    assert turn.over(LATE_S - 1) is None
    assert (turn.over(LATE_S), turn.text()) == ("hook", "Done.")


def test_a_draft_is_what_streams_until_the_record_has_more() -> None:
    turn = TurnState(LOOSE)
    turn.note(ReplyDelta("\n\nOne line.\n"), "hook", 0.0)
    assert turn.draft() == "One line."
    turn.note(ReplyBlock("One line.\nTwo."), "record", 0.0)
    assert turn.draft() == "One line.\nTwo."
    turn.note(ReplyFailed("api", "x"), "hook", 0.0)
    assert turn.over(0.0) == "hook"


def test_a_prompt_may_go_in_as_several_pastes() -> None:
    typing = PromptTyping(
        text=PromptText(harmless=str.upper, pieces=lambda text: text.split(",")),
        before=b"\x15",
    )
    typed = b"\x15" + BEGIN + b"A" + END + BEGIN + b"B" + END
    assert keystrokes("a,b", typing) == typed


def asking(*responses: "dict[str, str] | HookQuestion") -> HookQuestion:
    options = (*(Option(f"{n}") for n in range(len(responses) - 1)), Option("No", refuses=True))
    return HookQuestion(Question("", f"{len(responses)}?", "", options), responses)


async def test_a_choice_may_lead_to_another_question() -> None:
    last = asking({"it": "a"}, {"it": "b"}, {"it": "no"})
    replies = Replies([0, 1])
    assert await RoomQuestions(replies).respond(asking(last, {"it": "never"})) == {"it": "b"}
    assert [question.title for question in replies.questions] == ["2?", "3?"]


async def test_a_question_that_is_withdrawn_in_the_middle_is_refused() -> None:
    last = asking({"it": "a"}, {"it": "no"})
    replies = Replies([0])
    room = RoomQuestions(replies)
    answering = asyncio.create_task(room.respond(asking(last, {"it": "first no"})))
    while len(replies.questions) < 2:
        await asyncio.sleep(0)
    assert room.responding == 1
    await room.close()
    assert await answering == {"it": "no"}
    assert room.responding == 0


def test_the_response_that_refuses_is_known_without_asking() -> None:
    assert refuse(asking({"it": "a"}, {"it": "no"})) == {"it": "no"}
