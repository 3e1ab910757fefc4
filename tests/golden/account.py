"""Writes down what came of a golden case: a text that people can read and a machine can compare.

It has four parts: what each agent was given, byte for byte; what each bot was asked to do, the
calls of a room in their order; what the HTTP API said; and what stands in the database. Of its rows
columns are taken by name: a column more changes nothing.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from contract.chat import Destination
from tests.golden.script import Case
from tests.golden.stage import START, Came, Prompt

Row = Mapping[str, Any]
JOINER = "\u2060"
NOBODY = "-"

_ID = re.compile(
    r"\b(?:(?:[0-9a-f]{16}){1,2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
    r"|(?<=config_sha256\\\":\\\")[0-9a-f]+"
)
_DURATION = re.compile(r"\b\d+(?:\.\d+)?( ms\b| s of work\b)")
_TOOK = re.compile(r"- It took (?:less than a second|\d+ s)\.")
_UNTIL = re.compile(r"(- What was said: .*\d\d:\d\d to )\d\d:\d\d")
_DATE = re.compile(r"(?<!\d)(20\d\d-\d\d-\d\d)(?:( at)?([ T])\d\d:\d\d(?::[\d.]+)?)?")
CALLERS = ("Ana", "ana")  # whose messages the HTTP API stamps


class Mask:
    """Replaces what differs from one run to the next, and nothing else:

    - ids of turns (random) by `<turn 1>`, `<turn 2>` in the order of the turns,
    - codes of pairings (random) by `<code 1>`, other random ids by `<id>`,
    - the folder of the run, and what a scope's or an agent's folder is called in it,
    - times of the clock: durations (`<n> ms`, `<n> s`), dates other than those on which the case
      is played, with the time behind them (`<date> <now>`), and the minute of what is said in a
      transcript by ourselves or by the HTTP API (`[<now> | demo]`).

    Times of people's messages are the case's own, see stage.START, and are kept.
    """

    def __init__(
        self, folder: Path, turns: Sequence[Row], codes: Sequence[str], own: Sequence[str]
    ) -> None:
        """own: names of those whose messages are stamped by the clock."""
        self._words = {str(row["id"]): f"<turn {n}>" for n, row in enumerate(turns, 1)}
        self._words |= {code: f"<code {n}>" for n, code in enumerate(codes, 1)}
        self._words[str(folder)] = "<folder>"
        names = "|".join(map(re.escape, own))
        self._own_line = re.compile(rf"\[\d\d:\d\d( \| (?:{names})\b)")

    def __call__(self, text: str) -> str:
        """The text without what differs."""
        for word, shown in self._words.items():
            text = text.replace(word, shown)
        text = _DURATION.sub(r"<n>\1", self._own_line.sub(r"[<now>\1", text))
        text = _UNTIL.sub(r"\1<now>", _TOOK.sub("- It took <n> s.", text))
        return _ID.sub("<id>", _DATE.sub(_date, text))


def _date(found: re.Match[str]) -> str:
    date, at, blank = found.groups()
    if date.startswith(f"{START:%Y-%m}"):
        return found[0]
    return f"<date>{at or ''}{blank}<now>" if blank else "<date>"


def account(case: Case, came: Came, folder: Path) -> str:
    """The whole of it."""
    parts = [f"{case.about}\n", *_prompts(came), *_platform(case, came), *_replies(came)]
    personas = (*case.personas, *(name for names in case.siblings.values() for name in names))
    own = ("moot", *personas, *CALLERS)
    return written(parts, folder / "moot.db", folder, own, came.prompts)


def written(
    parts: Sequence[str],
    database: Path,
    folder: Path,
    own: Sequence[str],
    prompts: Sequence[Prompt] = (),
) -> str:
    """These parts and what stands in the database. folder, own: see Mask."""
    with closing(sqlite3.connect(database)) as opened:
        opened.row_factory = sqlite3.Row
        tables = {
            name: [dict(row) for row in opened.execute(f'SELECT * FROM "{name}" ORDER BY rowid')]
            for name in TABLES
        }
    mask = Mask(folder, tables["turns"], [str(row["code"]) for row in tables["pairings"]], own)
    said = sorted(tables["messages"], key=lambda row: str(row["room_id"]))  # a room's are in order
    parts = [
        *parts,
        f"══ messages ══\n\n{_blocks(_message(row) for row in said)}",
        f"══ turns ══\n\n{_blocks(_turns(tables, prompts))}",
        *(_rest(name, columns, tables) for name, columns in TABLES.items()),
    ]
    return visible(mask("\n".join(part for part in parts if part)))


# ── Texts ───────────────────────────────────────────────────────────────────────────────────


def visible(text: str) -> str:
    """Characters that nobody sees, as `⟦2060⟧`; the text can be read back from it."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    hidden = char == "⟦" or (char not in "\n\t" and unicodedata.category(char) in HIDDEN)
    return f"⟦{ord(char):04X}⟧" if hidden else char


HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def _quoted(text: str) -> str:
    """Every line of a text behind a bar: an empty last line is one, too."""
    return "\n".join(f"  │{line}" for line in text.split("\n"))


def _blocks(blocks: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{block}\n\n" for block in blocks)


# ── What agents and platforms were given ────────────────────────────────────────────────────


def _prompts(came: Came) -> Iterator[str]:
    yield "══ prompts ══\n"
    numbers: Counter[str] = Counter()
    for prompt in sorted(came.prompts, key=lambda one: one.persona):  # those of one are in order
        numbers[prompt.persona] += 1
        yield f"prompt {numbers[prompt.persona]} of {prompt.persona}\n{_quoted(prompt.text)}\n"


def _platform(case: Case, came: Came) -> Iterator[str]:
    yield "══ platform ══\n"
    for event in sorted(came.events, key=lambda one: one.place.room.id):  # a room's are in order
        result = f" → {event.result}" if event.result else ""
        text = f"\n{_quoted(event.text)}" if event.text else ""
        yield f"{event.bot}: {event.act} {_place(event.place)}{result}{text}\n"
    if case.marks:
        yield "\n".join(f"mark on {of}: {mark}" for of, mark in sorted(came.marks.items())) + "\n"


def _place(place: Destination) -> str:
    found = [f"in {place.room.id}"]
    if place.thread_id:
        found.append(f"thread {place.thread_id}")
    if place.voice:
        found.append(
            f"as {place.voice.name}" + f" ({place.voice.avatar})" * bool(place.voice.avatar)
        )
    if place.only_for:
        found.append(f"only for {place.only_for}")
    return ", ".join(found)


def _replies(came: Came) -> Iterator[str]:
    if came.replies:
        yield "══ HTTP API ══\n"
    for call, status, body in came.replies:
        yield f"{call.method} {call.path} → {status}"
        for name, value in body.items():
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{name}:\n{_quoted(said)}"
        yield ""


# ── What stands in the database ─────────────────────────────────────────────────────────────


def who(persona: str | None) -> str:
    """Whose turn or message it is. One that is no persona's has no name here, however it is stored:
    without any, or with one that no persona can have."""
    return str(persona) if re.fullmatch(r"[a-z][a-z0-9_-]*", persona or "") else NOBODY


def scope(stored: str) -> str:
    """A scope. That of a direct message in which no persona takes part ends in nobody's name."""
    return re.sub(r"^(dm:.*):(nobody)?$", rf"\1:{NOBODY}", stored)


def _message(row: Row) -> str:
    told = [f"{row['message_id']} in {row['room_id']}"]
    told.append(f"by {row['sender_id']} {row['sender_name']!r} {row['sender_type']}")
    told.append(f"scope {scope(row['scope'])}")
    if row["hop"]:
        told.append(f"hop {row['hop']}")
    optional = ("thread_id", "reply_to", "mention", "turn_id")
    told += [f"{name} {row[name]}" for name in optional if row[name] is not None]
    if row["persona"] is not None and who(row["persona"]) != NOBODY:
        told.append(f"persona {row['persona']}")
    if not row["include_in_memory"]:
        told.append("not remembered")
    told += [word for word in ("edited", "deleted") if row[f"{word}_at"] is not None]
    lines = [", ".join(told), _quoted(row["content"])]
    if row["original"] is not None:
        lines += ["  first:", _quoted(row["original"])]
    if files := json.loads(row["attachments"]):
        lines.append(f"  files: {json.dumps(files, ensure_ascii=False, sort_keys=True)}")
    if json.loads(row["meta"]).get("trigger_rag") is False:
        lines.append("  asks for no recall")
    return "\n".join(lines)


def _turns(tables: Mapping[str, Sequence[Row]], prompts: Sequence[Prompt]) -> Iterator[str]:
    given: dict[str, list[str]] = {}
    for prompt in prompts:
        given.setdefault(prompt.persona, []).append(prompt.text)
    ids = {row["seq"]: str(row["message_id"]) for row in tables["messages"]}
    for row in tables["turns"]:
        yield "\n".join(_turn(row, ids[row["message_seq"]], tables["posts"], given))


def _turn(
    row: Row, message_id: str, posts: Sequence[Row], given: Mapping[str, list[str]]
) -> Iterator[str]:
    told = [f"{row['id']} of message {message_id}: {who(row['persona'])}"]
    told.append(f"bot {row['bot']}, room {row['room_id']}, scope {scope(row['scope'])}")
    told.append(f"thread {row['thread_id'] or '-'}, hop {row['hop']}")
    yield ", ".join(told)
    yield "  states: " + " ".join(name for name, _ in json.loads(row["states"]))
    for name in ("fault", "ended_by", "answer_source"):
        yield f"  {name}: {row[name] or '-'}"
    yield from _record(json.loads(row["record"] or "{}") or {})
    yield from _header(row, given)
    if row["answer"] is not None:
        yield f"  answer:\n{_quoted(row['answer'])}"
    mine = [post for post in posts if post["turn_id"] == row["id"]]
    for post in sorted(mine, key=lambda one: one["number"]):
        drafted = ", drafted" if post["drafted"] else ""
        key = f"{post['key']} {post['kind']} {post['state']} {post['platform_id'] or '-'}{drafted}"
        yield f"  post {key}:\n{_quoted(post['text'])}"


def _record(record: Row) -> Iterator[str]:
    """What is kept of how it was made, but for its sections' texts, times and what was late."""
    kept = {
        name: value
        for name, value in record.items()
        if name not in ("timings", "sections", "memory")
    }
    for one in record.get("sections", ()):
        yield f"  section: {one['name']}, {one['source']}"
    for name, value in sorted(kept.items()):
        yield f"  {name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}"


def _header(row: Row, given: Mapping[str, list[str]]) -> Iterator[str]:
    """The stored header: mostly it is a prompt, which is not written down twice."""
    header = row["header"]
    if header is None:
        yield "  header: none"
        return
    prompts = given.get(row["persona"], [])
    for number, prompt in enumerate(prompts, 1):
        for how, text in (("", prompt), (f" without {JOINER}", prompt.replace(JOINER, ""))):
            if header == text:
                yield f"  header: prompt {number} of {row['persona']}{how}"
                return
    yield f"  header:\n{_quoted(header)}"


TABLES: Mapping[str, Sequence[str]] = {
    "messages": (),
    "turns": (),
    "posts": (),
    "pairings": ("person_id", "room_id", "persona", "bot", "state", "by_id"),
    "decisions": ("turn_id", "question", "chosen", "by"),
    "landmarks": ("seq", "scope", "kind", "text", "by_id", "by_name", "author_id"),
    "refusals": ("room_id", "person_id", "reason"),
    "grants": ("person_id", "role", "room_id", "persona", "within", "by_id"),
    "sessions": ("persona", "scope", "agent", "agent_session_id"),
    "audit": ("act", "by_id", "persona", "room_id", "turn_id", "detail"),
    "facts": ("scope", "kind", "text", "person", "origin", "shared_from"),
    "episodes": ("scope", "first_seq", "last_seq", "text", "plain"),
    "usage": ("turn_id", "person_id", "room_id", "persona", "agent", "input_tokens"),
    "room_settings": ("scope", "persona", "model", "by_id"),
}
"""Tables by name, and those of their columns that are written down row by row."""


def _rest(name: str, columns: Sequence[str], tables: Mapping[str, Sequence[Row]]) -> str:
    if not columns or not tables[name]:
        return ""
    turns = {row["id"]: number for number, row in enumerate(tables["turns"])}
    stored = tables[name]
    if "turn_id" in columns:  # those of two turns at once come in any order
        stored = sorted(stored, key=lambda row: turns.get(row["turn_id"], -1))
    if name == "sessions":  # kept by whoever was done first
        stored = sorted(stored, key=lambda row: (str(row["persona"]), str(row["scope"])))
    rows = (", ".join(f"{c}={_value(c, row[c])}" for c in columns) for row in stored)
    return f"══ {name} ══\n\n" + "".join(f"{row}\n" for row in rows)


def _value(column: str, value: Any) -> str:
    if column == "persona":
        return who(value)
    if column == "scope":
        return scope(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
