"""A running program with its screen: what the driver sees and presses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adapters.pty.buffer import OutputBuffer
from adapters.pty.terminal import PtyClosed, Terminal
from adapters.screen.screen import Screen
from adapters.screen.signals import Signal
from adapters.turn_events import State

SLICE_S = 0.005  # of drawing, between two turns of the loop
REST_S = 0.025  # between slices when much waits: 0.3 MB/s and more
FLOOD_REST_S = 0.005  # when somebody waits for it: half of the time is others'


class Console:
    """A program in a terminal.

    `on_signal` gets what the program tells (titles, OSCs, modes), in order. `changed` is set
    with each of these and at the exit; whoever waits for it clears it. shell: see
    `Profile.shell_terminal`.
    """

    def __init__(
        self, cols: int, rows: int, on_signal: Callable[[Signal], None], *, shell: bool = False
    ) -> None:
        self._shell = shell
        self._loop = asyncio.get_running_loop()
        self._tape = OutputBuffer(cols, rows)
        self._on_signal = on_signal
        self._terminal: Terminal | None = None
        self._drawing: asyncio.TimerHandle | None = None
        self.changed = asyncio.Event()
        self.state: State | None = None  # what it told last; kept by whoever reads its signals
        self.output_bytes = 0
        self.cleared_at = float("-inf")  # when its input box was cleared last
        self.last_output = self._loop.time()

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        enclosure: Sequence[str] = (),
    ) -> None:
        """Run the program. enclosure: see `Command`. Raises OSError."""
        screen = self._tape.screen
        self._terminal = Terminal.open(
            argv,
            env=env,
            cwd=cwd,
            cols=screen.cols,
            rows=screen.rows,
            shell=self._shell,
            enclosure=enclosure,
            on_output=self._take,
            on_exit=self.changed.set,
        )

    @property
    def pid(self) -> int | None:
        """The program's process id, once it was started."""
        return self._terminal.pid if self._terminal else None

    @property
    def exit_code(self) -> int | None:
        """None before its end."""
        return self._terminal.exit_code if self._terminal else None

    def alive(self) -> bool:
        """Whether the program runs."""
        return self._terminal is not None and self._terminal.exit_code is None

    @property
    def title(self) -> str:
        """The window's title."""
        return self._tape.signals.title

    @property
    def bracketed_paste(self) -> bool:
        """Whether it wants pastes marked."""
        return self._tape.signals.bracketed_paste

    @property
    def waiting_bytes(self) -> int:
        """Output that is not drawn yet."""
        return self._tape.size_bytes

    @property
    def scrolled(self) -> int:
        """See `Screen.scrolled`; as far as it is drawn."""
        return self._tape.screen.scrolled

    def quiet_s(self) -> float:
        """Seconds since its last output."""
        return self._loop.time() - self.last_output

    # ── Output ──────────────────────────────────────────────────────────────────────────

    def _take(self, data: bytes) -> None:
        self.last_output = self._loop.time()
        self.output_bytes += len(data)
        for signal in self._tape.feed(data):
            if signal.kind in ("title", "osc", "mode"):
                self._on_signal(signal)
                self.changed.set()
        if self._tape.asked:
            self._draw()
        self._answer()
        if self._tape.full and self._terminal:
            self._terminal.pause()
        if (self._tape.long or self._tape.asked) and self._drawing is None:
            self._drawing = self._loop.call_later(self._rest_s(), self._catch_up)

    def _draw(self) -> bool:
        """Draw for a few milliseconds; True when all is drawn."""
        done = self._tape.draw(SLICE_S)
        self._answer()
        return done

    def _answer(self) -> None:
        """Answer what the program asked its terminal."""
        if (answers := self._tape.answers()) and self._terminal:
            with contextlib.suppress(PtyClosed):
                self._terminal.send(answers)

    def _rest_s(self) -> float:
        return FLOOD_REST_S if self._tape.full or self._tape.asked else REST_S

    def _catch_up(self) -> None:
        """Draw slice by slice, faster when the program or reading has to wait for it."""
        self._drawing = None
        rest_s = self._rest_s()
        if not self._draw():
            self._drawing = self._loop.call_later(rest_s, self._catch_up)
        if not self._tape.full and self._terminal:
            self._terminal.resume()

    async def screen(self) -> Screen:
        """The screen with everything that has been read, drawn without holding the loop."""
        while True:
            if self._draw():
                return self._tape.screen
            await asyncio.sleep(0)

    def glance(self) -> Screen:
        """The screen as far as a few milliseconds of drawing get."""
        self._draw()
        return self._tape.screen

    # ── Input ───────────────────────────────────────────────────────────────────────────

    async def write(self, data: bytes) -> None:
        """Write all of it while reading goes on. Raises Hangup."""
        if self._terminal is None:
            raise PtyClosed("not started")
        await self._terminal.write(data)

    async def wait_change(self, timeout_s: float | None) -> None:
        """Wait for the next signal, or so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.changed.wait()
        self.changed.clear()

    async def wait_quiet(self, quiet_s: float, limit_s: float, *, anew: bool = False) -> None:
        """Wait until it has written nothing for so long, at most `limit_s`.

        anew: what it was quiet before does not count.
        """
        begin = self._loop.time()
        while (now := self._loop.time()) < begin + limit_s:
            quiet = min(self.quiet_s(), now - begin) if anew else self.quiet_s()
            if quiet >= quiet_s:
                return
            await asyncio.sleep(quiet_s - quiet)

    async def wait_exit(self, timeout_s: float) -> None:
        """Wait for the program's end, at most so long."""
        if self._terminal:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._terminal.wait()

    async def close(self) -> None:
        """End the program."""
        if self._drawing:
            self._drawing.cancel()
        if self._terminal:
            await self._terminal.close()
