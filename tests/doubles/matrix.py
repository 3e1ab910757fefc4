"""Long matrices, of which every test run has a sample and `make test-long` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cells: Iterable[str], *sample: str) -> list[Any]:
    """The cells as parameters: those outside the sample are marked as long."""
    listed = list(cells)
    assert set(sample) <= set(listed), "the sample is of these"
    return [
        cell if cell in sample else pytest.param(cell, marks=pytest.mark.long) for cell in listed
    ]
