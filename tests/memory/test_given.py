"""Ranges of what a session was given."""

from __future__ import annotations

from memory.given import GivenText, ranges


def test_what_was_given_is_joined_and_holes_stay() -> None:
    given = GivenText(((1, 3),)) | GivenText(((4, 6), (9, 9))) | GivenText(((8, 8),))
    assert given.lines == ((1, 6), (8, 9))
    assert given.holds_lines(2, 6)
    assert given.holds_lines(9, 9)
    assert not given.holds_lines(6, 8)
    assert not given.holds_lines(7, 7)


def test_ranges_leave_out_what_was_not_shown() -> None:
    assert ranges(1, 9, [1, 4, 5, 20]) == ((2, 3), (6, 9))
    assert ranges(1, 3, [3]) == ((1, 2),)
    assert ranges(4, 3) == ()
