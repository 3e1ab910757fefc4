"""Recorded turns: what agents are given, what is posted and what is stored stay as they are.

Each case of `tests/golden/cases` is played on a whole gateway and compared, byte for byte, with
`tests/golden/turns/<name>.txt`. After a change that is meant, record them again and read the
difference before it is committed:

    MOOT_GOLDEN=record python -m pytest tests/golden
    git diff tests/golden/turns

A golden that is missing fails, and so does one that belongs to no case.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.golden.account import account
from tests.golden.cases import commands, rooms, summaries, trouble
from tests.golden.script import Case
from tests.golden.stage import Stage

CASES = (*rooms.CASES, *commands.CASES, *trouble.CASES, *summaries.CASES)
GOLDENS = Path(__file__).parent / "turns"
RECORD = os.environ.get("MOOT_GOLDEN") == "record"


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_a_turn_is_what_it_was(case: Case, tmp_path: Path) -> None:
    came = await Stage(case, tmp_path).play()
    compare(case.name, account(case, came, tmp_path))


def compare(name: str, found: str) -> None:
    """Fail unless it is the golden; recording, make it so."""
    golden = GOLDENS / f"{name}.txt"
    if RECORD:
        golden.write_bytes(found.encode())
    assert golden.exists(), f"{golden.name} is missing: record it, see the docstring of this test"
    assert found == golden.read_bytes().decode(), f"{golden.name}: see the docstring of this test"


def test_every_golden_belongs_to_a_case() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert sorted(file.stem for file in GOLDENS.glob("*.txt")) == sorted([*names, "slack"])
