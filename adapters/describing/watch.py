"""A program in a terminal, typed to and watched as a person would: what it showed, and when."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import field

from adapters.agent import Launch
from adapters.cli.keyboard import echoed, keystrokes, pastes
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.reading.standing import words_of
from adapters.sandbox.enclosure import enclose
from adapters.screen.screen import Screen
from adapters.session.causes import exit_of, with_its_words
from adapters.session.session import last_words
from adapters.session.startup import prepare, setting_of
from contract.errors import AgentError
from contract.language import later
from contract.values import dataclass

SAMPLE_S = 0.05
START_QUIET_S = 1.5
TURN_QUIET_S = 3.0
RESTLESS_S = 5.0  # what changes for so long while nothing is asked is decoration
LIMIT_S = 30.0  # for a start
TURN_LIMIT_S = 180.0
SAME_FRAMES = 4_000  # of one prompt


@dataclass(frozen=True, slots=True)
class Frame:
    """The terminal at one moment. at: seconds since the prompt was entered, or since the start.

    rows: as they are drawn. cursor: its column and row. lines: it writes below what it
    wrote, and Ctrl-C is a signal.
    """

    at: float
    rows: tuple[str, ...]
    title: str
    cursor: tuple[int, int]
    lines: bool

    @property
    def filled(self) -> tuple[str, ...]:
        """The rows without the blank ones at the end."""
        end = len(self.rows)
        while end and not self.rows[end - 1]:
            end -= 1
        return self.rows[:end]


@dataclass(slots=True)
class WatchedPrompt:
    """A prompt and all that the screen showed since, each frame that differed from the one before.

    typed: just before Enter. done_s: since when nothing but decoration changed. screen: at its
    end; since: see `Screen.lines`.
    """

    prompt: str
    typed: Frame
    screen: Screen
    since: int
    frames: list[Frame] = field(default_factory=list)
    done_s: float = 0.0

    @property
    def end(self) -> Frame:
        """What stands when nothing changes any more."""
        return self.frames[-1]


class Watcher:
    """idle: the frames before the first prompt. started_s: until nothing changed any more."""

    def __init__(self, profile: Profile, console: Console) -> None:
        self.idle: list[Frame] = []
        self.started_s = 0.0
        self._profile = profile
        self._console = console
        self._time = asyncio.get_running_loop().time
        self._noise: frozenset[int] = frozenset()

    @classmethod
    @asynccontextmanager
    async def open(cls, profile: Profile, launch: Launch) -> AsyncIterator[Watcher]:
        """Start it, and wait until its screen stands still. Raises AgentError."""
        setting = setting_of(profile, launch, "", resumes=False, hook_url="")
        command = enclose(profile, launch, prepare(profile, launch, setting))
        cols, rows = profile.program.size or (launch.cols, launch.rows)
        console = Console(cols, rows, lambda _: None, shell=profile.program.shell_terminal)
        try:
            console.start(command.line, command.env, command.cwd, command.enclosure)
            watcher = cls(profile, console)
            await watcher._start()
            yield watcher
        finally:
            await console.close()

    @property
    def cols(self) -> int:
        """Columns of its terminal."""
        return self._console.glance().cols

    @property
    def screen(self) -> Screen:
        """What it shows now."""
        return self._console.glance()

    @property
    def restless(self) -> bool:
        """True when it draws all the time."""
        return self._console.restless

    @property
    def pastes(self) -> bool:
        """True when it asks for pastes to be marked."""
        return self._console.bracketed_paste

    async def _start(self) -> None:
        begin = self._time()
        await self._until_still(self.idle, begin, START_QUIET_S, LIMIT_S, first=True)
        self.started_s = self._settled_at(self.idle)

    async def ask(self, prompt: str, *, asks: bool = False) -> WatchedPrompt:
        """Type a prompt and watch until nothing changes. Raises AgentError when it ends.

        asks: a question is expected, behind which a spinner may go on.
        """
        since = self._console.scrolled
        typing = self._profile.typing
        keys = keystrokes(prompt, typing, paste=pastes(typing, self._console))
        await self._console.write(keys)
        await echoed(self._profile, self._console, keys)
        begin = self._time()
        typed = await self._frame(begin)
        await self._console.write(typing.submit)
        frames: list[Frame] = []
        await self._until_still(frames, begin, TURN_QUIET_S, TURN_LIMIT_S, loosely=asks)
        shown = copy.deepcopy(await self._console.screen())
        done_s = self._settled_at(frames)
        return WatchedPrompt(prompt, typed, shown, since, frames, done_s)

    def _settled_at(self, frames: Sequence[Frame]) -> float:
        """Since when nothing but decoration changed."""
        at = frames[-1].at
        for frame in reversed(frames):
            if self._meant(frame) != self._meant(frames[-1]):
                break
            at = frame.at
        return at

    async def press(self, keys: bytes) -> Frame:
        """Press keys, and wait until nothing changes; what stands then."""
        frames: list[Frame] = []
        begin = self._time()
        await self._console.write(keys)
        await self._until_still(frames, begin, START_QUIET_S, LIMIT_S)
        return frames[-1]

    async def _until_still(
        self,
        frames: list[Frame],
        begin: float,
        quiet_s: float,
        limit_s: float,
        *,
        first: bool = False,
        loosely: bool = False,
    ) -> None:
        """Take frames until only decoration changed for so long. first: learn what that is.

        loosely: spinners and counters are decoration, and its last row need not be back.
        """
        still_since, kept = begin, None
        while self._console.alive:
            frame = await self._frame(begin)
            _keep(frames, frame)
            shown = self._loosely_meant(frame) if loosely else self._meant(frame)
            if shown != kept or not any(frame.rows):
                still_since, kept = self._time(), shown
            now = self._time()
            if now >= still_since + quiet_s and any(frame.rows):
                if loosely or self._waits(frame) or now >= still_since + 4 * quiet_s:
                    return
            elif first and now >= begin + RESTLESS_S and not self._noise:
                self._learn_noise(frames, now - begin)
            if now >= begin + limit_s:
                return
            await asyncio.sleep(SAMPLE_S)
        raise self._ended()

    def _meant(self, frame: Frame) -> tuple[tuple[str, ...], str]:
        """The frame without what changes all the time."""
        kept = (row for index, row in enumerate(frame.rows) if index not in self._noise)
        return tuple(kept), frame.title

    def _loosely_meant(self, frame: Frame) -> tuple[tuple[str, ...], str]:
        """The same without spinners and counters."""
        return tuple(words_of(row) for row in self._meant(frame)[0]), ""

    def _waits(self, frame: Frame) -> bool:
        """True when its last row is the one of the beginning: it takes a prompt there."""
        idle = self.idle[-1].filled if self.idle else ()
        return not idle or frame.filled[-1:] == idle[-1:]

    def _learn_noise(self, frames: Sequence[Frame], now: float) -> None:
        late = [frame.rows for frame in frames if frame.at >= now - RESTLESS_S / 2]
        columns = zip(*late, strict=True)
        self._noise = frozenset(i for i, column in enumerate(columns) if len(set(column)) > 1)
        self._console.restless = True

    async def _frame(self, begin: float) -> Frame:
        screen, console = await self._console.screen(), self._console
        at = self._time() - begin
        lines = console.takes_signals and not screen.alternate
        return Frame(at, tuple(screen.display()), console.title, screen.cursor, lines)

    def _ended(self) -> AgentError:
        code, shown = self._console.exit_code, last_words("\n".join(self.screen.display()))
        title = self._profile.title
        what = later("{title} ended ({code})", title=title, code=exit_of(code))
        say = with_its_words(what, shown)
        return AgentError("startup", f"{title}: ended with code {code}: {shown}", say=say)


def _keep(frames: list[Frame], frame: Frame) -> None:
    """Add one that shows something else than the last."""
    if not frames or (frame.rows, frame.title) != (frames[-1].rows, frames[-1].title):
        frames.append(frame)
        del frames[1 : len(frames) - SAME_FRAMES]
