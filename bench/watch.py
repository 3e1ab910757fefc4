"""Everything that is shown to people and programs: posts, MCP answers, the page, and shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from contract.chat import Room
from store.schema import facts
from tests.doubles.running import Opened

if TYPE_CHECKING:
    from bench.isolation import Asking, World


@dataclass
class Watch:
    """Looks after each step. told: how many strings were checked, by what told them."""

    world: World
    opened: Opened
    posts: int = 0
    told: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.posts = len(self.opened.bot.posted)

    async def look(self, asking: Asking) -> None:
        """After a step of `asking`: what was shared, posted, and may be looked up now."""
        await self._shared(asking)
        for post in self.opened.bot.posted[self.posts :]:
            self._check("post", post.text, post.place.room, asking.person, asking.persona)
        self.posts = len(self.opened.bot.posted)

    def _check(self, by: str, text: str, room: Room, person: str, persona: str) -> None:
        world = self.world
        for code in world.codes(text):
            self.told[by] = self.told.get(by, 0) + 1
            if code in world.gone:
                world.leaks.append(f"{by}: {code}, which was deleted at once")
            if not world.may_see(code, room, person, persona):
                where = (room.kind, room.id, person, persona)
                world.leaks.append(f"{by}: {code} of {world.homes[code]} at {where}")

    async def _shared(self, asking: Asking) -> None:
        """The newest rows in somebody's profile or a project: only who asked put them there."""

        def work(connection: Connection) -> list[tuple[int, str, str, str]]:
            at = facts.c
            new = select(at.seq, at.scope, at.source, at.text).where(
                at.seq > self.world.known_facts
            )
            return [(a, b, c, d) for a, b, c, d in connection.execute(new.order_by(at.seq))]

        world = self.world
        for seq, scope, source, text in await self.opened.house.memories.store.read(work):
            world.known_facts = seq
            kind, _, owner = scope.partition(":")
            if source != "!share" or kind not in ("profile", "project"):
                continue
            if owner not in (asking.person, asking.project):
                world.leaks.append(f"{asking.person} shared into {scope}")
            self._check("share", text, asking.room, asking.person, asking.persona)
            for code in world.codes(text):
                world.shared.setdefault(code, set()).add((kind, owner))

    async def sessions(self) -> None:
        """Everything that the living agents' sessions may look up."""
        tools = self.opened.house.memories.tools
        for live in self.opened.house.sessions.all():
            asked, reader = live.admission.invocation, live.admission.reader()
            if asked is None or reader is None:
                continue
            for tool, given in (("search", {}), ("recall", {"text": "token expiry deploy"})):
                answer = await tools.answer(tool, {**given, "limit": 20}, reader)
                self._check("session", answer.text, asked.room, asked.sender_id, asked.persona)

    async def page(self) -> None:
        """The memory of every room as the page shows it."""
        for room, _ in await self.opened.house.transcript.rooms():
            overview = await self.opened.house.services.memory.overview(room.id)
            found = await self.opened.house.services.memory.search(room.id, "token expiry deploy")
            here = self.world.said_in.get(room.id, set())
            for code in self.world.codes(f"{overview}\n{found}"):
                self.told["page"] = self.told.get("page", 0) + 1
                project = ("project", room.project) in self.world.shared.get(code, ())
                if not here & self.world.homes[code] and not project:
                    self.world.leaks.append(f"page: {code} in {room.id}")
