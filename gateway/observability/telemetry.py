"""Traces of turns, sent to an OpenTelemetry collector. docs/telemetry.md. Off until configured."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from time import time_ns
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import structlog

from gateway.core.ledger import Turn
from gateway.core.redaction import Redactor
from gateway.core.trace import Attribute, Step, TurnTrace
from gateway.settings.logs import TelemetryTable

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = structlog.stdlib.get_logger("moot.telemetry")

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_PATH = "/v1/traces"
_EXPORT_S = 5.0  # for one try
_CLOSE_S = 3.0  # for what is left; a collector that is away must not keep the house

_LIBRARY = "opentelemetry.exporter.otlp.proto.http"

Export = Callable[[Turn, TurnTrace], None]


class Telemetry:
    """Makes a trace of every turn. Its methods put spans into a queue, and never wait."""

    def __init__(self, provider: TracerProvider, ids: Ids, redactor: Redactor) -> None:
        self._tracer = provider.get_tracer("moot", moot_version())
        self._ids = ids
        self._redactor = redactor

    def turn(self, turn: Turn, traced: TurnTrace) -> None:
        """A turn that is over: a root span, and below it a span a step; linked to the turn whose
        answer handed over to it."""
        if not traced.steps:
            return
        began_ns = min(step.began_ns for step in traced.steps)
        ended_ns = max(step.ended_ns for step in traced.steps)
        self._ids.next_trace, self._ids.next_span = trace_id(turn.id), _root_id(turn.id)
        failed = traced.failed or turn.fault or ""
        whole = Step("turn", began_ns, ended_ns, "", failed, _of_turn(turn))
        spans = {"": self._span(whole, None, linked_to=traced.after)}
        for step in sorted(traced.steps, key=lambda step: (step.parent != "", step.began_ns)):
            above = spans.get(step.parent) or spans[""]
            spans[step.name] = self._span(step, above)

    def learned(self, told: Mapping[str, Attribute], turn_id: str, began_ns: int) -> None:
        """The memory learned from a turn, or from a session's end (turn_id: ""), until now: a
        trace of its own, linked to the turn's."""
        step = Step("memory", began_ns, time_ns(), attributes=told)
        self._span(step, None, linked_to=turn_id)

    def _span(self, step: Step, above: object | None, *, linked_to: str = "") -> object:
        from opentelemetry import trace
        from opentelemetry.context import Context

        context = trace.set_span_in_context(above) if isinstance(above, trace.Span) else None
        attributes = {
            key: self._redactor(value) if isinstance(value, str) else value
            for key, value in step.attributes.items()
        }
        links = [trace.Link(_context_of(linked_to))] if linked_to else []
        span = self._tracer.start_span(
            step.name, context or Context(), attributes=attributes, links=links,
            start_time=step.began_ns,
        )  # fmt: skip
        if step.failed:
            span.set_attribute("error.type", step.failed)
            span.set_status(trace.Status(trace.StatusCode.ERROR, step.failed))
        span.end(step.ended_ns)
        return span


class Sender:
    """A SpanExporter around the library's, which logs each try that fails, and why."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._away = False
        self._lost = 0
        self._why = ""
        for name in (_LIBRARY, f"{_LIBRARY}.trace_exporter"):
            logging.getLogger(name).addFilter(self._heard)

    def _heard(self, record: logging.LogRecord) -> bool:
        """Keep why it failed; no line of the library's is logged."""
        try:
            self._why = record.getMessage()
        except (TypeError, ValueError):
            self._why = str(record.msg)
        return False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter; called on the library's thread."""
        self._why = ""
        result = self._exporter.export(spans)
        away = result.name != "SUCCESS"
        self._lost += len(spans) if away else 0
        if away and not self._away:
            log.error("collector.away", reason=self._why or "it takes no spans")
        if self._away and not away:
            log.info("collector.back", lost=self._lost)
            self._lost = 0
        self._away = away
        return result

    def shutdown(self) -> None:
        """See SpanExporter."""
        for name in (_LIBRARY, f"{_LIBRARY}.trace_exporter"):
            logging.getLogger(name).removeFilter(self._heard)
        self._exporter.shutdown()

    def force_flush(self, *given: Any) -> bool:
        """See SpanExporter."""
        return self._exporter.force_flush(*given)


class Ids:
    """Gives a turn's trace the turn's own id, so that log lines lead to it."""

    def __init__(self) -> None:
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        self._random = RandomIdGenerator()
        self.next_trace = self.next_span = 0

    def generate_trace_id(self) -> int:
        given, self.next_trace = self.next_trace, 0
        return given or self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        given, self.next_span = self.next_span, 0
        return given or self._random.generate_span_id()

    def is_trace_id_random(self) -> bool:
        """See IdGenerator: a turn's id is a random UUID."""
        return False


@asynccontextmanager
async def open_telemetry(
    table: TelemetryTable, environment: Mapping[str, str], redactor: Redactor
) -> AsyncIterator[Telemetry | None]:
    """The exporter of traces, flushed when left; None: they are off."""
    if table.otlp_endpoint is None:
        yield None
        return
    ids, provider = await asyncio.to_thread(
        _open, table.otlp_endpoint, headers_in(environment.get(HEADERS, ""))
    )
    try:
        yield Telemetry(provider, ids, redactor)
    finally:
        await _close(provider)


def _open(endpoint: str, headers: Mapping[str, str]) -> tuple[Ids, TracerProvider]:
    """Imports take half a second and more, so they wait until somebody wants traces."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    ids = Ids()
    url = endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH
    exporter = OTLPSpanExporter(endpoint=url, headers=dict(headers), timeout=_EXPORT_S)
    resource = Resource.create({"service.name": "moot", "service.version": moot_version()})
    provider = TracerProvider(
        resource=resource,
        id_generator=ids,  # type: ignore[arg-type]
        shutdown_on_exit=False,
    )
    sender = Sender(exporter)
    provider.add_span_processor(
        BatchSpanProcessor(sender, schedule_delay_millis=1_000)  # type: ignore[arg-type]
    )
    return ids, provider


async def _close(provider: TracerProvider) -> None:
    """Send what is left, but don't wait long."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()

    def shut_down() -> None:
        provider.shutdown()
        if not loop.is_closed():
            loop.call_soon_threadsafe(over.set)

    threading.Thread(target=shut_down, name="telemetry ends", daemon=True).start()
    try:
        async with asyncio.timeout(_CLOSE_S):
            await over.wait()
    except TimeoutError:
        return


def headers_in(text: str) -> dict[str, str]:
    """OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, percent-encoded."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}


def trace_id(turn_id: str) -> int:
    """A turn's id as the id of its trace: the same 32 hexadecimal digits."""
    try:
        return int(turn_id, 16) & (1 << 128) - 1 or 1
    except ValueError:
        return int.from_bytes(hashlib.sha256(turn_id.encode()).digest()[:16]) or 1


def moot_version() -> str:
    """The version of the installed package; "0" when it runs from its folder."""
    try:
        return version("moot")
    except PackageNotFoundError:
        return "0"


def _root_id(turn_id: str) -> int:
    return int.from_bytes(hashlib.sha256(turn_id.encode()).digest()[-8:]) or 1


def _context_of(turn_id: str):  # type: ignore[no-untyped-def]  # its type is imported lazily
    from opentelemetry.trace import SpanContext, TraceFlags

    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(trace_id(turn_id), _root_id(turn_id), is_remote=False, trace_flags=flags)


def _of_turn(turn: Turn) -> dict[str, Attribute]:
    """Ids and words; nothing that anybody wrote."""
    told: dict[str, Attribute] = {
        "gen_ai.agent.name": turn.speaker_name,
        "moot.turn.id": turn.id,
        "moot.turn.state": turn.state,
        "moot.turn.hop": turn.hop,
        "moot.persona": turn.speaker_name,
        "moot.platform": turn.room.id.partition(":")[0],
        "moot.room.id": turn.room.id,
        "moot.room.kind": turn.room.kind,
        "moot.bot": turn.bot,
    }
    if turn.fault:
        told["moot.turn.fault"] = turn.fault
    return told
