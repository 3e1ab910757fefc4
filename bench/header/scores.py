"""The worth of the recalled lines of headers, and its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.header.talk import Question, Talk

COLUMNS = ("asked", "hit@5", "precision", "lines", "twice", "newest", "silent", "in header")
GONE = "replaced "  # in a line's parentheses, before the date


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one question fared.

    shown: lines recalled; right: those of them that answer, or show what an answer took the place
    of as replaced. hit: the answer stands among them, or did so earlier in the living session.
    newest: of a fact that changed, the new statement is there and the old one is below it and
    marked, or absent. twice: lines that the session was shown before. anywhere: the answer stands
    in the header at all. compacted: asked once more, after the living session was compacted.
    """

    talk: Talk
    question: Question
    shown: int
    right: int
    hit: bool
    newest: bool
    twice: int
    anywhere: bool
    compacted: bool = False
    lines: Sequence[str] = ()


def recall_lines(header: str) -> list[str]:
    """The lines of the RECALL section, without their dashes."""
    section = header.partition("[RECALL")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in section.splitlines()[1:]]


def judge(
    talk: Talk,
    question: Question,
    lines: Sequence[str],
    before: Sequence[str],
    header: str,
    compacted: bool = False,
) -> Outcome:
    """before: all lines that the living session was shown by recall."""

    def places(number: int | None, among: Iterable[str]) -> list[int]:
        if number is None:
            return []
        said = talk.said[number]
        return [i for i, line in enumerate(among) if line.startswith(f"{said.by}: {said.text}")]

    answers, older = places(question.answer, lines), places(question.older, lines)
    marked = [i for i in older if GONE in lines[i] and answers and i > answers[0]]
    known = bool(answers or places(question.answer, before))
    return Outcome(
        talk=talk,
        question=question,
        shown=len(lines),
        right=len(answers) + len(marked),
        hit=known,
        newest=known and older == marked,
        twice=sum(line in before for line in lines) + len(lines) - len(set(lines)),
        anywhere=question.answer is not None
        and (known or talk.said[question.answer].text in header),
        compacted=compacted,
        lines=lines,
    )


def is_wrong(outcome: Outcome) -> bool:
    """Nothing that answers, an old statement before the new one, or lines for small talk."""
    if outcome.question.kind == "idle":
        return outcome.shown > 0
    changed = outcome.question.older is not None
    return not outcome.hit or (changed and not outcome.newest)


def miss(outcome: Outcome) -> str:
    """A question, its answer and what it replaced, and the lines that were shown."""
    question, said = outcome.question, outcome.talk.said
    known = [
        said[number].text for number in (question.answer, question.older) if number is not None
    ]
    rows = [f"\n{outcome.talk.name} {_kind(question)}: {question.text}"]
    rows += [f"    = {text}" for text in known]
    return "\n".join([*rows, *(f"    - {line}" for line in outcome.lines)])


def table(outcomes: Sequence[Outcome]) -> str:
    """All, then by language, by kind and by session."""
    rows = [_row("", COLUMNS), _line("all", outcomes)]
    rows += _by("language", outcomes, lambda one: one.talk.language)
    rows += _by("kind", outcomes, lambda one: _kind(one.question))
    rows += _by("session", outcomes, _session)
    shared = [o for o in outcomes if o.question.kind != "idle" and not o.question.in_other_words]
    words = "language, where question and answer share words"
    rows += _by(words, shared, lambda one: one.talk.language)
    return "\n".join(rows)


def _by(title: str, outcomes: Sequence[Outcome], group: Callable[[Outcome], str]) -> list[str]:
    names = sorted(set(map(group, outcomes)))
    lines = [_line(name, [one for one in outcomes if group(one) == name]) for name in names]
    return [f"\nby {title}", *lines]


def _session(outcome: Outcome) -> str:
    if outcome.compacted:
        return "compacted"
    return "living" if outcome.talk.living else "new each time"


def _kind(question: Question) -> str:
    if question.in_other_words:
        return "in other words"
    return f"{question.kind}, changed" if question.older is not None else question.kind


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    asked = [one for one in outcomes if one.question.kind != "idle"]
    idle = [one for one in outcomes if one.question.kind == "idle"]
    changed = [one for one in asked if one.question.older is not None]
    shown = sum(one.shown for one in outcomes)
    cells = (
        str(len(asked)),
        _share(sum(one.hit for one in asked), len(asked)),
        _share(sum(one.right for one in outcomes), shown),
        str(shown),
        str(sum(one.twice for one in outcomes)),
        f"{sum(one.newest for one in changed)}/{len(changed)}",
        f"{sum(not one.shown for one in idle)}/{len(idle)}",
        _share(sum(one.anywhere for one in asked), len(asked)),
    )
    return _row(name, cells)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<18}" + "".join(f"{cell:>11}" for cell in cells)
