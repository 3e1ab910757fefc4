"""Which rooms a caller may read: a direct message of the page is read by its person alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from contract.chat import Room
from contract.values import dataclass
from gateway.access.access import Access
from gateway.core.events import AppEvent, ReadUntil, RoomOpened
from gateway.web.signin.caller import Caller, RequestRefused
from gateway.web.signin.people import PagePeople
from gateway.web.submission import DIRECT


@dataclass(frozen=True, slots=True)
class RoomGuard:
    """Asks the roles. room_of: a room by its id; None: there is none. is_used: asks whether people
    speak for themselves there, and not programs for them."""

    people: PagePeople
    access: Access
    room_of: Callable[[str], Awaitable[Room | None]]
    is_used: Callable[[str], Awaitable[bool]]

    def is_owner(self, caller: Caller) -> bool:
        """True for an owner who signed in, and for programs with an owner's token."""
        if caller.is_person:
            return self.people.is_owner(caller.person.id)
        return not caller.reads

    def may_read(self, caller: Caller, room: Room) -> bool:
        """True if what is said there is for this caller's eyes."""
        if (mine := _direct(caller, room.id)) is not None:
            return mine
        if self.is_owner(caller):
            return True
        if room.kind != "room":
            return False
        return room.source == "web" or self.access.role(room, caller.person.id) is not None

    async def check(self, caller: Caller, room_id: str, *, there: bool = False) -> None:
        """Raise RequestRefused unless this caller may read a room. One that isn't there yet is
        looked for by whoever asks; there: it must be."""
        if (mine := _direct(caller, room_id)) is not None:
            if not mine:
                raise RequestRefused(403, "this direct message is for somebody else's eyes only")
            return
        if self.is_owner(caller):
            return
        room = await self.room_of(room_id)
        if there if room is None else not self.may_read(caller, room):
            raise RequestRefused(404, "there is no such room")

    async def check_program(self, room_id: str) -> None:
        """Raise RequestRefused where a program would speak, or look, in a direct message of the
        page that is a person's: of an account, or of a name that was typed before there were any.
        """
        direct = DIRECT.fullmatch(room_id)
        if direct is None:
            return
        if self.people.has_account(f"web:{direct['person']}") or await self.is_used(room_id):
            raise RequestRefused(403, "this is somebody's direct message: they sign in to use it")

    def sight(self, caller: Caller, rooms: list[Room]) -> Sight:
        """The events that a caller may see. rooms: those that there are now."""
        return Sight(self, caller, {room.id: room for room in rooms})


@dataclass(frozen=True, slots=True)
class Sight:
    """What one caller may see of the events, asked anew for each: roles change."""

    guard: RoomGuard
    caller: Caller
    rooms: dict[str, Room] = field(default_factory=dict)

    def sees(self, event: AppEvent) -> bool:
        """True if an event is for this caller."""
        if isinstance(event, RoomOpened):
            self.rooms[event.room.room.id] = event.room.room
        if isinstance(event, ReadUntil) and event.person_id != self.caller.person.id:
            return False
        return event.room_id is None or self.sees_room(event.room_id)

    def sees_room(self, room_id: str) -> bool:
        """True if what happens in a room is."""
        if (mine := _direct(self.caller, room_id)) is not None:
            return mine
        if self.guard.is_owner(self.caller):
            return True
        room = self.rooms.get(room_id)
        return room is not None and self.guard.may_read(self.caller, room)


def _direct(caller: Caller, room_id: str) -> bool | None:
    """Whether a direct message of the page is the caller's own; None: the room is none."""
    direct = DIRECT.fullmatch(room_id)
    return direct and caller.is_person and caller.person.id == f"web:{direct['person']}"
