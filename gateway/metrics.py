"""What Prometheus is told. docs/api.md names every figure."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest

from composer import headings
from contract import Usage
from gateway import show
from gateway.happenings import Happening, Said, TurnChanged
from gateway.ledger import Turn
from gateway.session_metrics import Counted, SessionMetrics
from gateway.supervisor import BotHealth
from gateway.telemetry import moot_version
from gateway.usage_metrics import UsageMetrics

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_BRIEF_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2)
_HEADER_CHARS = (500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 60_000)
_SECTION_CHARS = (100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 60_000)
_ITEMS = (0, 1, 2, 3, 5, 10)
_LISTS = (  # below the heading they have a line an item
    headings.RECALL,
    headings.PINS,
    headings.RECOMMENDATIONS,
    headings.LANDMARKS,
    headings.OBSERVATIONS,
)
_MOST_VALUES = 30  # of a label whose values come from outside; then "other"


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
        self._disagreements = Counter(
            "moot_screen_disagreements",
            "Turns whose screen showed another reply than the program's record",
            ["agent"],
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
        self._bots = Gauge(
            "moot_bot_up", "Whether a bot runs and knows its account", ["bot"], registry=registry
        )
        self._restarts = Gauge(
            "moot_bot_restarts", "Starts of a bot after its first", ["bot"], registry=registry
        )
        self._sessions = SessionMetrics(registry)
        self._headers = _Headers(registry)
        self._memory = _Memory(registry)
        self._calls = _Calls(registry)
        self.usage = UsageMetrics(registry)
        self._sources = _Values()

    def heard(self, happening: Happening) -> None:
        """Count a happening."""
        if isinstance(happening, Said):
            self._messages.labels(happening.message.by.kind).inc()
        elif isinstance(happening, TurnChanged) and happening.turn.state in show.ENDED:
            self._turns.labels(happening.turn.persona, happening.turn.state).inc()

    def disagreed(self, agent: str) -> None:
        """An agent's screen showed another reply than its record."""
        self._disagreements.labels(agent).inc()

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
        self._bots.labels(name).set_function(lambda: float(health.up))
        self._restarts.labels(name).set_function(lambda: float(health.restarts))

    def text(self, *, waiting: int, sessions: Counted) -> bytes:
        """The exposition format."""
        self._waiting.set(waiting)
        self._sessions.now = sessions
        return generate_latest(self._registry)


class _Headers:
    """What a prompt costs, and which section costs it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._chars = Histogram(
            "moot_header_chars", "Size of the header", buckets=_HEADER_CHARS, registry=registry
        )
        self._section_chars = Histogram(
            "moot_header_section_chars",
            "Size of a section where it was shown, its heading included",
            ["section"],
            buckets=_SECTION_CHARS,
            registry=registry,
        )
        self._share = Gauge(
            "moot_header_section_share",
            "A section's part of all characters of all headers since the start, from 0 to 1",
            ["section"],
            registry=registry,
        )
        self._items = Histogram(
            "moot_header_section_items",
            "How many hits, notes, landmarks or titles a header showed",
            ["section"],
            buckets=_ITEMS,
            registry=registry,
        )
        self._trims = Counter(
            "moot_header_trims", "Times a section was trimmed", ["section"], registry=registry
        )
        self._trimmed = Counter(
            "moot_header_trimmed_chars",
            "Characters that the budgets took away",
            ["section"],
            registry=registry,
        )
        self._over = Counter(
            "moot_header_over",
            "Headers over the total though everything that may go was trimmed",
            registry=registry,
        )
        self._all_chars = 0
        self._chars_of = dict.fromkeys(headings.HEADINGS, 0)

    def measure(self, header: str, record: dict[str, Any]) -> None:
        """Take in a header with the record of how it was made."""
        self._chars.observe(len(header))
        self._all_chars += len(header)
        given = {item["name"]: item["text"] for item in record.get("sections", [])}
        shown = {name: given[name] for name in headings.HEADINGS if name in given}
        for name, text in shown.items():
            self._section_chars.labels(name).observe(len(text))
            self._chars_of[name] += len(text)
        for name, chars in self._chars_of.items():
            self._share.labels(name).set(chars / self._all_chars)
        for name in _LISTS:
            self._items.labels(name).observe(shown.get(name, "").count("\n"))
        for trim in record.get("trims", []):
            self._trim(trim["section"], trim["chars"])

    def _trim(self, section: str, chars: int) -> None:
        if section in headings.HEADINGS:
            self._trims.labels(section).inc()
            self._trimmed.labels(section).inc(chars)
        else:
            self._over.inc()


class _Memory:
    """How the layers answer, and what they have not learned from yet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._briefs = Histogram(
            "moot_memory_brief_seconds",
            "How long a layer took to answer before a turn",
            ["layer"],
            buckets=_BRIEF_SECONDS,
            registry=registry,
        )
        self._missing = Counter(
            "moot_memory_missing",
            "Times a layer was left out of a header: late or failed",
            ["layer", "why"],
            registry=registry,
        )
        self.learning = Gauge(
            "moot_memory_learning",
            "Turns and session ends that wait to be learned from",
            registry=registry,
        )

    def measure(self, memory: dict[str, Any]) -> None:
        """Take in what a turn's record tells of the layers."""
        for layer, ms in memory.get("ms", {}).items():
            self._briefs.labels(layer).observe(ms / 1000)
        for layer in memory.get("missing", []):
            why = "late" if layer in memory.get("late", []) else "failed"
            self._missing.labels(layer, why).inc()


class _Calls:
    """What the model behind the memory is called for, and what it takes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count = Counter(
            "moot_model_calls",
            "Calls of the model behind the memory; fault is none when it answered",
            ["purpose", "model", "fault"],
            registry=registry,
        )
        self._tokens = Counter(
            "moot_model_tokens",
            "Tokens of these calls: input, output, cached",
            ["purpose", "model", "kind"],
            registry=registry,
        )
        self._cost = Counter(
            "moot_model_cost_usd",
            "US dollars of these calls, where a price is known",
            ["purpose", "model"],
            registry=registry,
        )
        self._seconds = Histogram(
            "moot_model_call_seconds",
            "How long these calls took",
            ["purpose"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._purposes, self._models, self._faults = _Values(), _Values(), _Values()

    def count(
        self, purpose: str, model: str, usage: Usage | None, ms: float, fault: str | None
    ) -> None:
        """Take in a call."""
        purpose, model = self._purposes.bounded(purpose), self._models.bounded(model)
        self._count.labels(purpose, model, self._faults.bounded(fault or "none")).inc()
        self._seconds.labels(purpose).observe(ms / 1000)
        if usage is None:
            return
        self._tokens.labels(purpose, model, "input").inc(usage.input_tokens)
        self._tokens.labels(purpose, model, "output").inc(usage.output_tokens)
        self._tokens.labels(purpose, model, "cached").inc(usage.cached_tokens)
        if usage.cost_usd is not None:
            self._cost.labels(purpose, model).inc(usage.cost_usd)


class _Values:
    """Those of one label: a server that invents names must not fill the registry."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bounded(self, value: str) -> str:
        """The value, or "other" when there are too many already."""
        if len(self._known) < _MOST_VALUES:
            self._known.add(value)
        return value if value in self._known else "other"
