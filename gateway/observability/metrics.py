"""Figures for Prometheus. docs/api.md names every one."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from contract.agent import Usage
from contract.chat import SenderType
from contract.values import dataclass
from gateway.core.ledger import Turn, TurnUsage
from gateway.observability.bot_health import BotHealth
from gateway.observability.metering import Taken
from gateway.observability.prompt_metrics import (
    BoundedLabel,
    CallMetrics,
    HeaderMetrics,
    MemoryMetrics,
)
from gateway.observability.telemetry import moot_version
from gateway.observability.worker_metrics import WorkerFigures, WorkerMetrics
from store.health import StoreHealth

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


_LABELS = ("persona", "program", "session")


class Metrics:
    """Counts messages and turns, and measures turns as they end."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._turns = TurnMetrics(registry)
        self.waited = self._turns.queue.observe  # given the seconds that a turn was in its queue
        self._bots = BotMetrics(registry)
        self._store = StoreMetrics(registry)
        self._sessions = SessionMetrics(registry)
        self._headers = HeaderMetrics(registry)
        self._memory = MemoryMetrics(registry)
        self._calls = CallMetrics(registry)
        self.usage = UsageMetrics(registry)
        Info("moot_build", "What runs here", registry=registry).info(
            {"version": moot_version(), "python": platform.python_version()}
        )
        self._refusals = Counter(
            "moot_refusals",
            "People who were told that they may not",
            ["platform"],
            registry=registry,
        )
        self._schedules = Counter(
            "moot_schedules",
            "Schedules whose time came, by what became of them",
            ["outcome"],
            registry=registry,
        )
        self._sources = BoundedLabel()

    def stored(self, kind: SenderType) -> None:
        """Count a message that is on disk, by who said it."""
        self._turns.messages.labels(kind).inc()

    def ended(self, turn: Turn, failed: str = "") -> None:
        """Count a turn, and measure it. failed: a word, of one that has no answer in the room: it
        is not measured."""
        self._turns.ended.labels(turn.speaker_name, turn.shown_state(turn.state)).inc()
        if failed:
            return
        for step, ms in turn.record.get("timings", {}).items():
            self._turns.steps.labels(step).observe(ms / 1000)
        if turn.was_asked:
            self._headers.measure(turn.header or "", turn.record)
            self._memory.measure(turn.record.get("memory", {}))

    def called(
        self, purpose: str, model: str, usage: Usage | None, ms: float, fault: str | None
    ) -> None:
        """Count a call of the model behind the memory.

        purpose: the layer. usage: None when the call failed before it told. fault: a word or
        two, never a text of the conversation; None: it was answered.
        """
        self._calls.count(purpose, model, usage, ms, fault)

    def decided(self, outcome: str) -> None:
        """A permission question ended: answered, timeout, stopped, policy."""
        self._turns.questions.labels(outcome).inc()

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

    def watch_workers(self, figures: Callable[[], Iterable[WorkerFigures]]) -> WorkerMetrics:
        """Ask at each scrape how the workers fare."""
        return WorkerMetrics(self._registry, figures)

    def watch_store(self, health: StoreHealth) -> None:
        """Tell at each scrape whether the database takes what is written."""
        self._store.health = health

    def scheduled(self, outcome: str) -> None:
        """A schedule's time came: ran, skipped, paused, failed."""
        self._schedules.labels(outcome).inc()

    def text(self, *, waiting: int, sessions: Counted) -> bytes:
        """The exposition format."""
        self._turns.waiting.set(waiting)
        self._sessions.now = sessions
        return generate_latest(self._registry)


class TurnMetrics:
    """Counts messages and turns, and measures the steps of a turn."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.messages = Counter("moot_messages", "Messages stored", ["by"], registry=registry)
        self.ended = Counter("moot_turns", "Turns ended", ["persona", "state"], registry=registry)
        self.steps = Histogram(
            "moot_turn_step_seconds",
            "How long the steps of a turn took",
            ["step"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.queue = Histogram(
            "moot_turn_queue_seconds",
            "How long turns waited for their session",
            buckets=_SECONDS,
            registry=registry,
        )
        self.questions = Counter(
            "moot_questions",
            "Permission questions by how they ended",
            ["outcome"],
            registry=registry,
        )
        self.waiting = Gauge("moot_turns_waiting", "Turns queued or running", registry=registry)


class UsageMetrics:
    """Counts what turns took, by persona."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tokens = Counter(
            "moot_agent_tokens",
            "Tokens that agents told of: input, output, cached",
            ["persona", "kind"],
            registry=registry,
        )
        self._cost = Counter(
            "moot_agent_cost_usd",
            "US dollars of agents' turns, where they are known",
            ["persona"],
            registry=registry,
        )
        self._seconds = Counter(
            "moot_agent_seconds", "Seconds of agents' work", ["persona"], registry=registry
        )

    def took(self, took: TurnUsage) -> None:
        """Take in a turn."""
        self._seconds.labels(took.persona).inc(took.seconds)
        if took.usage is None:
            return
        self._tokens.labels(took.persona, "input").inc(took.usage.input_tokens)
        self._tokens.labels(took.persona, "output").inc(took.usage.output_tokens)
        self._tokens.labels(took.persona, "cached").inc(took.usage.cached_tokens)
        if took.usage.cost_usd is not None:
            self._cost.labels(took.persona).inc(took.usage.cost_usd)


class BotMetrics(Collector):
    """Asks at each scrape how they fare."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._health: dict[str, BotHealth] = {}
        registry.register(self)

    def watch(self, name: str, health: BotHealth) -> None:
        """Watch one more bot."""
        self._health[name] = health

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        up = GaugeMetricFamily(
            "moot_bot_up", "Whether a bot runs and knows its account", labels=("bot",)
        )
        restarts = CounterMetricFamily(
            "moot_bot_restarts", "Starts of a bot after its first", labels=("bot",)
        )
        for name, health in self._health.items():
            up.add_metric((name,), float(health.up))
            restarts.add_metric((name,), float(health.restarts))
        yield up
        yield restarts


class StoreMetrics(Collector):
    """health: the database's, once it is open."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.health: StoreHealth | None = None
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        if self.health is None:
            return
        yield _gauge(
            "moot_store_up", "Whether the database takes writes", self.health.state == "ok"
        )
        refusals = CounterMetricFamily(
            "moot_store_refusals", "What the database refused, by why: full, away", labels=("why",)
        )
        for why, count in self.health.refusals.items():
            refusals.add_metric((why,), float(count))
        yield refusals


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one living session. session: stable, and hides who it is with."""

    persona: str
    program: str
    session: str
    taken: Taken


@dataclass(frozen=True, slots=True)
class Counted:
    """The sessions at one moment. waiting: for a place; most: how many may live."""

    living: int = 0
    asleep: int = 0
    waiting: int = 0
    most: int = 0
    taken: Sequence[Load] = ()


class SessionMetrics(Collector):
    """now: the sessions as they are at this scrape; one that ended is not told any more."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.now = Counted()
        self._starts = Counter(
            "moot_session_starts",
            "Programs that got ready: fresh, or resumed with their conversation",
            ["program", "how"],
            registry=registry,
        )
        self._ends = Counter(
            "moot_session_ends",
            "Programs that were ended: idle and cap put a session to sleep",
            ["program", "why"],
            registry=registry,
        )
        registry.register(self)

    def started(self, program: str, *, resumed: bool) -> None:
        """A program is ready."""
        self._starts.labels(program, "resumed" if resumed else "fresh").inc()

    def ended(self, program: str, why: str) -> None:
        """A program is being ended."""
        self._ends.labels(program, why).inc()

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        now = self.now
        yield _gauge("moot_sessions", "Living agent sessions", now.living)
        yield _gauge("moot_sessions_asleep", "Put to sleep and not woken yet", now.asleep)
        yield _gauge("moot_sessions_waiting", "Wait until another may be put to sleep", now.waiting)
        yield _gauge("moot_sessions_most", "How many may live at the same time", now.most)
        memory = GaugeMetricFamily(
            "moot_session_memory_bytes", "Resident memory of a session's processes", labels=_LABELS
        )
        cpu = CounterMetricFamily(
            "moot_session_cpu_seconds", "CPU time of a session's processes", labels=_LABELS
        )
        for load in now.taken:
            labels = (load.persona, load.program, load.session)
            memory.add_metric(labels, load.taken.memory_bytes)
            cpu.add_metric(labels, load.taken.cpu_s)
        yield memory
        yield cpu


def _gauge(name: str, about: str, value: int) -> Metric:
    return GaugeMetricFamily(name, about, value)
