"""One program in a pseudo-terminal of its own, driven by the event loop without a thread.

How it is started: `Popen` with `start_new_session` (vfork and exec inside C, safe although other
threads run; `forkpty` and `preexec_fn` are not, and warn since Python 3.12), and between it and
the program its keeper, or in a sandbox a few lines of Python, which take the terminal as
controlling terminal and exec. So when this process dies, even by SIGKILL, the kernel hangs up and
the program gets SIGHUP; what ignores that is ended by the keeper or with the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import subprocess
import termios
import threading
import tty
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import structlog

from adapters.pty.open_files import OPEN_FILES
from adapters.pty.process_tree import BECOME, PYTHON, ask_to_end, end_younger, kept, kill, lifeline
from contract.turnstile import turnstile
from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class StartCommand:
    """A program about to be started. env: the whole of it. enclosure: words that go before all of
    it and put it into a sandbox; as_account: before `argv`, which then another account runs."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    enclosure: tuple[str, ...] = ()
    as_account: tuple[str, ...] = ()

    @property
    def line(self) -> tuple[str, ...]:
        """The program and its words, run by whoever is to run it."""
        return (*self.as_account, *self.argv)


log = structlog.stdlib.get_logger("moot.adapters.terminal")

READ_BYTES = 65_536  # Linux gives at most 4,095 a read
READS = 2  # in one turn of the loop, so that a flood leaves time to others
WRITE_BYTES = 16_384  # the kernel takes 18,432 unread bytes
LAST_READS = 256  # after the exit: what is left, unless somebody else floods the terminal

TAKE_TERMINAL = (
    """
import fcntl, os, sys, termios
_, locale, *argv = sys.argv
refused = ()
if os.getsid(0) != os.getpid():  # in a sandbox, whose first process leads
    os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""
    + BECOME
)


class PtyClosed(Exception):
    """The program closed its terminal or ended; what was written did not arrive in full."""


class Terminal:
    """A running program and the master side of its terminal.

    `on_output` gets every read in order, on the loop; `on_exit` is called once, after the last
    output. Neither may raise. Who opens closes.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        master: int,
        on_output: Callable[[bytes], None],
        on_exit: Callable[[], None],
        *,
        enclosed: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._turnstile = turnstile("output")
        self.pid = process.pid  # of the root of its tree: a keeper, or bubblewrap
        self.exit_code: int | None = None  # negative: ended by that signal
        self._process = process
        self._master = master
        self._on_output = on_output
        self._on_exit = on_exit
        self._enclosed = enclosed
        self._unsent: deque[memoryview] = deque()
        self._sent: asyncio.Future[None] | None = None
        self._writing = asyncio.Lock()
        self._ended = asyncio.Event()
        self._eof = False
        self._paused = False
        self._queued = False  # it has output, and waits for its turn to read it
        self._loop.add_reader(master, self._readable)
        self._watch()

    @classmethod
    def open(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        cols: int,
        rows: int,
        shell: bool = False,
        enclosure: Sequence[str] = (),
        on_output: Callable[[bytes], None],
        on_exit: Callable[[], None] = lambda: None,
    ) -> Self:
        """Start argv[0], an absolute path, with exactly this environment. Raises OSError.

        shell: the terminal echoes what the program doesn't read itself, and Ctrl-C is SIGINT.
        enclosure: words that put what follows them into a sandbox.
        """
        master, slave = os.openpty()
        try:
            os.set_blocking(master, False)
            _make_raw(slave, shell=shell)
            termios.tcsetwinsize(slave, (rows, cols))
            take = [PYTHON, "-I", "-S", "-c", TAKE_TERMINAL, env.get("LC_CTYPE", "")]
            words = [*enclosure, *take, *argv] if enclosure else kept(argv, env, terminal=True)
            process = _start(words, slave, env, cwd, kept=not enclosure)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        return cls(process, master, on_output, on_exit, enclosed=bool(enclosure))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def wait(self) -> int:
        """Wait for the program's end; return its exit code."""
        await self._ended.wait()
        return self._process.returncode

    def resize(self, cols: int, rows: int) -> None:
        """Tell the program its new size (SIGWINCH)."""
        if not self._ended.is_set():
            termios.tcsetwinsize(self._master, (rows, cols))

    def takes_signals(self) -> bool:
        """True while Ctrl-C is a signal to the program, and no key that it reads."""
        return self._has(termios.ISIG)

    def takes_lines(self) -> bool:
        """True while the terminal itself echoes what is typed: the program edits no line, and
        takes each as it comes."""
        return self._has(termios.ECHO)

    def _has(self, local_mode: int) -> bool:
        return not self._ended.is_set() and bool(termios.tcgetattr(self._master)[3] & local_mode)

    # ── Output ──────────────────────────────────────────────────────────────────────────

    def pause(self) -> None:
        """Stop reading: the program blocks when the kernel's buffer is full."""
        if not self._paused and not self._eof:
            self._loop.remove_reader(self._master)
        self._paused = True

    def resume(self) -> None:
        """Read on."""
        if self._paused and not self._eof:
            self._loop.add_reader(self._master, self._readable)
        self._paused = False

    def _readable(self) -> None:
        """Read when it is its turn; until then each turn of the loop finds it readable again."""
        if not self._queued:
            self._queued = True
            self._turnstile.call(self._read)

    def _read(self) -> None:
        self._queued = False
        if self._paused or self._eof:
            return
        chunks: list[bytes] = []
        for _ in range(READS):
            chunk = self._read_once()
            if not chunk:
                break
            chunks.append(chunk)
        if chunks:
            self._on_output(b"".join(chunks))

    def _read_once(self) -> bytes:
        """The output that is there; b"" when there is nothing (more)."""
        try:
            chunk = os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno != errno.EIO:  # EIO: Linux's end of a terminal
                log.warning("terminal.unreadable", pid=self.pid, reason=error)
            chunk = b""
        if not chunk:
            self._hang_up()
        return chunk

    def _hang_up(self) -> None:
        if self._eof:
            return
        self._eof = True
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        self._unsent.clear()
        if self._sent and not self._sent.done():
            self._sent.set_exception(PtyClosed("the program closed its terminal"))

    # ── Input ───────────────────────────────────────────────────────────────────────────

    async def write(self, data: bytes) -> None:
        """Return when the kernel has taken it all; reading goes on meanwhile. Raises PtyClosed.

        Cancelled, the rest is not sent. Calls wait for one another.
        """
        async with self._writing:
            self.send(data)
            if not self._unsent:
                return
            self._sent = self._loop.create_future()
            try:
                await self._sent
            finally:
                self._sent = None
                self._unsent.clear()
                if not self._eof:
                    self._loop.remove_writer(self._master)

    def send(self, data: bytes) -> None:
        """Queue a few bytes, e.g. an answer to a query, behind what is being written."""
        if self._eof:
            raise PtyClosed("the program closed its terminal")
        waiting = bool(self._unsent)
        view = memoryview(data)
        self._unsent.extend(view[at : at + WRITE_BYTES] for at in range(0, len(view), WRITE_BYTES))
        if not waiting:
            self._flush()
            if self._unsent:
                self._loop.add_writer(self._master, self._flush)

    def _flush(self) -> None:
        while self._unsent:
            piece = self._unsent[0]
            try:
                count = os.write(self._master, piece)
            except BlockingIOError:
                return
            except OSError:  # EIO: nobody has the other side open
                self._hang_up()
                return
            if count == len(piece):
                self._unsent.popleft()
            else:
                self._unsent[0] = piece[count:]
        self._loop.remove_writer(self._master)
        if self._sent and not self._sent.done():
            self._sent.set_result(None)

    # ── The end ─────────────────────────────────────────────────────────────────────────

    def _watch(self) -> None:
        """Notice the exit: by a pidfd on Linux, elsewhere by a thread that waits."""
        with contextlib.suppress(AttributeError, OSError):  # macOS; an old kernel or a sandbox
            pidfd = os.pidfd_open(self.pid)
            self._loop.add_reader(pidfd, self._exited, pidfd)
            return

        def wait() -> None:
            self._process.wait()
            with contextlib.suppress(RuntimeError):  # the loop was closed before
                self._loop.call_soon_threadsafe(self._exited, None)

        threading.Thread(target=wait, name=f"wait-{self.pid}", daemon=True).start()

    def _exited(self, pidfd: int | None) -> None:
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        self._kill()  # what it left behind, before the id is free
        self.exit_code = self._process.wait()
        for _ in range(LAST_READS):
            if self._eof or not (chunk := self._read_once()):
                break
            self._on_output(chunk)
        self._hang_up()
        os.close(self._master)
        self._ended.set()
        self._on_exit()

    async def end_younger(self, begin: float) -> None:
        """See `process_tree.end_younger`."""
        if not self._ended.is_set():
            await end_younger(self.pid, begin, enclosed=self._enclosed)

    async def close(self, grace_s: float = 2.0) -> None:
        """End the program and all that it started: SIGHUP and SIGTERM, after `grace_s` SIGKILL."""
        if self._ended.is_set():
            return
        self.resume()  # or a program blocked in a write could not end
        ask_to_end(self.pid, enclosed=self._enclosed)
        try:
            async with asyncio.timeout(grace_s):
                await self._ended.wait()
        except TimeoutError:
            self._kill()
            await self._ended.wait()

    def _kill(self) -> None:
        kill(self.pid, enclosed=self._enclosed)


def _make_raw(slave: int, *, shell: bool) -> None:
    """Raw, so that bytes arrive as sent and nothing echoes; but LF still starts a row.

    shell: with echo and signals, but never by lines, which the kernel would cut at 4,096 bytes.
    """
    tty.setraw(slave)
    mode = termios.tcgetattr(slave)
    mode[1] |= termios.OPOST | termios.ONLCR
    if shell:
        mode[0] |= termios.ICRNL
        mode[3] |= termios.ECHO | termios.ISIG
    termios.tcsetattr(slave, termios.TCSANOW, mode)


def _start(
    words: Sequence[str], slave: int, env: Mapping[str, str], cwd: Path, *, kept: bool
) -> subprocess.Popen[bytes]:
    """Start a program on its end of a terminal. kept: by a keeper, which watches the lifeline."""
    with OPEN_FILES.at_first():
        return subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=(lifeline(),) if kept else (),
        )
