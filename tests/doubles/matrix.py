"""Long matrices, of which every test run has a sample and `make test-long` the rest."""

import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

LONG = tomllib.loads((Path(__file__).parents[1] / "long.toml").read_text("utf-8"))
SAMPLED, THINNED, LEFT_OUT = (frozenset(LONG[kind]) for kind in ("sampled", "thinned", "left_out"))
SAMPLE, STEP = 2, 3  # so many cases of a matrix that the table names, or every third


def sampled(cells: Iterable[str], *sample: str) -> list[Any]:
    """The cells as parameters: those outside the sample are marked as long."""
    listed = list(cells)
    assert set(sample) <= set(listed), "the sample is of these"
    return [
        cell if cell in sample else pytest.param(cell, marks=pytest.mark.long) for cell in listed
    ]


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark what the table names as long: all of a test, or all cases but the first ones, or
    two of three."""
    cases = Counter[str]()
    for item in items:
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        beyond = name in SAMPLED and cases[name] > SAMPLE
        between = name in THINNED and cases[name] % STEP != 1
        if name in LEFT_OUT or beyond or between:
            item.add_marker(pytest.mark.long)
