"""Health and figures of the running gateway, for probes and for Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field

from contract.values import dataclass
from gateway.core.views import View
from gateway.observability.bot_health import BotHealth
from gateway.observability.metering import Taken, measure
from gateway.observability.metrics import Counted, Load, Metrics
from gateway.sessions.pool import SessionPool
from gateway.sessions.sessions import LiveSession, digest
from gateway.settings.personas.personas import Personas
from gateway.turns.queue import TurnQueues
from store.health import StoreHealth


@dataclass(frozen=True, slots=True)
class HealthReport(View):
    """ok: messages are taken and turns run. detail: a word for each part, no secrets. store: for
    everybody who asks, since when nothing can be stored, and why; "": it can."""

    ok: bool
    detail: Mapping[str, str] = field(default_factory=dict)
    store: str = ""


@dataclass(frozen=True, slots=True)
class Monitor:
    """Looks at the parts; changes nothing. bots: the health of each by its name. workers: a word on
    theirs; None: there are to be none."""

    sessions: SessionPool
    queues: TurnQueues
    counted: Metrics
    personas: Personas
    store: StoreHealth
    bots: Mapping[str, BotHealth]
    workers: Callable[[], str] | None = None

    async def metrics(self) -> bytes:
        """Prometheus text. What the programs take is read in a thread."""
        await self.store.look()
        living = [(live, live.agent.pid) for live in self.sessions.all()]
        taken = await asyncio.to_thread(measure, [pid for _, pid in living if pid is not None])
        return self.counted.text(
            waiting=self.queues.waiting(),
            sessions=Counted(
                living=self.sessions.running,
                asleep=self.sessions.asleep,
                waiting=self.sessions.waiting,
                most=self.sessions.most,
                taken=[_load(live, taken[pid]) for live, pid in living if pid in taken],
            ),
        )

    async def health(self) -> HealthReport:
        """The state of Moot, in words. Its database must take what is written."""
        store = await self.store.look()
        since = self.store.since
        told = f"{store} since {since:%Y-%m-%dT%H:%M:%SZ}" if since is not None else ""
        problems = dict(self.personas.problems)
        detail = {"store": store, "personas": "; ".join(problems.values()) or "ok"}
        detail |= {f"bot {name}": health.state for name, health in self.bots.items()}
        if self.workers is not None:
            detail["workers"] = self.workers()
        if self.queues.stopping:
            return HealthReport(False, {**detail, "gateway": "stopping"}, told)
        return HealthReport(store == "ok", {**detail, "gateway": "ok"}, told)


def _load(live: LiveSession, taken: Taken) -> Load:
    key = live.key
    name = digest(f"{key.scope}#{key.thread_id}" if key.thread_id else key.scope)[:8]
    return Load(live.persona, live.context.program.name, name, taken)
