"""The last check before a row is rendered."""

import logging
from dataclasses import dataclass

import pytest

from contract.chat import Room
from memory.scopes import Invocation, ScopeError, check_scope


@dataclass(frozen=True)
class Row:
    scope: str


def test_rows_of_other_scopes_do_not_pass_and_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = Invocation(Room("slack:C1", "x"), "slack:U1", "claude").gate
    rows = [Row("room:slack:C1"), Row("room:slack:C2"), Row("dm:slack:U1:claude"), Row("")]
    with caplog.at_level(logging.WARNING):
        assert gate.admit("recall", rows) == rows[:1]
    assert caplog.messages == ["memory.refused layer=recall rows=3"]


@pytest.mark.parametrize(
    "scope", ["", "*", "room:", "room:*", "room:a b", "dm:\n", "room", "other:x", "room:a\x00"]
)
def test_what_is_no_scope_is_refused(scope: str) -> None:
    with pytest.raises(ScopeError):
        check_scope(scope)
