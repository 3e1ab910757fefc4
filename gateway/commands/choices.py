"""`!workspace` and `!mode`: where a persona's agent works in a room, and how much it may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

from adapters.agent import Mode
from contract.language import say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.audit.audit import Audit
from gateway.core.ledger import SessionKey, UnusedSession
from gateway.core.quoting import quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import RoomSettings
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest

DEFAULT = "default"
MODES: Sequence[Mode] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class ChoiceCommands:
    """Handles them. ended: called with every session that `!workspace` ends."""

    settings: RoomSettings
    sessions: SessionPool
    ledger: SqlLedger
    access: Access
    audit: Audit
    ended: Callable[[UnusedSession], object]

    async def run(self, request: CommandRequest) -> str:
        """List what may be chosen, or choose."""
        whose, words = request.whose()
        here = whose or list(request.here)
        if not words:
            told = [await self._told(one, request) for one in here]
            return "\n".join(told) or say("Nobody answers here.")
        if len(words) > 1:
            return say(
                "Say one name behind `!{request}`; alone it lists them.", request=request.name
            )
        if len(here) > 1:
            names = ", ".join(f"`!{request.name} {one.name} {words[0]}`" for one in here)
            return say("Several are here; say whose: {names}.", names=names)
        if not here:
            return say("Nobody answers here.")
        choose = self._workspace if request.name == "workspace" else self._mode
        return await choose(here[0], words[0].lower(), request)

    # ── Listing ─────────────────────────────────────────────────────────────────────────

    async def _told(self, persona: Persona, request: CommandRequest) -> str:
        is_folder = request.name == "workspace"
        names = self._folders(persona) if is_folder else self._modes(persona)
        if not names:
            what = "folders" if is_folder else "modes"
            return say("@{persona} has no {what} to choose from.", persona=persona.name, what=what)
        choice = await self.settings.of(persona, request.key(persona), request.turn.room)
        now = choice.workspace if is_folder else choice.mode
        listed = [
            say("`{one}` (chosen here)", one=one) if one == now else f"`{one}`" for one in names
        ]
        own = say("its own") if is_folder else say("as it begins")
        listed.append(f"`{DEFAULT}` ({own}{'' if now else say(', as now')})")
        verb = say("may work in") if is_folder else say("may be in the modes")
        return f"@{persona.name} {verb}: {', '.join(listed)}."

    def _folders(self, persona: Persona) -> list[str]:
        runs = self.sessions.program(persona).runs
        return sorted(self.settings.workspaces(persona)) if runs else []

    def _modes(self, persona: Persona) -> list[Mode]:
        """Those that its program has and an administrator allows."""
        if persona.front.driver == "acp":
            return []
        has, allowed = self.sessions.program(persona).modes, self.settings.modes(persona)
        return [one for one in MODES if one in has and one in allowed]

    # ── Choosing ────────────────────────────────────────────────────────────────────────

    async def _workspace(self, persona: Persona, name: str, request: CommandRequest) -> str:
        """A folder is chosen by its name alone; a new session begins there."""
        folders = self._folders(persona)
        if not folders:
            return await self._told(persona, request)
        if name not in (*folders, DEFAULT):
            return say(
                "There is no folder {name}. {told}",
                name=f"{quoted(name, 40)!r}",
                told=await self._told(persona, request),
            )
        key, by = request.key(persona), request.asked.by
        await self.settings.choose(key, by, workspace=None if name == DEFAULT else name)
        await self.audit.note(
            "workspace", by, persona=persona.name, room=request.turn.room, workspace=name
        )
        await self._begin_again(key, "workspace")
        where = say("its own folder") if name == DEFAULT else f"`{name}`"
        return say(
            "@{persona} works in {where} here: its next turn begins a new session there.",
            persona=persona.name,
            where=where,
        )

    async def _begin_again(self, key: SessionKey, what: str) -> None:
        """Begin a new session for it, and in the threads for which nothing else was chosen."""
        keys = [key]
        for thread_id in [] if key.thread_id else await self.ledger.threads_with_sessions(key):
            thread = replace(key, thread_id=thread_id)
            if getattr(await self.settings.chosen(thread), what) is None:
                keys.append(thread)
        for one in keys:
            ended = await self.sessions.renew(one)
            if ended is not None:
                self.ended(ended)

    async def _mode(self, persona: Persona, name: str, request: CommandRequest) -> str:
        """`auto` asks nobody any more, so an owner chooses it, where an administrator listed it."""
        room, by = request.turn.room, request.asked.by
        modes = self._modes(persona)
        if not modes:
            return await self._told(persona, request)
        wanted = next((one for one in modes if one == name), None)
        if wanted is None and name != DEFAULT:
            refused = say("The mode {name} is not one of them", name=f"{quoted(name, 40)!r}")
            return f"{refused}. {await self._told(persona, request)}"
        if wanted == "auto" and not self.access.is_owner(room, by.id):
            await self.audit.note(
                "refuse", by, persona=persona.name, room=room, command="mode auto"
            )
            return say("{who}, `!mode auto` is for owners.", who=quoted(by.name, 80))
        mode_by = by.id if wanted else None
        await self.settings.choose(request.key(persona), by, mode=wanted, mode_by=mode_by)
        await self.audit.note("mode", by, persona=persona.name, room=room, mode=name)
        if wanted is None:  # most programs resume a session in the mode that it was in
            await self._begin_again(request.key(persona), "mode")
            return say(
                "@{persona} begins a new session here with its next turn, in no mode chosen.",
                persona=persona.name,
            )
        return say(
            "From its next turn on @{persona} is in mode `{wanted}` here.",
            persona=persona.name,
            wanted=wanted,
        )
