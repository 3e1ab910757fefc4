"""Calls of a server that may be away: each under a deadline, and none while it is known to fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
CALLS = 4  # at once; a server that doesn't answer holds no more threads than these


class CircuitBreaker:
    """Keeps calls away from a server that failed: for a second, then 2, 4 ... 30."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._pause_s = 0.0
        self._shut_until = 0.0

    def admits(self) -> bool:
        """True for every call, or after a pause for the one that tries whether it is over."""
        with self._lock:
            if self._pause_s and self._now() < self._shut_until:
                return False
            self._shut_until = self._now() + self._pause_s
            return True

    def failed(self) -> None:
        """Begin a pause, longer than the last."""
        with self._lock:
            self._pause_s = min(max(self._pause_s * 2, PAUSE_S), LONGEST_PAUSE_S)
            self._shut_until = self._now() + self._pause_s

    def succeeded(self) -> None:
        """Let every call pass."""
        with self._lock:
            self._pause_s = 0.0


class ServerCalls:
    """Calls that nobody waits for longer than they want to. Any thread may call its methods."""

    def __init__(self, name: str) -> None:
        """name: of the threads."""
        self._name = name
        self._free = threading.Semaphore(CALLS)

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """What the work returns. Raises TimeoutError when it takes longer; it goes on then."""
        return self.start(work).result(seconds)

    def start(self, work: Callable[[], T]) -> Future[T]:
        """Do the work in a thread that keeps nobody from leaving. Raises TimeoutError when so
        many hang in theirs that it would be one more."""
        if not self._free.acquire(blocking=False):
            raise TimeoutError("no call comes back")
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                future.set_exception(error)
            finally:
                self._free.release()

        threading.Thread(target=run, name=self._name, daemon=True).start()
        return future
