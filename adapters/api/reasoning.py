"""How much a model is asked to think, in the forms that different models take. Pure.

platform.claude.com, read 2026-11: Claude 4.7 and later refuse a budget ("enabled"), 4.5 and earlier
know nothing else; Opus 5.5 and Fable refuse "disabled", for Sonnet 5.5 it is "between_tools"; both
of these take an effort of at most "high". A gateway may know none of it. So there is no table of
models: what is wanted is asked for in one form after the other until the API takes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Thinking = Literal["off", "adaptive"] | int | None
"""None: as the model does by itself; a number: so many tokens."""


@dataclass(frozen=True, slots=True)
class ThinkingForm:
    """One way to say it. thinking: "" says nothing of it."""

    thinking: str = ""
    budget_tokens: int | None = None
    effort: Effort | None = None

    def parameters(self) -> dict[str, Any]:
        """The parameters of a request."""
        given: dict[str, Any] = {}
        if self.thinking:
            given["thinking"] = {"type": self.thinking}
            if self.budget_tokens is not None:
                given["thinking"]["budget_tokens"] = self.budget_tokens
        if self.effort is not None:
            given["output_config"] = {"effort": self.effort}
        return given


def forms(thinking: Thinking, effort: Effort | None) -> tuple[ThinkingForm, ...]:
    """The ways to ask for it, best first; the last one, which says nothing, is always taken."""
    if thinking == "off":
        calm: Effort | None = "high" if effort in ("xhigh", "max") else effort
        off = (ThinkingForm("disabled", effort=calm), ThinkingForm("between_tools", effort=calm))
        return tuple(
            dict.fromkeys(
                (*off, ThinkingForm("disabled"), ThinkingForm(effort="low"), ThinkingForm())
            )
        )
    wanted: tuple[ThinkingForm, ...] = ()
    if isinstance(thinking, int):
        wanted = (ThinkingForm("enabled", thinking, effort), ThinkingForm("enabled", thinking))
    if thinking is not None:
        wanted += (ThinkingForm("adaptive", effort=effort),)
    return tuple(dict.fromkeys((*wanted, ThinkingForm(effort=effort), ThinkingForm())))
