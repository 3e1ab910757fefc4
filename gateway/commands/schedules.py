"""`!every` and `!once`: a persona is asked again and again, or later."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from contract.chat import unaddressed
from contract.errors import MootError
from contract.language import phrase, say
from gateway.access.access import Access
from gateway.core.ledger import Turn
from gateway.core.quoting import number_in, quoted
from gateway.schedules.scheduled import Schedule
from gateway.schedules.schedules import Schedules
from gateway.turns.commands import CommandRequest
from store.rows import StoredMessage

TEXT_CHARS = 100
_VERBS = ("stop", "pause", "resume")
_NONE = phrase("Nothing is scheduled here. `!every weekday 9:00 summarise yesterday` does it.")


class ScheduleCommands:
    """Handles them."""

    def __init__(self, schedules: Schedules, access: Access, clock: Callable[[], datetime]) -> None:
        self._schedules = schedules
        self._access = access
        self._clock = clock

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        name, argument, turn, asked = request.name, request.argument, request.turn, request.asked
        if asked.by.kind != "human":
            return ""
        verb, _, which = argument.partition(" ")
        try:
            if not argument:
                return await self._list(turn)
            if verb.lower() in _VERBS:
                return await self._change(verb.lower(), which, turn, asked)
            return await self._make(unaddressed(argument), turn, asked, once=name == "once")
        except MootError as error:
            return error.say

    async def _list(self, turn: Turn) -> str:
        found = await self._schedules.rows.of_room(turn.room.id)
        if not found:
            return say(_NONE)
        lines = [say("Scheduled here (`!every stop 3` ends one, `pause` and `resume` likewise):")]
        return "\n".join([*lines, *(_line(one) for one in found)])

    async def _make(self, said: str, turn: Turn, asked: StoredMessage, *, once: bool) -> str:
        wanted = Schedule(
            room_id=turn.room.id,
            thread_id=asked.thread_id,
            bot=turn.bot,
            persona=turn.persona,
            timezone=self._schedules.zone.key,
            by=asked.by,
            created_at=self._clock(),
        )
        one = await self._schedules.make(wanted, said, once=once)
        often = say("once") if once else say("every {words}", words=one.words)
        text = quoted(one.text, TEXT_CHARS)
        return say(
            "⏰ Scheduled as {seq}: I ask @\u2060{persona} {often}: {text} (next: "
            "{moment}; `!every stop {seq}` ends it)",
            seq=one.seq,
            persona=one.persona,
            often=often,
            text=text,
            moment=_moment(one),
        )

    async def _change(self, verb: str, which: str, turn: Turn, asked: StoredMessage) -> str:
        seq = number_in(which.strip(" .!"))
        if seq is None:
            return say("Say which: `!every {verb} 3`; `!every` lists them.", verb=verb)
        one = await self._schedules.rows.get(seq)
        if one is None or one.room_id != turn.room.id:
            return say("Nothing is scheduled as {seq} here; `!every` lists what is.", seq=seq)
        if one.key is not None:
            return say("{seq} stands in moot.toml; an administrator changes it there.", seq=seq)
        if one.by.id != asked.by.id and not self._access.is_owner(turn.room, asked.by.id):
            return say(
                "Only {who}, who made {seq}, or an owner may do that.",
                who=quoted(one.by.name, 80),
                seq=seq,
            )
        match verb:
            case "stop":
                await self._schedules.end(one, asked.by)
                return say("Ended {seq}: {text}", seq=seq, text=quoted(one.text, TEXT_CHARS))
            case "pause":
                await self._schedules.pause(one, asked.by)
                return say("Paused {seq}; `!every resume {seq}` goes on.", seq=seq)
        due = await self._schedules.resume(one, asked.by)
        return (
            say("{seq} goes on; next: {at}.", seq=seq, at=_at(one, due))
            if due
            else say("The time of {seq} is over.", seq=seq)
        )


def _line(one: Schedule) -> str:
    often = (
        say("every {words}", words=one.words) if one.cron else say("once, {words}", words=one.words)
    )
    state = say("next {moment}", moment=_moment(one))
    if one.paused:
        state = say("paused: {why}", why=quoted(one.why, 200)) if one.why else say("paused")
    by = "moot.toml" if one.key is not None else quoted(one.by.name, 80)
    text = quoted(one.text, TEXT_CHARS)
    return say(
        "- {seq}: {often}, @\u2060{persona}: {text} ({state}; by {who})",
        seq=one.seq,
        often=often,
        persona=one.persona,
        text=text,
        state=state,
        who=by,
    )


def _moment(one: Schedule) -> str:
    return _at(one, one.due_at) if one.due_at else say("never")


def _at(one: Schedule, due: datetime) -> str:
    return f"{due.astimezone(ZoneInfo(one.timezone)):%a %Y-%m-%d %H:%M} {one.timezone}"
