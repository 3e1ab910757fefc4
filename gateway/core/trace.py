"""The steps of a turn with their times, for its trace. docs/telemetry.md names the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from types import MappingProxyType
from typing import Any

from contract.errors import AgentError
from contract.values import dataclass

Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Step:
    """parent: the step that it is a part of; "": of the turn itself. failed: a word; "": it did
    not. Times in nanoseconds since 1970; it ends now unless it ended before."""

    name: str
    began_ns: int
    ended_ns: int = field(default_factory=time.time_ns)
    parent: str = ""
    failed: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(slots=True)
class TurnTrace:
    """The steps of one turn, as they ended."""

    steps: list[Step] = field(default_factory=list)
    after: str = ""  # the turn whose answer handed over to this one
    failed: str = ""  # why it has no answer in the room, where the turn doesn't tell


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
            shown, told = _SPANS.get(name, name), step.attributes
            over = Step(shown, step.began_ns, parent=parent, failed=step.failed, attributes=told)
            self.trace.steps.append(over)


_SPANS = {"agent ready": "agent.open", "agent": "agent.ask"}  # the others keep their names
