"""A whole gateway over a platform and agents that record, with a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bots.bot import Bot
from bots.web import WebBot
from composer.headings import HEADINGS
from contract.chat import Event, Inbound
from gateway.access.access import Access
from gateway.app.app import App
from gateway.app.context import Context, Instruments
from gateway.core.ledger import Accepted
from gateway.core.redaction import Redactor
from gateway.remembering.memories import Backends
from gateway.sessions.sessions import AgentProgram
from gateway.settings.access import AccessTable
from gateway.settings.config import Config
from gateway.settings.limits import LimitsTable
from gateway.settings.personas.personas import Personas
from gateway.settings.tables import GatewayTable, MemoryTable, SessionsTable, TurnsTable
from memory.model import Model
from memory.recall.index import Index
from store.database import Store
from tests.doubles.migrated import migrated
from tests.doubles.platform import FakeBot
from tests.doubles.scripted import ScriptedPrograms

PERSONA = "---\nagent: scripted\ndescription: {0}\n---\nYou are {0}.\n"


@dataclass
class Opened:
    """A running gateway: the bot posts, the programs were asked."""

    house: App
    bot: FakeBot
    programs: ScriptedPrograms

    async def hear(self, inbound: Inbound) -> Accepted:
        """Deliver a message, as the platform does."""
        return await self.house.intake.message(inbound, self.bot)

    async def receive(self, event: Event, *bots: FakeBot) -> None:
        """Deliver an event to these bots, as a platform does to all that are in the room."""
        for bot in bots or (self.bot,):
            await self.house.intake.receive(event, bot)

    async def settle(self) -> None:
        """Wait until no turn waits or runs."""
        async with asyncio.timeout(20):
            while self.house.queues.waiting() or await self.house.ledger.open_turns():
                await asyncio.sleep(0.005)

    def texts(self) -> list[str]:
        """What stands on the platform."""
        return [message.text for message in self.bot.posted]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


class _Killed(Exception):
    pass


@asynccontextmanager
async def gateway(
    tmp_path: Path,
    *,
    bot: FakeBot | None = None,
    siblings: Sequence[FakeBot] = (),
    programs: Callable[[str], AgentProgram] | None = None,
    personas: tuple[str, ...] = ("demo",),
    access: AccessTable | None = None,
    turns: TurnsTable | None = None,
    memory: MemoryTable | None = None,
    sessions: SessionsTable | None = None,
    index: Index | None = None,
    model: Model | None = None,
    url: str | None = None,
    timezone: str = "UTC",
    limits: LimitsTable | None = None,
    options: Mapping[str, Any] | None = None,
    redactor: Redactor | None = None,
    public_url: str | None = None,
) -> AsyncIterator[Opened]:
    """Open a gateway in `tmp_path`; leaving it ends it as a kill would, without a farewell.

    options: further tables of the configuration. redactor: knows the secrets; None: none are known.
    """
    folder = tmp_path / "personas"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*personas, *(name for sibling in siblings for name in sibling.personas)):
        (folder / f"{name}.md").write_text(PERSONA.format(name))
    bot = bot or FakeBot()
    bot.personas = personas
    scripted = programs if isinstance(programs, ScriptedPrograms) else ScriptedPrograms()
    known = Personas(folder, tuple(HEADINGS))
    bots: dict[str, Bot] = {"web": WebBot(known.names), bot.name: bot}
    bots |= {sibling.name: sibling for sibling in siblings}
    config = Config(
        gateway=GatewayTable(
            data_dir=tmp_path / "data",
            personas_dir=folder,
            timezone=timezone,
            public_url=public_url,
        ),
        access=access or AccessTable(rooms="open"),
        turns=turns or TurnsTable(),
        memory=memory or MemoryTable(),
        sessions=sessions or SessionsTable(),
        **{"limits": limits or LimitsTable(), **(options or {})},
    )
    async with Store.open(url or await migrated(tmp_path / "moot.db")) as store:
        try:
            async with asyncio.TaskGroup() as group:
                context = Context(
                    config,
                    group=group,
                    store=store,
                    personas=known,
                    bots=bots,
                    access=Access(config.access),
                    instruments=Instruments(redactor=redactor or Redactor()),
                )
                house = App(
                    context,
                    programs=programs or scripted,
                    backends=Backends(index, model, learn_after_s=0.0),
                )
                await house.admissions.load()
                await context.settings.load()
                await house.queues.recover()
                yield Opened(house, bot, scripted)
                await house.sessions.close()
                raise _Killed
        except* _Killed:
            pass
