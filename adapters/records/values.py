"""Values out of a row that nobody promised: of the wanted kind, or empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def text_of(value: object) -> str:
    """The text; "" for anything else."""
    return value if isinstance(value, str) else ""


def list_of(value: object) -> Sequence[Any]:
    """The list; empty for anything else."""
    return value if isinstance(value, list) else ()


def mapping_of(value: object) -> Mapping[str, Any]:
    """The object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}
