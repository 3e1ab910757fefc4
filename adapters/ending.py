"""What a turn comes to: an answer, or the error that tells why there is none."""

from __future__ import annotations

from typing import Literal

from adapters.console import Console
from adapters.dialogs import Dialogs
from adapters.profiles.profile import Profile
from adapters.screen import Screen
from adapters.sight import error_on, reply_on, text_on
from adapters.startup import last_words
from adapters.turn import Sign, Turn
from contract import AgentError, AgentFault, Answer


class Ending:
    """Makes the answer of a turn's signs, and of the screen where they do not tell it.

    shown: the last draft that was read from the screen.
    """

    def __init__(
        self, profile: Profile, console: Console, turn: Turn, dialogs: Dialogs, prompt: str
    ) -> None:
        self.shown = ""
        self._profile = profile
        self._console = console
        self._turn = turn
        self._dialogs = dialogs
        self._prompt = prompt
        self._frozen: str | None = None

    def freeze(self) -> None:
        """Keep what it has said: an interrupt may take the whole turn off the screen."""
        self._frozen = self.partial()

    def partial(self) -> str:
        """What it has said so far."""
        if text := self._turn.draft():
            return readable(text)
        if self._frozen is not None:
            return self._frozen
        shown = reply_on(self._console.glance(), self._profile, self._prompt)
        return readable(shown or self.shown)

    async def answer(self, sign: Sign) -> Answer:
        """The answer of a turn that `sign` ended. Raises AgentError."""
        turn, profile = self._turn, self._profile
        if turn.failed:
            failure = self._error(turn.failed.kind, turn.failed.message, turn.failed.say)
            failure.partial = readable(turn.draft())  # the screen shows the error, not a reply
            raise failure
        if turn.ended and turn.ended.interrupted:
            say = f"{profile.title} was interrupted in its terminal."
            raise self._error("stopped", "interrupted", say)
        text = turn.text()
        if text is not None and turn.ended and not turn.ended.recorded:
            return self._answer(text, "record", sign)
        screen = await self._console.screen()
        if fault := self._fault(screen):
            raise fault
        if text is not None:
            return self._answer(text, "record", sign)
        shown = reply_on(screen, profile, self._prompt)
        if not shown and turn.tools:  # a refusal ends the turn of some programs
            raise self._error("stopped", "no answer", f"{profile.title} ended without an answer.")
        return self._answer(shown, "screen", sign)

    def _answer(self, text: str, source: Literal["record", "screen"], sign: Sign) -> Answer:
        turn = self._turn
        tools = tuple(turn.tools)
        return Answer(readable(text), source, sign, tools, turn.uses(), turn.compacted)

    def _fault(self, screen: Screen) -> AgentError | None:
        """What the screen says went wrong in this turn."""
        text = text_on(screen)
        if error := self._dialogs.fault(text, "turn"):
            error.partial = self.partial()
            return error
        shown = error_on(screen, self._profile, self._prompt)
        if not shown and self._turn.state != "error":
            return None
        shown = shown or last_words(text)
        return self._error("api", shown, f"{self._profile.title} reports an error: {shown}")

    async def crash(self) -> AgentError:
        """The program is gone and its record has no end of the turn."""
        profile, code = self._profile, self._console.exit_code
        text = text_on(await self._console.screen())
        if error := self._dialogs.fault(text, "turn"):
            error.partial = self.partial()
            return error
        then = "its session goes on" if profile.resume else "it starts anew"
        say = f"{profile.title} ended unexpectedly (code {code}). Ask again: {then}."
        return self._error("crash", f"ended with code {code}: {last_words(text)}", say)

    def untaken(self, text: str) -> AgentError:
        """Enter was pressed again and again, and the box still holds the text."""
        title = self._profile.title
        say = f"{title} did not take the message. Ask again; if that fails too, say `!new`."
        return self._error("timeout", f"Enter was not taken: {last_words(text)}", say)

    def _error(self, kind: AgentFault, message: str, say: str | None) -> AgentError:
        name = self._profile.name
        return AgentError(kind, f"{name}: {message}", say=say, partial=self.partial())


def readable(text: str) -> str:
    """Without U+2060, which keeps an `@` from being taken for a file."""
    return text.replace("\u2060", "")
