"""The names of a homeserver: rooms' state, who wrote what, threads."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from bots.kit.directory import SHOWN, LookupDirectory, thread_block
from bots.kit.recent import Recent
from bots.matrix.api import CLIENT, RELATIONS, MatrixApi, MatrixRefused, path
from bots.matrix.events import SOURCE, NewMessage, OwnUser, parse_event, parsed, speaker
from bots.matrix.wire import WireEvent
from contract.chat import Room, RoomKind, Speaker
from contract.errors import PlatformError
from contract.values import dataclass

_SMALL = 8  # an unnamed room of at most so many is a conversation among them
_SHOWN = 3  # people named in the name of a room that has none
_CREATORS_RULE = 12  # the room version from which creators stand above every power level

Opened = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""An event of a room as it was before it was encrypted; None when it can't be read."""

_REMEMBERED = 10_000  # who wrote which message
NOTE = "moot.note"  # in the content of a line on an answer, which is nobody's words
_THREAD_PAGE = 50


@dataclass(frozen=True, slots=True)
class PowerLevels:
    """The power levels of a room. default: of those who are not in `users`."""

    users: Mapping[str, int] = field(default_factory=dict)
    default: int = 0
    creator: str = ""

    def role(self, user_id: str) -> str | None:
        """The role that a level stands for; None: somebody like the others."""
        level = self.users.get(user_id, self.default)
        if level >= 100 or user_id == self.creator:
            return "admin"
        return "moderator" if level >= 50 else None


@dataclass(slots=True)
class RoomState:
    """The known state of one room; `apply` keeps it up to date.

    names: of everybody who was ever seen in it. inside: who joined or is invited.
    """

    room_id: str
    name: str = ""
    alias: str = ""
    encrypted: bool = False
    names: dict[str, str] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)
    powers: PowerLevels = field(default_factory=PowerLevels)

    def apply(self, event: WireEvent) -> None:
        """Take one state event; others change nothing."""
        if event.state_key is None:
            return
        state = event.state()
        match event.type:
            case "m.room.member":
                self._member(event.state_key, state.membership or "", state.displayname)
            case "m.room.name":
                self.name = state.name or ""
            case "m.room.canonical_alias":
                self.alias = state.alias or ""
            case "m.room.encryption":
                self.encrypted = True  # for ever, whatever somebody sends later
            case "m.room.power_levels":
                levels = {user: n for user, n in state.users.items() if isinstance(n, int)}
                self.powers = PowerLevels(levels, state.users_default, self.powers.creator)
            case "m.room.create":
                version = state.room_version or "1"
                above = version.isdecimal() and int(version) >= _CREATORS_RULE
                self.powers = replace(self.powers, creator=event.sender if above else "")

    def _member(self, user_id: str, membership: str, name: str | None) -> None:
        if membership in ("join", "invite"):
            self.inside[user_id] = membership
            self.names[user_id] = " ".join((name or "").split()) or user_id
        else:
            self.inside.pop(user_id, None)

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def kind(self, direct: bool) -> RoomKind:
        """direct: the account says that it is a direct conversation."""
        unnamed = not (self.name or self.alias)
        if len(self.inside) <= 2 and (direct or unnamed):
            return "dm"
        return "gdm" if direct or (unnamed and len(self.inside) <= _SMALL) else "room"

    def room(self, own: OwnUser, direct: bool) -> Room:
        return Room(f"{SOURCE}:{self.room_id}", self.title(own), self.kind(direct))

    def title(self, own: OwnUser) -> str:
        """The room's name, else its alias without the server, else who is in it."""
        if self.name.strip():
            return " ".join(self.name.split())
        if self.alias:
            return self.alias.lstrip("#").partition(":")[0]
        others = sorted(self.names[user] for user in self.inside if user != own.user_id)
        more = f" +{len(others) - _SHOWN}" if len(others) > _SHOWN else ""
        return ", ".join(others[:_SHOWN]) + more or self.room_id

    def speaker(self, user_id: str, *, is_bot: bool = False) -> Speaker:
        return speaker(
            user_id, self.names.get(user_id, user_id), is_bot=is_bot, role=self.powers.role(user_id)
        )


@dataclass(frozen=True, slots=True)
class _Thread:
    """The end of a thread's summary: before the message `until`."""

    room_id: str
    root: str
    until: str


class Directory(LookupDirectory):
    """Rooms, people, and summaries of threads. opened: reads encrypted events."""

    def __init__(self, api: MatrixApi, opened: Opened, *, now: Callable[[], float]) -> None:
        super().__init__(now=now, patience_s=1.0)
        self._api, self._opened = api, opened
        self.own = OwnUser()
        self.direct: dict[str, list[str]] = {}  # m.direct: rooms by person
        self._rooms: dict[str, RoomState] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._senders: Recent[str, str] = Recent(_REMEMBERED)
        self._threads = self.lookup("thread", self._fetch_thread, entries=256)

    async def introduce(self, user_id: str) -> None:
        """The bot's own account: its id, and the names by which it is called."""
        local = user_id.removeprefix("@").partition(":")[0]
        answer: Mapping[str, Any] = {}
        with suppress(MatrixRefused):  # an account without a profile
            answer = await self._api.get(CLIENT + path("profile", user_id))
        name = str(answer.get("displayname") or local)
        self.own = OwnUser(user_id, frozenset({name.strip().lower(), local.lower()}))
        await self._load_direct()

    async def _load_direct(self) -> None:
        where = CLIENT + path("user", self.own.user_id, "account_data", "m.direct")
        try:
            self.learn_direct(await self._api.get(where))
        except MatrixRefused:
            self.direct = {}  # nobody ever wrote it

    def learn_direct(self, content: Mapping[str, Any]) -> None:
        """Take the account's list of direct conversations."""
        self.direct = {
            user: [room for room in rooms if isinstance(room, str)]
            for user, rooms in content.items()
            if isinstance(rooms, list)
        }

    async def add_direct(self, user_id: str, room_id: str) -> None:
        """Note, on the server too, that a room is a direct conversation."""
        rooms = self.direct.setdefault(user_id, [])
        if room_id not in rooms:
            rooms.append(room_id)
            where = CLIENT + path("user", self.own.user_id, "account_data", "m.direct")
            await self._api.put(where, self.direct)

    # ── Rooms ───────────────────────────────────────────────────────────────────────────

    async def state(self, room_id: str) -> RoomState:
        """The state of the room; asked for once. Raises PlatformError."""
        async with self._asking[room_id]:
            if room_id not in self._rooms:
                answer = await self._api.get(CLIENT + path("rooms", room_id, "state"))
                state = RoomState(room_id)
                for raw in answer.get("events") or ():
                    if event := parsed(raw):
                        state.apply(event)
                self._rooms[room_id] = state
        return self._rooms[room_id]

    def apply(self, room_id: str, events: Iterable[WireEvent]) -> None:
        """Take state events of a room that is known; of others everything is asked for later."""
        if state := self._rooms.get(room_id):
            for event in events:
                state.apply(event)

    def forget(self, room_id: str) -> None:
        self._rooms.pop(room_id, None)

    async def room(self, room_id: str) -> Room:
        """The room. Raises PlatformError when the server can't tell now; a room that we may not
        see (any more) is taken for a closed one."""
        try:
            state = await self.state(room_id)
        except MatrixRefused:
            return Room(f"{SOURCE}:{room_id}", room_id, "gdm")
        return state.room(self.own, self.is_direct(room_id))

    def is_direct(self, room_id: str) -> bool:
        return any(room_id in rooms for rooms in self.direct.values())

    async def speaker(self, room_id: str, user_id: str, *, is_bot: bool = False) -> Speaker:
        """Somebody as the room knows them."""
        is_bot = is_bot or user_id == self.own.user_id
        try:
            return (await self.state(room_id)).speaker(user_id, is_bot=is_bot)
        except PlatformError:
            return speaker(user_id, user_id, is_bot=is_bot)

    # ── Events ──────────────────────────────────────────────────────────────────────────

    def wrote(self, event_id: str, sender: str) -> None:
        """Remember who wrote a message."""
        self._senders[event_id] = sender

    async def writer(self, room_id: str, event_id: str) -> str:
        """The sender of a message; "" when that can't be known."""
        if event_id not in self._senders:
            try:
                self.wrote(event_id, str((await self.event(room_id, event_id)).get("sender") or ""))
            except MatrixRefused:
                return ""
        return self._senders[event_id]

    async def event(self, room_id: str, event_id: str) -> Mapping[str, Any]:
        """An event as it lies on the server. Raises PlatformError."""
        return await self._api.get(CLIENT + path("rooms", room_id, "event", event_id))

    # ── Threads ─────────────────────────────────────────────────────────────────────────

    async def thread_context(self, room_id: str, root: str, until: str) -> str | None:
        """The block of the thread's messages before `until`, or None; the same for one `until`."""
        return await self._threads.get(_Thread(room_id, root, until)) or None

    async def _fetch_thread(self, thread: _Thread) -> str:
        where = RELATIONS + path("rooms", thread.room_id, "relations", thread.root, "m.thread")
        answer = await self._api.get(where, dir="b", limit=_THREAD_PAGE)
        newest = [event for event in answer.get("chunk") or () if isinstance(event, Mapping)]
        ids = [event.get("event_id") for event in newest]
        earlier = newest[ids.index(thread.until) + 1 :] if thread.until in ids else newest
        found = [*earlier[: SHOWN - 1], await self.event(thread.room_id, thread.root)]
        lines = [line for event in reversed(found) if (line := await self._line(thread, event))]
        return thread_block(lines) or ""

    async def _line(self, thread: _Thread, raw: Mapping[str, Any]) -> tuple[Speaker, str] | None:
        plain = await self._opened(thread.room_id, raw)
        if plain and NOTE in (plain.get("content") or {}):
            return None
        event = parsed(plain) if plain else None
        said = parse_event(event, OwnUser()) if event else None  # ours too
        if not isinstance(said, NewMessage) or not (said.content or said.files):
            return None
        by = await self.speaker(thread.room_id, said.sender, is_bot=said.is_bot)
        return by, said.content or f"[attachment: {said.files[0].name}]"
