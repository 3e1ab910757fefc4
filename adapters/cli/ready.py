"""The wait until a program that was started takes a prompt, and why it doesn't."""

from __future__ import annotations

import asyncio

from adapters.cli.permission import Dialogs
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.pty.terminal import PtyClosed
from adapters.reading.queries import text_on
from adapters.reading.standing import SettledQuestions
from adapters.session.causes import exit_of, with_its_words
from adapters.session.session import last_words
from contract.errors import AgentError
from contract.language import Phrase, later, phrase

CHECK_S = 0.25  # between two looks at the screen
RESTLESS_S = 1.0  # and of one that never rests: some draw all the time
NEVER_S = float("inf")


class NotReady(AgentError):
    """The program runs, and the signs that it takes a prompt didn't come."""


async def wait_ready(profile: Profile, console: Console, settled: SettledQuestions) -> None:
    """Return when the program takes a prompt. Raises AgentError.

    settled: the questions on its screen that were answered.
    """
    await _Start(profile, console, settled).wait()


class _Start:
    def __init__(self, profile: Profile, console: Console, settled: SettledQuestions) -> None:
        self._profile = profile
        self._console = console
        self._settled = settled
        self._dialogs = Dialogs(profile)
        self._time = asyncio.get_running_loop().time
        self._began = self._looked = self._still_since = self._time()
        self._seen_bytes = -1
        self._shows_since = NEVER_S
        self._shown = ""

    async def wait(self) -> None:
        console, ready = self._console, self._profile.program.ready
        while True:
            if not console.alive:
                raise self._ended(await self._text())
            left = ready.quiet_s - console.quiet_s()
            told = not self._untold()
            if told and await self._shows(quiet=left <= 0):
                return
            still = await self._still()
            if still or self._time() > self._began + ready.timeout_s:
                raise await self._late(still=still)
            restless = self._time() > self._looked + RESTLESS_S
            if console.output_bytes != self._seen_bytes and (
                restless or console.quiet_s() > CHECK_S / 2
            ):
                self._seen_bytes, self._looked = console.output_bytes, self._time()
                await self._answer_dialogs()
            await console.wait_change(min(left, CHECK_S) if told and left > 0 else CHECK_S)

    def _untold(self) -> Phrase | None:
        """The sign that is missing of those that need no look at the screen."""
        ready, console = self._profile.program.ready, self._console
        if ready.bracketed_paste and not console.bracketed_paste:
            return later("it doesn't ask for pastes to be marked")
        if ready.title and not ready.title.search(console.title):
            return later("its title is {title}", title=repr(console.title))
        mute = console.state is None and console.quiet_s() >= (ready.stateless_s or NEVER_S)
        if ready.state and console.state not in (ready.state, "done") and not mute:
            return later("it doesn't tell the state {state}", state=repr(ready.state))
        return None

    async def _shows(self, *, quiet: bool) -> bool:
        """True when the screen shows it, and it is quiet; of a program that never is, for a while.

        A question of its own would take the prompt for its answer.
        """
        ready, console = self._profile.program.ready, self._console
        if not quiet and ready.restless_s is None:
            return False
        screen = await console.screen()
        shows = not ready.prompt or ready.prompt.search(text_on(screen))
        if not shows or self._settled.standing(screen, self._profile):
            self._shows_since = NEVER_S
            return False
        self._shows_since = min(self._shows_since, self._time())
        if not quiet:
            console.restless = self._time() >= self._shows_since + (ready.restless_s or 0.0)
        return quiet or console.restless

    async def _still(self) -> bool:
        """True when its screen shows something that hasn't changed for long, but for counters."""
        limit_s = self._profile.program.ready.still_s
        if limit_s is None:
            return False
        text = "".join(char for char in await self._text() if not char.isdigit())
        if text != self._shown or not text.strip():
            self._shown, self._still_since = text, self._time()
        return self._time() > self._still_since + limit_s

    async def _text(self) -> str:
        return text_on(await self._console.screen())

    async def _answer_dialogs(self) -> None:
        text = await self._text()
        if error := self._dialogs.fault(text, "start"):
            raise error
        if keys := self._dialogs.keys(text, "start"):
            await asyncio.sleep(self._dialogs.deaf_s(text))
            try:
                await self._console.write(keys)
            except PtyClosed:
                await self._console.wait_change(CHECK_S)

    # ── Why it doesn't ──────────────────────────────────────────────────────────────────

    def _ended(self, text: str) -> AgentError:
        profile, code, shown = self._profile, self._console.exit_code, last_words(text)
        return self._dialogs.fault(text, "start") or AgentError(
            "startup",
            f"{profile.name}: ended with code {code} while starting: {shown}",
            say=with_its_words(
                later(
                    "{title} ended while it was starting ({code})",
                    title=profile.title,
                    code=exit_of(code),
                ),
                shown,
            ),
        )

    async def _late(self, *, still: bool) -> AgentError:
        """The sign that did not come, and what the screen shows instead."""
        profile, ready = self._profile, self._profile.program.ready
        screen = await self._console.screen()
        text = text_on(screen)
        if fault := self._dialogs.fault(text, "start"):
            return fault
        limit_s = ready.still_s if still and ready.still_s else ready.timeout_s
        why = self._untold()
        if not why and self._settled.standing(screen, profile):
            why = later("it asks something, which must be answered in its own terminal first")
        elif not why and ready.described:
            why = later("no row of its screen matches {row}", row=ready.described)
        return self._not_ready(f"{limit_s:.0f}", why, last_words(text), still=still)

    def _not_ready(self, seconds: str, why: Phrase | None, shown: str, *, still: bool) -> NotReady:
        profile = self._profile
        english = phrase("{title} did not become ready within {seconds} s")
        if still:
            english = phrase("{title} did not become ready within {seconds} s of standing still")
        what = later(english, title=profile.title, seconds=seconds)
        if why:
            what = later("{what}: {why}", what=what, why=why)
        say = later("{what}; its screen is empty.", what=what)
        if shown:
            says = later("{what}; its screen says", what=what)
            say = with_its_words(says, shown)
        after = f"{seconds} s{' of standing still' if still else ''}"
        message = f"not ready within {after}: {f'{why.in_english}: ' if why else ''}{shown}"
        return NotReady("startup", f"{profile.name}: {message}", say=say)
