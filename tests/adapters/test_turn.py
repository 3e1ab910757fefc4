"""What the signs of a turn say together; the clock is an argument."""

import re
from dataclasses import replace

from adapters.cli.turn import TurnState
from adapters.turn_events import (
    PromptTaken,
    ReplyBlock,
    ReplyDelta,
    ReplyEnded,
    ReplyFailed,
    ReplyRetracted,
    ToolUsed,
)
from adapters.turn_signs import Footer, Hooks, RecordFormat, Title, TurnSigns

NOTHING = re.compile("(?!)")
TITLE = Title(busy=NOTHING, idle=NOTHING)
RECORD = RecordFormat("*", lambda row: [], grace_s=1.0, late_s=10.0)
HOOKS = Hooks(lambda row: [])
BOTH = TurnSigns(hooks=HOOKS, record=RECORD, title=TITLE, fallback_s=5.0)
SCREEN = TurnSigns(title=TITLE, footer=Footer(NOTHING, debounce_s=0.5))


def test_a_turn_runs_until_a_sign_says_otherwise() -> None:
    turn = TurnState(BOTH)
    turn.note(PromptTaken(), "hook", 0.0)
    turn.note(ReplyBlock("a"), "record", 1.0)
    assert turn.over(1e6) is None
    assert turn.due(1e6) is None


def test_the_record_ends_it_with_all_that_was_said() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("a"), "record", 0.0)
    turn.note(ReplyBlock("b", sep=" "), "record", 0.0)
    turn.note(ReplyEnded(), "record", 0.0)
    assert (turn.over(0.0), turn.text()) == ("record", "a b")


def test_a_hook_with_the_whole_text_ends_it_at_once() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyEnded("all"), "hook", 0.0)
    assert (turn.over(0.0), turn.text()) == ("hook", "all")


def test_a_hook_with_the_last_block_waits_for_the_record() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyEnded("b", whole=False), "hook", 0.0)
    assert turn.over(0.0) is None
    assert turn.ending
    turn.note(ReplyBlock("a"), "record", 0.1)
    assert turn.over(0.1) is None
    turn.note(ReplyBlock("b"), "record", 0.2)
    assert (turn.over(0.2), turn.text()) == ("hook", "a\n\nb")


def test_a_record_that_does_not_catch_up_costs_its_grace_and_no_text() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("a"), "record", 0.0)
    turn.note(ReplyEnded("b", whole=False), "hook", 1.0)
    assert turn.over(10.9) is None
    assert turn.due(10.9) is not None
    assert (turn.over(11.0), turn.text()) == ("hook", "a\n\nb")


def test_words_are_not_waited_for_long_where_the_turn_before_waited_in_vain() -> None:
    turn = TurnState(BOTH)
    turn.patient = False
    turn.note(ReplyEnded("b", whole=False), "hook", 1.0)
    turn.note(ReplyDelta("b"), "hook", 1.0)
    assert (turn.over(1.9), turn.over(2.0), turn.complete()) == (None, "hook", False)


def test_an_earlier_turn_s_words_are_not_waited_for_long() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyEnded("said before", whole=False), "hook", 0.0)
    assert turn.over(9.9) is None
    turn.note(PromptTaken("1"), "record", 9.9)
    assert (turn.over(9.9), turn.text()) == ("hook", "")


def test_words_that_the_record_has_of_this_turn_are_not_waited_for_long() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("All of it."), "record", 0.0)
    turn.note(ToolUsed("TodoWrite"), "record", 0.0)
    turn.note(ReplyEnded("All of it.", whole=False), "hook", 0.0)
    assert (turn.over(0.9), turn.over(1.0), turn.text()) == (None, "hook", "All of it.")


def test_a_hook_without_text_waits_for_the_record() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyEnded(), "hook", 0.0)
    assert turn.over(0.5) is None
    turn.note(ReplyBlock("a"), "record", 0.6)
    turn.note(ReplyEnded(), "record", 0.6)
    assert (turn.over(0.6), turn.text()) == ("hook", "a")


def test_a_failure_ends_it() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("half"), "record", 0.0)
    turn.note(ReplyFailed("limit", "429"), "hook", 1.0)
    assert turn.over(1.0) == "hook"
    assert turn.failed == ReplyFailed("limit", "429")
    assert turn.draft() == "half"


def test_a_title_that_was_busy_and_stays_idle_is_the_fall_back() -> None:
    turn = TurnState(BOTH)
    turn.show("title", busy=False, now=0.0)
    assert turn.over(100.0) is None
    turn.show("title", busy=True, now=100.0)
    turn.show("title", busy=False, now=101.0)
    assert turn.over(105.9) is None
    assert turn.over(106.0) == "title"


def test_a_footer_says_what_a_title_leaves_unsaid_and_never_the_contrary() -> None:
    for titled, sign in ((True, None), (False, "footer")):
        turn = TurnState(replace(BOTH, footer=Footer(NOTHING)))
        if titled:
            turn.show("title", busy=True, now=0.0)
        turn.show("footer", busy=True, now=0.0)
        turn.show("footer", busy=False, now=1.0)
        assert turn.over(100.0) == sign
        assert (turn.due(100.0) is None) == titled


def test_a_title_that_becomes_busy_again_starts_the_wait_anew() -> None:
    turn = TurnState(BOTH)
    turn.show("title", busy=True, now=0.0)
    turn.show("title", busy=False, now=1.0)
    turn.show("title", busy=True, now=5.0)
    turn.show("title", busy=False, now=5.5)
    assert turn.over(10.0) is None
    assert turn.over(10.5) == "title"


def test_no_idle_sign_counts_while_a_dialog_waits() -> None:
    turn = TurnState(BOTH)
    turn.show("title", busy=True, now=0.0)
    turn.show("title", busy=False, now=1.0)
    turn.blocked = True
    assert turn.over(100.0) is None


def test_the_state_done_waits_for_the_record_only_for_its_grace() -> None:
    turn = TurnState(BOTH)
    turn.tell("working", 0.0)
    turn.tell("done", 1.0)
    assert turn.ending
    assert turn.over(1.9) is None
    assert turn.over(2.0) == "state"
    assert turn.text() == ""


def test_the_state_idle_alone_is_no_end_before_the_fall_back() -> None:
    turn = TurnState(BOTH)
    turn.tell("working", 0.0)
    turn.tell("idle", 1.0)
    assert not turn.ending
    assert turn.over(5.9) is None
    turn.tell("working", 5.95)
    assert turn.over(50.0) is None


def test_without_exact_signs_a_state_ends_it_at_once_and_a_footer_after_its_debounce() -> None:
    turn = TurnState(SCREEN)
    turn.tell("working", 0.0)
    turn.tell("done", 1.0)
    assert turn.over(1.0) == "state"
    turn = TurnState(SCREEN)
    turn.show("footer", busy=True, now=0.0)
    turn.show("footer", busy=False, now=1.0)
    assert turn.over(1.4) is None
    turn.wake()
    turn.show("footer", busy=False, now=1.4)
    assert turn.over(1.8) is None
    assert turn.over(1.9) == "footer"


def test_events_of_other_turns_are_dropped() -> None:
    turn = TurnState(BOTH, past=["1"])
    turn.note(ReplyEnded("late", turn="1"), "hook", 0.0)
    assert turn.over(0.0) is None
    turn.note(PromptTaken("2"), "hook", 0.1)
    turn.note(ReplyEnded("other", turn="3"), "hook", 0.2)
    assert turn.over(0.2) is None
    turn.note(ReplyEnded("mine", turn="2"), "hook", 0.3)
    assert turn.text() == "mine"


def test_a_tool_told_by_two_signs_is_one_use() -> None:
    turn = TurnState(BOTH)
    turn.note(ToolUsed("Bash", "ls"), "hook", 0.0)
    turn.note(ToolUsed("Bash", "ls"), "record", 0.1)
    turn.note(ToolUsed("Read"), "record", 0.2)
    assert turn.tools == ["Bash: ls", "Read"]


def test_a_draft_is_the_longer_of_what_was_said_and_streamed() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyDelta("Hel"), "hook", 0.0)
    assert turn.draft() == "Hel"
    turn.note(ReplyDelta("lo"), "hook", 0.0)
    turn.note(ReplyBlock("Hello."), "record", 0.0)
    assert turn.draft() == "Hello."


def test_blanks_are_no_draft() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock(" \n\t\u00a0\n"), "record", 0.0)
    assert turn.draft() == ""


def test_a_hook_behind_the_record_ends_it_at_once_and_mends_its_text() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("ab"), "record", 0.0)
    turn.note(ReplyEnded(recorded=True, restore=lambda text: f"{text}!"), "hook", 0.1)
    assert (turn.over(0.1), turn.text()) == ("hook", "ab!")
    assert turn.exact("hook") is None  # an error may be drawn yet


def test_an_end_without_a_word_waits_while_its_title_shows_that_it_asks_again() -> None:
    turn = TurnState(BOTH)
    turn.show("title", busy=True, now=0.0)
    turn.note(ReplyEnded(recorded=True), "hook", 0.1)
    assert turn.over(0.2) is None
    turn.note(ReplyRetracted(), "record", 0.3)
    assert not turn.ending
    assert turn.over(20.0) is None, "it has just begun again"
    turn.note(ReplyBlock("ab"), "record", 20.0)
    turn.note(ReplyEnded(recorded=True, well=True), "hook", 20.1)
    assert (turn.over(20.1), turn.text()) == ("hook", "ab")


def test_an_end_without_a_word_is_one_once_its_title_rests_or_in_the_end() -> None:
    for rests in (True, False):
        turn = TurnState(BOTH)
        turn.show("title", busy=True, now=0.0)
        turn.note(ReplyEnded(recorded=True), "hook", 0.1)
        if rests:
            turn.show("title", busy=False, now=0.2)
        assert turn.over(0.2) == ("hook" if rests else None)
        assert turn.over(10.2) == "hook"


def test_a_hook_that_comes_after_no_error_makes_the_answer_at_once() -> None:
    turn = TurnState(BOTH)
    turn.note(ReplyBlock("ab"), "record", 0.0)
    turn.note(ReplyEnded(recorded=True, well=True), "hook", 0.1)
    answer = turn.exact("hook")
    assert answer
    assert answer.text == "ab"
