"""Looks for anything that reaches an agent and may not: `python -m bench.isolation`.

People talk to personas in rooms, group DMs and direct messages; every text bears a string that
nobody could guess. A model behind the memory repeats all that it is shown, so the strings spread
through every layer. The index answers with everybody's rows, people take one another's names,
the house is killed and its sessions are resumed. Then every prompt of every agent and of the
model is searched. What may be where is worked out here a second time, from the rules and not from
`allowed_scopes`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adapters.agent import Agent, Launch, Reply
from bench.hostile import HostileIndex
from bench.watch import Watch
from contract.agent import Answer as Said
from contract.agent import Completion, Tool, ToolCall, ToolUse, Usage
from contract.chat import Deleted, Edited, Inbound, IngestMetadata, Room
from gateway.sessions.sessions import AgentProgram
from gateway.settings.access import AccessTable
from gateway.settings.tables import MemoryTable
from memory.recall.facts import NewFact, add_facts
from memory.recall.index import Index, IndexFailed, IndexSettings
from memory.recall.mem0 import open_index
from tests.doubles.index import WordIndex
from tests.doubles.platform import FakeBot
from tests.doubles.running import Opened, gateway

CANARY = re.compile(r"canary([0-9a-f]{24})")
PERSONAS = ("demo", "other")
WORDS = [
    "token",
    "expiry",
    "rotation",
    "deploy",
    "Friday",
    "backlog",
    "ledger",
    "cache",
    "outage",
    "review",
]

STEPS = {
    "ask": 46, "say": 12, "pin": 6, "share": 6, "private": 6, "rename": 5, "plant": 8, "new": 4,
    "forget": 2, "command": 10, "reply": 6, "again": 5, "unsay": 3, "bot": 3, "tidy": 1, "hide": 2,
}  # fmt: skip
COMMANDS = (
    "!memory", "!landmarks", "!why", "!recall token expiry deploy", "!recall #{}", "!share {}",
    "!share project {}", "!unshare {}", "!unpin {}",
)  # fmt: skip
TAGS = (
    ("<private>", "</private>"), ("<PRIVATE >", "</ private>"), ("<private>", ""),
    ("<private>a <private>b</private> ", "</private>"), ("＜private＞", "＜/private＞"),
)  # fmt: skip
LOOKS = 0.1  # how often the sessions and the page are looked through

BOUND = ("fake:ash", "fake:ASH")  # whose direct messages belong to a project

Home = tuple[str, ...]
"""Where something was said: ("room", id), ("gdm", id), ("dm", person, persona)."""


@dataclass
class Person:
    """Somebody, with the name that they bear now. Ids look alike on purpose."""

    id: str
    name: str


@dataclass
class World:
    """The people and their rooms, and what the rules let each of them see.

    homes: of each canary, all places where it was said. shared: the people's and projects'
    scopes that it was put into by their own word. told: what each session was ever given.
    gone: what was deleted before anybody was told. said_in: the homes of what was said in a
    room. messages: room, platform id and sender of all that was said.
    """

    chance: random.Random
    people: list[Person]
    rooms: list[Room]
    homes: dict[str, set[Home]] = field(default_factory=dict)
    shared: dict[str, set[Home]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    spoke: dict[str, set[str]] = field(default_factory=dict)
    told: dict[str, set[str]] = field(default_factory=dict)
    scopes_of_home: dict[str, set[str]] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    known_facts: int = 0  # seq of the newest that was looked at
    gone: set[str] = field(default_factory=set)
    said_in: dict[str, set[Home]] = field(default_factory=dict)
    messages: list[tuple[Room, str, str]] = field(default_factory=list)

    def codes(self, text: str) -> list[str]:
        """The canaries in a text that are whole, each once."""
        return [code for code in dict.fromkeys(CANARY.findall(text)) if code in self.homes]

    def mint(self, home: Home) -> str:
        """A new canary that is said at `home`."""
        code = f"{self.chance.getrandbits(96):024x}"
        self.homes[code] = {home}
        return f"canary{code}"

    def home(self, room: Room, person: str, persona: str) -> Home:
        """The place of what is said here."""
        if room.kind in ("room", "gdm"):
            return (room.kind, room.id)
        return ("dm", person, persona, *(() if room.kind == "dm" else (room.id,)))

    def may_see(self, code: str, room: Room, person: str, persona: str) -> bool:
        """True if the rules let this canary into a prompt for this invocation."""
        if self.home(room, person, persona) in self.homes.get(code, ()):
            return True
        for kind, owner in self.shared.get(code, ()):
            if kind == "project" and room.kind in ("room", "dm") and room.project == owner:
                return True
            if kind == "profile" and room.kind == "dm" and person == owner:
                return True
            if kind == "profile" and room.kind == "room" and owner in self.spoke.get(room.id, ()):
                return True
        return False


@dataclass
class Asking:
    """The invocation that a prompt is made for: one at a time."""

    room: Room
    person: str
    persona: str

    @property
    def project(self) -> str | None:
        """The persons whose memory `!share project` reaches from here."""
        return self.room.project if self.room.kind in ("room", "dm") else None


@dataclass
class RepeatingModel:
    """Answers every call with all the canaries it was shown, in whatever form is asked for."""

    world: World
    name: str = "repeating"
    calls: int = 0

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """Everything again."""
        self.calls += 1
        codes = list(dict.fromkeys(CANARY.findall(prompt)))
        self._check(codes)
        text = " ".join(f"canary{code}" for code in codes) or "nothing"
        usage = Usage(self.name, len(prompt) // 4, len(text) // 4)
        if tool is None:
            return Completion(_observation(text) if "<observation" in system else text, (), usage)
        return Completion("", (ToolCall(tool.name, _filled(tool.schema, text)),), usage)

    def _check(self, codes: list[str]) -> None:
        """All that one call is shown must have one home in common: layers never mix scopes."""
        if not codes:
            return
        world = self.world
        common = set.intersection(*(world.homes[code] for code in codes))
        shared = set.intersection(*(world.shared.get(code, set()) for code in codes))
        if not common and not shared:
            world.leaks.append(f"one call of the model saw {len(codes)} strings of several places")
        if world.private.intersection(codes):
            world.leaks.append("the model saw a private text")
        if world.gone.intersection(codes):
            world.leaks.append("the model saw a deleted text")


def _observation(text: str) -> str:
    facts = "".join(f"<fact>auth.py: {text}</fact>" for _ in range(3))
    return (
        f"<observation><type>discovery</type><title>{text}</title><subtitle>{text}</subtitle>"
        f"<facts>{facts}</facts><narrative>{text}</narrative>"
        "<concepts><concept>auth</concept></concepts><files><file>auth.py</file></files>"
        "</observation>"
    )


def _filled(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """An input that fits a JSON Schema, with `text` wherever text may stand."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})

    def fill(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return fill(definitions[part["$ref"].rpartition("/")[2]])
        if "anyOf" in part:
            return fill(part["anyOf"][0])
        if "enum" in part:
            return part["enum"][0]
        match part.get("type"):
            case "object":
                return {name: fill(item) for name, item in part.get("properties", {}).items()}
            case "array":
                return [fill(part.get("items", {"type": "string"}))]
            case "boolean":
                return True
            case "integer" | "number":
                return 1
        return text

    filled: dict[str, Any] = fill(schema)
    return filled


@dataclass
class Rig:
    """The agents: each answer repeats some of what its session was ever given."""

    world: World
    asking: Asking | None = None
    prompts: int = 0
    launches: int = 0

    def __call__(self, name: str) -> AgentProgram:
        async def start(launch: Launch) -> Agent:
            self.launches += 1
            resumed = launch.session_id is not None
            session = launch.session_id or f"s{self.launches}-{name}"
            return Repeater(self, launch, session, resumed)

        return AgentProgram(name, "Repeating", "repeating agent", True, "", start)


@dataclass
class Repeater:
    """One session."""

    rig: Rig
    launch: Launch
    session_id: str | None
    resumed: bool
    pid: int | None = None

    async def ask(self, prompt: str, reply: Reply) -> Said:
        """Check the prompt; repeat something of it."""
        rig, world = self.rig, self.rig.world
        rig.prompts += 1
        asking = rig.asking
        assert asking is not None
        assert self.session_id is not None
        told = world.told.setdefault(self.session_id, set())
        told |= set(CANARY.findall(prompt))
        for code in told:
            world.seen["checked"] += 1
            if code in world.gone:
                world.leaks.append(f"{code}, which was deleted at once, in a prompt")
            if not world.may_see(code, asking.room, asking.person, asking.persona):
                how = "in the prompt" if code in prompt else "in the resumed session"
                where = (asking.room.kind, asking.room.id, asking.person, asking.persona)
                world.leaks.append(f"{code} of {world.homes[code]} {how} at {where}")
        home = world.home(asking.room, asking.person, asking.persona)
        world.scopes_of_home.setdefault(str(self.launch.home), set()).add(str(home))
        visible = sorted(told & set(CANARY.findall(prompt)))
        for section in ("RECALL", "PINS", "LANDMARKS", "EPISODIC", "OBSERVATIONS"):
            if f"[{section}" in prompt:
                world.seen[section] += 1
        repeated = world.chance.sample(visible, min(2, len(visible)))
        for code in repeated:
            world.homes[code].add(home)
        text = " ".join(f"canary{code}" for code in repeated)
        uses = (ToolUse("Bash", f"grep {text} auth.py", f"auth.py:12: {text}"),)
        return Said(
            f"Seen: {text} about {world.chance.choice(WORDS)}", "record", "script", (), uses
        )

    async def interrupt(self) -> None:
        """Nothing to interrupt."""

    async def close(self) -> None:
        """Nothing to close."""

    def alive(self) -> bool:
        """Always."""
        return True

    def picture(self) -> list[list[tuple[str, str]]]:
        """None."""
        return []


class Day:
    """People's doings, at random. misplaced: facts are put where they don't belong."""

    def __init__(self, world: World, opened: Opened, rig: Rig, *, misplaced: bool) -> None:
        self.misplaced = misplaced
        self._world = world
        self._opened = opened
        self._rig = rig
        self._chance = world.chance
        self._watch = Watch(world, opened)

    async def step(self) -> None:
        """One thing that somebody does, until all that follows from it has happened."""
        person = self._chance.choice(self._world.people)
        room = self._room(person)
        kind = self._chance.choices(tuple(STEPS), tuple(STEPS.values()))[0]
        if kind == "again":  # where several people speak, each in a scope of their own
            room = self._world.rooms[-1]
        persona = self._chance.choice(PERSONAS)
        self._rig.asking = Asking(room, person.id, persona)
        if kind == "rename":
            other = self._chance.choice(self._world.people)
            person.name, other.name = other.name, person.name
        elif kind == "plant":
            await self._plant()
        elif kind == "tidy":
            with suppress(IndexFailed):  # the next night goes on
                await self._opened.house.memories.consolidation.run_all()
        else:
            await self._speak(kind, person, room, persona)
        await self._settle()
        await self._watch.look(self._rig.asking)
        if self._chance.random() < LOOKS:
            await self._watch.sessions()
            await self._watch.page()

    def _room(self, person: Person) -> Room:
        if self._chance.random() < 0.45:
            project = "saga" if person.id in BOUND else None
            return Room(f"fake:D-{person.id}", person.name, "dm", project)
        return self._chance.choice(self._world.rooms)

    async def _speak(self, kind: str, person: Person, room: Room, persona: str) -> None:
        world = self._world
        home = world.home(room, person.id, persona)
        if room.kind == "room" and kind != "bot":
            world.spoke.setdefault(room.id, set()).add(person.id)
        canary = world.mint(home)
        code = canary.removeprefix("canary")
        words = " ".join(self._chance.sample(WORDS, 4))
        text = f"{words} {canary}"
        match kind:
            case "pin":
                text = f"!{self._chance.choice(('pin', 'decision', 'spec'))} {text}"
            case "share":
                project = bool(room.project) and room.kind in ("room", "dm")
                to_project = project and self._chance.random() < 0.3
                text = f"!share {'project ' if to_project else ''}{text}"
                owner = ("project", room.project) if to_project else ("profile", person.id)
                world.shared.setdefault(code, set()).add(owner)  # type: ignore[arg-type]
            case "private":
                before, after = self._chance.choice(TAGS)
                text = f"{words} {before}the key {canary} of {words}{after}"
                world.private.add(code)
            case "hide":
                text = f"{words} {canary}"
            case "new":
                text = "!new"
            case "forget":
                text = f"!forget {self._chance.choice(('all', self._chance.randrange(1, 400)))}"
            case "command":
                text = self._chance.choice(COMMANDS).format(self._chance.randrange(1, 400))
            case "reply":
                text = self._chance.choice(("!pin", "!share", "!share project", text))
        if kind not in ("say", "unsay") or room.kind not in ("room", "gdm"):
            text = f"@{persona} {text}"
        sender = f"fake:B{person.id[5:]}" if kind == "bot" else person.id
        if room.kind not in ("room", "gdm"):
            world.homes[code] = {home := world.home(room, sender, persona)}
        assert self._rig.asking is not None
        self._rig.asking.person = sender
        world.said_in.setdefault(room.id, set()).add(home)
        meta = IngestMetadata(
            source="fake",
            sender_id=sender,
            sender_display_name=person.name,
            sender_type="bot" if kind == "bot" else "human",
        )
        number = f"m{len(world.homes)}-{self._chance.getrandbits(40)}"
        if kind == "again":  # somebody delivers what others said, as their own
            number = self._number(room, number)
        reply_to = self._number(room, number) if kind == "reply" else None
        thread = self._number(room, number) if self._chance.random() < 0.2 else None
        now = datetime.now(UTC)
        inbound = Inbound(text, meta, room, number, now, thread_id=thread, reply_to=reply_to)
        if kind == "unsay":
            inbound = replace(inbound, meta=meta.model_copy(update={"passive": True}))
        accepted = await self._opened.hear(inbound)
        if not accepted.new:
            del world.homes[code]
        world.messages.append((room, number, sender))
        if kind == "unsay":
            world.gone.add(code)
            await self._opened.house.intake.receive(Deleted(room, number), self._opened.bot)
        elif kind == "hide":
            await self._settle()
            world.private.add(code)
            hidden = Edited(room, number, f"{words} <private>{canary}</private>", now)
            await self._opened.house.intake.receive(hidden, self._opened.bot)
            await asyncio.sleep(0.05)  # what was learned of it follows in the background

    def _number(self, room: Room, otherwise: str) -> str:
        """The id of a message that was said, in this room or elsewhere."""
        here = [number for at, number, _ in self._world.messages if at.id == room.id]
        known = [number for _, number, _ in self._world.messages]
        return self._chance.choice(self._chance.choice((here, known)) or [otherwise])

    async def _plant(self) -> None:
        """A fact put into a scope directly, as an import does."""
        world = self._world
        person = self._chance.choice(world.people)
        room = self._chance.choice([r for r in world.rooms if r.kind == "room"])
        persona = self._chance.choice(PERSONAS)
        scope, home, shared = self._chance.choice(
            (
                (f"room:{room.id}", ("room", room.id), None),
                (f"dm:{person.id}:{persona}", ("dm", person.id, persona), None),
                (f"profile:{person.id}", ("nowhere",), ("profile", person.id)),
                ("project:saga", ("nowhere",), ("project", "saga")),
                ("project:other", ("nowhere",), ("project", "other")),
            )
        )
        canary = world.mint(("nowhere",) if self.misplaced else home)
        if shared and not self.misplaced:
            world.shared.setdefault(canary.removeprefix("canary"), set()).add(shared)
        words = " ".join(self._chance.sample(WORDS, 4))
        now = datetime.now(UTC)
        new = NewFact(scope, "fact", f"{words} {canary}", now, "import", person=person.id)
        store = self._opened.house.memories.store
        await store.write(lambda c: add_facts(c, [new], now))
        if self._opened.house.memories.recall is not None:
            await self._opened.house.memories.recall.index_pending()

    async def _settle(self) -> None:
        await self._opened.settle()
        async with asyncio.timeout(30):
            while self._opened.house.memories.layers.learning():
                await asyncio.sleep(0.001)


def make_world(seed: int) -> World:
    """People whose ids and names look alike, rooms of every kind."""
    people = [
        Person("fake:ash", "Ash"),
        Person("fake:ash2", "Ash"),
        Person("fake:ASH", "Budi"),
        Person("fake:ash:demo", "Carol"),
        Person("fake:a_h", "%"),
    ]
    rooms = [
        Room("fake:C1", "general", "room", "saga"),
        Room("fake:C2", "general", "room", "saga"),
        Room("fake:C3", "other", "room", "other"),
        Room("fake:C", "c", "room"),
        Room("fake:G1", "group", "gdm", "saga"),
        Room("fake:X1", "odd", "board", "saga"),  # a kind that nobody knows
    ]
    return World(random.Random(seed), people, rooms)


async def live(
    world: World,
    folder: Path,
    *,
    turns: int,
    life: int = 150,
    misplaced: bool = False,
    url: str | None = None,
    index: Index | None = None,
) -> tuple[Rig, int]:
    """Let people talk until the agents were asked so often; the house dies every `life` steps.

    misplaced: commit the fault that this is to find. url: of the database, if not SQLite's.
    index: what lies; else one of words.
    """
    rig = Rig(world)
    model = RepeatingModel(world)
    hostile, bot = HostileIndex(index or WordIndex(), world.chance), FakeBot()
    memory = MemoryTable(model="repeating")
    while rig.prompts < turns and not world.leaks:
        async with gateway(
            folder,
            bot=bot,
            programs=rig,
            personas=PERSONAS,
            access=AccessTable(rooms="open", dms="open"),
            memory=memory,
            index=hostile,
            model=model,
            url=url,
        ) as opened:
            day = Day(world, opened, rig, misplaced=misplaced)
            for _ in range(life):
                await day.step()
                if rig.prompts >= turns or world.leaks:
                    break
    world.leaks += [
        f"{folder} served {len(homes)} scopes"
        for folder, homes in world.scopes_of_home.items()
        if len(homes) > 1
    ]
    return rig, model.calls


async def _live(world: World, folder: Path, *, turns: int, real: bool) -> tuple[Rig, int]:
    if not real:
        return await live(world, folder, turns=turns)
    async with open_index(IndexSettings(folder / "index")) as index:
        return await live(world, folder, turns=turns, index=index)


def main() -> int:
    """Run it; 1 when anything leaked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true", help="the builtin index, lying likewise")
    given = parser.parse_args()
    world = make_world(given.seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rig, calls = asyncio.run(_live(world, Path(folder), turns=given.turns, real=given.real))
    print(f"{rig.prompts} prompts, {calls} calls of the model, {len(world.homes)} strings planted")
    shown = {name: count for name, count in world.seen.items() if name != "checked"}
    print(f"strings checked: {world.seen['checked']}; prompts with a layer's section: {shown}")
    print(f"leaks: {len(world.leaks)} ({time.monotonic() - began:.0f} s)")
    for leak in world.leaks[:10]:
        print(f"  {leak}")
    return int(bool(world.leaks))


if __name__ == "__main__":
    sys.exit(main())
