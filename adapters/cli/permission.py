"""Questions that a program asks in mid-turn, put to the room."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import structlog

from adapters.cli_profile import Profile
from adapters.reading.queries import (
    ScreenChoice,
    asks_on,
    choice_on,
    standing_choice,
    unread_choice,
)
from adapters.reading.standing import SettledQuestions, StandingQuestion
from adapters.records.faults import ended, sentence
from adapters.screen.screen import Screen
from adapters.session.causes import not_logged_in
from adapters.session.session import RoomQuestions, chosen
from adapters.turn_events import State
from adapters.turn_signs import DialogRule, Permission
from contract.agent import GONE, Question
from contract.errors import AgentError
from contract.language import later, phrase

Phase = Literal["start", "turn"]
LOGGED_CHARS = 1_000  # of an error


class Dialogs:
    """Remembers which dialogs were answered, so that each is answered once while it stands."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._answered: dict[int, float] = {}
        self._time = asyncio.get_running_loop().time

    def stand(self, text: str, phase: Phase) -> bool:
        """True while a rule answers what stands on the screen, so that nobody is asked.

        One that stands long after its keys were pressed did not take them.
        """
        return any(
            self._time() < self._answered.get(number, math.inf) + AGAIN_S
            for number, dialog in enumerate(self._profile.shown.dialogs)
            if dialog.keys and dialog.when in (phase, "always") and dialog.pattern.search(text)
        )

    def keys(self, text: str, phase: Phase) -> bytes:
        """The keys for dialogs that newly stand on the screen."""
        pressed = b""
        for number, dialog in enumerate(self._profile.shown.dialogs):
            if not dialog.keys or dialog.when not in (phase, "always"):
                continue
            if not dialog.pattern.search(text):
                self._answered.pop(number, None)
            elif number not in self._answered:
                self._answered[number] = self._time()
                pressed += dialog.keys
        return pressed

    def deaf_s(self, text: str) -> float:
        """The time for which the dialogs that stand on the screen take no key."""
        standing = (dialog for dialog in self._profile.shown.dialogs if dialog.pattern.search(text))
        return max((dialog.deaf_s for dialog in standing), default=0.0)

    def fault(self, text: str, phase: Phase, *, breaks: bool = False) -> AgentError | None:
        """The error that the screen shows, if a rule knows it. breaks: one that ends a turn."""
        for dialog in self._profile.shown.dialogs:
            if dialog.fault and dialog.when in (phase, "always") and dialog.breaks >= breaks:
                match = dialog.pattern.search(text)
                if match:
                    return self._error(dialog, match)
        return None

    def _error(self, dialog: DialogRule, match: re.Match[str]) -> AgentError:
        profile = self._profile
        assert dialog.fault
        seen = match["seen"] if "seen" in match.re.groupindex else match[0]
        say = later(dialog.say, title=profile.title, seen=ended(seen)) if dialog.say else None
        if not say and dialog.fault == "login":
            say = not_logged_in(profile)
        return AgentError(dialog.fault, f"{profile.name}: {sentence(seen, LOGGED_CHARS)}", say=say)


log = structlog.stdlib.get_logger("moot.adapters.permission")

STEADY_S = 0.15  # a prompt is drawn when it has not changed for so long
DRAWN_S = 1.5  # from a state that tells of a prompt to a prompt that can be read
RESTLESS_S = 5.0  # rows around it that change so long are no part of the question
REFUSED_S = 3.0  # from a refusal that Moot chose itself to its effect
MOVED_S = 0.3  # from an arrow to the mark beside another option
MOVES_S = 5.0  # a mark that has not come there by then is moved by no arrow
SELECTED_S = 0.5  # Copilot loses what comes with the key before it
WORDS = b"No."
AGAIN_S = 5.0  # a prompt that still stands so long after it was answered is asked again


class ScreenPrompt:
    """The permission prompt that may stand on the screen.

    stands: whether one was there at the last look. settled: the program's questions that were
    answered before. `wake` is called when the room decided.
    """

    def __init__(
        self,
        profile: Profile,
        asking: RoomQuestions,
        settled: SettledQuestions,
        wake: Callable[[], None],
    ) -> None:
        self.stands = False
        self._profile = profile
        self._asking = asking
        self._settled = settled
        self._wake = wake
        self._time = asyncio.get_running_loop().time
        self._standing: StandingQuestion | None = None
        self._known: Question | tuple[str, ...] | None = None
        self._known_row = ""
        self._row_since = 0.0
        self._pressed = b""
        self._pressed_at_row = ""  # the cursor's row before
        self._wanted: int | None = None  # the option that the arrows are to reach
        self._moved_at = self._refused_at = self._chosen_at = 0.0
        self._task: asyncio.Task[int] | None = None
        self._since = self._answered = self._send_at = 0.0
        self._by_hook = False

    def asked_by_hook(self) -> None:
        """The prompt on the screen is one that a hook asks about already."""
        self._by_hook = True

    def decided(self) -> bool:
        """True when the room's answer waits to be pressed, or something must be looked at again."""
        return (self._task is not None and self._task.done()) or self.stands

    def see(
        self,
        screen: Screen,
        text: str,
        state: State | None,
        *,
        typing: bool = False,
        ruled: bool = False,
    ) -> bytes:
        """Look at the screen; ask the room; return the keys of its answer when it is there.

        typing: a prompt is in the input box, whose words ask nothing. ruled: a rule answers what
        stands there.
        """
        permission = self._profile.shown.permission
        if permission is None:
            return b""
        look = self._settled.unechoed if typing else self._settled.standing
        self._standing = look(screen, self._profile) if permission.certain else None
        choice = None if ruled else self._choice(screen, text, state)
        if choice is None or not self._stays(choice):
            self._withdraw()
            self._known, self._since = self._identity(choice), self._time()
        self.stands = choice is not None
        if choice is None:
            self._by_hook = self._by_hook and self._asking.responding > 0  # not drawn yet
            return b""
        return self._proceed(choice, permission, screen.cursor_row())

    def _choice(self, screen: Screen, text: str, state: State | None) -> ScreenChoice | None:
        """What asks, whether or not its choices can be read."""
        permission, standing = self._profile.shown.permission, self._standing
        assert permission
        matches = standing or (not permission.certain and permission.pattern.search(text))
        if not matches and state != "blocked":
            return None
        if choice := choice_on(screen, self._profile):
            return choice
        if standing:
            return standing_choice(standing, self._profile)
        return unread_choice("", self._profile) if state == "blocked" else None

    def _identity(self, choice: ScreenChoice | None) -> Question | tuple[str, ...] | None:
        """The part of a question that stays while it is asked."""
        standing = self._standing
        if choice is None or not choice.loose or standing is None:
            return choice.question if choice else None
        row, now = standing.words[0], self._time()
        if row != self._known_row:
            self._known_row, self._row_since = row, now
        restless = self._task is None and now > self._row_since + RESTLESS_S
        return standing.words[:1] if restless or self._known == (row,) else standing.words

    def _proceed(self, choice: ScreenChoice, permission: Permission, row: str) -> bytes:
        """The keys to press now, if any: the next step of an answer, else the room is asked.

        row: the cursor's. Raises AgentError where it still asks after it was refused.
        """
        now = self._time()
        if self._refused_at and now >= self._refused_at + REFUSED_S:
            raise self._deaf(
                phrase("{title} went on asking after it was refused, so I ended it. Ask again.")
            )
        if self._wanted is not None:
            return self._move(choice)
        if self._send_at and now >= self._send_at:
            self._send_at = 0.0
            return WORDS + self._profile.typing.submit
        if self._task and self._task.done() and now >= self._since + permission.deaf_s:
            index = chosen(self._task, choice.question)
            self._task, self._answered = None, now
            self._pressed_at_row = row
            return self._press(choice, index)
        if self._waits_for_enter(choice, row):
            self._pressed = b""
            return self._profile.typing.submit
        self._ask(choice, permission, now)
        return b""

    def _ask(self, choice: ScreenChoice, permission: Permission, now: float) -> None:
        """Put it to the room, once it stood for long enough and nobody else asks."""
        waits = permission.late_s if self._profile.signs.hooks else STEADY_S
        half = permission.half and permission.half.fullmatch(choice.question.detail)
        if choice.guessed or half:  # it may not be drawn yet
            waits = max(waits, DRAWN_S)
        if self._task or self._by_hook or now < self._since + waits:
            return
        if now >= self._answered + AGAIN_S or not self._answered:
            self._task = self._asking.ask(choice.question)
            self._task.add_done_callback(lambda _: self._wake())

    def _waits_for_enter(self, choice: ScreenChoice, row: str) -> bool:
        """True when the letter that was pressed stands where it is typed, and nothing more."""
        if choice.loose:
            letter = self._pressed.decode() if self._pressed.isalnum() else ""
            before = self._pressed_at_row
            return bool(letter) and row in (f"{before}{letter}", f"{before} {letter}")
        return bool(choice.typed) and choice.typed.encode() == self._pressed

    def _deaf(self, english: str) -> AgentError:
        profile = self._profile
        say = later(english, title=profile.title)
        return AgentError("stopped", f"{profile.name}: a question stands after an answer", say=say)

    def _stays(self, choice: ScreenChoice) -> bool:
        """True when it is the one of the last look; the words of an answer may show in it."""
        known, seen = self._known, self._identity(choice)
        if not isinstance(known, Question) or not isinstance(seen, Question):
            return seen == known
        if _same(seen, known):
            return True
        same = (seen.title, seen.detail) == (known.title, known.detail)
        return same and bool(self._answered) and self._time() < self._answered + AGAIN_S

    def _withdraw(self) -> None:
        if self._task:
            self._task.cancel(GONE)
        self._task, self._answered, self._send_at, self._pressed = None, 0.0, 0.0, b""
        self._wanted, self._refused_at = None, 0.0

    def _press(self, choice: ScreenChoice, index: int) -> bytes:
        permission = self._profile.shown.permission
        assert permission
        if self._standing:
            self._settled.answer(self._standing, choice.keys[index])
        if choice.guessed and choice.question.options[index].refuses:
            self._refused_at = self._time()
        if permission.worded and permission.worded.search(choice.question.options[index].label):
            self._send_at = self._time() + SELECTED_S
        if choice.moves:
            self._wanted, self._chosen_at = index, self._time()
            return self._move(choice)
        self._pressed = choice.keys[index]
        return self._pressed

    def _move(self, choice: ScreenChoice) -> bytes:
        """Towards the wanted option; Enter only when it is seen to be the selected one."""
        if self._wanted is None or self._time() < self._moved_at + MOVED_S:
            return b""
        if choice.selected == self._wanted:
            self._wanted = None
            return b"\r"
        self._moved_at = self._time()
        if self._moved_at > self._chosen_at + MOVES_S:
            raise self._deaf(
                phrase(
                    "{title} went on asking after it was answered by its arrows, so I ended it. "
                    "Ask again."
                )
            )
        return choice.keys[self._wanted]


def _same(one: Question, other: Question | None) -> bool:
    return other is not None and replace(one, id="") == replace(other, id="")


def asks(screen: Screen, profile: Profile, settled: SettledQuestions, text: str) -> bool:
    """True when a permission prompt waits. text: the screen's."""
    permission = profile.shown.permission
    if permission and permission.certain:
        return settled.standing(screen, profile) is not None
    return asks_on(screen, profile, text)
