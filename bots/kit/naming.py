"""Finds names in a text as people type them: `@name`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Named = Callable[[str], bool]
"""True if a text names one of the personas that a bot serves."""


def names(text: str, personas: Sequence[str]) -> bool:
    """True if a text names one of them as `@name`."""
    listed = "|".join(re.escape(name) for name in personas)
    return bool(listed) and bool(
        re.search(rf"(?<![\w@.<])@(?:{listed})(?![\w-])", text, re.IGNORECASE)
    )


def by_names(personas: Sequence[str]) -> Named:
    """By their own names, where nobody tells what else they are called."""
    return lambda text: names(text, personas)
