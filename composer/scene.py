"""Where, when and who: the session context and the invocation, and times as the room reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from composer import headings
from composer.budget import Part, Record
from composer.guard import label
from composer.labels import Labels, at_name, joined, same_bot
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
    agent = label(briefing.agent, AGENT_CHARS)
    time = local(briefing.at, where).isoformat(sep=" ", timespec="minutes")[:16]
    units = [
        f"Room: {_room(briefing, labels)}{_project(briefing)}",
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
    name = label(room.name, ROOM_CHARS).lstrip("# ")
    if not name and room.kind == "room":
        name = label(room.external_id, ROOM_CHARS).lstrip("# ") or "unnamed"
    return name and f"#{name}"


def _room(briefing: Briefing, labels: Labels) -> str:
    if channel := _channel(briefing):
        return channel
    if briefing.room.kind == "gdm":
        return f"group direct message with {_addressees(briefing, (), labels)}"
    return f"direct message with {labels.listed(briefing.triggered_by)}"


def _project(briefing: Briefing) -> str:
    project = label(briefing.room.project or "")
    return f" (project: {project})" if project else ""


def _participants(
    briefing: Briefing, messages: Sequence[TranscriptLine], labels: Labels, record: Record
) -> list[str]:
    """The roster, else who spoke in the window and who triggered; no line for nobody."""
    senders = (*(line.by for line in messages), briefing.triggered_by)
    people = _distinct(briefing.participants or senders, without=briefing.you)
    shown = people[: briefing.budget.participants_shown]
    names = [labels.listed(one) + _role(one) for one in shown]
    more = people[len(shown) :]
    if more:
        names.append(f"+{len(more)} more")
        what = f"{len(more)} participants after the first {len(shown)}"
        record.note(headings.SESSION, what, sum(len(one.name) for one in more))
    return [f"Participants: {', '.join(names)}"] if names else []


def _role(speaker: Speaker) -> str:
    role = label(speaker.role or "") if speaker.kind != "bot" else ""
    return f" ({role})" if role else ""


def _distinct(speakers: Iterable[Speaker], without: Speaker) -> list[Speaker]:
    """Each id once, in order; not this bot, under whichever of its ids."""
    by_id: dict[str, Speaker] = {}
    for speaker in speakers:
        by_id.setdefault(speaker.id, speaker)
    return [speaker for speaker in by_id.values() if not same_bot(speaker, without)]


def invocation(briefing: Briefing, messages: Sequence[TranscriptLine], labels: Labels) -> Part:
    """The one task: whom to answer, and where."""
    place = "this direct message"
    if channel := _channel(briefing):
        place = f"room {channel}"
    elif briefing.room.kind == "gdm":
        place = "this group direct message"
    task = f"Respond to {_addressees(briefing, messages, labels)} in {place}."
    if briefing.only_mention:
        task += " (The message was only a mention.)"
    return Part(headings.INVOCATION, "trigger", headings.HEADINGS[headings.INVOCATION], [task])


def _addressees(briefing: Briefing, messages: Sequence[TranscriptLine], labels: Labels) -> str:
    """Who triggered, then the other people who spoke since."""
    since = briefing.spoke_since or _since_trigger(briefing, messages)
    others = [
        one
        for one in _distinct(since, without=briefing.you)
        if one.kind != "bot" and one.id != briefing.triggered_by.id
    ]
    names = [_asker(briefing, labels), *map(labels.name, others)]
    if len(names) > ADDRESSEES_SHOWN:
        more = len(names) - ADDRESSEES_SHOWN
        names = [*names[:ADDRESSEES_SHOWN], f"{more} more"]
    return joined(names)


def _asker(briefing: Briefing, labels: Labels) -> str:
    asker = briefing.triggered_by
    if asker.kind != "bot":
        return labels.name(asker)
    hop, hops = max(briefing.hop, 1), max(briefing.max_hops, briefing.hop, 1)
    return f"{at_name(asker.name)} (bot, hop {hop} of {hops})"


def _since_trigger(briefing: Briefing, messages: Sequence[TranscriptLine]) -> list[Speaker]:
    """Who wrote the first message that asked, and everything after it."""
    first = next((i for i, line in enumerate(messages) if line.id in briefing.trigger_ids), None)
    return [] if first is None else [line.by for line in messages[first:]]


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
