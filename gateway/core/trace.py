"""The steps of a turn with their times, for its trace. docs/telemetry.md names the steps."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from contract.errors import AgentError
from gateway.core.ledger import Turn

Attribute = str | int | float | bool
NOTHING: Mapping[str, Attribute] = MappingProxyType({})

_MOST_OPEN = 10_000  # turns whose end was not heard of


@dataclass(frozen=True, slots=True)
class Step:
    """parent: the step that it is a part of; "": of the turn itself. failed: a word; "": it did
    not. Times in nanoseconds since 1970."""

    name: str
    began_ns: int
    ended_ns: int
    parent: str = ""
    failed: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: NOTHING)


@dataclass(slots=True)
class TurnTrace:
    """The steps of one turn, as they ended."""

    steps: list[Step] = field(default_factory=list)
    queued_ns: int = 0  # when it began to wait for its session; 0: not known, or over
    after: str = ""  # the turn whose answer handed over to this one
    failed: str = ""  # why it has no answer in the room, where the turn doesn't tell
    now_ns: Callable[[], int] = time.time_ns

    def add(
        self,
        name: str,
        began_ns: int,
        ended_ns: int | None = None,
        attributes: Mapping[str, Attribute] = NOTHING,
        *,
        parent: str = "",
        failed: str = "",
    ) -> None:
        """A step that is over; ended_ns: default now."""
        ended_ns = self.now_ns() if ended_ns is None else ended_ns
        self.steps.append(Step(name, began_ns, ended_ns, parent, failed, attributes))

    def began(self) -> float | None:
        """Its turn in the queue has come; seconds it waited, None when that isn't known."""
        if not self.queued_ns:
            return None
        queued_ns, self.queued_ns = self.queued_ns, 0
        self.add("queue", queued_ns)
        return (self.steps[-1].ended_ns - queued_ns) / 1e9


class TurnTraces:
    """Those of the turns that are under way. ended: told of each turn once it is over."""

    def __init__(self, ended: Callable[[Turn, TurnTrace], None] = lambda turn, trail: None) -> None:
        self._ended = ended
        self._open: OrderedDict[str, TurnTrace] = OrderedDict()

    def of(self, turn_id: str) -> TurnTrace:
        """A turn's, begun if it isn't known yet."""
        trail = self._open.get(turn_id)
        if trail is None:
            trail = self._open[turn_id] = TurnTrace()
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        return trail

    def ended(self, turn: Turn, failed: str = "") -> None:
        """It is over. failed: a word, of one that has no answer in the room."""
        trail = self._open.pop(turn.id, None)
        if trail is not None:
            trail.failed = failed
            self._ended(turn, trail)


# ── A step under way ────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class OpenStep:
    """A step under way. made: what came of it, for whoever reports it. ms: how long it took."""

    began_ns: int
    made: Any = None
    failed: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    ms: float = 0.0


Steps = Callable[[str], AbstractContextManager[OpenStep]]
"""`with step("brief") as step:` times the block; a name for each is in docs/telemetry.md."""
Reports = Mapping[str, Callable[[OpenStep, TurnTrace], None]]
"""By a step's name: logs what was made in it, and adds what belongs below it to the trace."""


@contextmanager
def untimed(name: str) -> Iterator[OpenStep]:
    """A step that is reported nowhere."""
    yield OpenStep(0)


@dataclass(slots=True)
class StepTimer:
    """Times the steps of one turn. ms: of those that its record keeps, in their order."""

    trace: TurnTrace
    reports: Reports = field(default_factory=lambda: MappingProxyType({}))
    ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str, parent: str = "") -> Iterator[OpenStep]:
        """parent: the step that this one is a part of: it stands in the trace alone."""
        step, since = OpenStep(time.time_ns()), time.perf_counter()
        try:
            yield step
        except BaseException as error:
            step.failed = error.kind if isinstance(error, AgentError) else type(error).__name__
            raise
        finally:
            step.ms = round((time.perf_counter() - since) * 1000, 3)
            if not parent:
                self.ms[name] = step.ms
            if step.made is not None and name in self.reports:
                self.reports[name](step, self.trace)
            shown, told = _SPANS.get(name, name), step.attributes or NOTHING
            self.trace.add(shown, step.began_ns, None, told, parent=parent, failed=step.failed)


_SPANS = {"agent ready": "agent.open", "agent": "agent.ask"}  # the others keep their names
