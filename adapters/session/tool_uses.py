"""The uses of tools in one turn, put together from all that tells of them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from adapters.turn_events import ToolReport
from contract.agent import ToolUse

MOST = 300  # a turn; of more the newest stay


class ToolUses:
    """Each use once, in the order in which they were first heard of."""

    def __init__(self) -> None:
        self._uses: dict[str, ToolUse] = {}
        self._recorded: set[str] = set()  # whose result the record told: as the model saw it

    def note(self, did: ToolReport, source: Literal["hook", "record"]) -> None:
        """Take in what is known more of a use."""
        use = self._uses.get(did.id) or ToolUse("", "")
        use = replace(use, tool=use.tool or did.tool, given=use.given or did.given)
        if did.result is not None and (source == "record" or did.id not in self._recorded):
            use = replace(use, result=did.result, failed=did.failed)
            if source == "record":
                self._recorded.add(did.id)
        self._uses[did.id] = use
        if len(self._uses) > MOST:
            del self._uses[next(iter(self._uses))]

    def all(self) -> tuple[ToolUse, ...]:
        """Those whose tool is known."""
        return tuple(use for use in self._uses.values() if use.tool)
