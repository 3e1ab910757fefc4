"""The context that every part of one gateway is made from: itself made first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import field
from typing import Any
from zoneinfo import ZoneInfo

from bots.bot import Bot
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.accounts import Accounts, Presence
from gateway.access.visibility import Rosters
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR
from gateway.core.clock import clock
from gateway.core.events import EventBus
from gateway.core.log_context import own_log_context
from gateway.core.private_folders import FILES
from gateway.core.redaction import Redactor
from gateway.core.sql_ledger import SqlLedger
from gateway.files.shared import SharedFiles
from gateway.observability.metrics import Metrics
from gateway.observability.telemetry import Telemetry
from gateway.sessions.room_settings import RoomSettings
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas
from gateway.turns.voice import Transcriber
from store.database import Store
from store.tombstones import Tombstones
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Instruments:
    """They count, clean, trace and transcribe. telemetry: None where no collector is configured,
    transcriber: where nothing writes down what is spoken."""

    metrics: Metrics = field(default_factory=Metrics)
    redactor: Redactor = field(default_factory=Redactor)
    telemetry: Telemetry | None = None
    transcriber: Transcriber | None = None


class Context:
    """Given to whoever makes a part; it is never changed."""

    def __init__(
        self,
        config: Config,
        group: asyncio.TaskGroup,
        store: Store,
        personas: Personas,
        bots: Mapping[str, Bot],
        access: Access,
        instruments: Instruments | None = None,
        files: SharedFiles | None = None,
    ) -> None:
        self.config = config
        self.group = group
        self.store = store
        self.personas = personas
        self.bots = bots
        self.access = access
        self.files = files or SharedFiles(config.gateway.data_dir / FILES, None)
        instruments = instruments or Instruments()
        self.transcriber = instruments.transcriber
        self.metrics = instruments.metrics
        self.metrics.watch_store(store.health)
        self.redactor = instruments.redactor
        self.telemetry = instruments.telemetry
        self.bus = EventBus()
        self.transcript = Transcript(store)
        self.tombstones = Tombstones(store)
        free = (bot.own_name for bot in config.bots if not bot.require_mention)
        self.settings = RoomSettings(
            store, clock, config.rooms, frozenset(free), config.agents, access.is_owner
        )
        self.ledger = SqlLedger(store, self.transcript, self.settings.session_thread)
        self.audit = Audit(store, clock, config.gateway.data_dir / ANCHOR, self.redactor)
        self.presence = Presence(store, self.transcript, clock)
        self.accounts = Accounts(bots, personas, self.presence)
        self.rosters = Rosters(group)

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which people read times."""
        return self.config.gateway.zone

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task that ends with Moot. Whatever a turn spawns is logged as that turn's, also when
        its session is at the next one."""
        with own_log_context():
            try:
                return self.group.create_task(work, name=name)
            except RuntimeError:  # Moot ends
                work.close()
                raise
