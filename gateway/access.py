"""Who may do what. Closed unless an administrator said otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from contract import Room

TRUSTED = frozenset({"web"})  # sources whose people reached the loopback page or hold its token


@dataclass(frozen=True, slots=True)
class Access:
    """See AccessTable. Answers with None when allowed, else with the one polite line."""

    rooms_open: bool
    dms_open: bool
    people: frozenset[str]
    approvers: frozenset[str]

    def refusal(self, room: Room, sender_id: str) -> str | None:
        """Why this person may not ask an agent here, or None when they may."""
        if room.source in TRUSTED or sender_id in self.people | self.approvers:
            return None
        open_here = self.rooms_open if room.kind == "room" else self.dms_open
        if open_here:
            return None
        return (
            f"I can't answer you here yet: an administrator has to add `{sender_id}` "
            "to `people` under `[access]`."
        )

    def may_approve(self, room: Room, sender_id: str) -> bool:
        """Whether this person may answer an agent's permission question in this room."""
        return room.source in TRUSTED or sender_id in self.approvers

    def has_approvers(self, room: Room) -> bool:
        """Whether anybody could answer a permission question in this room."""
        return room.source in TRUSTED or bool(self.approvers)
