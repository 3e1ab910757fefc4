"""The simulation that sizes workers: small cases by hand, and the table in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.seats import Asked, simulate, table

DOCS = Path(__file__).parents[2] / "docs" / "machines.md"


def test_a_question_behind_another_of_its_session_waits_for_that() -> None:
    asked = [Asked(0, 1, 10), Asked(2, 1, 5)]
    made = simulate(asked, workers=1, seats=4, idle_s=60, cold_s=1)
    assert made.own == [0, 9]  # till 11, as the start took a second
    assert made.seat == [1, 0]
    assert (made.cold, made.busy, made.living) == (1, 1, 1)


def test_without_a_free_seat_a_session_waits_and_one_that_is_idle_gives_way() -> None:
    asked = [Asked(0, 1, 10), Asked(2, 2, 5), Asked(30, 3, 5)]
    made = simulate(asked, workers=1, seats=1, idle_s=600, cold_s=1)
    assert made.seat == [1, 10, 1]
    assert (made.cold, made.living) == (3, 1)


def test_a_session_that_slept_starts_again() -> None:
    asked = [Asked(0, 1, 10), Asked(71, 1, 5), Asked(200, 1, 5)]
    made = simulate(asked, workers=1, seats=1, idle_s=60, cold_s=1)
    assert made.seat == [1, 0, 1]


def test_what_works_on_a_worker_that_dies_is_done_again_elsewhere() -> None:
    asked = [Asked(0, 1, 10), Asked(0, 2, 10)]
    made = simulate(asked, workers=2, seats=1, idle_s=60, cold_s=1, dies_at=5)
    assert made.redone == 1
    assert len(made.seat) == 3
    assert max(made.seat) == pytest.approx(6 + 1)  # from 5 to 11, when the other seat is free


@pytest.mark.long
def test_the_table_in_the_docs_is_the_commands() -> None:
    assert "\n".join(table(5000, 1)) in DOCS.read_text("utf-8")
