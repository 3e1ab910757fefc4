"""How many more events the account may send just now: answers come first, signs take what is left.

Synapse counts messages, edits, reactions and redactions of an account together (rc_message), and
tells nobody how many it allows. So its default is taken until more than that went through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

BURST, EVERY_S = 10, 5.0  # Synapse's default: ten at once, then one in five seconds
_PROVEN = 3  # so many beyond the default, and the account has more
_SPARE = 2  # for what isn't foreseen: a second post, a question
_OWED_S = 60.0  # what isn't answered by then may never be


class SendBudget:
    """now: the time in seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._at = now, now()
        self._used = 0.0
        self._has_more = False
        self._owed: deque[float] = deque()  # when messages came that an answer is due to

    def asked(self) -> None:
        """Somebody wants an answer."""
        self._owed.append(self._now())

    def answered(self) -> None:
        """An answer went out."""
        if self._owed:
            self._owed.popleft()

    def sent(self) -> None:
        """An event went out."""
        self._pass_time()
        self._used += 1
        if self._used >= BURST + _PROVEN:
            self._has_more, self._used = True, 0.0

    def refused(self) -> None:
        """The server asked to wait."""
        self._pass_time()
        self._has_more, self._used = False, float(BURST)

    def has_room(self, events: int) -> bool:
        """Whether so many events that nobody waits for leave enough for the answers."""
        self._pass_time()
        return self._has_more or self._used + len(self._owed) + events + _SPARE <= BURST

    def _pass_time(self) -> None:
        now = self._now()
        self._used = max(0.0, self._used - max(0.0, now - self._at) / EVERY_S)
        self._at = now
        while self._owed and self._owed[0] < now - _OWED_S:
            self._owed.popleft()
