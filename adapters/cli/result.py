"""A turn's outcome: an answer, or the error that says why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import structlog

from adapters.cli.permission import Dialogs
from adapters.cli.turn import Sign, TurnState, cut_reply
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.reading.queries import error_on, reply_on, text_on
from adapters.reading.reply import letters_of
from adapters.records.faults import AGAIN, Fault, fault_in, line, reports
from adapters.screen.screen import Screen
from adapters.session.causes import exit_of
from adapters.session.session import last_words, readable
from contract.agent import Answer
from contract.errors import AgentError, AgentFault
from contract.language import Phrase, later, phrase

log = structlog.stdlib.get_logger("moot.adapters.ending")

OPENING_LETTERS = 30  # prove that a screen shows a text: they survive any rendering

DRAWN_S = 0.2  # of quiet, after which the reply that the screen shows is whole
DRAWN_LIMIT_S = 2.0
NO_ANSWER = phrase("{title} ended without an answer.")
NONE_YET = phrase("{title} ended its turn without an answer. {again}")


class TurnResult:
    """Makes the answer of a turn's signs, and of the screen where they do not tell it.

    Only words count that come from this turn: rows of the record, what a hook gives if the record,
    the stream or the screen shows that it was said now, and, where the record has nothing of the
    turn, rows that were drawn since the prompt.

    shown: the last draft that was read from the screen. since: see `Screen.lines`; before: the rows
    above the input box before the prompt. wanted: whether an answer is expected.
    """

    def __init__(
        self, profile: Profile, console: Console, turn: TurnState, prompt: str, since: int
    ) -> None:
        self.shown = ""
        self.wanted = True
        self.since = since
        self.before: Sequence[str] = ()
        self._profile = profile
        self._console = console
        self._turn = turn
        self._prompt = prompt
        self._frozen: str | None = None

    @cached_property
    def dialogs(self) -> Dialogs:
        """The rules for dialogs, and which of them were answered."""
        return Dialogs(self._profile)

    def reply(self, screen: Screen) -> str:
        """The reply as far as it shows."""
        return reply_on(screen, self._profile, self._prompt, self.since, self.before)

    def freeze(self) -> None:
        """Keep what it has said: an interrupt may take the whole turn off the screen."""
        self._frozen = self.partial()

    def partial(self) -> str:
        """The program's words so far."""
        if text := self._turn.draft():
            return cut_reply(readable(text))
        if self._frozen is not None:
            return self._frozen
        shown = self.reply(self._console.glance())
        return readable(shown or self.shown)

    async def answer(self, sign: Sign) -> Answer:
        """The answer of a turn that `sign` ended, but not exactly. Raises AgentError."""
        turn, profile = self._turn, self._profile
        if turn.failed:
            failure = self._error(turn.failed.kind, turn.failed.message, turn.failed.say)
            failure.partial = cut_reply(
                readable(turn.draft())
            )  # the screen shows the error, not a reply
            raise failure
        if turn.ended and turn.ended.interrupted:
            say = later("{title} was interrupted in its terminal.", title=profile.title)
            raise self._error("stopped", "interrupted", say)
        return await self._from_screen(sign, turn.text())

    async def _from_screen(self, sign: Sign, text: str) -> Answer:
        """The answer where the record's is missing, empty, or an error's. Raises AgentError.

        text: the record's.
        """
        profile = self._profile
        exact = profile.signs.exact
        if exact and not self._turn.proven():  # it told its end before it drew it
            await self._console.wait_quiet(DRAWN_S, DRAWN_LIMIT_S)
        screen = await self._console.screen()
        if fault := self._fault(screen):
            raise fault
        shown = "" if text.strip() else self.reply(screen)
        if not text.strip() and _opens(shown, self._turn.heard()):
            text = self._turn.heard()
        if text.strip():
            return self._turn.answer(text, "record", sign)
        ended = self._turn.ended
        if self._turn.kept and ended:
            shown = ""
        if exact and shown and self.wanted:
            log.warning(
                "record.empty",
                agent=profile.name,
                reason=(
                    f"its record has no reply to this turn ({sign}), its screen has one of "
                    f"{len(shown)} characters, which was taken; has the program's record "
                    "changed?"
                ),
            )
        if not shown and self._turn.tools and (ended is None or ended.recorded):  # a refusal
            raise self._error("stopped", "no answer", later(NO_ANSWER, title=profile.title))
        if exact and self.wanted and not shown and ended is None and sign in ("footer", "title"):
            say = later(NONE_YET, title=profile.title, again=Phrase(AGAIN))
            raise self._error("api", f"no answer, by its {sign}", say)
        silent = ended is not None and not shown
        return self._turn.answer(shown, "record" if silent else "screen", sign)

    def _fault(self, screen: Screen) -> AgentError | None:
        """The error that the screen shows for this turn."""
        text = text_on(screen)
        if error := self.dialogs.fault(text, "turn"):
            error.partial = self.partial()
            return error
        shown = error_on(screen, self._profile, self._prompt, self.since, self.before)
        if not shown and self._turn.state != "error":
            return None
        shown = shown or last_words(text)
        known = fault_in(shown) or Fault("api", AGAIN)
        say = line(reports(self._profile.title), shown, known.remedy)
        return self._error(known.kind, shown, say)

    async def crash(self) -> AgentError:
        """The program is gone and its record has no end of the turn."""
        profile, code = self._profile, self._console.exit_code
        text = text_on(await self._console.screen())
        if error := self.dialogs.fault(text, "turn"):
            error.partial = self.partial()
            return error
        english = phrase("{title} ended unexpectedly ({code}). Ask again: it starts again.")
        if profile.program.resume:
            english = phrase("{title} ended unexpectedly ({code}). Ask again: its session goes on.")
        say = later(english, title=profile.title, code=exit_of(code))
        return self._error("crash", f"ended with code {code}: {last_words(text)}", say)

    def refused(self, text: str) -> None:
        """Nothing began after Enter. Raises the fault that the screen shows, if it does."""
        if error := self.dialogs.fault(text, "turn"):
            raise error

    def untaken(self, text: str) -> AgentError:
        """Enter was pressed again and again, and the box still holds the text."""
        title = self._profile.title
        say = later(
            "{title} did not take the message. Ask again; if that fails too, say `!new`.",
            title=title,
        )
        return self._error("timeout", f"Enter was not taken: {last_words(text)}", say)

    def _error(self, kind: AgentFault, message: str, say: str | Phrase | None) -> AgentError:
        name = self._profile.name
        return AgentError(kind, f"{name}: {message}", say=say, partial=self.partial())


def _opens(shown: str, text: str) -> bool:
    """True when a reply that the screen shows has the beginning of a text."""
    opening = letters_of(text)[:OPENING_LETTERS]
    return bool(opening) and opening in letters_of(shown)
