"""Plays a golden case on a whole gateway: events of a platform in, everything that came of it out.

The platform and the agents are doubles that keep a journal; the gateway, its queues, its memory and
its database are the real ones. A restart is a kill: the gateway is left without a farewell and
opened again on the same database.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from adapters.agent import Launch, Reply
from bots.bot import Reaction
from contract.agent import Answer, Question
from contract.chat import (
    Chosen,
    Deleted,
    Destination,
    Edited,
    Inbound,
    Pinned,
    Speaker,
)
from contract.errors import AgentError, PlatformError
from gateway.core.redaction import Redactor
from gateway.sessions.sessions import AgentProgram
from gateway.settings.config import Config
from gateway.web.page import PageSettings, open_page
from tests.doubles.credentials import bearer
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms
from tests.golden.script import (
    Act,
    Break,
    Call,
    Case,
    Delete,
    Die,
    Edit,
    Pin,
    Press,
    Reach,
    Release,
    Restart,
    Say,
    Step,
    Write,
)

START = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
"""When the first message of a case is said; each of the next ones is a minute later. It is long
ago, so that no time of a message can be mistaken for one of the clock's."""

OPEN = {"rooms": "open", "dms": "open"}
_YOU = re.compile(r"You are: @(\S+)")


@dataclass
class Event:
    """An entry of the platform's journal: a call of one of the bots, and what became of it."""

    bot: str
    act: str
    place: Destination
    text: str
    result: str
    failed: bool = False


@dataclass
class Prompt:
    """What an agent was given. launch: the number of the program's start, from 1."""

    persona: str
    text: str
    launch: int


@dataclass
class Came:
    """What came of a case. marks: the last one on each message."""

    events: list[Event] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    replies: list[tuple[Call, int, Any]] = field(default_factory=list)


@dataclass
class Bot(FakeBot):
    """A platform that keeps a journal of what was asked of it."""

    came: Came = field(default_factory=Came)
    late: Mapping[str, int] = field(default_factory=dict)
    letter: str = "p"
    rooms: dict[str, count[int]] = field(default_factory=lambda: defaultdict(lambda: count(1)))

    async def post(self, place: Destination, text: str, key: str) -> str:
        room, prompts = place.room.external_id, self.late.get(text, 0)
        await until(lambda: len(self.came.prompts) >= prompts)
        self._ids, self.prefix = self.rooms[room], f"{room}.{self.letter}"
        return str(await self._noted("post", place, text, super().post(place, text, key)))

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        await self._noted(f"edit {message_id}", place, text, super().edit(place, message_id, text))

    async def delete(self, place: Destination, message_id: str) -> None:
        await self._noted(f"delete {message_id}", place, "", super().delete(place, message_id))

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        note = Event(self.name, f"upload {name}", place, data.decode(), "")
        self.came.events.append(note)
        return await super().upload(place, name, data, comment, key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        options = [f"{option.label}{' (no)' * option.refuses}" for option in question.options]
        text = "\n".join([question.title, question.detail, *options])
        self.came.events.append(Event(self.name, "ask", place, text, question.id))
        return await super().ask(place, question, key)

    async def react(self, place: Destination, message_id: str, mark: Reaction) -> None:
        self.came.marks[message_id] = mark

    async def _noted(self, act: str, place: Destination, text: str, call: Any) -> Any:
        note = Event(self.name, act, place, text, "")
        self.came.events.append(note)
        try:
            result = await call
        except PlatformError as error:
            note.result, note.failed = f"{error.outcome}: {error}", True
            raise
        note.result = result or ""
        return result


@dataclass
class Stage:
    """One case on its way."""

    case: Case
    folder: Path
    came: Came = field(default_factory=Came)
    minutes: count[int] = field(default_factory=count)
    released: set[str] = field(default_factory=set)
    moot: Opened | None = None

    def __post_init__(self) -> None:
        case = self.case
        self.config = Config.model_validate({"access": OPEN} | dict(case.options))
        self.answers = {name: list(acts) for name, acts in case.answers.items()}
        self.bots = {
            name: Bot(name=name, platform="fake", personas=personas, letter=letter)
            for name, personas, letter in (
                ("fake", case.personas, "p"),
                *((name, who, name[0]) for name, who in case.siblings.items()),
            )
        }
        for bot in self.bots.values():
            bot.came, bot.late, bot.limit, bot.capabilities = (
                self.came,
                case.late,
                case.limit,
                case.capabilities or bot.capabilities,
            )
            bot.own_ids = frozenset({f"fake:{bot.name.upper()}"}) if case.siblings else case.own_ids
            bot.roster = [Speaker(id_, name) for id_, name in case.roster]
        self.numbers: dict[str, count[int]] = defaultdict(lambda: count(1))
        self.index = WordIndex() if case.remembers else None
        self.model = ScriptedModel(list(case.model)) if case.model is not None else None

    # ── The agents ──────────────────────────────────────────────────────────────────────────

    def programs(self, name: str) -> AgentProgram:
        """Programs that note their starts, which may fail."""
        return self.scripted(name)

    async def answer(self, prompt: str, reply: Reply) -> Answer:
        """The next answer of whoever is asked."""
        you = _YOU.search(prompt)
        persona = you[1].strip("\u2060") if you else ""
        self.came.prompts.append(Prompt(persona, prompt, len(self.scripted.launches)))
        acts = self.answers.get(persona)
        act = acts.pop(0) if acts else prompt.rstrip("\n").rsplit("\n", 1)[-1]
        return await self._act(Act(act) if isinstance(act, str) else act, reply)

    async def _act(self, act: Act, reply: Reply) -> Answer:
        await until(lambda: len(self.came.prompts) >= act.prompts)
        await until(lambda: self.posted() >= act.posted)
        if act.draft:
            reply.draft(act.draft)
        if act.held:
            await until(lambda: act.held in self.released)
        text = act.text
        if act.asks is not None:
            text = text.format(await reply.choose(act.asks))
        if act.crash:
            raise RuntimeError("unforeseen")
        if act.fault is not None:
            error = AgentError(act.fault, "as the script says", say=act.say, partial=text)
            error.usage = act.usage
            raise error
        return Answer(
            text,
            act.source,
            act.ended_by,
            tools=act.tools,
            uses=act.uses,
            compacted=act.compacted,
            usage=act.usage,
        )

    # ── The case ────────────────────────────────────────────────────────────────────────────

    async def play(self) -> Came:
        """Play it to its end; return what came of it."""
        lives: list[list[Step]] = [[]]
        for step in self.case.steps:
            lives.append([]) if isinstance(step, Restart) else lives[-1].append(step)
        faults = [AgentError(kind, "as the script says", say=say) for kind, say in self.case.starts]
        self.scripted = ScriptedPrograms(self.answer, failures=faults)
        for steps in lives:
            await self._live(steps, lives[-1])
        self.came.launches = self.scripted.launches
        return self.came

    async def _live(self, steps: Sequence[Step], last: Sequence[Step]) -> None:
        """One life of the gateway, from its start to its kill."""
        first, *siblings = self.bots.values()
        config = self.config
        async with gateway(
            self.folder,
            bot=first,
            siblings=siblings,
            programs=self.scripted,
            personas=self.case.personas,
            access=config.access,
            turns=config.turns,
            memory=config.memory,
            sessions=config.sessions,
            limits=config.limits,
            index=self.index,
            model=self.model,
            timezone=self.case.timezone,
            redactor=Redactor(self.case.secrets),
            options={name: getattr(config, name) for name in ("budget", "bots", "prices")},
        ) as moot:
            self.moot = moot
            for persona, text in self.case.files.items():
                self._write(Write(persona, text))
            async with asyncio.timeout(60):
                await self._settle()  # what an earlier life left
                for step in steps:
                    await self._step(step)
                    if getattr(step, "settles", False):
                        await self._settle()
                if steps is last:
                    await until(lambda: len(self.came.marks) >= self.case.marks)

    async def _settle(self) -> None:
        """Until no turn waits or runs, and nothing is to be learned any more."""
        assert self.moot is not None
        await self.moot.settle()
        layers = self.moot.house.memories.layers
        await until(lambda: not layers.learning())

    async def _step(self, step: Step) -> None:
        match step:
            case Say():
                await self._say(step)
            case Edit(id=message, text=text, room=room):
                await self._receive(Edited(room, message, text, self._now()))
            case Delete(id=message, room=room):
                await self._receive(Deleted(room, message))
            case Pin(id=message, by=by, room=room, pinned=pinned):
                await self._receive(Pinned(room, message, person(by), pinned))
            case Press(question=question, option=option, by=by):
                asked = [q for bot in self.bots.values() for q in bot.asked if q.id == question]
                digest = asked[-1].digest if asked else ""
                await self._receive(Chosen(question, option, person(by), digest))
            case Reach():
                await until(lambda: self._reached(step))
            case Release(word=word):
                self.released.add(word)
            case Die():
                for agent in self.scripted.agents:
                    agent.dead = True
            case Write():
                self._write(step)
            case Break(faults=faults, lost=lost):
                self.bots["fake"].faults, self.bots["fake"].lose_answers = list(faults), lost
            case Call():
                await self._call(step)

    async def _say(self, step: Say) -> None:
        assert self.moot is not None
        sent_at = self._now()
        number = next(self.numbers["m"]) if not step.id else 0
        inbound = said(
            step.text.replace("<code>", self._code()),
            message_id=step.id or f"m{number}",
            by=step.by,
            room=step.room,
            kind=step.kind,
            thread_id=step.thread,
            **step.meta,
        )
        files = tuple(self._file(one.name, one) for one in step.files)
        inbound = replace(
            inbound,
            sent_at=sent_at,
            mentioned=step.mentioned,
            reply_to=step.reply_to,
            attachments=files,
        )
        for name in step.to:
            for _ in range(step.times):
                await self._receive(inbound, name)

    def _code(self) -> str:
        """The newest code that somebody unknown was told."""
        with closing(sqlite3.connect(self.folder / "moot.db")) as database:
            found = database.execute("SELECT code FROM pairings ORDER BY seq DESC").fetchone()
        return str(found[0]) if found else ""

    def _file(self, name: str, attachment: Any) -> Any:
        """An attachment; one with a path is on disk."""
        if attachment.path is None:
            return attachment
        path = self.folder / "files" / attachment.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.\n")
        return replace(attachment, path=str(path))

    async def _receive(self, event: Any, name: str = "fake") -> None:
        assert self.moot is not None
        if isinstance(event, Inbound) and event.meta.source == "web":
            raise ValueError("say it with Call")
        await self.moot.receive(event, self.bots[name])

    def _now(self) -> datetime:
        return START + timedelta(minutes=next(self.minutes))

    def _write(self, step: Write) -> None:
        file = self.folder / "personas" / f"{step.persona}.md"
        if step.text is None:
            file.unlink()
        else:
            file.write_text(step.text)

    async def _call(self, step: Call) -> None:
        assert self.moot is not None
        house = self.moot.house
        settings = PageSettings(self.folder / "uploads")
        async with (
            open_page(house.services, settings) as url,
            aiohttp.ClientSession(url, headers=bearer(self.folder)) as client,
            client.request(step.method, step.path, json=step.body) as response,
        ):
            body = json.loads(await response.text())
            wanted = {name: body.get(name) for name in step.only} if step.only else body
            self.came.replies.append((step, response.status, wanted))

    # ── How far it is ───────────────────────────────────────────────────────────────────────

    def _reached(self, step: Reach) -> bool:
        return (
            len(self.came.prompts) >= step.prompts
            and sum(len(bot.asked) for bot in self.bots.values()) >= step.questions
            and sum(len(bot.posted) for bot in self.bots.values()) >= step.posts
            and len(self.came.marks) >= step.marks
            and sum(event.failed for event in self.came.events) >= step.failed
            and (not step.posted or self.posted() >= step.posted)
        )

    def posted(self) -> int:
        """How many turns are posted, as the database says."""
        with closing(sqlite3.connect(self.folder / "moot.db")) as database:
            asked = database.execute("SELECT count(*) FROM turns WHERE state = 'posted'")
            return int(asked.fetchone()[0])


def person(by: str) -> Speaker:
    """Somebody of the case."""
    return Speaker(f"fake:{by}", by.title())
