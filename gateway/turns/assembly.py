"""What is told of how a prompt is put together: in the log, the turn's trail and its record."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict

import structlog

from contract.agent import Answer
from contract.briefing import Briefing, Header
from gateway.core.ledger import Turn
from gateway.core.trace import Attribute, TurnTrace
from gateway.sessions.sessions import LiveSession
from gateway.turns.window import Window
from memory.layers import LayerAnswers

log = structlog.stdlib.get_logger("moot.prompt")


def tell_ready(live: LiveSession, ms: float) -> None:
    """The agent can be asked."""
    log.info("agent.ready", agent=live.program.name, in_ms=round(ms, 1))


def tell_window(window: Window) -> None:
    """Which messages the prompt shows."""
    log.info("prompt.window", messages=len(window.lines), since_last_reply=window.again)


def tell_layers(known: LayerAnswers, trail: TurnTrace, began_ns: int) -> None:
    """What each layer of the memory had to say; all were asked at once."""
    hits = _hits(known)
    for layer, ms in known.ms:
        if layer in known.missing:
            failed = "late" if layer in known.late else "failed"
        else:
            failed = ""
            found = hits.get(layer, 0)
            level = logging.INFO if found else logging.DEBUG
            log.log(level, "prompt.layer", layer=layer, ms=round(ms, 1), hits=found)
        ended_ns = began_ns + int(ms * 1e6)
        told: dict[str, str | int] = {"moot.layer": layer, "moot.layer.hits": hits.get(layer, 0)}
        trail.add(f"layer {layer}", began_ns, ended_ns, told, parent="brief", failed=failed)
    log.info(
        "prompt.memory",
        layers=len(known.ms),
        missing=len(known.missing),
        hits=sum(hits.values()),
        ms=round(max((ms for _, ms in known.ms), default=0.0), 1),
    )


def tell_composed(header: Header, ms: float) -> None:
    """What came of it, and what the budgets left out."""
    log.info(
        "prompt.composed",
        chars=len(header.text),
        sections=len(header.sections),
        trims=len(header.trims),
        ms=round(ms, 1),
    )
    for trim in header.trims:
        log.info("prompt.trimmed", section=trim.section, chars=trim.chars)


def tell_asked(live: LiveSession, prompt: str) -> None:
    """The prompt is handed over: typed into a terminal, or sent."""
    if live.program.typed:
        log.info("prompt.typed", chars=len(prompt))
    log.info("agent.asked", agent=live.program.name, chars=len(prompt))


def tell_answered(live: LiveSession, answer: Answer, fault: str | None, ms: float) -> None:
    """What the agent said is known, or why it said nothing."""
    log.info(
        "agent.answered",
        agent=live.program.name,
        in_ms=round(ms, 0),
        chars=len(answer.text),
        source=answer.source,
        ended_by=answer.ended_by or "none",
        tools=len(answer.tools),
        fault=fault or "none",
    )


def _hits(known: LayerAnswers) -> Mapping[str, int]:
    return {
        "recall": len(known.recall),
        "landmarks": len(known.landmarks),
        "episodes": int(bool(known.summary)),
        "insights": len(known.pins) + len(known.recommendations),
        "observations": len(known.observations),
    }


def agent_attributes(turn: Turn, live: LiveSession, answer: Answer) -> Mapping[str, Attribute]:
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


def record_of(header: Header, briefing: Briefing, known: LayerAnswers) -> dict[str, object]:
    """What the page's "why" shows, as JSON values."""
    scores = {
        "RECALL": [{"text": f.text, "score": f.score} for f in briefing.recall],
        "PINS": [{"text": n.text, "score": n.score} for n in briefing.pins],
        "RECOMMENDATIONS": [{"text": n.text, "score": n.score} for n in briefing.recommendations],
    }
    return {
        "sections": [
            {**asdict(section), "items": scores.get(section.name.split(" ")[0], [])}
            for section in header.sections
        ],
        "trims": [asdict(trim) for trim in header.trims],
        "memory": {
            "missing": list(known.missing),
            "late": list(known.late),
            "ms": dict(known.ms),
        },
    }
