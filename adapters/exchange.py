"""One prompt typed into a running program, and what comes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

from adapters.agent import Reply
from adapters.console import Console
from adapters.dialogs import Dialogs
from adapters.ending import Ending, readable
from adapters.paste import END, keystrokes
from adapters.permission import Asking, ScreenPrompt
from adapters.profiles.profile import Asked, Named, Profile, State, TurnEvent
from adapters.record import Follower
from adapters.sight import reply_on, text_on
from adapters.terminal import Hangup
from adapters.turn import Sign, Source, Turn
from contract import Answer

log = logging.getLogger("moot.adapters.exchange")

HURRY_S = 0.01  # between looks at a record that is about to have the end
DRAFT_S = 0.1  # between drafts
SIGHT_S = 0.25  # between looks at the screen, while something was written to it
SCREEN_DRAFT_S = 0.75  # between drafts that only the screen can tell
PROMPT_S = 5.0  # from the recorded end of a turn to the prompt for the next
SETTLE_LIMIT_S = 3.0  # of waiting for the echo of a paste, and
ECHO_BYTES_S = 8_000  # for a long one, on a busy machine (Claude Code 2.1.330: 10 s for 60 KB)
EXIT_S = 2.0  # from the terminal's end to the program's
CALM_S = 0.5  # quiet after an interrupt, where no sign tells more
BREAK_OFF_S = 3.0  # for an interrupt to work


class Exchange:
    """Types a prompt, gathers the signs of its turn, and makes the answer of them.

    typed, submitted: how far it came. `run` is called once; the others may be called while it
    runs, on the same loop.
    """

    def __init__(
        self,
        profile: Profile,
        console: Console,
        follower: Follower | None,
        prompt: str,
        reply: Reply,
        *,
        past: Collection[str],
        on_named: Callable[[str], None],
    ) -> None:
        self.turn = Turn(profile.signs, past)
        self.typed = False
        self.submitted = False
        self.follower = follower
        self._profile = profile
        self._console = console
        self._prompt = prompt
        self._reply = reply
        self._on_named = on_named
        self._time = asyncio.get_running_loop().time
        self._dialogs = Dialogs(profile)
        self._asking = Asking(reply)
        self._screen_prompt = ScreenPrompt(profile, self._asking, console.changed.set)
        self._ending = Ending(profile, console, self.turn, self._dialogs, prompt)
        self._drafted = ""
        self._record_due = self._sight_due = self._draft_due = self._confirm_due = 0.0
        self._drafted_at = 0.0
        self._tries = profile.typing.tries
        self._seen_bytes = 0
        self._undrafted = False  # the screen changed since its last draft
        self._answered = False

    # ── The turn ────────────────────────────────────────────────────────────────────────

    async def run(self) -> Answer:
        """Type the prompt, wait for the end of the turn, return the answer. Raises AgentError."""
        if self.follower and self.follower.skip():
            self.turn.follows()
        try:
            await self._type()
            while True:
                await self._look()
                if sign := self.turn.over(self._time()):
                    return await self._answer(sign)
                if not self._console.alive():
                    return await self._after_exit()
                await self._console.wait_change(self._pause_s())
        except Hangup:
            return await self._after_exit()
        finally:
            await self._asking.close()

    async def _type(self) -> None:
        typing, console = self._profile.typing, self._console
        await self._prompted()
        self.typed = True
        keys = keystrokes(self._prompt, typing)
        await console.write(keys)
        if typing.settle_s:
            await self._settle(typing.settle_s, SETTLE_LIMIT_S + len(keys) / ECHO_BYTES_S)
        self.submitted = True
        self._submitted_at(self._time())
        await console.write(typing.submit)

    async def _prompted(self) -> None:
        """Wait until the program shows that it reads."""
        prompt, console = self._profile.typing.prompt, self._console
        end = self._time() + PROMPT_S
        while prompt and self._time() < end and console.alive():
            if prompt.search(text_on(await console.screen())):
                return
            await asyncio.sleep(HURRY_S)

    async def _settle(self, quiet_s: float, limit_s: float) -> None:
        """Wait until the program has written nothing for `quiet_s`."""
        begin = self._time()  # an earlier silence says nothing of the echo
        while True:
            now = self._time()
            left = quiet_s - min(self._console.quiet_s(), now - begin)
            if left <= 0 or now >= begin + limit_s:
                return
            await asyncio.sleep(left)

    def _submitted_at(self, now: float) -> None:
        record = self._profile.signs.record
        self._poll_s = record.poll_s if record else float("inf")
        self._record_due = now + self._poll_s
        self._sight_due = now + SIGHT_S
        self._draft_due = now + SCREEN_DRAFT_S
        self._confirm_due = now + self._profile.typing.confirm_s
        self._seen_bytes = self._console.output_bytes

    def _pause_s(self) -> float:
        """Until the next look, unless a signal comes before."""
        if self.turn.ending():
            return HURRY_S
        now = self._time()
        times = [self._record_due, self._sight_due]
        if not self.turn.began:
            times.append(self._confirm_due)
        soonest = min(times) - now
        due = self.turn.due(now)
        return max(min(soonest, due) if due is not None else soonest, 0.0)

    # ── What the others tell ────────────────────────────────────────────────────────────

    def tell(self, state: State) -> None:
        """The program told its state in-band."""
        if self.submitted:
            self.turn.tell(state, self._time())

    def retitle(self, title: str) -> None:
        """The program changed its window title."""
        signs = self._profile.signs
        if signs.title and self.submitted:
            busy = bool(signs.title.busy.search(title))
            if busy or signs.title.idle.search(title):
                self.turn.show("title", busy=busy, now=self._time())

    def note(self, event: TurnEvent, source: Source) -> None:
        """An event of its hooks or record."""
        if isinstance(event, Named):
            self._on_named(event.session_id)
        elif self.submitted:
            self.turn.note(event, source, self._time())
            self._console.changed.set()

    async def decide(self, asked: Asked) -> Mapping[str, Any]:
        """Let the room answer a hook's question."""
        self._screen_prompt.asked_by_hook()
        return await self._asking.respond(asked)

    # ── Looking ─────────────────────────────────────────────────────────────────────────

    async def _look(self) -> None:
        now = self._time()
        if self.follower and (self.turn.ending() or now >= self._record_due):
            for event in await self.follower.read():
                self.note(event, "record")
            self._record_due = now + self._poll_s
        if self.turn.ended or self.turn.failed:
            return
        if now >= self._sight_due or self._screen_prompt.decided():
            await self._see(now)
            self._sight_due = self._time() + SIGHT_S
        if not self.turn.began and now >= self._confirm_due:
            await self._confirm(now)
        self._draft(self.turn.draft(), now)

    async def _see(self, now: float) -> None:
        """Look at the screen, when something was written to it since."""
        console, turn = self._console, self.turn
        changed = console.output_bytes != self._seen_bytes
        if not (changed or self._undrafted or self._screen_prompt.decided()):
            return
        self._seen_bytes = console.output_bytes
        screen = await console.screen()
        text = text_on(screen)
        if keys := self._screen_prompt.see(screen, text, turn.state):
            await console.write(keys)
        turn.blocked = self._screen_prompt.stands or turn.state == "blocked"
        if keys := self._dialogs.keys(text, "turn"):
            turn.wake()
            await console.write(keys)
        self._see_footer(text, now)
        self._undrafted = now < self._draft_due
        if not turn.draft() and not turn.blocked and not self._undrafted:
            self._draft_due = now + SCREEN_DRAFT_S
            self._ending.shown = reply_on(screen, self._profile, self._prompt)
            self._draft(self._ending.shown, now)

    def _see_footer(self, text: str, now: float) -> None:
        footer, turn = self._profile.signs.footer, self.turn
        if footer is None:
            return
        if not turn.began and footer.busy is None:
            turn.began = True  # it wrote something after Enter
        busy = bool(footer.busy and footer.busy.search(text))
        if footer.busy is None:
            turn.wake("footer", "title")
        if busy or footer.idle is None or footer.idle.search(text):
            turn.show("footer", busy=busy, now=now)
        else:
            turn.wake("footer", "title")

    async def _confirm(self, now: float) -> None:
        """Nothing tells that Enter was heard: press it again while the box holds the text."""
        typing = self._profile.typing
        self._confirm_due = now + typing.confirm_s
        if typing.holding is None:
            return
        text = text_on(await self._console.screen())
        if not typing.holding.search(text):
            return
        self._tries -= 1
        if self._tries <= 0:
            raise self._ending.untaken(text)
        log.info("%s: pressing Enter again", self._profile.name)
        await self._console.write(typing.submit)

    def _draft(self, text: str, now: float) -> None:
        if text and text != self._drafted and now >= self._drafted_at + DRAFT_S:
            self._drafted, self._drafted_at = text, now
            self._reply.draft(readable(text))

    # ── Its end ─────────────────────────────────────────────────────────────────────────

    def partial(self) -> str:
        """What it has said so far."""
        return self._ending.partial() if self.submitted else ""

    async def _answer(self, sign: Sign) -> Answer:
        self._answered = True
        return await self._ending.answer(sign)

    async def _after_exit(self) -> Answer:
        """The program is gone; perhaps its record has the answer."""
        await self._console.wait_exit(EXIT_S)
        if self.follower:
            for event in await self.follower.read():
                self.note(event, "record")
        if self.turn.failed or self.turn.ended:
            return await self._answer("record")
        raise await self._ending.crash()

    def unfinished(self) -> bool:
        """Whether the program may still work on it, or its box hold the text."""
        return self.typed and not (self.turn.ended or self.turn.failed or self._answered)

    async def break_off(self) -> bool:
        """Press what interrupts; True when the program is idle again and its box is empty."""
        interrupt, console = self._profile.interrupt, self._console
        self._ending.freeze()
        try:
            async with asyncio.timeout(BREAK_OFF_S):
                if not self.submitted:
                    ends = END if self._profile.typing.paste else b""
                    await console.write(ends)
                    await self._clear()
                    return bool(interrupt.clear)
                if interrupt.ends:
                    return False
                for number, key in enumerate(interrupt.keys):
                    if number:
                        await asyncio.sleep(interrupt.gap_s)
                    await console.write(key)
                await self._until_idle()
                await self._clear()
        except (TimeoutError, Hangup):
            return False
        return console.alive()

    async def _clear(self) -> None:
        """Empty the input box."""
        interrupt, console = self._profile.interrupt, self._console
        if interrupt.clear:
            await asyncio.sleep(console.cleared_at + interrupt.clear_gap_s - self._time())
            console.cleared_at = self._time()
            await console.write(interrupt.clear)

    async def _until_idle(self) -> None:
        while not self._idle() and self._console.alive():
            if self.follower:
                for event in await self.follower.read():
                    self.note(event, "record")
            await self._console.wait_change(HURRY_S * 5)

    def _idle(self) -> bool:
        turn, signs = self.turn, self._profile.signs
        if turn.ended or turn.failed or turn.state in ("done", "idle", "error"):
            return True
        if signs.states is None and not signs.paste_mode and self._console.quiet_s() >= CALM_S:
            return signs.title is None or bool(signs.title.idle.search(self._console.title))
        return False
