"""The names of a Rocket.Chat server: looked up once, never waited for long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from bots.kit.directory import SHOWN, ThreadDirectory, ThreadEnd, thread_block
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.events import SOURCE, Account, NewMessage, content, is_gone, speaker
from bots.rocketchat.wire import WireMessage, WirePerson, WireRoom, message
from contract.chat import Deleted, Edited, Room, Speaker
from contract.errors import PlatformError
from contract.values import dataclass

_MEMBERS = {"c": "channels", "p": "groups", "d": "im"}
_ROLES = ("owner", "moderator", "leader")  # the most telling one first
_THREAD_PAGE = 50


@dataclass(frozen=True, slots=True)
class _RoomFacts:
    """type: the server's ("c", "p", "d", "l"). people: how many are in it, where told."""

    type: str
    name: str
    people: int | None = None


class Directory(ThreadDirectory[NewMessage]):
    """Names of people and rooms, summaries of threads, and whose thread it is."""

    def __init__(
        self, api: RocketApi, *, now: Callable[[], float], patience_s: float = 1.0
    ) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._api = api
        self.own = Account("")
        self._people = self.lookup("user", self._fetch_person)
        self._places = self.lookup("room", self._fetch_place)
        self._subscribed: dict[str, _RoomFacts] = {}

    def introduce(self, own: Account) -> None:
        """The bot's own account."""
        self.own = own
        name = own.name or own.username or own.user_id
        person = speaker(own.user_id, name, own.username, is_bot=True)
        self._people.learn(f"userId={own.user_id}", person)

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def sender(self, said: NewMessage) -> Speaker:
        """The sender: by the message's own words first, and whether it is a bot's account."""
        if said.is_bot:
            return speaker(said.sender_id, said.name, said.username, is_bot=True)
        person = await self._people.get(f"userId={said.sender_id}")
        name = said.name or (person.name if person else "")
        is_bot = person is not None and person.kind == "bot"
        return speaker(said.sender_id, name, said.username, is_bot=is_bot)

    async def named(self, username: str | None) -> Speaker | None:
        """Somebody by user name; None where the server doesn't know them, or not in time."""
        return await self._people.get(f"username={username}") if username else None

    async def has_now(self, username: str) -> Speaker | None:
        """The same as it is now: a name that was given up may be another person's by then."""
        self._people.forget(f"username={username}")
        return await self.named(username)

    async def _fetch_person(self, key: str) -> Speaker:
        field, _, value = key.partition("=")
        user = (await self._api.get("users.info", **{field: value})).get("user")
        return _person(_user(user), value)

    # ── Rooms ───────────────────────────────────────────────────────────────────────────

    def learn_room(self, room: WireRoom) -> None:
        """Take in a room as rooms.get or rooms.info has it."""
        if rid := room.id:
            self._places.learn(rid, _place(room, self.own))

    def learn_subscription(self, room: WireRoom) -> None:
        """A subscription of ours; it doesn't tell how many are in a direct message."""
        if rid := room.rid:
            self._subscribed[rid] = _place(room, self.own)

    def forget_room(self, rid: str) -> None:
        self._places.forget(rid)

    async def room(self, rid: str, told: WireRoom | None = None) -> Room:
        """The room. told: what the event itself says of it. A DM has no name of its own."""
        place = await self._place(rid, told)
        return Room(f"{SOURCE}:{rid}", place.name or rid, self._kind(rid, place))

    async def type_of(self, rid: str) -> str:
        """The server's letter for the kind of room; "" when it isn't known."""
        return (await self._place(rid, None)).type

    async def _place(self, rid: str, told: WireRoom | None) -> _RoomFacts:
        found = await self._places.get(rid) or self._subscribed.get(rid)
        hint = _place(told, self.own) if told else _RoomFacts("", "")
        if found is None:
            return hint
        return _RoomFacts(found.type or hint.type, found.name or hint.name, found.people)

    def _kind(self, rid: str, place: _RoomFacts) -> str:
        """A direct message of two is a DM. An unknown kind is treated like one, which is closed."""
        if place.type in ("c", "p"):
            return "room"
        if place.type != "d":
            return place.type or "unknown"
        if place.people is not None:
            return "dm" if place.people <= 2 else "gdm"
        subscribed = self._subscribed.get(rid)
        of_two = bool(self.own.user_id) and self.own.user_id in rid
        alone = subscribed is not None and "," not in subscribed.name
        return "dm" if of_two or alone else "gdm"

    async def _fetch_place(self, rid: str) -> _RoomFacts:
        answer = await self._api.get("rooms.info", roomId=rid)
        try:
            return _place(WireRoom.model_validate(answer.get("room")), self.own)
        except ValidationError:
            raise RocketRefused("rooms.info", "an answer without a room", 200) from None

    # ── Who is in a room ────────────────────────────────────────────────────────────────

    async def members(self, rid: str, most: int) -> list[Speaker]:
        """The first ones in the room, this bot left out, with their roles in it."""
        family = _MEMBERS.get(await self.type_of(rid), "channels")
        answer = await self._api.get(f"{family}.members", roomId=rid, count=most)
        roles = await self._roles(family, rid)
        found = []
        for entry in answer.get("members") or ():
            user = _user(entry)
            if user.id and user.id != self.own.user_id:
                person = replace(_person(user, user.id), role=roles.get(user.id))
                is_bot = self._is_bot(user.id)
                found.append(replace(person, kind="bot", mention=None) if is_bot else person)
        return found

    def _is_bot(self, user_id: str) -> bool:
        """True if it is known to be one."""
        known = self._people.known(f"userId={user_id}")
        return known is not None and known.kind == "bot"

    async def _roles(self, family: str, rid: str) -> dict[str, str]:
        """User id to the role in the room; direct messages have none."""
        if family == "im":
            return {}
        try:
            answer = await self._api.get(f"{family}.roles", roomId=rid)
        except RocketRefused:
            return {}
        found = {}
        for entry in answer.get("roles") or ():
            held = [role for role in _ROLES if role in (entry.get("roles") or ())]
            if held and (user := (entry.get("u") or {}).get("_id")):
                found[str(user)] = held[0]
        return found

    # ── Threads ─────────────────────────────────────────────────────────────────────────

    async def _message(self, message_id: str) -> WireMessage:
        answer = await self._api.get("chat.getMessage", msgId=message_id)
        try:
            return message(answer.get("message"))
        except ValueError as error:
            raise PlatformError(f"Rocket.Chat: a message: {error}", outcome="unknown") from None

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        """What became of a message, by the message itself. Raises PlatformError."""
        try:
            told = await self._message(message_id)
        except RocketRefused as error:
            if error.status in (401, 403) or error.code == "error-not-allowed":
                raise
            return Deleted(room, message_id)
        if is_gone(told):
            return Deleted(room, message_id)
        if told.edited_at is None:
            return None
        return Edited(room, message_id, content(told), told.edited_at)

    async def _fetch_thread(self, thread: ThreadEnd[NewMessage]) -> str:
        answer = await self._api.get(
            "chat.getThreadMessages", tmid=thread.id, count=_THREAD_PAGE, sort='{"ts":-1}'
        )
        found = [m for m in _sound(answer.get("messages")) if self._belongs(m, thread)]
        earlier = sorted(found, key=lambda m: m.ts)[-SHOWN:]
        if len(earlier) < SHOWN:
            earlier.insert(0, await self._message(thread.id))
        return thread_block([(self._author(m), content(m)) for m in earlier]) or ""

    def _belongs(self, told: WireMessage, thread: ThreadEnd[NewMessage]) -> bool:
        until, is_bot = thread.until, told.bot or told.u.id == self.own.user_id
        if told.t or (is_bot and not content(told).strip()):  # a note on an answer
            return False
        return told.id not in (until.id, thread.id) and told.ts <= until.at

    def _author(self, told: WireMessage) -> Speaker:
        is_bot = bool(told.bot) or told.u.id == self.own.user_id or self._is_bot(told.u.id)
        name = told.alias or told.u.name or told.u.username or told.u.id
        return speaker(told.u.id, name, told.u.username or "", is_bot=is_bot)


def _sound(entries: Sequence[Any] | None) -> list[WireMessage]:
    found = []
    for entry in entries or ():
        try:
            found.append(message(entry))
        except ValueError:
            continue
    return found


def _user(raw: Mapping[str, Any] | None) -> WirePerson:
    try:
        return WirePerson.model_validate(raw or {})
    except ValidationError:
        return WirePerson.model_validate({})


def _person(user: WirePerson, named: str) -> Speaker:
    """named: what it was asked for by, where the server tells less."""
    is_bot = user.type in ("bot", "app") or "bot" in (user.roles or ())
    name = user.name or user.username or named
    return speaker(user.id or named, name, user.username or "", is_bot=is_bot)


def _place(room: WireRoom, own: Account) -> _RoomFacts:
    """A discussion's own name is an id: it is shown by its title, as groups of people are."""
    people = room.users_count or len(room.uids or room.usernames or ()) or None
    name = room.name or ""
    if room.prid or room.t == "d":
        name = room.fname or name
    if not name and room.usernames:
        name = ", ".join(who for who in room.usernames if who != own.username)
    return _RoomFacts(room.t or "", name, people)
