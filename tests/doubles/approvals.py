"""The platforms on which approvals are tried from outside, and people on them who approve."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Literal

from tests.doubles.ports import free_port
from tests.doubles.service import Service, service

Where = Literal["here", "there"]

CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
data_dir = "data"
[access]
rooms = "open"
dms = "open"
{access}
[turns]
marks = "off"
{bot}
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
ALLOWED = "You allowed it. Time passes, and the clock is fine."


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.05)


def answers(folder: Path) -> list[tuple[str, str, str]]:
    """Every answer, and refusal of one, in the audit log: by whom, and why it was refused."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        rows = database.execute("SELECT act, by_id, detail FROM audit ORDER BY seq").fetchall()
    told = [(act, by, json.loads(detail).get("reason", "")) for act, by, detail in rows if detail]
    return [row for row in told if row[0] in ("answer", "deny")]


def is_on_disk(folder: Path) -> bool:
    """True if a question's post is known to whoever starts after this process."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        return bool(database.execute("SELECT 1 FROM posts WHERE kind = 'question'").fetchone())


async def noted(folder: Path, wanted: list[tuple[str, str, str]]) -> None:
    """The audit log has these answers and refusals, and no others."""
    await until(lambda: len(answers(folder)) >= len(wanted))
    assert answers(folder) == wanted


class Platform(ABC):
    """A platform where Olivia and Ash may answer, and nobody else.

    name: the config's. olivia, ash: their ids. mention: before what is for Moot. persona: before
    what is for that one. buttons: it has something to press, also where nothing waits any more.
    quotes: a reply can name a message of another room. replies: it can name a question's post.
    edits: a question's post says that it is closed.
    closed, forbidden: what whoever presses too late, or may not, is told. gone, stale: what whoever
    presses a button of before a restart is told, and the audit's word for it.
    """

    name: str
    olivia: str
    ash: str
    mention: str
    secrets: dict[str, str]
    bot: str
    buttons = quotes = replies = edits = True
    persona = "@{} "
    closed = "Olivia, that question is closed already."
    gone, stale = "Ash, that question is closed already.", "unknown"
    forbidden = "you may not answer that"

    @abstractmethod
    async def listens(self) -> None:
        """Wait until Moot hears what is said."""

    @abstractmethod
    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str: ...

    @abstractmethod
    async def say_unheard(self, text: str) -> Any:
        """Olivia says it, and no event tells of it."""

    @abstractmethod
    async def tell(self, unheard: Any) -> None:
        """The event comes."""

    @abstractmethod
    async def edit(self, message: str, text: str) -> None: ...

    @abstractmethod
    async def remove(self, message: str) -> None:
        """Olivia takes back what she said."""

    @abstractmethod
    async def hand(self, text: str, name: str, data: bytes) -> None:
        """Olivia says it beside a file."""

    @abstractmethod
    async def as_bots(self, text: str) -> None:
        """Another bot says it, and Moot's own account."""

    @abstractmethod
    async def press(self, question: str, by: str = "olivia") -> None: ...

    @abstractmethod
    def posts(self, where: Where = "here") -> dict[str, str]:
        """Moot's posts by their ids."""

    def texts(self, where: Where = "here") -> list[str]:
        return list(self.posts(where).values())

    def people(self, *names: str) -> list[str]:
        """The ids of Olivia or Ash, or both, as moot.toml has them."""
        prefix = {"bluebubbles": "bb", "page": "web"}.get(self.name, self.name)
        ids = {"olivia": self.olivia, "ash": self.ash}
        return [f"{prefix}:{ids[name]}" for name in names]

    async def asked(self, persona: str = "") -> str:
        """The post of a question, once Ash has had an agent ask it."""
        before = set(self.cards())
        who = self.persona.format(persona) if persona else self.mention
        await self.say(f"{who}permission", "ash")
        return await self.card(before)

    async def card(self, before: Collection[str]) -> str:
        """A question's post beside those, once it is there."""
        await until(lambda: set(self.cards()) - set(before))
        (found,) = set(self.cards()) - set(before)
        self.note_card(found)
        return found

    def cards(self) -> Sequence[str]:
        """The posts of questions that wait."""
        return [id_ for id_, text in self.posts().items() if "!1" in text and "!2" in text]

    def note_card(self, question: str) -> None:
        """It is there: its buttons can be kept."""
        return

    async def told(self, line: str, where: Where = "here", count: int = 1) -> None:
        await until(lambda: sum(line in text for text in self.texts(where)) >= count)

    def allowed(self) -> int:
        return sum(ALLOWED in text for text in self.texts())

    def config(self, access: str, personas: Sequence[str] = ("demo",)) -> str:
        """The text of moot.toml: the same address each time."""
        self._port = getattr(self, "_port", 0) or free_port()
        bot = self.bot and f'[[bots]]\nplatform = "{self.name}"\n{self.bot}'
        bot = bot and f"{bot}\npersonas = {json.dumps(list(personas))}"
        text = CONFIG.format(port=self._port, access=access, bot=bot)
        return text.replace("'", '"')

    async def arrives(self, moot: Service) -> None:
        """Be there, and wait until Moot hears what is said."""
        await self.listens()


@asynccontextmanager
async def house(
    at: Platform, folder: Path, access: str = "", personas: tuple[str, ...] = ("demo",)
) -> AsyncIterator[Service]:
    """A Moot on a platform. access: further lines of that table, or Olivia and Ash approve."""
    for persona in personas if len(personas) > 1 else ():
        (folder / "personas").mkdir(exist_ok=True)
        (folder / "personas" / f"{persona}.md").write_text("---\nagent: demo\n---\nYou work.\n")
    text = at.config(access or f"approvers = {at.people('olivia', 'ash')}", personas)
    async with service(folder, text, **at.secrets) as moot:
        await at.arrives(moot)
        yield moot
