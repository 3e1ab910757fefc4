"""The time, as everything that takes a clock is given it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

clock: Callable[[], datetime] = partial(datetime.now, UTC)
"""Now, aware."""
