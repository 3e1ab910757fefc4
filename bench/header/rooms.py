"""Talks through the real `moot run` by its API, and, quicker, through the memory alone."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from bench.header.scores import GONE, Outcome, judge, recall_lines
from bench.header.talk import Said, Talk
from bench.recall import all_embedded
from contract.chat import Room
from memory.extraction.plain import is_telling
from memory.layers import BriefRequest
from memory.recall.facts import NewFact, add_facts
from memory.recall.index import IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.recall import Recall
from memory.scopes import Invocation
from store.database import Store
from tests.doubles.credentials import program_at
from tests.doubles.service import service

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
ROOMS = 4  # at once
ANSWER_S = 60
LEARNED_S = 120.0
ASKER = "Ruth"
SHOWN = 5


async def by_moot(talks: Sequence[Talk], config: str = "", **settings: Any) -> list[Outcome]:
    """Each talk is told, remembered, and asked about in its room. settings: as `by_memory`'s."""
    if model := settings.get("model"):
        config += f'[memory]\nembedder = "minilm"\nminilm = {json.dumps(str(model))}\n'
    limit = asyncio.Semaphore(ROOMS)
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        async with service(Path(folder), CONFIG + config) as moot, program_at(moot.url) as client:

            async def one(talk: Talk) -> list[Outcome]:
                async with limit:
                    room = _Room(client, talk, Path(folder, "data", "memory") if model else None)
                    return await room.outcomes()

            return [one for some in await asyncio.gather(*map(one, talks)) for one in some]


class _Room:
    """One room, as its people and one who asks write in it."""

    def __init__(self, client: aiohttp.ClientSession, talk: Talk, index: Path | None) -> None:
        """index: the folder of the index whose entries are given vectors."""
        self._index = index
        self._client = client
        self._talk = talk
        self._asked = 0

    async def outcomes(self) -> list[Outcome]:
        if self._talk.living:
            await self._header("hello")
        now = datetime.now(UTC)
        for said in self._talk.said:
            await self._post("passive", said.text, said.by, at=now - said.before)
        await self._remembered()
        if self._index:
            await all_embedded(self._index)
        outcomes = await self._ask_all()
        if self._talk.living:
            await self._post("submit", "!compact", ASKER, wait=ANSWER_S)
            outcomes += await self._ask_all(compacted=True)
        return outcomes

    async def _ask_all(self, *, compacted: bool = False) -> list[Outcome]:
        outcomes, before = [], list[str]()
        for question in self._talk.questions:
            if not self._talk.living:
                await self._post("submit", "!new", ASKER, wait=ANSWER_S)
                before.clear()
            header = await self._header(question.text)
            lines = recall_lines(header)
            outcomes.append(judge(self._talk, question, lines, before, header, compacted))
            before += lines
        return outcomes

    async def _header(self, text: str) -> str:
        """The header that the agent was given with it."""
        answer = await self._post("submit", f"@demo {text}", ASKER, wait=ANSWER_S)
        turn = answer["replies"][0]["turn_id"]
        async with self._client.get(f"/api/turns/{turn}") as response:
            return str((await response.json())["header"])

    async def _post(
        self, entry: str, text: str, by: str, *, at: datetime | None = None, wait: int | None = None
    ) -> Any:
        self._asked += 1
        body: dict[str, Any] = {
            "content": text,
            "room": self._talk.room,
            "message_id": f"m{self._asked}",
            "source": "web",
            "sender_id": f"web:{quote(by).replace('%', '').lower()}",
            "sender_display_name": by,
            "sender_type": "human",
        }
        body |= {"sent_at": at.isoformat()} if at else {}
        body |= {"wait": wait} if wait else {}
        async with self._client.post(f"/api/{entry}", json=body) as response:
            assert response.status in (200, 202), await response.text()
            return await response.json()

    async def _remembered(self) -> None:
        """Wait until the newest message is found."""
        last = self._talk.said[-1]
        room = quote(self._talk.room, safe="")
        async with asyncio.timeout(LEARNED_S):
            while True:
                path = f"/api/rooms/{room}/memory/search?q={quote(last.text)}"
                async with self._client.get(path) as response:
                    if last.text in str(await response.json()):
                        return
                await asyncio.sleep(0.5)


async def by_memory(talks: Sequence[Talk], **settings: Any) -> list[Outcome]:
    """Without a gateway, windows and sessions: the facts, the index and the choice of recall."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        async with (
            Store.open(f"sqlite:///{name}/moot.db") as store,
            open_index(IndexSettings(Path(name), **settings)) as index,
        ):
            recall, now = Recall(store, index), datetime.now(UTC)
            for talk in talks:
                invocation = Invocation(Room(talk.room, talk.name, "room"), "web:ruth", "demo")
                kept = [one for one in talk.said if is_telling(one.text)]
                facts = [_fact(one, f"room:{talk.room}", now) for one in kept]
                await store.write(lambda c, facts=facts: add_facts(c, facts, now))  # type: ignore[misc]
                await recall.index_pending()
                if "model" in settings:
                    await all_embedded(Path(name))
                for question in talk.questions:
                    found = await recall.brief(BriefRequest(invocation, question.text, now))
                    lines = [
                        f"{fact.text} ({GONE}{fact.replaced})" if fact.replaced else fact.text
                        for fact in found.recall[:SHOWN]
                    ]
                    outcomes.append(judge(talk, question, lines, [], ""))
    return outcomes


def _fact(said: Said, scope: str, now: datetime) -> NewFact:
    return NewFact(
        scope=scope,
        kind="message",
        text=f"{said.by}: {said.text}",
        said_at=now - said.before,
        source=scope,
        person=said.by,
        person_name=said.by,
        first_seq=said.number,
        last_seq=said.number,
    )
