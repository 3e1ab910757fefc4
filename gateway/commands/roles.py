"""`!role` and `!pair`: owners give roles, and let in who waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from contract.chat import Room, Speaker, stands
from contract.errors import MootError
from contract.language import phrase, say
from contract.values import dataclass
from gateway.access.access import TRUSTED, Access, Grant
from gateway.access.grants import Grants, GrantSpan, KeptGrant, of_person
from gateway.access.pairing_rows import Pairing
from gateway.access.pairings import Pairings
from gateway.access.people import People
from gateway.access.permits import NAME_CHARS, Permits
from gateway.access.role_words import one_with
from gateway.core.ledger import Turn
from gateway.core.quoting import quoted
from gateway.settings.access import EVERYBODY, Role
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from store.rows import StoredMessage

HOW = phrase(
    "Say who and what: `!role @Olivia member`, or `guest`, `owner`, `none`; then `everywhere`."
)
WHERE = phrase(
    "Roles are for rooms: say `everywhere` at its end, or say it in the room that you mean."
)
ONLY_EVERYWHERE = phrase("That is for owners of the whole house, not of one room or persona.")
NO_CODE = phrase("No such code waits: `!pair` lists those that do. A code is good for 24 hours.")


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """The words after `!role`. role: None: "none"."""

    who: str
    role: Role | None
    everywhere: bool
    persona: str | None


def parse_wish(argument: str) -> RoleRequest | None:
    """The role that is asked for; None when it isn't one. A person's name may have blanks in it."""
    words = argument.split()
    persona = None
    if len(words) > 2 and words[-2].lower() == "with":
        persona = words[-1].lstrip("@").lower()
        words = words[:-2]
    everywhere = bool(words) and words[-1].lower() == "everywhere"
    if words and words[-1].lower() in ("everywhere", "here"):
        words = words[:-1]
    if len(words) < 2:
        return None
    *who, role = words
    if role.lower() == "none":
        return RoleRequest(" ".join(who), None, everywhere, persona)
    given = next((known for known in get_args(Role) if known == role.lower()), None)
    return RoleRequest(" ".join(who), given, everywhere, persona) if given else None


@dataclass(frozen=True, slots=True)
class RoleCommands:
    """Handles them. That an owner asks is known already; what of, is asked here."""

    access: Access
    grants: Grants
    pairings: Pairings
    people: People
    permits: Permits

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        argument, turn, asked = request.argument, request.turn, request.asked
        try:
            if request.name == "pair":
                return await self._pair(argument, turn, asked)
            if not argument:
                return await self._list(turn.room, asked.by)
            return await self._role(argument, turn, asked, request.here)
        except MootError as error:
            return error.say

    # ── !role ───────────────────────────────────────────────────────────────────────────

    async def _role(
        self, argument: str, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> str:
        wish, room, by = parse_wish(argument), turn.room, asked.by
        if wish is None:
            return say(HOW)
        if wish.everywhere and not self.access.is_owner_everywhere(room, by.id):
            await self.permits.refused("role everywhere", turn, asked)
            return say(ONLY_EVERYWHERE)
        if not wish.everywhere and (room.source in TRUSTED or not room.is_shared):
            return say(WHERE)
        persona = next((p.name for p in here if wish.persona in p.names), None)
        if wish.persona and persona is None:
            return say(
                "There is no persona `{persona}` here.", persona=quoted(wish.persona, NAME_CHARS)
            )
        meant = await self.people.meant(wish.who, room, turn.bot)
        if len(meant) != 1:
            return _whom(wish.who, meant)
        span = GrantSpan(None if wish.everywhere else room.id, persona)
        if wish.role is None:
            return await self._take_back(meant[0], span, room, by)
        await self.grants.grant(meant[0], wish.role, span, by)
        told = self._given(meant[0], wish.role, span, room)
        took_effect = self.access.role(room, meant[0].id, persona) == wish.role
        return told + (_news(meant[0], wish.role, asked) if took_effect else "")

    def _given(self, person: Speaker, role: Role, span: GrantSpan, room: Room) -> str:
        holds = self.access.role(room, person.id, span.persona)
        told = say(
            "{person} is {role} {where} now.",
            person=_called(person),
            role=one_with(role),
            where=_where(span),
        )
        if holds in (None, role) or room.source in TRUSTED:
            return told
        return f"{told} {self._still(person, room, span.persona)}"

    async def _take_back(self, person: Speaker, span: GrantSpan, room: Room, by: Speaker) -> str:
        def chosen(held: KeptGrant) -> bool:
            at = held.span
            in_place = span.room_id is None or at.room_id == span.room_id
            with_persona = span.persona is None or at.persona == span.persona
            return of_person(person.id)(held) and in_place and with_persona

        gone = await self.grants.revoke(by, chosen)
        told = say(
            "{person} has no kept role {where} any more."
            if gone
            else "{person} has no kept role {where}.",
            person=_called(person),
            where=_where(span),
        )
        return f"{told} {self._still(person, room, span.persona)}".rstrip()

    def _still(self, person: Speaker, room: Room, persona: str | None) -> str:
        """The role that they still have, and why."""
        if room.source in TRUSTED:
            held = [g for g in self.access.configured if g.is_for(person.id)]
            return say("moot.toml gives them a role, which stays.") if held else ""
        holds = self.access.role(room, person.id, persona)
        if holds is None:
            return ""
        from_file = any(
            grant.role == holds and grant.holds(room, person.id, persona)
            for grant in self.access.configured
        )
        if from_file:
            return say(
                "moot.toml makes them {role} here, and only there can that be changed.",
                role=one_with(holds),
            )
        return say(
            "They are {role} here by a role that holds elsewhere, too: `!role {id} "
            "none everywhere` takes it back.",
            role=one_with(holds),
            id=person.id,
        )

    async def _list(self, room: Room, by: Speaker) -> str:
        """All of them for an owner of the house; else those that hold in this room."""
        everywhere = self.access.is_owner_everywhere(room, by.id)
        configured = self.access.configured
        if not everywhere:
            held_here = (grant for grant in configured if grant.holds(room, None, None))
            configured = tuple(replace(one, rooms=one.rooms & {room.id}) for one in held_here)
        lines = [f"- {_configured(grant)}" for grant in configured]
        for held in await self.grants.listed():
            hidden = held.span.within == "dms" and not everywhere
            if room.source in TRUSTED or (held.span.room_id in (None, room.id) and not hidden):
                what = f"{one_with(held.role)} {_where(held.span, held.room_name)}"
                lines.append(
                    say(
                        "- {person}: {what} (by {who})",
                        person=_called(held.person),
                        what=what,
                        who=_name(held.by),
                    )
                )
        if not lines:
            return say("Nobody has a role here yet. {how}", how=say(HOW))
        return "\n".join([say("Who may do what here:"), *lines])

    # ── !pair ───────────────────────────────────────────────────────────────────────────

    async def _pair(self, argument: str, turn: Turn, asked: StoredMessage) -> str:
        by = asked.by
        if not self.access.is_owner_everywhere(turn.room, by.id):
            await self.permits.refused("pair", turn, asked)
            return say(ONLY_EVERYWHERE)
        if not argument:
            return _waiting(await self.pairings.waiting())
        first, *rest = argument.split()
        if first.lower() == "refuse" and rest:
            refused = await self.pairings.refuse("".join(rest), by)
            return (
                say("{person} is refused, and was told.", person=_called(refused.person))
                if refused
                else say(NO_CODE)
            )
        found = await self.pairings.approve(argument, by)
        return let_in(found) if found else say(NO_CODE)


def let_in(found: Pairing) -> str:
    """The reply to whoever approved."""
    question = say(" Their question is being answered.") if found.question_seq else ""
    return say(
        "{person} is a member in direct messages now.{question}",
        person=_called(found.person),
        question=question,
    )


def _waiting(waiting: Sequence[Pairing]) -> str:
    if not waiting:
        return say("Nobody waits to be let in.")
    lines = (f"- `{one.code}` {_called(one.person)}" for one in waiting)
    return "\n".join([say("They wait to be let in (`!pair CODE`, `!pair refuse CODE`):"), *lines])


def _news(person: Speaker, role: Role, asked: StoredMessage) -> str:
    """A line for the persons themselves, where they see it."""
    if not person.mention or not stands(asked.message_id) or person.id == asked.by.id:
        return ""
    what = say("ask an agent by mentioning it") if role != "owner" else say("ask and administer")
    return say(
        "\n\n{mention} you are {role} now: you can {what}; `!help` tells more.",
        mention=person.mention,
        role=one_with(role),
        what=what,
    )


def _whom(who: str, meant: Sequence[Speaker]) -> str:
    if not meant:
        return say(
            "I don't know {who} here: mention them, or say their id, e.g. `slack:U06STGBF4Q0`.",
            who=quoted(who, NAME_CHARS),
        )
    ids = ", ".join(f"`{one.id}`" for one in meant)
    return say(
        "{n} people are called {who}: say which, {ids}.",
        n=len(meant),
        who=quoted(who, NAME_CHARS),
        ids=ids,
    )


def _called(person: Speaker) -> str:
    return f"{_name(person)} (`{person.id}`)"


def _name(person: Speaker) -> str:
    return quoted(person.name, NAME_CHARS)


def _where(span: GrantSpan, room_name: str | None = None) -> str:
    where = say("everywhere") if span.room_id is None else say("here")
    if room_name:
        where = say("in {room_name}", room_name=quoted(room_name, NAME_CHARS))
    if span.within:
        where = say("in direct messages") if span.within == "dms" else say("in rooms")
    return (
        say("{where} with {persona}", where=where, persona=span.persona) if span.persona else where
    )


def _configured(grant: Grant) -> str:
    people = say("everybody") if EVERYBODY in grant.people else ", ".join(sorted(grant.people))
    where = {"rooms": say(" in rooms"), "dms": say(" in direct messages")}.get(grant.where, "")
    if grant.rooms:
        where = say(" in {listed}", listed=", ".join(sorted(grant.rooms)))
    whose = (
        say(" with {listed}", listed=", ".join(sorted(grant.personas))) if grant.personas else ""
    )
    return say(
        "{people}: {role}{where}{whose} (moot.toml)",
        people=quoted(people, 500),
        role=one_with(grant.role),
        where=where,
        whose=whose,
    )
