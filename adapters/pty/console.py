"""A running program with its screen: what the driver sees and presses."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from adapters.pty.terminal import PtyClosed, Terminal
from adapters.screen.screen import Screen
from adapters.screen.signals import Signal, Signals
from adapters.turn_events import State
from contract.turnstile import turnstile

SLICE_BYTES = 4_096  # 1 to 3 ms of drawing, if it is the output of a sane program

LONG_BYTES = 64 * 1024  # so much waits that somebody who looks would have to wait as well
FULL_BYTES = 512 * 1024  # no more is kept


Look = Callable[[Screen], None]


class OutputBuffer:
    """Output that is not drawn yet, and the screen behind it. No byte is ever left out.

    size_bytes: what waits. asked: so often the program waits for where its cursor is, which only
    drawing can tell. answers: what to send to the program now; who does so empties it. screen: as
    far as it is drawn. look: has somebody look at it as it is when all that came so far is drawn,
    which may be never.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self.signals = Signals(cols, rows)
        self.size_bytes = 0
        self.asked = 0
        self.answers: list[bytes] = []
        self.screen = Screen(cols, rows, answers=False)
        # output, what to answer behind it, and who looks at the screen there
        self._waiting: deque[bytes | Signal | Look] = deque()
        self.look: Callable[[Look], None] = self._waiting.append
        self._slice_bytes = 0
        self._slice: Iterator[bytes] = iter(())  # what is being drawn

    def feed(self, data: bytes) -> list[Signal]:
        """Take output; the signals in it."""
        signals = self.signals.feed(data)
        start = 0
        for signal in signals:
            if signal.kind == "cursor":
                end = max(start, len(data) - signal.behind)
                self._waiting += (data[start:end], signal)
                start = end
                self.asked += 1
            elif signal.kind == "query":
                if self.asked:  # programs count on answers in the order of their questions
                    self._waiting.append(signal)
                else:
                    self.answers.append(signal.answer)
        if start < len(data):
            self._waiting.append(data[start:])
        self.size_bytes += len(data)
        return signals

    def draw(self, budget_s: float) -> bool:
        """Draw what waits, at most about so long of the processor; True when all is drawn."""
        end = time.thread_time() + budget_s
        while self._slice_bytes or self._waiting:
            for _ in self._slice:
                if time.thread_time() >= end:
                    return False
            self.size_bytes -= self._slice_bytes
            self._slice_bytes = 0
            self._next_slice()
            if time.thread_time() >= end:  # a slice may have no bits
                break
        return not (self._slice_bytes or self._waiting)

    def _next_slice(self) -> None:
        """Begin with what comes next."""
        while self._waiting and not isinstance(point := self._waiting[0], bytes):
            if isinstance(point, Signal):
                self._answer(point)
            else:
                point(self.screen)
            self._waiting.popleft()
        data = b""
        while self._waiting and isinstance(piece := self._waiting[0], bytes):
            if data and len(data) + len(piece) > SLICE_BYTES:
                break
            data += piece
            self._waiting.popleft()
        if len(data) > SLICE_BYTES:
            self._waiting.appendleft(data[SLICE_BYTES:])
            data = data[:SLICE_BYTES]
        self._slice, self._slice_bytes = self.screen.digest(data), len(data)

    def _answer(self, signal: Signal) -> None:
        if signal.kind == "cursor":
            self.asked -= 1
            self.answers.append(self.screen.cursor_report(signal.text))
        else:
            self.answers.append(signal.answer)


PASTE_MODE = 2004
SLICE_S = 0.005  # of drawing for somebody who looks, between two turns of the loop
CATCH_UP_S = 0.002  # for nobody yet
REST_S = 0.01  # between slices when much waits: 0.3 MB/s and more
FLOOD_REST_S = 0.002  # when somebody waits for it: half of the time is others'


class Console:
    """A program in a terminal.

    `on_signal` gets what the program tells (titles, OSCs, mode 2004), in order. `changed` is set
    with each of these and at the exit; whoever waits for it clears it. shell: see
    `Program.shell_terminal`. alive: the program runs. ready: and takes prompts, as its driver
    found. restless: it draws all the time, as its driver found: it is never quiet. title: the
    window's. scrolled: see
    `Screen.scrolled`; as far as it is drawn.
    """

    def __init__(
        self, cols: int, rows: int, on_signal: Callable[[Signal], None], *, shell: bool = False
    ) -> None:
        self._shell = shell
        self._loop = asyncio.get_running_loop()
        self._turnstile = turnstile("screens")
        self._buffer = OutputBuffer(cols, rows)
        self.look = self._buffer.look  # see there
        self._on_signal = on_signal
        self._terminal: Terminal | None = None
        self._drawing: asyncio.TimerHandle | None = None
        self.alive = False
        self.ready = False
        self.restless = False
        self.title = ""
        self.scrolled = 0
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
        screen = self._buffer.screen
        self._terminal = Terminal.open(
            argv,
            env=env,
            cwd=cwd,
            cols=screen.cols,
            rows=screen.rows,
            shell=self._shell,
            enclosure=enclosure,
            on_output=self._take,
            on_exit=self._ended,
        )
        self.alive = True

    def _ended(self) -> None:
        self.alive = self.ready = False
        self.changed.set()

    @property
    def pid(self) -> int | None:
        """The program's process id, once it was started."""
        return self._terminal.pid if self._terminal else None

    @property
    def exit_code(self) -> int | None:
        """The program's exit code; None before its end."""
        return self._terminal.exit_code if self._terminal else None

    @property
    def takes_signals(self) -> bool:
        """True while Ctrl-C is a signal to it, and no key that it reads."""
        return self._terminal is not None and self._terminal.takes_signals()

    @property
    def takes_lines(self) -> bool:
        """True while it takes whole lines as they come, and has no input box of its own."""
        return self._terminal is not None and self._terminal.takes_lines()

    @property
    def bracketed_paste(self) -> bool:
        """True when it wants pastes marked."""
        return self._buffer.signals.bracketed_paste

    @property
    def waiting_bytes(self) -> int:
        """Output that is not drawn yet."""
        return self._buffer.size_bytes

    def quiet_s(self) -> float:
        """Seconds since its last output."""
        return self._loop.time() - self.last_output

    # ── Output ──────────────────────────────────────────────────────────────────────────

    def _take(self, data: bytes) -> None:
        self.last_output = self._loop.time()
        self.output_bytes += len(data)
        for signal in self._buffer.feed(data):
            if signal.kind == "title":
                self.title = signal.text
            if signal.kind in ("title", "osc") or signal.number == PASTE_MODE:
                self._on_signal(signal)
                self.changed.set()
        buffer = self._buffer
        if buffer.asked:
            self._draw()
        elif buffer.answers:
            self._answer()
        if buffer.size_bytes > FULL_BYTES and self._terminal:
            self._terminal.pause()
        if (buffer.size_bytes > LONG_BYTES or buffer.asked) and self._drawing is None:
            self._draw_later(self._rest_s())

    def _draw(self, budget_s: float = SLICE_S) -> bool:
        """Draw for a few milliseconds; True when all is drawn."""
        done = self._buffer.draw(budget_s)
        self.scrolled = self._buffer.screen.scrolled
        self._answer()
        return done

    def _answer(self) -> None:
        """Answer what the program asked its terminal."""
        answers, self._buffer.answers = b"".join(self._buffer.answers), []
        if answers and self._terminal:
            with contextlib.suppress(PtyClosed):
                self._terminal.send(answers)

    def _rest_s(self) -> float:
        hurry = self._buffer.size_bytes > FULL_BYTES or self._buffer.asked
        return FLOOD_REST_S if hurry else REST_S

    def _draw_later(self, rest_s: float) -> None:
        call = self._turnstile.call
        self._drawing = self._loop.call_later(rest_s, call, self._catch_up)

    def _catch_up(self) -> None:
        """Draw slice by slice, faster when the program or reading has to wait for it."""
        self._drawing = None
        rest_s = self._rest_s()
        if not self._draw(CATCH_UP_S):
            self._draw_later(rest_s)
        if self._buffer.size_bytes <= FULL_BYTES and self._terminal:
            self._terminal.resume()

    async def screen(self) -> Screen:
        """The screen with everything that has been read, drawn without holding the loop.

        Whoever asks reads it at once, and many ask at the same moment: each in a turn of its own.
        """
        while True:
            await self._turnstile.through()
            if self._draw():
                return self._buffer.screen

    def glance(self) -> Screen:
        """The screen as far as a few milliseconds of drawing get."""
        self._draw()
        return self._buffer.screen

    # ── Input ───────────────────────────────────────────────────────────────────────────

    async def write(self, data: bytes) -> None:
        """Write all of it while reading goes on. Raises PtyClosed."""
        if self._terminal is None:
            raise PtyClosed("not started")
        await self._terminal.write(data)

    async def wait_change(self, timeout_s: float | None) -> None:
        """Wait for the next signal, or so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.changed.wait()
        self.changed.clear()

    async def wait_quiet(self, quiet_s: float, limit_s: float, *, from_now: bool = False) -> None:
        """Wait until it has written nothing for so long, at most `limit_s`.

        from_now: what it was quiet before does not count. One that draws all the time gets little
        more than that.
        """
        limit_s = min(limit_s, 2 * quiet_s) if self.restless else limit_s
        begin = self._loop.time()
        while (now := self._loop.time()) < begin + limit_s:
            quiet = min(self.quiet_s(), now - begin) if from_now else self.quiet_s()
            if quiet >= quiet_s:
                return
            await asyncio.sleep(quiet_s - quiet)

    async def wait_exit(self, timeout_s: float) -> None:
        """Wait for the program's end, at most so long."""
        if self._terminal:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._terminal.wait()

    async def end_younger(self, begin: float) -> None:
        """See `process_tree.end_younger`."""
        if self._terminal:
            await self._terminal.end_younger(begin)

    async def close(self) -> None:
        """End the program."""
        if self._drawing:
            self._drawing.cancel()
        if self._terminal:
            await self._terminal.close()
