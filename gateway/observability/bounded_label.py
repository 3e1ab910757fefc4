"""The values of one label that come from outside."""

from __future__ import annotations

_MOST_VALUES = 30  # then "other"


class BoundedLabel:
    """Those of one label: a server that invents names must not fill the registry."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bounded(self, value: str) -> str:
        """The value, or "other" when there are too many already."""
        if len(self._known) < _MOST_VALUES:
            self._known.add(value)
        return value if value in self._known else "other"
