"""The tools that an agent used in a turn, as its signs tell of them bit by bit."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from adapters.turn_events import MOST_USES, ToolReport, cut_tool_text
from contract.agent import ToolUse
from contract.values import dataclass


@dataclass(slots=True)
class ToolUses:
    """Each use once, in the order in which they were first heard of."""

    _uses: dict[str, ToolUse] = field(default_factory=dict)
    _recorded: set[str] = field(default_factory=set)
    """Those whose result the record told: as the model saw it."""

    def note(self, did: ToolReport, source: Literal["hook", "record"]) -> None:
        """Take in what is known more of a use."""
        use = self._uses.get(did.id) or ToolUse("", "")
        use = replace(use, tool=use.tool or did.tool, given=use.given or cut_tool_text(did.given))
        if did.result is not None and (source == "record" or did.id not in self._recorded):
            use = replace(use, result=cut_tool_text(did.result), failed=did.failed)
            if source == "record":
                self._recorded.add(did.id)
        self._uses[did.id] = use
        if len(self._uses) > MOST_USES:
            del self._uses[next(iter(self._uses))]

    def all(self) -> tuple[ToolUse, ...]:
        """The uses whose tool is known."""
        return tuple(use for use in self._uses.values() if use.tool)
