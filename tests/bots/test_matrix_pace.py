"""Answers come before signs when the server counts events."""

from __future__ import annotations

from bots.matrix.api import BURST, EVERY_S, SendBudget


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_quiet_room_gets_all_its_signs() -> None:
    pace = SendBudget(Clock())
    pace.asked()
    assert pace.has_room(5)


def test_ten_questions_leave_nothing_for_signs_until_they_are_answered() -> None:
    clock = Clock()
    pace = SendBudget(clock)
    for _ in range(8):
        pace.asked()
    assert not pace.has_room(1)
    for _ in range(8):
        pace.sent()
        pace.answered()
    assert not pace.has_room(1)
    clock.now += EVERY_S
    assert pace.has_room(1)


def test_a_question_that_nobody_answers_is_not_waited_for() -> None:
    clock = Clock()
    pace = SendBudget(clock)
    for _ in range(BURST):
        pace.asked()
    clock.now += 61
    assert pace.has_room(5)


def test_after_a_refusal_signs_rest() -> None:
    clock = Clock()
    pace = SendBudget(clock)
    pace.refused()
    clock.now += 2 * EVERY_S
    assert not pace.has_room(1)
    clock.now += 2 * EVERY_S
    assert pace.has_room(1)


def test_an_account_that_may_send_more_is_found_out_and_so_is_the_end_of_it() -> None:
    pace = SendBudget(Clock())
    for _ in range(BURST + 3):
        assert not pace.has_room(BURST)
        pace.sent()
    assert pace.has_room(BURST)
    pace.refused()
    assert not pace.has_room(1)
