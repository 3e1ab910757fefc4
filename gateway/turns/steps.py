"""The reports of a turn's steps: their log lines, and what their spans say. docs/logs.md and
docs/telemetry.md name them."""

from __future__ import annotations

import logging

import structlog

from contract.agent import Answer
from contract.briefing import Header
from contract.values import dataclass
from gateway.core.ledger import Turn
from gateway.core.trace import Attribute, OpenStep, Reports, Step, TurnTrace
from gateway.sessions.sessions import LiveSession
from gateway.turns.windows import Window
from memory.layers import LayerAnswers

log = structlog.stdlib.get_logger("moot.prompt")


@dataclass(frozen=True, slots=True)
class AgentStep:
    """The result of asking an agent. fault: see Turn. by: id of who asked."""

    turn: Turn
    live: LiveSession
    answer: Answer
    fault: str | None
    by: str


def _ready(step: OpenStep, trace: TurnTrace) -> None:
    live: LiveSession = step.made
    log.info("agent.ready", agent=live.context.program.name, in_ms=round(step.ms, 1))


def _briefed(step: OpenStep, trace: TurnTrace) -> None:
    """The messages that the prompt shows, and what each layer of the memory had to say; all were
    asked at once."""
    made: tuple[Window, LayerAnswers] = step.made
    window, known = made
    log.info("prompt.window", messages=len(window.lines), since_last_reply=window.again)
    hits = {
        "recall": len(known.recall),
        "landmarks": len(known.landmarks),
        "episodes": int(bool(known.summary)),
        "insights": len(known.pins) + len(known.recommendations),
        "observations": len(known.observations),
    }
    for layer, ms in known.ms:
        failed = ""
        if layer in known.missing:
            failed = "late" if layer in known.late else "failed"
        else:
            found = hits.get(layer, 0)
            level = logging.INFO if found else logging.DEBUG
            log.log(level, "prompt.layer", layer=layer, ms=round(ms, 1), hits=found)
        ended_ns = step.began_ns + int(ms * 1e6)
        told: dict[str, Attribute] = {"moot.layer": layer, "moot.layer.hits": hits.get(layer, 0)}
        trace.steps.append(Step(f"layer {layer}", step.began_ns, ended_ns, "brief", failed, told))
    log.info(
        "prompt.memory",
        layers=len(known.ms),
        missing=len(known.missing),
        hits=sum(hits.values()),
        ms=round(max((ms for _, ms in known.ms), default=0.0), 1),
    )


def _composed(step: OpenStep, trace: TurnTrace) -> None:
    """Log the header's length, and what the budgets left out."""
    header: Header = step.made
    step.attributes["moot.header.chars"] = len(header.text)
    log.info(
        "prompt.composed",
        chars=len(header.text),
        sections=len(header.sections),
        trims=len(header.trims),
        ms=round(step.ms, 1),
    )
    for trim in header.trims:
        log.info("prompt.trimmed", section=trim.section, chars=trim.chars)


def _answered(step: OpenStep, trace: TurnTrace) -> None:
    """Log that the agent's answer is known, or why there is none. Its span follows OpenTelemetry's
    conventions for agents."""
    made: AgentStep = step.made
    live, answer = made.live, made.answer
    step.failed = made.fault or ""
    told: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": made.turn.persona,
        "gen_ai.agent.id": live.context.program.name,
        "moot.answer.source": answer.source,
        "moot.answer.tools": len(answer.tools),
    }
    if live.agent.session_id:
        told["gen_ai.conversation.id"] = live.agent.session_id
    if answer.ended_by:
        told["moot.answer.ended_by"] = answer.ended_by
    if (usage := answer.usage) is not None:  # tokens only where the program tells them
        told["gen_ai.response.model"] = usage.model
        told["gen_ai.usage.input_tokens"] = usage.input_tokens
        told["gen_ai.usage.output_tokens"] = usage.output_tokens
        told["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
    step.attributes.update(told)
    log.info(
        "agent.answered",
        agent=live.context.program.name,
        in_ms=round(step.ms, 0),
        chars=len(answer.text),
        source=answer.source,
        ended_by=answer.ended_by or "none",
        tools=len(answer.tools),
        fault=made.fault or "none",
        by=made.by,
    )


REPORTS: Reports = {
    "agent ready": _ready,
    "brief": _briefed,
    "compose": _composed,
    "agent": _answered,
}
