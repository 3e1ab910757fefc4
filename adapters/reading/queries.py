"""The driver's questions to a screen, answered as the profile's look says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adapters.cli_profile import Profile
from adapters.reading.choices import keys_on
from adapters.reading.question import find_choice
from adapters.reading.reply import read_error, read_reply
from adapters.reading.standing import FRAMING, StandingQuestion
from adapters.reading.transcript import rows_above_input
from adapters.screen.screen import Screen
from adapters.screen_profile import NEVER
from adapters.turn_signs import Permission
from contract.agent import Option, Question


def text_on(screen: Screen) -> str:
    """The screen's rows, as the profile's patterns are searched in."""
    return "\n".join(screen.display())


def reply_on(
    screen: Screen, profile: Profile, prompt: str, since: int = 0, before: Sequence[str] = ()
) -> str:
    """The reply to this prompt as far as it shows; "" when it shows none.

    since: what `screen.scrolled` was before the prompt was typed; before: what stood there then.
    """
    if (look := profile.shown.look) is None:
        return ""
    # its record ends a turn before its screen shows the reply
    echoed = profile.signs.record is not None
    return read_reply(screen, look, prompt, since=since, before=before, echoed=echoed)


def above_input_on(screen: Screen, profile: Profile, since: int = 0) -> list[str]:
    """All rows that stand above the input box. since: see `Screen.lines`."""
    look = profile.shown.look
    return [row.text for row in rows_above_input(screen, look, since)] if look else []


def error_on(
    screen: Screen, profile: Profile, prompt: str, since: int = 0, before: Sequence[str] = ()
) -> str:
    """An error that the program shows in the reply's place, else ""."""
    look = profile.shown.look
    return read_error(screen, look, prompt, since, before) if look else ""


class ScreenChoice(NamedTuple):
    """A question that waits on the screen with its real choices, without an id.

    keys: what chooses each option. typed: the letter that stands in the answer's place already.
    moves: keys only move from the selected option to another; Enter takes it. loose: it is no
    dialog that is known, so its choices are those that its rows name; guessed: they name none.
    """

    question: Question
    keys: tuple[bytes, ...]
    typed: str = ""
    moves: bool = False
    selected: int = 0
    loose: bool = False
    guessed: bool = False


def choice_on(screen: Screen, profile: Profile) -> ScreenChoice | None:
    """The question that waits on the screen, if its choices can be read."""
    permission = profile.shown.permission
    if permission is None:
        return None
    if permission.options:
        return _fixed(text_on(screen), permission)
    dialog = find_choice(screen, profile.shown.look) if profile.shown.look else None
    if dialog is None:
        return None
    options = tuple(
        Option(option.label, option.refuses or bool(permission.refusal.search(option.label)))
        for option in dialog.options
    )
    digits = tuple(str(number + 1).encode() for number in range(len(options)))
    keys = dialog.keys or (*permission.keys, *digits[len(permission.keys) :])
    if screen.application_cursor:
        keys = tuple(key.replace(b"\x1b[", b"\x1bO") for key in keys)
    question = Question("", dialog.title, dialog.detail, options)
    named = keys_on([option.label for option in options]) if dialog.moves else []
    if len(named) == len(options):  # each names its own key, e.g. "Deny (n)"
        return ScreenChoice(question, tuple(key for _, key in named), dialog.typed)
    return ScreenChoice(question, keys, dialog.typed, dialog.moves, dialog.selected)


def standing_choice(standing: StandingQuestion, profile: Profile) -> ScreenChoice:
    """A question whose choices are no dialog: by the keys that its rows name, else allow or refuse.

    standing: the rows that ask.
    """
    permission = profile.shown.permission
    assert permission
    named = keys_on(standing.below)
    if named and not any(option.refuses for option, _ in named):
        named.append((_pressing("Refuse", permission.refuse, refuses=True), permission.refuse))
    if named:
        detail = "\n".join(
            row for row in standing.raw.split("\n") if row.strip(FRAMING) != standing.asking
        )
        question = Question("", standing.asking, detail, tuple(option for option, _ in named))
        return ScreenChoice(question, tuple(key for _, key in named), loose=True)
    return unread_choice(standing.raw, profile)


def unread_choice(raw: str, profile: Profile) -> ScreenChoice:
    """A question of which nothing can be told but its rows: the labels say which key is pressed."""
    permission = profile.shown.permission or Permission(NEVER)
    allow = permission.allow or (*permission.keys, b"1")[0]
    options = (
        _pressing("Allow", allow),
        _pressing("Refuse", permission.refuse, refuses=True),
    )
    title = f"{profile.title} asks something in its terminal, and its choices can't be read"
    return ScreenChoice(
        Question("", title, raw, options), (allow, permission.refuse), loose=True, guessed=True
    )


_NAMES = {b"\r": "Enter", b"\x1b": "Esc", b"\t": "Tab"}


def _pressing(label: str, keys: bytes, *, refuses: bool = False) -> Option:
    """An option that is Moot's own: it says what is pressed."""
    if len(keys) == 1 and keys not in _NAMES and keys < b" ":
        name = f"Ctrl-{chr(keys[0] + 64)}"
    else:
        name = _NAMES.get(keys, keys.decode("ascii", "replace") if keys.isalnum() else "")
    return Option(f"{label} ({name})" if name else label, refuses)


def asks_on(screen: Screen, profile: Profile, text: str) -> bool:
    """True when a permission prompt waits whose choices can be read. text: the screen's."""
    permission = profile.shown.permission
    if permission is None or not permission.pattern.search(text):
        return False
    return choice_on(screen, profile) is not None


DETAIL_ROWS = 6


def _fixed(text: str, permission: Permission) -> ScreenChoice | None:
    """A question whose choices the profile knows: the row that asks, with those above it."""
    found = list(permission.pattern.finditer(text))
    if not found:
        return None
    match = found[-1]  # those above it may be answered
    start = text.rfind("\n", 0, match.end()) + 1
    title = text[start:].split("\n", 1)[0].strip()
    above = [row.strip() for row in text[:start].split("\n") if row.strip()]
    question = Question("", title, "\n".join(above[-DETAIL_ROWS:]), permission.options)
    return ScreenChoice(question, permission.keys)
