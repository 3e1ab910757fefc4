"""The process between Moot and a session's program, which ends whatever the program has started.

Run as a script: `python -I -S keeper.py LIFELINE TERMINAL LC_CTYPE PROGRAM WORD...`, in a session
of its own. It imports little, so that a start takes no longer and a keeper costs 2.7 MB.

As a "subreaper" it becomes the parent of everything that detaches itself below it, by `setsid`, a
double fork or `nohup`: as long as it has a child, something is left. It ends all of them, by
SIGTERM and then SIGKILL, once the program has ended, when it gets SIGTERM itself, and when Moot is
gone: the kernel then closes the pipe whose other end Moot alone holds, `kill -9` or not. Should
somebody end the keeper, the kernel ends the program.
"""

from __future__ import annotations

import os
import sys

HANGUP, INTERRUPT, KILL, PIPE, TERMINATE = 1, 2, 9, 13, 15
CHILD, CONTINUE, FILE_SIZE = (17, 18, 25) if sys.platform == "linux" else (20, 19, 25)
GRACE_S = 2.0  # between SIGTERM and SIGKILL
GIVE_UP_S = 10.0  # after SIGTERM: what ran as another account by then, or hangs in the kernel
TICK_S = 0.02  # between two looks while it ends them
PARENT_DEATH, SUBREAPER = 1, 36  # of prctl


def descendants(pid: int) -> list[int]:
    """Everything below a process, parents before children; none where there is no /proc."""
    found = [pid]
    for one in found:
        try:
            tasks = os.listdir(f"/proc/{one}/task")  # pathlib costs 10 ms
        except OSError:  # gone
            continue
        for task in tasks:  # a child is listed with the thread that forked it
            try:
                with open(f"/proc/{one}/task/{task}/children", "rb") as children:
                    found += map(int, children.read().split())
            except OSError:
                continue
    return found[1:]


def signal_all(pids: list[int], number: int) -> None:
    """Send a signal to each that is still there, and that may be sent one."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def main(lifeline: int, terminal: bool, locale: str, argv: list[str]) -> None:
    """Run the program, keep it, and end as it ended."""
    import _signal  # type: ignore[import-not-found]  # `signal` itself imports enum

    os.set_inheritable(lifeline, False)
    heard, hear = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(hear, False)
    _signal.set_wakeup_fd(hear)
    for number in (HANGUP, INTERRUPT, TERMINATE, CHILD):
        _signal.signal(number, lambda *_: None)
    _prctl(SUBREAPER, 1)
    program = os.fork()
    if not program:
        for number in (PIPE, FILE_SIZE):  # which Python ignores
            _signal.signal(number, _signal.SIG_DFL)
        _become(terminal, locale, argv)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # or a terminal and pipes would never close
        os.dup2(nowhere, number)
    os.close(nowhere)
    os.chdir("/")
    status = Keeper(program, terminal, lifeline, heard).keep()
    if os.WIFSIGNALED(status):
        _prctl(4, 0)  # PR_SET_DUMPABLE: no core of the keeper
        number = os.WTERMSIG(status)
        if number != KILL:
            _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _prctl(what: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import _ctypes  # `ctypes` itself takes 1 MB more

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    _ctypes.call_function(prctl, (what, value, 0, 0, 0))


def _become(terminal: bool, locale: str, argv: list[str]) -> None:
    """Be the program, in a session of its own. Never returns."""
    keeper = os.getppid()
    _prctl(PARENT_DEATH, KILL)
    os.setsid()
    if terminal:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if locale:  # Python itself sets it in a C locale (PEP 538)
        os.environ["LC_CTYPE"] = locale
    else:
        os.environ.pop("LC_CTYPE", None)
    try:
        if os.getppid() == keeper:
            os.execv(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


class Keeper:
    """Waits for the program's end, and ends what is left. heard: gets the number of each signal."""

    def __init__(self, program: int, terminal: bool, lifeline: int, heard: int) -> None:
        import select

        self._program = program
        self._terminal = terminal
        self._lifeline = lifeline
        self._heard = heard
        self._status: int | None = None  # of the program, once it has ended
        self._poll = select.poll()
        for fd in (lifeline, heard):
            self._poll.register(fd, select.POLLIN)

    def keep(self) -> int:
        """Return when nothing is left: the program's status."""
        ending = False
        while self._reap() and self._status is None and not ending:
            ready = [fd for fd, _ in self._poll.poll()]
            numbers = os.read(self._heard, 4096) if self._heard in ready else b""
            ending = self._lifeline in ready or bool(numbers.strip(bytes([CHILD])))
        self._end()
        return KILL if self._status is None else self._status

    def _reap(self) -> bool:
        """Take note of those that have ended; False when there is nobody left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._program:
                self._status = status

    def _end(self) -> None:
        import time

        begin = time.monotonic()
        for number in (*[HANGUP] * self._terminal, TERMINATE, CONTINUE):
            self._signal(number)
        while self._reap() and (spent_s := time.monotonic() - begin) < GIVE_UP_S:
            if spent_s >= GRACE_S:
                self._signal(KILL)
            time.sleep(TICK_S)

    def _signal(self, number: int) -> None:
        below = descendants(os.getpid())
        if not below and self._status is None:  # there is no /proc: its group, then
            try:
                os.killpg(self._program, number)
            except (ProcessLookupError, PermissionError):
                return
        signal_all(below, number)


if __name__ == "__main__":
    main(int(sys.argv[1]), bool(int(sys.argv[2])), sys.argv[3], sys.argv[4:])
