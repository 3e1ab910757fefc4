"""A question of the program on the screen: its text, its real choices, which is selected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from adapters.reading.visible import VisibleRow, visible_rows
from adapters.screen.screen import Screen
from adapters.screen_profile import ScreenProfile
from contract.agent import Option
from contract.values import dataclass

_FRAME = re.compile(r"[\s│┃║]*")
_OPTION = re.compile(r"([❯›>●▶➤→*]?)\s*(\d{1,2})[.)]\s+(\S.*)")
_BORDER = re.compile(r"\s*+[│┃║]?\s*+[╭┌┏╔╰└┗╚├┠┣╠]?[─━═╌╴]{5,}")
_OUTER_BORDER = re.compile(r" ?[╭┌┏╔]?[─━═]{5,}")
_ASKING = re.compile(r"(?!\$ |Reason:).*[?:]$")
REFUSAL = re.compile(
    r"(?i)(?:\d+[.)] +)?"
    r"(?:no\b|deny|reject|refuse|decline|cancel|exit|don.t|abort|disallow|never\b)"
)
ROWS_BELOW = 8  # hints below the choices are not longer
DETAIL_ROWS = 6  # what stands above a bare question and belongs to it
MOST_LISTED = 12
UP, DOWN = b"\x1b[A", b"\x1b[B"


@dataclass(frozen=True, slots=True)
class ScreenDialog:
    """A question of the program.

    options: its real choices in order. selected: index of the one that Enter takes. keys: what
    chooses each; empty: its number. typed: what stands in its answer's place already. moves:
    arrows go from the selected one to the others, and Enter takes it.
    """

    title: str
    detail: str
    options: tuple[Option, ...]
    selected: int
    keys: tuple[bytes, ...] = ()
    typed: str = ""
    moves: bool = False


@dataclass(frozen=True, slots=True)
class ScreenQuestion:
    """A dialog, and the first of the rows that it takes."""

    dialog: ScreenDialog
    start: int


def find_dialog(screen: Screen, look: ScreenProfile) -> ScreenDialog | None:
    """The question that waits for an answer at the bottom of the screen, if there is one."""
    lines = screen.lines(screen.scrolled)
    question = find_question(visible_rows(lines, screen.cols, look), look)
    return question.dialog if question else None


def find_choice(screen: Screen, look: ScreenProfile) -> ScreenDialog | None:
    """The same on a screen that is known to ask: its choices may also be letters, e.g. [y/N], or
    lines without numbers of which one is marked."""
    rows = visible_rows(screen.lines()[-screen.rows :], screen.cols, look)
    while rows and rows[-1].blank:
        rows.pop()
    if question := find_question(rows, look):
        return _whole(question, rows)
    return _lettered(rows) or _listed(rows, look)


def _whole(question: ScreenQuestion, rows: Sequence[VisibleRow]) -> ScreenDialog:
    """The dialog with a title that stands directly above it, and a number typed below it."""
    dialog = question.dialog
    above = [content for row in rows[: question.start] if (content := _content(row))]
    typed = _TYPED.search(_content(rows[-1]))
    return replace(
        dialog,
        title=dialog.title or (above[-1] if above else ""),
        typed=typed[1] if typed else "",
    )


def find_question(rows: Sequence[VisibleRow], look: ScreenProfile) -> ScreenQuestion | None:
    """The same, among rows whose last is the last that shows something."""
    kept = len(rows)
    while kept and rows[kept - 1].blank:
        kept -= 1
    choices = _numbered(rows[:kept]) or _in_a_row(rows[:kept], look)
    if not choices:
        return None
    below = [row for row in rows[choices.end : kept] if not row.blank]
    hints = [row for row in below if _content(row)]
    if len(hints) > ROWS_BELOW or any(look.prompt.input.match(row.text) for row in below):
        return None
    top = _top(rows, choices.start, look)
    texts = [text for row in rows[top : choices.start] if (text := _content(row))]
    asking = [i for i, text in enumerate(texts) if _ASKING.match(text)] or [0]
    title = texts.pop(asking[-1]) if texts else ""
    options = tuple(Option(label, bool(REFUSAL.match(label))) for label in choices.labels)
    return ScreenQuestion(ScreenDialog(title, "\n".join(texts), options, choices.selected), top)


@dataclass(frozen=True, slots=True)
class Choices:
    """Labels, which is selected, and the rows from start to before end that they take."""

    labels: tuple[str, ...]
    selected: int
    start: int
    end: int


def _numbered(rows: Sequence[VisibleRow]) -> Choices | None:
    """Choices one below the other: the last run of 1., 2., 3., ... one of them marked."""
    found = [(i, m) for i, row in enumerate(rows) if (m := _OPTION.match(_content(row)))]
    firsts = [k for k, (_, match) in enumerate(found) if match[2] == "1"]
    run = found[firsts[-1] :] if firsts else []
    run = [pair for number, pair in enumerate(run, 1) if int(pair[1][2]) == number]
    if len(run) < 2:
        return None
    places = [i for i, _ in run]
    labels = []
    for (i, match), after in zip(run, [*places[1:], places[-1] + 1], strict=True):
        more = [_content(row) for row in rows[i + 1 : after]]
        labels.append(" ".join([match[3].removesuffix(" ✔"), *filter(None, more)]).strip())
    marked = [k for k, (_, match) in enumerate(run) if match[1]]
    starts = [rows[i].text.find(match[2] + ".") for i, match in run]
    selected = marked or _standing_out([rows[i] for i in places], starts)
    if len(selected) != 1:
        return None
    return Choices(tuple(labels), selected[0], places[0], places[-1] + 1)


_LETTERS = re.compile(r"[\[(]((?:\w/)+\w)[\])]\s*[:?>]?\s*")
_WORDS = re.compile(r"[(\[](\w)[)\]](\w*(?:['’ ]\w+)*)")
_TYPED = re.compile(r"[:>?❯›]\s*(\d)$")
MEANING = {"y": "Yes", "n": "No", "a": "Always", "t": "Trust", "q": "Quit", "s": "Skip"}
_MARKED = re.compile(r"[\s│┃║]*([❯›>→▶➤●◉]) +(\S)")


def _from_below(rows: Sequence[VisibleRow], most: int) -> Sequence[int]:
    """The last rows that show something, the last one first."""
    return [i for i in range(len(rows) - 1, -1, -1) if not rows[i].blank][:most]


def _lettered(rows: Sequence[VisibleRow]) -> ScreenDialog | None:
    """Letters to type, at the end of the last row: further up they were typed already."""
    text = _content(rows[-1]) if rows else ""
    words = list(_WORDS.finditer(text))
    if match := _LETTERS.search(text):
        letters = match[1].split("/")
        labels = [MEANING.get(letter.lower(), letter) for letter in letters]
        asked, typed = text[: match.end()].strip(), text[match.end() :].strip()
    elif len(words) > 1:
        letters = [word[1] for word in words]
        labels = [word[1] + word[2] for word in words]
        asked, _, typed = text.rpartition(":")
    else:
        return None
    default = next((i for i, letter in enumerate(letters) if letter.isupper()), 0)
    options = tuple(Option(label, bool(REFUSAL.match(label))) for label in labels)
    before = [content for row in rows[-DETAIL_ROWS - 1 : -1] if (content := _content(row))]
    keys = tuple(letter.lower().encode() for letter in letters)
    return ScreenDialog(
        asked.strip(), "\n".join(before), options, default, keys, typed.strip().lower()
    )


def _listed(rows: Sequence[VisibleRow], look: ScreenProfile) -> ScreenDialog | None:
    """Lines of which one is marked: arrows go from it to the others. No prompt's echo is one."""
    for at in _from_below(rows, ROWS_BELOW + MOST_LISTED):
        if not (match := _MARKED.match(rows[at].text)) or look.prompt.echo.match(rows[at].text):
            continue
        column = match.start(2)

        def beside(row: VisibleRow, column: int = column) -> bool:
            before = row.text[:column].strip(" │┃║")
            return not before and row.text[column : column + 1].strip(" │┃║") != ""

        start = end = at
        while start and beside(rows[start - 1]):
            start -= 1
        while end + 1 < len(rows) and beside(rows[end + 1]):
            end += 1
        if 1 <= end - start < MOST_LISTED:
            return _as_listed(rows, range(start, end + 1), at - start, column)
    return None


def _as_listed(
    rows: Sequence[VisibleRow], places: range, selected: int, column: int
) -> ScreenDialog:
    labels = [rows[i].text[column:].strip(" \xa0│┃║") for i in places]
    options = tuple(Option(label, bool(REFUSAL.match(label))) for label in labels)
    keys = tuple(_arrows(index - selected) for index in range(len(labels)))
    above = [content for row in rows[: places.start] if (content := _content(row))][-DETAIL_ROWS:]
    asking = [i for i, text in enumerate(above) if _ASKING.match(text)] or [len(above) - 1]
    title = above.pop(asking[-1]) if above else ""
    return ScreenDialog(title, "\n".join(above), options, selected, keys, moves=True)


def _arrows(steps: int) -> bytes:
    return (DOWN if steps > 0 else UP) * abs(steps)


def _in_a_row(rows: Sequence[VisibleRow], look: ScreenProfile) -> Choices | None:
    """Choices beside one another, known by their words."""
    for i in range(len(rows) - 1, max(-1, len(rows) - 1 - ROWS_BELOW), -1):
        found = list(look.choices.finditer(rows[i].text))
        if len(found) > 1:
            selected = _standing_out([rows[i]] * len(found), [match.start() for match in found])
            labels = tuple(match[0] for match in found)
            return Choices(labels, selected[0] if len(selected) == 1 else 0, i, i + 1)
    return None


def _standing_out(rows: Sequence[VisibleRow], starts: Sequence[int]) -> list[int]:
    """The one label whose background no other has."""
    looks = [row.style_at(start) for row, start in zip(rows, starts, strict=True)]
    grounds = [(style.bg, style.reverse) for style in looks]
    return [i for i, ground in enumerate(grounds) if grounds.count(ground) == 1]


def _content(row: VisibleRow) -> str:
    """The row's text without a frame around it; "" for a border."""
    return "" if _BORDER.match(row.text) else row.text.strip(" \xa0│┃║")


def _top(rows: Sequence[VisibleRow], start: int, look: ScreenProfile) -> int:
    """Where the question begins: at its box or rule, or behind the last thing of the turn."""
    framed = _is_framed(rows[start])
    for i in range(start - 1, -1, -1):
        row = rows[i]
        if _OUTER_BORDER.match(row.text):
            return i
        if framed and not _is_framed(row):
            return i + 1
        marks = (look.reply.bullet, look.prompt.echo, look.tools.tool, look.asides.aside)
        if not row.blank and not row.indent and not _is_framed(row):
            return i + 1
        if not framed and any(mark and mark.match(row.text) for mark in marks):
            return i + 1
    return 0


def _is_framed(row: VisibleRow) -> bool:
    return row.text.lstrip(" ")[:1] in ("│", "┃", "║")
