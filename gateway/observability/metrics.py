"""What Prometheus is told. docs/api.md names every figure."""

from __future__ import annotations

import platform
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest

from contract.agent import Usage
from gateway.core import views
from gateway.core.bot_health import BotHealth
from gateway.core.events import AppEvent, MessagePosted, TurnChanged
from gateway.core.ledger import Turn
from gateway.observability.bot_metrics import BotMetrics
from gateway.observability.bounded_label import BoundedLabel
from gateway.observability.header_metrics import HeaderMetrics
from gateway.observability.memory_metrics import CallMetrics, MemoryMetrics
from gateway.observability.session_metrics import Counted, SessionMetrics
from gateway.observability.telemetry import moot_version
from gateway.observability.usage_metrics import UsageMetrics

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """Counts what is published, and measures turns as they end."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._messages = Counter("moot_messages", "Messages stored", ["by"], registry=registry)
        self._turns = Counter("moot_turns", "Turns ended", ["persona", "state"], registry=registry)
        self._steps = Histogram(
            "moot_turn_step_seconds",
            "How long the steps of a turn took",
            ["step"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._queue = Histogram(
            "moot_turn_queue_seconds",
            "How long turns waited for their session",
            buckets=_SECONDS,
            registry=registry,
        )
        self._questions = Counter(
            "moot_questions",
            "Permission questions by how they ended",
            ["outcome"],
            registry=registry,
        )
        self._refusals = Counter(
            "moot_refusals", "People who were told that they may not", ["platform"],
            registry=registry,
        )  # fmt: skip
        Info("moot_build", "What runs here", registry=registry).info(
            {"version": moot_version(), "python": platform.python_version()}
        )
        self._waiting = Gauge("moot_turns_waiting", "Turns queued or running", registry=registry)
        self._schedules = Counter(
            "moot_schedules", "Schedules whose time came, by what became of them", ["outcome"],
            registry=registry,
        )  # fmt: skip
        self._bots = BotMetrics(registry)
        self._sessions = SessionMetrics(registry)
        self._headers = HeaderMetrics(registry)
        self._memory = MemoryMetrics(registry)
        self._calls = CallMetrics(registry)
        self.usage = UsageMetrics(registry)
        self._sources = BoundedLabel()

    def heard(self, happening: AppEvent) -> None:
        """Count a happening."""
        if isinstance(happening, MessagePosted):
            self._messages.labels(happening.message.by.kind).inc()
        elif isinstance(happening, TurnChanged) and happening.turn.state in views.ENDED:
            self._turns.labels(happening.turn.persona, happening.turn.state).inc()

    def ended(self, turn: Turn) -> None:
        """Measure a turn."""
        for step, ms in turn.record.get("timings", {}).items():
            self._steps.labels(step).observe(ms / 1000)
        if turn.header is not None:
            self._headers.measure(turn.header, turn.record)
            self._memory.measure(turn.record.get("memory", {}))

    def called(
        self, purpose: str, model: str, usage: Usage | None, ms: float, fault: str | None
    ) -> None:
        """Count a call of the model behind the memory.

        purpose: the layer. usage: None when the call failed before it told. fault: a word or
        two, never a text of the conversation; None: it was answered.
        """
        self._calls.count(purpose, model, usage, ms, fault)

    def waited(self, seconds: float) -> None:
        """A turn's place in its queue has come."""
        self._queue.observe(seconds)

    def decided(self, outcome: str) -> None:
        """A permission question ended: answered, timeout, stopped, policy."""
        self._questions.labels(outcome).inc()

    def refused(self, source: str) -> None:
        """Somebody was told that they may not. source: the platform, as the contract has it."""
        self._refusals.labels(self._sources.bounded(source)).inc()

    def watch_learning(self, waiting: Callable[[], int]) -> None:
        """Ask at each scrape how much waits to be learned from."""
        self._memory.learning.set_function(waiting)

    def session_started(self, program: str, *, resumed: bool) -> None:
        """Count the start of an agent's program."""
        self._sessions.started(program, resumed=resumed)

    def session_ended(self, program: str, why: str) -> None:
        """Count the end of an agent's program; why: a word."""
        self._sessions.ended(program, why)

    def watch_bot(self, name: str, health: BotHealth) -> None:
        """Ask at each scrape how a bot fares."""
        self._bots.watch(name, health)

    def scheduled(self, outcome: str) -> None:
        """A schedule's time came: ran, skipped, paused, failed."""
        self._schedules.labels(outcome).inc()

    def text(self, *, waiting: int, sessions: Counted) -> bytes:
        """The exposition format."""
        self._waiting.set(waiting)
        self._sessions.now = sessions
        return generate_latest(self._registry)
