"""Breaking a turn off: the keys that interrupt, and the wait until the program is idle again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from adapters.cli.keyboard import END, pastes
from adapters.cli.permission import asks
from adapters.cli.turn import TurnState
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.pty.terminal import PtyClosed
from adapters.reading.queries import text_on
from adapters.reading.standing import SettledQuestions
from adapters.session.session import BREAK_OFF_S

CALM_S = 0.5  # quiet after an interrupt, where no sign tells more
LOOK_S = 0.05


class Interruption:
    """read_record: notes what the program's record says of the turn meanwhile."""

    def __init__(
        self,
        profile: Profile,
        console: Console,
        turn: TurnState,
        settled: SettledQuestions,
        read_record: Callable[[], Awaitable[None]],
    ) -> None:
        self._profile = profile
        self._console = console
        self._turn = turn
        self._settled = settled
        self._read_record = read_record
        self._time = asyncio.get_running_loop().time
        self._pressed_at = 0.0

    async def run(self, *, submitted: bool) -> bool:
        """Press the keys; True when the program is idle again and its box is empty."""
        interrupt, console = self._profile.controls.interrupt, self._console
        try:
            async with asyncio.timeout(BREAK_OFF_S):
                if not submitted and await self._asks():
                    return False  # what stands there would take what clears the box
                if not submitted:
                    ends = END if pastes(self._profile.typing, console) else b""
                    await console.write(ends)
                    await self._clear()
                    return bool(interrupt.clear)
                if interrupt.ends:
                    return False
                await self._press()
                await self._until_idle()
                if interrupt.goes_on_s and self._turn.owes_words():
                    await self._until_it_stays(interrupt.goes_on_s)
                await self._clear()
        except (TimeoutError, PtyClosed):
            return False
        return console.alive

    async def _press(self) -> None:
        interrupt = self._profile.controls.interrupt
        for number, key in enumerate(interrupt.keys):
            if number:
                await asyncio.sleep(interrupt.gap_s)
            await self._console.write(key)
        self._pressed_at = self._time()

    async def _clear(self) -> None:
        """Empty the input box."""
        interrupt, console = self._profile.controls.interrupt, self._console
        if interrupt.clear:
            await asyncio.sleep(console.cleared_at + interrupt.clear_gap_s - self._time())
            console.cleared_at = self._time()
            await console.write(interrupt.clear)

    async def _until_idle(self) -> None:
        again_s = self._profile.controls.interrupt.again_s
        while self._console.alive:
            if self._idle() and not await self._shows_busy():
                return
            if again_s and self._since_keys_s() >= again_s and await self._shows_busy():
                await self._press()
            await self._read_record()
            await self._console.wait_change(LOOK_S)

    async def _until_it_stays(self, within_s: float) -> None:
        """Press the keys again when its title shows that it goes on by itself."""
        title, console, pressed = self._profile.signs.title, self._console, False
        until = self._time() + within_s
        while title and console.alive and (pressed or self._time() < until):
            busy = bool(title.busy.search(console.title))
            if busy and not pressed:
                pressed = True
                await self._press()
            elif pressed and not busy:
                return
            await console.wait_change(LOOK_S)

    def _idle(self) -> bool:
        turn, signs = self._turn, self._profile.signs
        if turn.finished() or turn.state in ("done", "idle", "error"):
            return True
        quiet_s = float("inf") if self._console.restless else self._console.quiet_s()
        calm = min(quiet_s, self._since_keys_s()) >= CALM_S
        if signs.states is None and not signs.paste_mode and calm:
            return signs.title is None or bool(signs.title.idle.search(self._console.title))
        return False

    def _since_keys_s(self) -> float:
        """A silence from before the keys tells nothing: it may not have heard them yet."""
        return self._time() - self._pressed_at

    async def _shows_busy(self) -> bool:
        """True when the screen contradicts a silence; what its own signs tell needs no witness.

        One that was described, or has no other signs, must show that it waits.
        """
        if self._turn.finished():
            return False
        text, signs = text_on(await self._console.screen()), self._profile.signs
        footer = signs.footer
        if footer and footer.busy and footer.busy.search(text):
            return True
        alone = not (signs.states or signs.paste_mode or signs.title or signs.exact)
        alone |= bool(self._profile.program.ready.described)
        if alone and footer and footer.idle and not footer.idle.search(text):
            return True
        return await self._asks()

    async def _asks(self) -> bool:
        screen = await self._console.screen()
        return asks(screen, self._profile, self._settled, text_on(screen))
