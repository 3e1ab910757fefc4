"""Summaries without a model: lines of the conversation itself, chosen by rule. Deterministic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memory.readable import ReadableMessage
from memory.summaries.prompts import cut_at_sentence, flattened, labels
from memory.summaries.rows import SessionRecord

PLAIN_CHARS = 1_500
NOTE = "made without a model"

_FIRST = "Lines of the conversation, chosen without a model."
_LINE_CHARS = 160
_SHOWN = 3  # decisions, questions, last lines: of each the newest
_BEFORE_CHARS = 300  # of the summary before it, if that is all the room there is
_DECIDED = re.compile(
    r"\b(?:decid(?:ed|e)|agreed?|settled|we(?:'ll| will) (?:use|go|do|keep|take)|let'?s (?:use|go "
    r"with|keep|take)|go(?:ing)? with|resolved|chose|chosen|approved|beschlossen|"
    r"entschieden|einigt|vereinbart|décidé|decidido|diputuskan|sepakat)\b",
    re.IGNORECASE,
)


def plain_summary(before: str, said: Sequence[ReadableMessage]) -> str:
    """What can be told of some messages, at least one, by quoting; PLAIN_CHARS at most.

    before: the summary that it takes the place of; what there is room for stays.
    """
    names = labels(said)
    count = Counter(names[one.by.id] for one in said)
    people = ", ".join(f"{name} {number}" for name, number in count.most_common(8))
    span = f"{said[0].at:%Y-%m-%d %H:%M} to {said[-1].at:%Y-%m-%d %H:%M} UTC"
    rows = [_FIRST, f"{span}, {len(said)} message{'' if len(said) == 1 else 's'}: {people}."]
    human = [one for one in said if one.by.kind == "human"]
    decided = [one for one in said if _DECIDED.search(one.text)]
    asked = [one for one in human if "?" in one.text]
    for title, chosen in (
        ("First request", human[:1]),
        ("Decisions, by their wording", decided[-_SHOWN:]),
        ("Questions", asked[-_SHOWN:]),
        ("Last lines", said[-_SHOWN:]),
    ):
        if chosen:
            rows += [f"{title}:", *(_quoted(one, names, title) for one in chosen)]
    text = "\n".join(rows)
    room = PLAIN_CHARS - len("\nBefore that: ")
    if earlier := flattened(before.removeprefix(_FIRST)):
        text = _cut(text, room - min(len(earlier), _BEFORE_CHARS))
        return f"{text}\nBefore that: {cut_at_sentence(earlier, room - len(text))}"
    return _cut(text, PLAIN_CHARS)


def plain_record(
    said: Sequence[ReadableMessage], files: Iterable[tuple[str, bool]]
) -> SessionRecord:
    """The record of a session that nobody could read. files: paths, and whether edited."""
    request = next((one.text for one in said if one.by.kind == "human"), "")
    known = list(files)
    return SessionRecord(
        request=cut_at_sentence(request, 500),
        investigated="",
        learned="",
        completed="",
        next_steps="",
        files_read=tuple(path for path, edited in known if not edited)[:100],
        files_edited=tuple(path for path, edited in known if edited)[:100],
        notes=NOTE,
    )


def _quoted(one: ReadableMessage, names: dict[str, str], title: str) -> str:
    """A message as one line: of a question or a decision, the sentence that makes it one."""
    rows = [flattened(row) for row in one.text.split("\n")]
    if title == "Questions":
        rows = [row for row in rows if "?" in row]
    elif title.startswith("Decisions"):
        rows = [row for row in rows if _DECIDED.search(row)]
    return f"- {names[one.by.id]}: {cut_at_sentence(' '.join(rows).strip(), _LINE_CHARS)}"


def _cut(text: str, cap: int) -> str:
    """Whole lines within `cap`."""
    if len(text) <= cap:
        return text
    return text[: text.rfind("\n", 0, cap + 1)] if "\n" in text[: cap + 1] else text[:cap]
