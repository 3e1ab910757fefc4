"""A program's question that waits on its screen, found by its pattern alone.

While one stands nothing of a message may be typed: its letters would answer it. What was answered
may stay on the screen, above what followed; so it is known by its rows, and by what is below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from adapters.cli_profile import Profile
from adapters.screen.screen import Screen
from adapters.screen_profile import NEVER
from contract.values import dataclass

RAW_ABOVE, RAW_BELOW = 6, 10  # rows that are shown of a question whose choices can't be read
ANSWERED, TYPED = 16, 4  # are remembered
END_LETTERS = 8  # by which a prompt's end is known
FRAMING = " \t\xa0│┃║"


class StandingQuestion(NamedTuple):
    """Rows that ask. asking: the one that the pattern found, without a frame.

    above: rows before it, behind the prompt's echo where its end is seen. below: from the row that
    asks to the input box. boxed: there is one.
    """

    above: tuple[str, ...]
    below: tuple[str, ...]
    boxed: bool

    @property
    def asking(self) -> str:
        """The row that asks."""
        return self.below[0].strip(FRAMING)

    @property
    def raw(self) -> str:
        """Its rows as they are drawn."""
        shown = (*self.above[-RAW_ABOVE:], *self.below[:RAW_BELOW])
        return "\n".join(row for row in shown if row.strip())

    @property
    def words(self) -> tuple[str, ...]:
        """Their letters, the asking row's first: counters and spinners have none."""
        return (words_of(self.asking), *_words(self.raw.split("\n")))


class _Answered(NamedTuple):
    """The words of a question's rows when it was answered, and the letters that were pressed."""

    words: tuple[str, ...]
    boxed: bool
    pressed: str

    def settles(self, standing: StandingQuestion) -> bool:
        """True when these are its rows, and something followed them."""
        now = _words(standing.below)
        count = len(self.words)
        pairs = zip(self.words, now, strict=False)
        same = all(new in (old, old + self.pressed) for old, new in pairs)
        followed = len(now) > count or (standing.boxed and not self.boxed)
        return len(now) >= count and same and followed


def _words(rows: Sequence[str]) -> tuple[str, ...]:
    """The letters of each row that has some."""
    return tuple(words for row in rows if (words := words_of(row)))


def words_of(text: str) -> str:
    """Its letters: counters, clocks and spinners have none."""
    return "".join(filter(str.isalpha, text))


@dataclass(slots=True)
class SettledQuestions:
    """The questions that a running program need not be answered any more, though they may show."""

    _answered: deque[_Answered] = field(default_factory=lambda: deque(maxlen=ANSWERED))
    _typed: deque[str] = field(default_factory=lambda: deque(maxlen=TYPED))

    def answer(self, standing: StandingQuestion, pressed: bytes = b"") -> None:
        """It is answered; it counts as settled once something follows its rows."""
        keys = words_of(pressed.decode("utf-8", "replace"))
        self._answered.append(_Answered(_words(standing.below), standing.boxed, keys))

    def type(self, prompt: str) -> None:
        """A prompt is typed: its echo asks nothing."""
        self._typed.append(words_of(prompt))

    def standing(self, screen: Screen, profile: Profile) -> StandingQuestion | None:
        """The last question that waits; None where none does."""
        every = self._asking(screen, profile)
        waiting = (one for one in every if not any(old.settles(one) for old in self._answered))
        return next(waiting, None)

    def unechoed(self, screen: Screen, profile: Profile) -> StandingQuestion | None:
        """The same when a prompt was typed, and not entered: its own words ask nothing."""
        for one in self._asking(screen, profile):
            if self._typed and words_of(one.asking) in self._typed[-1]:
                self.answer(one)
            elif not any(old.settles(one) for old in self._answered):
                return one
        return None

    def _asking(self, screen: Screen, profile: Profile) -> Iterator[StandingQuestion]:
        """All that may be questions, the last one first."""
        permission = profile.shown.permission
        rows = screen.display()
        text = "\n".join(rows)
        found = [match.end() for match in permission.pattern.finditer(text)] if permission else []
        if not found:
            self._answered.clear()
            return
        last = max((index for index, row in enumerate(rows) if row), default=0)
        for end in reversed(found):
            at = text.count("\n", 0, end)
            if at >= last or not self._is_echo(rows[at], profile):
                typed = self._typed[-1] if self._typed else ""
                yield _rows_of(rows, at, profile, typed)

    def _is_echo(self, row: str, profile: Profile) -> bool:
        """True for a prompt's row as the program shows it: marked so, and typed by us."""
        match = profile.shown.look.prompt.echo.match(row) if profile.shown.look else None
        said = words_of(match[1] or "") if match else ""
        return bool(said) and any(said in typed for typed in self._typed)


def _rows_of(rows: Sequence[str], at: int, profile: Profile, typed: str) -> StandingQuestion:
    """The question whose row is at `at`. typed: the letters of the prompt that led to it."""
    said = (i + 1 for i in range(at - 1, -1, -1) if _ends(typed, words_of(rows[i])))
    look, footer = profile.shown.look, profile.signs.footer
    box = look.prompt.input if look else NEVER
    idle = footer.idle if footer and footer.idle else NEVER
    below = rows[at + 1 :]
    size = next((i for i, row in enumerate(below) if box.match(row) or idle.search(row)), None)
    kept = below[:size]
    while kept and not kept[-1]:
        kept = kept[:-1]
    above = tuple(rows[next(said, 0) : at])
    return StandingQuestion(above, (rows[at], *kept), size is not None)


def _ends(typed: str, words: str) -> bool:
    """True for a row that holds the prompt's end, and nothing else."""
    return len(words) >= END_LETTERS and typed.endswith(words)
