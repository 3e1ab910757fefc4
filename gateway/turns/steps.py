"""The reports of a turn's steps: their log lines, and what their spans say. docs/logs.md and
docs/telemetry.md name them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from contract.agent import Answer
from contract.briefing import Header
from gateway.core.ledger import Turn
from gateway.core.trace import Attribute, OpenStep, Reports, TurnTrace
from gateway.sessions.sessions import LiveSession
from gateway.turns.window import Window
from memory.layer import LayerAnswers

log = logging.getLogger("moot.prompt")


@dataclass(frozen=True, slots=True)
class AgentStep:
    """What came of asking an agent. fault: see Turn."""

    turn: Turn
    live: LiveSession
    answer: Answer
    fault: str | None


def _ready(step: OpenStep, trail: TurnTrace) -> None:
    live: LiveSession = step.made
    log.info("agent.ready agent=%s in_ms=%.1f", live.program.name, step.ms)


def _briefed(step: OpenStep, trail: TurnTrace) -> None:
    """Which messages the prompt shows, and what each layer of the memory had to say; all were
    asked at once."""
    made: tuple[Window, LayerAnswers] = step.made
    window, known = made
    log.info("prompt.window messages=%d since_last_reply=%s", len(window.lines), window.again)
    hits = _hits(known)
    for layer, ms in known.ms:
        failed = ""
        if layer in known.missing:
            failed = "late" if layer in known.late else "failed"
        else:
            found = hits.get(layer, 0)
            level = logging.INFO if found else logging.DEBUG
            log.log(level, "prompt.layer layer=%s ms=%.1f hits=%d", layer, ms, found)
        ended_ns = step.began_ns + int(ms * 1e6)
        told: dict[str, Attribute] = {"moot.layer": layer, "moot.layer.hits": hits.get(layer, 0)}
        trail.add(f"layer {layer}", step.began_ns, ended_ns, told, parent="brief", failed=failed)
    log.info(
        "prompt.memory layers=%d missing=%d hits=%d ms=%.1f",
        *(len(known.ms), len(known.missing), sum(hits.values())),
        max((ms for _, ms in known.ms), default=0.0),
    )


def _composed(step: OpenStep, trail: TurnTrace) -> None:
    """What came of it, and what the budgets left out."""
    header: Header = step.made
    step.attributes["moot.header.chars"] = len(header.text)
    log.info(
        "prompt.composed chars=%d sections=%d trims=%d ms=%.1f",
        *(len(header.text), len(header.sections), len(header.trims), step.ms),
    )
    for trim in header.trims:
        log.info("prompt.trimmed section=%s chars=%d", trim.section, trim.chars)


def _answered(step: OpenStep, trail: TurnTrace) -> None:
    """What the agent said is known, or why it said nothing."""
    made: AgentStep = step.made
    live, answer = made.live, made.answer
    step.failed = made.fault or ""
    step.attributes.update(_agent_attributes(made.turn, live, answer))
    log.info(
        "agent.answered agent=%s in_ms=%.0f chars=%d source=%s ended_by=%s tools=%d fault=%s",
        *(live.program.name, step.ms, len(answer.text), answer.source, answer.ended_by or "none"),
        *(len(answer.tools), made.fault or "none"),
    )


REPORTS: Reports = {
    "agent ready": _ready,
    "brief": _briefed,
    "compose": _composed,
    "agent": _answered,
}


def _hits(known: LayerAnswers) -> Mapping[str, int]:
    return {
        "recall": len(known.recall),
        "landmarks": len(known.landmarks),
        "episodes": int(bool(known.summary)),
        "insights": len(known.pins) + len(known.recommendations),
        "observations": len(known.observations),
    }


def _agent_attributes(turn: Turn, live: LiveSession, answer: Answer) -> Mapping[str, Attribute]:
    """Of the step in which the agent worked, by OpenTelemetry's conventions for agents.

    Tokens only where the program tells them.
    """
    told: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": turn.persona,
        "gen_ai.agent.id": live.program.name,
        "moot.answer.source": answer.source,
        "moot.answer.tools": len(answer.tools),
    }
    if live.agent.session_id:
        told["gen_ai.conversation.id"] = live.agent.session_id
    if answer.ended_by:
        told["moot.answer.ended_by"] = answer.ended_by
    if (usage := answer.usage) is not None:
        told["gen_ai.response.model"] = usage.model
        told["gen_ai.usage.input_tokens"] = usage.input_tokens
        told["gen_ai.usage.output_tokens"] = usage.output_tokens
        told["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
    return told
