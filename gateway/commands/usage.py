"""`!usage`: what agents took, told to whom it concerns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo

from contract.language import say, say_count
from contract.values import dataclass
from gateway.access.access import TRUSTED, Access
from gateway.core.quoting import quoted
from gateway.limits.counters import start_of
from gateway.limits.usage import Sum, UsageBook
from gateway.turns.commands import CommandRequest

TOP = 10
NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class UsageCommands:
    """Carries `!usage` out: a hand of gateway/turns/commands.py."""

    usage: UsageBook
    access: Access
    clock: Callable[[], datetime]
    zone: tzinfo

    async def run(self, request: CommandRequest) -> str:
        """The reply, in Markdown. Everybody's is told to owners, alone or on the page."""
        turn, asked = request.turn, request.asked
        now = self.clock()
        day, month = (start_of(window, now, self.zone) for window in ("day", "month"))
        mine, room = {"person_id": asked.by.id}, {"room_id": turn.room.id}
        lines = [
            say("You today: {told}", told=told(await self.usage.total(day, **mine))),
            say("You this month: {told}", told=told(await self.usage.total(month, **mine))),
            say("Here this month: {told}", told=told(await self.usage.total(month, **room))),
        ]
        personas = await self.usage.sums(month, "persona", **room)
        lines += [f"- @{one.key}: {told(one)}" for one in personas[:TOP]]
        alone = turn.room.kind == "dm" or turn.room.source in TRUSTED
        if alone and self.access.is_owner_everywhere(turn.room, asked.by.id):
            lines += await self._everybody(month)
        return "\n".join(lines)

    async def _everybody(self, since: datetime) -> list[str]:
        people = await self.usage.sums(since, "person_id")
        if not people:
            return []
        told_of = [f"{n}. {quoted(p.name, NAME_CHARS)}: {told(p)}" for n, p in enumerate(people, 1)]
        return ["", say("Everybody this month:"), *told_of[:TOP]]


def told(one: Sum) -> str:
    """A sum in a few words."""
    parts = [say_count(one.turns, "{n} question", "{n} questions", n=f"{one.turns:,}")]
    if one.input_tokens is not None or one.output_tokens is not None:
        parts.append(say("{tokens} tokens", tokens=f"{one.tokens:,}"))
    if one.cost_usd is not None:
        parts.append(f"{one.cost_usd:,.2f} USD")
    if one.turns:
        parts.append(say("{clock} of work", clock=_clock(one.seconds)))
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return (
        say("{minutes} min", minutes=minutes)
        if minutes < 60
        else say("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)
    )
