"""The memory, who tends it, and what the chat's own pins are to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import MemoryChanged
from gateway.core.ledger import SessionKey
from gateway.remembering.idle import IdleSessions
from gateway.remembering.learning import learning_context
from gateway.remembering.memories import Backends, BackgroundLearning, Memories, MemoryParts
from gateway.turns.admission import Suggestions
from gateway.turns.platform_pins import PlatformPins
from memory.layers import AnsweredTurn, EndedSession


def make_memories(context: Context, backends: Backends, busy: Callable[[], bool]) -> Memories:
    """Every layer. busy: see BackgroundLearning."""
    config = context.config

    def about(told: AnsweredTurn | EndedSession) -> AbstractContextManager[None]:
        return learning_context(told, context.telemetry)

    parts = MemoryParts(
        store=context.store,
        clock=clock,
        zone=context.zone,
        budget=config.budget.budget(),
        index=backends.index,
        model=backends.model,
        sources=backends.sources,
        own_workspaces=config.gateway.data_dir / "scopes",
        clean=context.redactor,
    )
    learning = BackgroundLearning(
        spawn=context.spawn,
        learned=lambda room_id: context.bus.publish(MemoryChanged(room_id)),
        called=context.metrics.called,
        about=about,
        learn_after_s=backends.learn_after_s,
        busy=busy,
    )
    made = Memories(config.memory, parts, learning)
    context.metrics.watch_learning(made.layers.learning)
    return made


def make_idle(
    context: Context, memories: Memories, busy: Callable[[SessionKey], bool]
) -> IdleSessions:
    """The job that ends sessions nobody goes on with. busy: whether one's turns wait or run."""
    return IdleSessions(
        ledger=context.ledger,
        remember=memories.layers.remember,
        busy=busy,
        spawn=context.spawn,
        idle_s=context.config.memory.idle_s,
        clock=clock,
    )


def make_pins(context: Context, memories: Memories) -> PlatformPins:
    """Follows what is pinned on the platforms themselves."""
    return PlatformPins(
        landmarks=memories.landmarks,
        slices=memories.slices,
        ledger=context.ledger,
        personas=context.personas,
        accounts=context.accounts,
        access=context.access,
        changed=lambda room_id: context.bus.publish(MemoryChanged(room_id)),
        clock=clock,
    )


def make_suggestions(context: Context, memories: Memories) -> Suggestions:
    """The job that proposes to pin a decision."""
    enabled = context.config.memory.suggest_pins
    return Suggestions(context.transcript, memories.slices, clock, enabled=enabled)
