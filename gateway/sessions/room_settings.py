"""Choices made in a room by command: for one persona there, or for the whole room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from sqlalchemy import Connection, bindparam, delete, select

from adapters.agent import Mode
from contract.chat import Room, Speaker
from contract.language import Language, say
from contract.values import dataclass
from gateway.core.ledger import SessionKey
from gateway.core.sql_rows import of_key
from gateway.settings.personas.personas import Persona
from gateway.settings.tables import AgentTable, Follow, RoomsTable
from memory.scopes import home_scope
from store.database import Store
from store.gateway_schema import room_settings, schedules
from store.timestamps import micros

SessionsOf = Literal["room", "thread"]
SESSIONS_OF: tuple[SessionsOf, ...] = get_args(SessionsOf)
FOLLOW: tuple[Follow, ...] = get_args(Follow)
ASKING: tuple[Mode, ...] = ("plan", "ask")  # where an administrator listed none
EVERYBODY = ""  # stands for the persona in what holds for all of a room


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; None: nothing was. mode_by: id of the person who chose the mode."""

    model: str | None = None
    sessions: str | None = None
    workspace: str | None = None
    mode: Mode | None = None
    mode_by: str | None = None
    follow: Follow | None = None
    require_mention: bool | None = None
    language: Language | None = None


_NOTHING = Choice()
_OF = (
    room_settings.c.persona == bindparam("of_persona"),
    room_settings.c.scope == bindparam("of_scope"),
    room_settings.c.thread_id == bindparam("of_thread"),
)
_CHOSEN = select(*(room_settings.c[name] for name in asdict(_NOTHING))).where(*_OF)
_OF_ROOMS = select(
    room_settings.c.scope, *(room_settings.c[name] for name in asdict(_NOTHING))
).where(room_settings.c.persona == EVERYBODY, room_settings.c.thread_id == "")


class RoomSettings:
    """They are kept on disk, and each is read once. table, agents: tables of moot.toml; what
    holds in rooms for which nobody chose. mention_free: names of the bots that answer every message
    of these. is_owner: true for the id of one who owns a room now. of_rooms: what was chosen for
    all of a room, by its id."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        table: RoomsTable,
        mention_free: frozenset[str],
        agents: Mapping[str, AgentTable],
        is_owner: Callable[[Room, str], bool],
    ) -> None:
        self._store = store
        self._clock = clock
        self._table = table
        self.mention_free = mention_free
        self._agents = agents
        self._is_owner = is_owner
        self._choices: dict[SessionKey, Choice] = {}
        self.of_rooms: dict[str, Choice] = {}

    async def load(self) -> None:
        """Read what was chosen for all of a room."""

        def work(connection: Connection) -> dict[str, Choice]:
            rows = connection.execute(_OF_ROOMS)
            return {scope.partition(":")[2]: Choice(*chosen) for scope, *chosen in rows}

        self.of_rooms = await self._store.read(work)

    # ── A room's ────────────────────────────────────────────────────────────────────────

    def sessions(self, room: Room) -> str:
        """A room's sessions: "room" or "thread"."""
        if not room.is_shared:
            return "room"
        return self.of_rooms.get(room.id, _NOTHING).sessions or self._table.sessions

    def session_thread(self, room: Room, thread_id: str | None) -> str:
        """The thread whose session takes what is said in a thread; "": the room's own session."""
        return thread_id if thread_id and self.sessions(room) == "thread" else ""

    def follow(self, room: Room) -> Follow:
        """Who goes on without a mention, in a thread in which a persona answered."""
        return self.of_rooms.get(room.id, _NOTHING).follow or self._table.follow

    def language(self, room: Room) -> Language | None:
        """The language that was chosen for a room; None: that of moot.toml."""
        return self.of_rooms.get(room.id, _NOTHING).language

    @property
    def follow_minutes(self) -> float:
        """For so long after the last answer."""
        return self._table.follow_minutes

    def chosen_mention(self, room: Room) -> bool | None:
        """Whether messages of a room need a mention; None: as each bot's table says."""
        return self.of_rooms.get(room.id, _NOTHING).require_mention

    def needs_mention(self, room: Room, bot: str) -> bool:
        """False where a bot answers every message of a room."""
        chosen = self.chosen_mention(room)
        return bot not in self.mention_free if chosen is None else chosen

    def in_words(self, room: Room, bot: str) -> str:
        """Which messages of a room a bot answers that name nobody."""
        if not self.needs_mention(room, bot):
            return say("every message here is answered, with or without a mention.")
        minutes = say(
            "for {follow_minutes} minutes after the last answer",
            follow_minutes=f"{self.follow_minutes:g}",
        )
        goes_on = {
            "asker": say("in a thread, who asked goes on without one {minutes}.", minutes=minutes),
            "everybody": say(
                "in a thread with an answer, everybody goes on without one {minutes}.",
                minutes=minutes,
            ),
            "never": say("also in threads."),
        }
        return say("a message here needs a mention; {goes_on}", goes_on=goes_on[self.follow(room)])

    async def choose_for_all(self, room: Room, by: Speaker, **values: Any) -> None:
        """Choose some for all of a room, from now on; see Choice."""
        scope = home_scope(room, "", None) if room.is_shared else f"room:{room.id}"
        key = SessionKey(EVERYBODY, scope)
        await self.choose(key, by, **values)
        self.of_rooms[room.id] = await self.chosen(key)

    # ── A persona's ─────────────────────────────────────────────────────────────────────

    async def chosen(self, key: SessionKey) -> Choice:
        """The choices for exactly this key."""
        if key not in self._choices:

            def work(connection: Connection) -> Choice:
                row = connection.execute(_CHOSEN, of_key(key)).one_or_none()
                return _NOTHING if row is None else Choice(*row)

            self._choices.setdefault(key, await self._store.read(work, small=True))
        return self._choices[key]

    async def choose(self, key: SessionKey, by: Speaker, **values: Any) -> None:
        """Choose some, from the next turn on; None: none."""
        choice = replace(await self.chosen(key), **values)
        row = {**asdict(key), **asdict(choice), "by_id": by.id, "at": micros(self._clock())}

        def work(connection: Connection) -> None:
            connection.execute(delete(room_settings).where(*_OF), of_key(key))
            if choice != _NOTHING:
                connection.execute(room_settings.insert(), row)

        await self._store.write(work)
        self._choices[key] = choice

    async def model(self, persona: str, scope: str) -> str | None:
        """The model that was chosen; None: the persona's own."""
        return (await self.chosen(SessionKey(persona, scope))).model

    def workspaces(self, persona: Persona) -> Mapping[str, Path]:
        """The working directories that an administrator listed for it, by their names."""
        table = self._agents.get(persona.front.agent)
        return {**(table.workspaces if table else {}), **persona.front.workspaces}

    def modes(self, persona: Persona) -> Sequence[Mode]:
        """The modes that an administrator lets people choose for it."""
        table = self._agents.get(persona.front.agent)
        listed = (persona.front.modes, table.modes if table else None)
        return next((modes for modes in listed if modes is not None), ASKING)

    async def of(self, persona: Persona, key: SessionKey, room: Room) -> Choice:
        """What holds for a session: a thread's choices go before those for all of its scope. What
        an administrator doesn't list any more is none, and `auto` is `ask` from when the one who
        chose it is no owner any more."""
        own = scope = await self.chosen(key)
        if key.thread_id:
            scope = await self.chosen(replace(key, thread_id=""))
        workspace, moded = own.workspace or scope.workspace, own if own.mode else scope
        mode, mode_by = moded.mode, moded.mode_by
        if workspace and workspace not in self.workspaces(persona):
            workspace = None
        if mode and mode not in self.modes(persona):
            mode = None
        if mode == "auto" and not self._is_owner(room, mode_by or ""):
            mode = "ask"
        return Choice(scope.model, workspace=workspace, mode=mode)

    async def told(self, persona: Persona, key: SessionKey, room: Room) -> list[str]:
        """The folder and the mode that were chosen, in words."""
        choice = await self.of(persona, key, room)
        told = [say("in {workspace}", workspace=choice.workspace)] if choice.workspace else []
        return [*told, say("mode {mode}", mode=choice.mode)] if choice.mode else told

    async def applied(self, persona: Persona, key: SessionKey, room: Room) -> Persona:
        """The persona as it was set for a session."""
        if self._choices.get(key) is _NOTHING and not key.thread_id:  # as with nearly every turn
            return persona
        choice = await self.of(persona, key, room)
        front: dict[str, Any] = {"model": choice.model} if choice.model else {}
        if choice.workspace:
            front["workspace"] = self.workspaces(persona)[choice.workspace]
        if choice.mode:
            persona = replace(persona, mode=choice.mode)
        return replace(persona, front=persona.front.model_copy(update=front)) if front else persona


def forget_choices(connection: Connection, ids: frozenset[str]) -> None:
    """Delete what somebody chose in rooms, and what they scheduled."""
    moded = room_settings.update().where(room_settings.c.mode_by.in_(ids))
    connection.execute(moded.values(mode=None, mode_by=None))
    for table in (room_settings, schedules):
        connection.execute(delete(table).where(table.c.by_id.in_(ids)))
