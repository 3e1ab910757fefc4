"""The memory, who tends it, and what the chat's own pins are to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from gateway.app.context import Context
from gateway.commands.pins import Suggestions
from gateway.core.clock import clock
from gateway.core.events import MemoryChanged
from gateway.remembering.idle import IdleSessions
from gateway.remembering.learning import learning_context
from gateway.remembering.memories import BackgroundLearning, Memories, MemoryParts
from gateway.turns.platform_pins import PlatformPins
from memory.layers import AnsweredTurn, EndedSession
from memory.model import Model
from memory.recall.index import Index


def make_memories(
    ground: Context, index: Index | None, model: Model | None, learn_after_s: float
) -> Memories:
    """Every layer. index, model, learn_after_s: see Memories."""
    config = ground.config

    def about(told: AnsweredTurn | EndedSession) -> AbstractContextManager[None]:
        return learning_context(told, ground.telemetry)

    parts = MemoryParts(
        store=ground.store,
        clock=clock,
        zone=ground.zone,
        budget=config.budget.budget(),
        index=index,
        model=model,
        own_workspaces=config.gateway.data_dir / "scopes",
        clean=ground.redactor,
    )
    learning = BackgroundLearning(
        spawn=ground.spawn,
        learned=lambda room_id: ground.publish(MemoryChanged(room_id)),
        called=ground.metrics.called,
        about=about,
        learn_after_s=learn_after_s,
    )
    made = Memories(config.memory, parts, learning)
    ground.metrics.watch_learning(made.layers.learning)
    return made


def make_idle(
    ground: Context, memories: Memories, busy: Callable[[str, str], bool]
) -> IdleSessions:
    """Who ends sessions that nobody goes on with. busy: whether one's turns wait or run."""
    return IdleSessions(
        ledger=ground.ledger,
        remember=memories.layers.remember,
        busy=busy,
        spawn=ground.spawn,
        idle_s=ground.config.memory.idle_s,
        clock=clock,
    )


def make_pins(ground: Context, memories: Memories) -> PlatformPins:
    """Follows what is pinned on the platforms themselves."""
    return PlatformPins(
        landmarks=memories.landmarks,
        slices=memories.slices,
        transcript=ground.transcript,
        ledger=ground.ledger,
        personas=ground.personas,
        accounts=ground.accounts,
        access=ground.access,
        changed=lambda room_id: ground.publish(MemoryChanged(room_id)),
        clock=clock,
    )


def make_suggestions(ground: Context, memories: Memories) -> Suggestions:
    """Who proposes to pin a decision."""
    enabled = ground.config.memory.suggest_pins
    return Suggestions(ground.transcript, memories.slices, clock, enabled=enabled)
