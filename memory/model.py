"""The model that works behind the memory: one call at a time, paid for and on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from contract.agent import Completion, Tool


class Model(Protocol):
    """Answers one question about a conversation. Keeps nothing between calls."""

    name: str  # for people and for the record, e.g. "claude-haiku-4-5"

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """Ask once. With `tool`, the model is made to call it; what came is not yet checked.

        Raises ModelError only.
        """


ModelOf = Callable[[str], Model]
"""The model for a scope: its calls are on record as that scope's."""
