"""A Matrix room as its state tells: who is in it, what it is called, what kind of room it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from bots.matrix.events import SOURCE, OwnUser, speaker
from bots.matrix.wire import WireEvent
from contract.chat import Room, RoomKind, Speaker

_SMALL = 8  # an unnamed room of at most so many is a conversation among them
_SHOWN = 3  # people named in the name of a room that has none
_CREATORS_RULE = 12  # the room version from which creators stand above every power level


@dataclass(slots=True)
class RoomState:
    """What is known of one room; `apply` keeps it up to date.

    names: of everybody who was ever seen in it. inside: who joined or is invited.
    """

    room_id: str
    name: str = ""
    alias: str = ""
    encrypted: bool = False
    names: dict[str, str] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    level: int = 0
    creator: str = ""

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
                self.levels = {u: n for u, n in state.users.items() if isinstance(n, int)}
                self.level = state.users_default
            case "m.room.create":
                version = state.room_version or "1"
                above = version.isdecimal() and int(version) >= _CREATORS_RULE
                self.creator = event.sender if above else ""

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
        """Its name, else its alias without the server, else who is in it."""
        if self.name.strip():
            return " ".join(self.name.split())
        if self.alias:
            return self.alias.lstrip("#").partition(":")[0]
        others = sorted(self.names[user] for user in self.inside if user != own.user_id)
        more = f" +{len(others) - _SHOWN}" if len(others) > _SHOWN else ""
        return ", ".join(others[:_SHOWN]) + more or self.room_id

    def speaker(self, user_id: str, *, is_bot: bool = False) -> Speaker:
        return speaker(
            user_id, self.names.get(user_id, user_id), is_bot=is_bot, role=self.role(user_id)
        )

    def role(self, user_id: str) -> str | None:
        level = self.levels.get(user_id, self.level)
        if level >= 100 or user_id == self.creator:
            return "admin"
        return "moderator" if level >= 50 else None
