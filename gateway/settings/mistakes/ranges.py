"""The range of a number, from the bounds that its field has."""

from __future__ import annotations

from typing import Any, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

RANGED = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


def range_of(field: FieldInfo | None) -> str:
    """The range in words, e.g. `from 1 to 1000`; "": it has none."""
    found = list(_bounds(field))
    low = next((f"{one.ge}" for one in found if isinstance(one, Ge)), "")
    high = next((f"{one.le}" for one in found if isinstance(one, Le)), "")
    above = next((f"{one.gt}" for one in found if isinstance(one, Gt)), "")
    below = next((f"{one.lt}" for one in found if isinstance(one, Lt)), "")
    if low and high:
        return f"from {low} to {high}"
    if above and high:
        return f"more than {above}, and {high} at most"
    return next(
        (
            words
            for bound, words in (
                (low, f"{low} or more"),
                (high, f"{high} or less"),
                (above, f"more than {above}"),
                (below, f"less than {below}"),
            )
            if bound
        ),
        "",
    )


def _bounds(kind: Any) -> list[Any]:
    if isinstance(kind, FieldInfo):
        return [*kind.metadata, *_bounds(kind.annotation)]
    found = []
    for inner in (*get_args(kind), *getattr(kind, "__metadata__", ())):
        found += inner.metadata if isinstance(inner, FieldInfo) else [inner, *_bounds(inner)]
    return found
