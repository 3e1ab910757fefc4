"""What an agent's program shows is printed for an administrator, and moves no cursor of theirs."""

from __future__ import annotations

from contract.agent import Option, Question
from gateway.cli.diagnosis.explain import Refusing


async def test_a_question_of_a_program_is_printed_without_what_a_terminal_obeys() -> None:
    said: list[str] = []
    told = Question(
        "q1",
        "Run this?\x1b]0;title\x07",
        "rm \x9b2Jx\nand \u202emore",
        (Option("Yes\x1b[2J"), Option("No\x9b1A", refuses=True)),
    )
    assert await Refusing(said.append).choose(told) == 1
    assert said[-2:] == ["    !1 Yes [2J", "    !2 No 1A (refuses)"]
    assert all(line.isprintable() for line in said)
