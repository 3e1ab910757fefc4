"""What a turn went through, step by step: for its trace. docs/telemetry.md names the steps."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from gateway.core.ledger import Turn

Attribute = str | int | float | bool
NOTHING: Mapping[str, Attribute] = MappingProxyType({})

_NAMES = {"agent ready": "agent.open", "agent": "agent.ask"}  # the others keep theirs
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

    @contextmanager
    def step(self, name: str, parent: str = "") -> Iterator[dict[str, Attribute]]:
        """The block is a step; what is put into the dict is told of it."""
        began_ns, attributes, failed = self.now_ns(), dict[str, Attribute](), ""
        try:
            yield attributes
        except BaseException as error:
            failed = type(error).__name__
            raise
        finally:
            self.add(name, began_ns, None, attributes, parent=parent, failed=failed)

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


@dataclass(slots=True)
class StepTimer:
    """Milliseconds of each step of a turn, in their order; they go into its trail as well."""

    trail: TurnTrace
    ms: dict[str, float] = field(default_factory=dict)
    since_ns: int = field(default_factory=time.time_ns)
    _since: float = field(default_factory=time.perf_counter)

    def step(
        self, name: str, attributes: Mapping[str, Attribute] = NOTHING, *, failed: str = ""
    ) -> float:
        """The step that just ended; its milliseconds."""
        now = time.perf_counter()
        self.ms[name] = ms = round((now - self._since) * 1000, 3)
        began_ns, self._since, self.since_ns = self.since_ns, now, time.time_ns()
        step = Step(_NAMES.get(name, name), began_ns, self.since_ns, "", failed, attributes)
        self.trail.steps.append(step)
        return ms
