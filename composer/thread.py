"""Earlier messages of a thread, as values or as a block that the platform's bot rendered."""

from __future__ import annotations

from composer import headings
from composer.budget import Part, Record
from composer.cuts import cut_end
from composer.guard import indent, lines
from composer.labels import Labels
from contract.briefing import Briefing
from contract.looks import skeleton

_HEADING = skeleton("[thread context")


def thread(briefing: Briefing, labels: Labels, record: Record) -> Part:
    """`- label: text` for the newest messages, oldest first."""
    if briefing.thread:
        said = [(f"{labels.line[one.by]}:", lines(one.text)) for one in briefing.thread]
    else:
        said = [("", item) for item in block_items(briefing.thread_context)]
    budget = briefing.budget
    older = said[: max(len(said) - budget.thread_shown, 0)]
    what = f"{len(older)} older than the newest {budget.thread_shown}"
    record.note(headings.THREAD, what, sum(len(text) for _, text in older))
    units = []
    for who, text in said[len(older) :]:
        short = cut_end(text, budget.thread_text)
        record.note(headings.THREAD, "of a message", len(text) - len(short))
        units.append(" ".join(filter(None, ("-", who, indent(short)))))
    heading = headings.HEADINGS[headings.THREAD]
    return Part(headings.THREAD, "thread", heading, units, spare=range(len(units)))


def block_items(block: str) -> list[str]:
    """The messages of a rendered block, without its heading and bullets; not yet escaped.

    A line without a bullet goes on with the message above it, unless no line has a bullet.
    """
    rows = [row for row in lines(block).split("\n") if row.strip()]
    if rows and skeleton(rows[0]).startswith(_HEADING):
        rows = rows[1:]
    bulleted = any(row.startswith("- ") for row in rows)
    items: list[str] = []
    for row in rows:
        if row.startswith("- ") or not bulleted or not items:
            items.append(row.removeprefix("- "))
        else:
            items[-1] += "\n" + row.removeprefix("  ")
    return items
