"""An OpenTelemetry collector: takes traces over HTTP, as the protocol has them."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """As it came; ids in hex, parent "" for a root."""

    name: str
    trace: str
    id: str
    parent: str
    began: int
    ended: int
    status: int
    message: str
    attributes: dict[str, Any]
    links: list[tuple[str, str]]


@dataclass
class Collector:
    """url: where it listens. status: what it answers."""

    url: str = ""
    status: int = 200
    spans: list[Span] = field(default_factory=list)
    resource: dict[str, Any] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, status: int = 200) -> AsyncIterator[Collector]:
        """One that listens on a free port of the loopback."""
        collector = cls(status=status)
        app = web.Application()
        app.router.add_post("/v1/traces", collector.take)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield collector
        finally:
            await runner.cleanup()

    async def take(self, request: web.Request) -> web.Response:
        """One export."""
        assert request.content_type == "application/x-protobuf"
        body = await request.read()
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        self.headers.append({name.lower(): told for name, told in request.headers.items()})
        self.bodies.append(body)
        for told in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = attributes(told.resource.attributes)
            for scope in told.scope_spans:
                self.spans += [_span(span) for span in scope.spans]
        return web.Response(status=self.status, content_type="application/x-protobuf")

    def of(self, trace: str) -> dict[str, Span]:
        """A trace's spans by name."""
        return {span.name: span for span in self.spans if span.trace == trace}


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def _span(span: Any) -> Span:
    return Span(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code,
        span.status.message,
        attributes(span.attributes),
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
    )
