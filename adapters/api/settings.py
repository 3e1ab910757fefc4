"""The settings in moot.toml of an agent that is called by API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from contract.values import dataclass

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


MODEL = "claude-sonnet-5-5"  # the middle of the current ones; platform.claude.com, read 2026-11
LEAST_BUDGET = 1_024  # tokens of thinking; the API takes no less


def _thinking(value: object) -> object:
    budget = isinstance(value, int) and not isinstance(value, bool) and value >= LEAST_BUDGET
    if budget or value in ("off", "adaptive"):
        return value
    raise ValueError(f'"off", "adaptive", or a budget of at least {LEAST_BUDGET} tokens')


class ApiSettings(BaseModel):
    """max_tokens: of one answer, its thinking included. thinking: "off", "adaptive" or a budget in
    tokens; default: as the model does by itself. effort: for models that know it. timeout_s: how
    long the API may be silent. max_retries: of a request that the API did not take. context_tokens:
    the conversation is kept within 70 % of it. base_url: without the /v1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    max_tokens: int = Field(default=32_000, gt=0)  # all models since Claude 4 may say so much
    thinking: Annotated[Thinking, BeforeValidator(_thinking)] = None
    effort: Effort | None = None
    timeout_s: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=3, ge=0, le=10)  # after 0.5 to 8 s, or as the API says
    context_tokens: int = Field(default=200_000, ge=10_000)
    base_url: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> ApiSettings:
        if isinstance(self.thinking, int) and self.thinking >= self.max_tokens:
            raise ValueError("thinking takes its budget out of max_tokens: give more of these")
        return self
