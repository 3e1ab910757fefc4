"""Where, when and who: the session context and the invocation, and times as the room reads them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from composer import headings
from composer.budget import Part, Record
from composer.guard import label
from composer.labels import Labels, at_name, display_role, display_room, joined
from contract.briefing import Briefing, TranscriptLine
from contract.chat import Speaker
from contract.errors import ConfigError

ROOM_CHARS = 100
AGENT_CHARS = 100
ADDRESSEES_SHOWN = 20

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
_OF_THIS_MACHINE = {"localtime", "posixrules", "Factory"}


def session(
    briefing: Briefing,
    messages: Sequence[TranscriptLine],
    labels: Labels,
    where: tzinfo,
    record: Record,
) -> Part:
    """Room, participants, this persona and the trigger's time."""
    room = _channel(briefing)
    if not room and briefing.room.kind == "gdm":
        room = f"group direct message with {_addressees(briefing, (), labels)}"
    elif not room:
        room = f"direct message with {labels.listed[briefing.triggered_by]}"
    project, agent = label(briefing.room.project or ""), label(briefing.agent, AGENT_CHARS)
    time = local(briefing.at, where).isoformat(sep=" ", timespec="minutes")[:16]
    units = [
        f"Room: {room}{f' (project: {project})' if project else ''}",
        *_participants(briefing, messages, labels, record),
        f"You are: {at_name(briefing.you.name)}{f' ({agent})' if agent else ''}",
        f"Time: {time} {briefing.timezone}",
    ]
    source = "roster" if briefing.participants else "senders"
    return Part(headings.SESSION, source, headings.HEADINGS[headings.SESSION], units)


def _channel(briefing: Briefing) -> str:
    """`#name`, or nothing for a direct message and for a group without a name."""
    room = briefing.room
    if not room.is_shared:
        return ""
    name = display_room(room.name, ROOM_CHARS)
    if not name and room.kind == "room":
        name = display_room(room.external_id, ROOM_CHARS) or "unnamed"
    return name and f"#{name}"


def _participants(
    briefing: Briefing, messages: Sequence[TranscriptLine], labels: Labels, record: Record
) -> list[str]:
    """The roster, else who spoke in the window and who triggered; no line for nobody."""
    you, senders = briefing.you, (*(line.by for line in messages), briefing.triggered_by)
    people = [
        one
        for one in _distinct(briefing.participants or senders)
        if one.id != you.id and labels.who[one] != labels.who[you]
    ]
    shown = people[: briefing.budget.participants_shown]
    names = []
    for one in shown:
        role = display_role(one.role or "") if one.kind != "bot" else ""
        names.append(f"{labels.listed[one]} ({role})" if role else labels.listed[one])
    more = people[len(shown) :]
    if more:
        names.append(f"+{len(more)} more")
        what = f"{len(more)} participants after the first {len(shown)}"
        record.note(headings.SESSION, what, sum(len(one.name) for one in more))
    return [f"Participants: {', '.join(names)}"] if names else []


def _distinct(speakers: Iterable[Speaker]) -> Iterable[Speaker]:
    """The speakers, each id once, in order."""
    by_id: dict[str, Speaker] = {}
    for speaker in speakers:
        by_id.setdefault(speaker.id, speaker)
    return by_id.values()


CUT_OFF = (
    "(This is your second try: you were cut off. What you had begun may be half done: look before "
    "you do it again.)"
)


def invocation(
    briefing: Briefing,
    messages: Sequence[TranscriptLine],
    asked: Collection[str],
    labels: Labels,
    where: tzinfo,
) -> Part:
    """The one task: whom to answer, where, and to which message if others stand after it.

    asked: the ids of the messages that asked.
    """
    place = "this direct message"
    if channel := _channel(briefing):
        place = f"room {channel}"
    elif briefing.room.kind == "gdm":
        place = "this group direct message"
    task = f"Respond to {_addressees(briefing, messages, labels)} in {place}"
    newest = next((line for line in reversed(messages) if line.id in asked), None)
    if newest is not None and newest is not messages[-1]:
        task += f", to {_which(newest, messages, where)}"
    task += "."
    if briefing.only_mention:
        task += " (The message was only a mention.)"
    if briefing.cut_off:
        task += f" {CUT_OFF}"
    return Part(headings.INVOCATION, "trigger", headings.HEADINGS[headings.INVOCATION], [task])


def _which(asked: TranscriptLine, messages: Sequence[TranscriptLine], where: tzinfo) -> str:
    """A message by its time; among several of that person and minute by those that follow it, for
    what is trimmed are the older ones."""
    time = f"{local(asked.at, where):%H:%M}"
    alike = [
        line
        for line in messages
        if line.by.id == asked.by.id and f"{local(line.at, where):%H:%M}" == time
    ]
    later = len(alike) - alike.index(asked) - 1
    which = (
        f"{later} of theirs follow{'s' * (later == 1)} in that minute"
        if later
        else "their last in that minute"
    )
    return f"the message of {time}{f' ({which})' if len(alike) > 1 else ''}"


def _addressees(briefing: Briefing, messages: Sequence[TranscriptLine], labels: Labels) -> str:
    """The sender of the trigger, then the others who spoke since the first message that asked."""
    asker, since = briefing.triggered_by, briefing.spoke_since
    if not since:
        asked = (i for i, line in enumerate(messages) if line.id in briefing.trigger_ids)
        since = tuple(line.by for line in messages[next(asked, len(messages)) :])
    name = labels.name[asker]
    if asker.kind == "bot":
        hop, hops = max(briefing.hop, 1), max(briefing.max_hops, briefing.hop, 1)
        name = f"{labels.at[asker]} (bot, hop {hop} of {hops})"
    answered = (asker.id, briefing.you.id)
    others = [one for one in _distinct(since) if one.kind != "bot" and one.id not in answered]
    names = [name, *(labels.name[one] for one in others)]
    if len(names) > ADDRESSEES_SHOWN:
        more = len(names) - ADDRESSEES_SHOWN
        names = [*names[:ADDRESSEES_SHOWN], f"{more} more"]
    return joined(names)


# ── Times ───────────────────────────────────────────────────────────────────────────────


def zone(name: str) -> tzinfo:
    """The IANA time zone of that name. Raises ConfigError."""
    if _KEY.fullmatch(name) and name not in _OF_THIS_MACHINE:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):  # unknown; malformed data; a folder such as Asia
            pass
    raise ConfigError(f"timezone: {name[:80]!r} is no IANA time zone; write e.g. Asia/Jakarta")


def local(at: datetime, where: tzinfo) -> datetime:
    """The same moment on the room's clocks; unchanged within a day of the calendar's ends."""
    if at.tzinfo is None:
        raise ConfigError("a time without its offset from UTC; write e.g. 2026-04-21T14:02+07:00")
    try:
        return at.astimezone(where)
    except OverflowError:
        return at
