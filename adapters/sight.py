"""What the driver reads from a screen, as the profile's look says."""

from __future__ import annotations

from adapters.profiles.profile import Profile
from adapters.question import find_dialog
from adapters.reading import read_error, read_reply
from adapters.screen import Screen
from contract import Option, Question


def text_on(screen: Screen) -> str:
    """The screen's rows, as the profile's patterns are searched in."""
    return "\n".join(screen.display())


def reply_on(screen: Screen, profile: Profile, prompt: str, since: int = 0) -> str:
    """The reply to this prompt as far as it shows; "" when it shows none.

    since: what `screen.scrolled` was before the prompt was typed.
    """
    return read_reply(screen, profile.look, prompt, since=since) if profile.look else ""


def error_on(screen: Screen, profile: Profile, prompt: str, since: int = 0) -> str:
    """An error that the program shows in the reply's place, else ""."""
    return read_error(screen, profile.look, prompt, since) if profile.look else ""


def question_on(screen: Screen, profile: Profile) -> Question | None:
    """The question that waits on the screen with its real choices, without an id."""
    permission = profile.permission
    dialog = find_dialog(screen, profile.look) if profile.look else None
    if dialog is None or permission is None:
        return None
    options = tuple(
        Option(option.label, option.refuses or bool(permission.refusal.search(option.label)))
        for option in dialog.options
    )
    return Question("", dialog.title, dialog.detail, options)
