"""A description in TOML made of what a program showed: pure, from frames to settings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise, takewhile
from typing import Any

from adapters.describing.reply_rows import ReplyPlace, reply_place
from adapters.describing.rows import (
    common_part,
    escaped,
    spinner,
    whole_row,
)
from adapters.describing.watch import Frame, WatchedPrompt
from adapters.profiles.generic import KEYS
from adapters.reading.choices import keys_on
from adapters.reading.reply import letters_of
from adapters.reading.standing import words_of
from contract.values import dataclass

FOOT_ROWS = 15  # an input box with its footer is not longer
BEGUN_S, ENDING_S = 0.15, 0.05  # frames so near to Enter and to the end show neither
BUSY_SHARE = 0.4  # of a turn's time, in which a row is seen that shows work
QUIET_S, QUIET_ALONE_S = 1.0, 2.0  # what is assumed without `quiet_s`


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was watched. idle: the frames before the first prompt. asked: a turn that perhaps
    asks for permission."""

    idle: Sequence[Frame]
    turns: Sequence[WatchedPrompt]
    cols: int
    started_s: float = 0.0
    asked: WatchedPrompt | None = None


@dataclass(slots=True)
class ProposedSettings:
    """settings: of [agents.NAME.settings]. notes: what could not be seen."""

    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def propose(seen: Seen) -> ProposedSettings:
    """The settings that fit what was seen."""
    proposal = ProposedSettings()
    settings = proposal.settings
    chrome = _chrome(seen)
    busy, busy_row = _busy(seen)
    ready = _ready(seen, chrome)
    settings["ready"] = whole_row(ready, _cursor_in(seen.idle[-1], ready))
    finals = _finals(seen)
    if all(frame.filled[-1:] == (ready,) for frame in finals):
        settings["ready_last_row"] = True
    if seen.started_s > 5:
        settings["ready_still_s"] = round(2 * seen.started_s + 5, 1)
    title = _title(seen)
    settings |= {"busy": busy} if busy else {}
    settings |= {"busy_title": title} if title else {}
    if not busy and not title:
        proposal.notes.append("no row and no title shows that it works: only quiet ends a turn")
    place = reply_place(seen.turns, len(chrome), seen.cols)
    settings |= _reply(place)
    proposal.notes += place.notes
    if box := _box(chrome, ready, busy_row):
        settings["box"] = box
    pause_s = 1.5 * max(map(_longest_gap, seen.turns), default=0.0)
    if not busy and pause_s > (QUIET_S if title else QUIET_ALONE_S):
        settings["quiet_s"] = round(pause_s, 1)
    settings["interrupt"] = [_interrupt(seen)]
    if seen.asked:
        _permission(seen, chrome, proposal)
    return proposal


def _title(seen: Seen) -> str:
    """A pattern of the titles that it has at work and not at rest; "": there is none."""
    return spinner(
        (frame.title for turn in seen.turns for frame in _at_work(turn)),
        (frame.title for frame in (*seen.idle, *(turn.end for turn in seen.turns))),
    )


def _reply(place: ReplyPlace) -> dict[str, Any]:
    found = {
        "echo": place.echo,
        "reply": place.bullet,
        "margin": place.margin,
        "spare": place.spare,
        "aside": place.aside,
    }
    return {key: value for key, value in found.items() if value}


def _finals(seen: Seen) -> list[Frame]:
    return [seen.idle[-1], *(turn.end for turn in seen.turns)]


def _chrome(seen: Seen) -> tuple[str, ...]:
    """The rows at the bottom that are the same whenever it waits: its box, its footer."""
    from_below = zip(*(reversed(frame.filled) for frame in _finals(seen)), strict=False)
    same = takewhile(lambda rows: len({escaped(row) for row in rows}) == 1, from_below)
    rows = [rows[0] for rows in same][:FOOT_ROWS]
    while rows and not rows[-1]:
        rows.pop()
    return tuple(reversed(rows))


def _at_work(turn: WatchedPrompt) -> list[Frame]:
    """The frames between Enter and the end."""
    end = turn.done_s - ENDING_S
    return [frame for frame in turn.frames[:-1] if BEGUN_S <= frame.at <= end]


def _shares(turn: WatchedPrompt) -> Iterator[tuple[Frame, float]]:
    """Each frame at work with its share of that time."""
    frames = _at_work(turn)
    if not frames:
        return
    ends = [*(frame.at for frame in frames[1:]), turn.done_s]
    span = turn.done_s - frames[0].at
    for frame, end in zip(frames, ends, strict=True):
        yield frame, (end - frame.at) / (span or 1.0)


def _ready(seen: Seen, chrome: Sequence[str]) -> str:
    """The row by which it is known to wait: one that is not there while it works, if there is."""
    rows = [row for row in chrome if row] or [row for row in seen.idle[-1].filled if row][-1:]
    shown = dict.fromkeys(rows, 0.0)
    for turn in seen.turns:
        for frame, share in _shares(turn):
            for row in set(rows) & set(frame.rows):
                shown[row] += share
    least = min(shown[row] for row in rows)
    best = [row for row in rows if shown[row] <= least + 0.1]
    cursor = seen.idle[-1].rows[seen.idle[-1].cursor[1]]
    if cursor in best:
        return cursor
    return next((row for row in best if words_of(row)), best[-1])


def _cursor_in(frame: Frame, row: str) -> int:
    x, y = frame.cursor
    return x if frame.rows[y] == row else 0


def _busy(seen: Seen) -> tuple[str, str]:
    """A pattern for the row that shows that it works, and for the row's beginning; else ""."""
    quiet = [*seen.idle, *(turn.end for turn in seen.turns)]
    resting = {words_of(row) for frame in quiet for row in frame.rows}
    found: dict[str, float] = {}
    raw: dict[str, set[str]] = {}
    for turn in seen.turns:
        typed = words_of(turn.prompt)
        final = words_of("".join(turn.end.rows))
        shares: defaultdict[str, float] = defaultdict(float)
        for frame, share in _shares(turn):
            for words, row in {words_of(row): row for row in frame.rows}.items():
                if len(words) > 2 and words not in resting and words not in typed + " " + final:
                    shares[words] += share
                    raw.setdefault(words, set()).add(row)
        for words, share in shares.items():
            found[words] = max(found.get(words, 0.0), share)
    for words in sorted(found, key=lambda words: -found[words]):
        part = common_part([row.strip() for row in raw[words]])
        pattern = escaped(part)
        if found[words] < BUSY_SHARE or len(words_of(part)) < 3:
            continue
        if not any(re.search(pattern, row) for frame in quiet for row in frame.rows):
            before = {row[: row.find(part)] for row in raw[words]}
            blank = len(before) == 1 and not before.copy().pop().strip()
            return pattern, escaped(before.pop() + part) if blank else f".*{pattern}"
    return "", ""


def _box(chrome: Sequence[str], ready: str, busy_row: str) -> str:
    """The first row of what stands below a reply, where `ready` alone doesn't tell."""
    top = next((row for row in chrome if row), ready)
    row = escaped(top)
    if top != ready:
        return f"{row}$"
    others = [one for one in chrome if one]
    return f"{row}$|{busy_row}" if busy_row and len(others) > 1 else ""


def _longest_gap(turn: WatchedPrompt) -> float:
    """The longest time in mid-turn in which nothing changed."""
    times = [0.0, *(frame.at for frame in turn.frames if frame.at <= turn.done_s)]
    return max((later - one for one, later in pairwise(times)), default=0.0)


_KEYS = re.compile(
    r"(?i)(?<!\w)(esc(?:ape)?|ctrl[ +-]?c|\^c)\b[^\w]*(?:to |: ?)?"
    r"(?:stop|interrupt|cancel|abort|break)"
)


def _interrupt(seen: Seen) -> str:
    """The key that stops it: as it says itself, else what works in its kind of program."""
    turns = [*seen.turns, *([seen.asked] if seen.asked else [])]
    frames = [*seen.idle, *(frame for turn in turns for frame in turn.frames)]
    for frame in frames:
        for row in frame.rows:
            if match := _KEYS.search(row):
                return "esc" if match[1].lower().startswith("esc") else "ctrl-c"
    return "ctrl-c" if all(frame.lines for frame in frames) else "esc"


# ── Its questions ───────────────────────────────────────────────────────────────────────

_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|“[^”]*”")
_NAMED = re.compile(r"\S*[/.\\]\S*\w")


def question_rows(seen: Seen, chrome: Sequence[str]) -> list[str]:
    """The rows that are new at the end of the turn that perhaps asks."""
    assert seen.asked
    known = Counter(words_of(row) for row in seen.asked.typed.rows)
    typed = words_of(seen.asked.prompt)
    end = seen.asked.end.filled
    rest = {words_of(row) for row in chrome}
    rows = []
    for row in end:
        words = words_of(row)
        if known[words]:
            known[words] -= 1
        elif words and words not in typed and words not in rest:
            rows.append(row)
    return rows


def refusing_keys(seen: Seen) -> bytes:
    """What ends a question of the asked turn: its refusal, else what interrupts."""
    named = keys_on(question_rows(seen, _chrome(seen)))
    refusals = [key for option, key in named if option.refuses]
    return refusals[0] if refusals else KEYS[_interrupt(seen)]


def _permission(seen: Seen, chrome: Sequence[str], proposal: ProposedSettings) -> None:
    rows = question_rows(seen, chrome)
    asking = next((row for row in reversed(rows) if "?" in row), None)
    if asking is None and not keys_on(rows):
        proposal.notes.append("the prompt for permission led to no question that I can see")
        return
    asking = asking or rows[0]
    pattern = _question_pattern(asking)
    others = [row for turn in seen.turns for frame in turn.frames for row in frame.rows]
    if any(re.search(pattern, row) for row in others):
        pattern = whole_row(asking)
    proposal.settings["permission"] = pattern
    named = keys_on(rows[rows.index(asking) :])
    if not named:
        proposal.notes.append(
            "the question's keys could not be read: the room will see its rows, and allow by Enter "
            "or refuse by what interrupts; `choices` names the keys"
        )


def _question_pattern(row: str) -> str:
    """The question with other commands and files in it."""
    asked = row[: row.find("?") + 1] or row
    parts, at = [], 0
    for found in sorted(
        (*_QUOTED.finditer(asked), *_NAMED.finditer(asked)), key=lambda match: match.start()
    ):
        if found.start() < at:
            continue
        parts += [escaped(asked[at : found.start()]), ".+"]
        at = found.end()
    whole = "".join([*parts, escaped(asked[at:])])
    return f"^{whole}" if letters_of(whole) else whole
