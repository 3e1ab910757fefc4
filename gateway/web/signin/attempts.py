"""Wrong tokens slow down whoever tries them, and at last everybody who tries. Pure.

Only for what can be guessed: a MOOT_TOKEN that somebody chose. Sessions, links and Moot's own
tokens are random and go on working, so that nobody locks the house by trying.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable

from contract.values import dataclass
from gateway.web.forwarded import peer_of, read_address

FREE = 5  # wrong ones of an address before it has to wait
LONGEST_S = 900.0
FORGOTTEN_S = 3_600.0  # without a wrong one
ALL_FREE = 100  # wrong ones of all addresses within ALL_WITHIN_S
ALL_WITHIN_S = 600.0
ALL_WAIT_S = 60.0  # after each further one
MOST_ADDRESSES = 10_000
MOST_TOLD, TOLD_S = 20, 60.0  # lines in the log, of whoever tries


@dataclass(slots=True)
class _Tries:
    wrong: int = 0
    until: float = 0.0
    at: float = 0.0


class Attempts:
    """Wrong sign-ins by address. clock: seconds that only go up."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by: OrderedDict[str, _Tries] = OrderedDict()
        self._all: deque[float] = deque(maxlen=ALL_FREE)
        self._told: deque[float] = deque(maxlen=MOST_TOLD)

    def wait_s(self, address: str) -> int:
        """The seconds until this address may try again; 0: now."""
        now = self._clock()
        known = self._by.get(_who(address))
        own = known.until - now if known else 0.0
        many = len(self._all) == ALL_FREE and now - self._all[0] < ALL_WITHIN_S
        everybody = self._all[-1] + ALL_WAIT_S - now if many else 0.0
        return max(0, math.ceil(max(own, everybody)))

    def wrong(self, address: str) -> int:
        """Count a wrong one. Returns the seconds that the address has to wait now."""
        now = self._clock()
        who = _who(address)
        tries = self._by.pop(who, None)
        if tries is None or now - tries.at > FORGOTTEN_S:
            tries = _Tries()
        self._by[who] = tries
        if len(self._by) > MOST_ADDRESSES:
            self._by.popitem(last=False)
        tries.wrong += 1
        tries.at = now
        self._all.append(now)
        if tries.wrong >= FREE:
            tries.until = now + min(2.0 ** (tries.wrong - FREE), LONGEST_S)
        return self.wait_s(address)

    def is_told(self) -> bool:
        """True if one more wrong one is to be logged: trying must not fill the disk."""
        now = self._clock()
        if len(self._told) == MOST_TOLD and now - self._told[0] < TOLD_S:
            return False
        self._told.append(now)
        return True

    def right(self, address: str) -> None:
        """It was the token: what came before is forgotten."""
        self._by.pop(_who(address), None)


def _who(address: str) -> str:
    """Under which name an address is counted."""
    return peer_of(read_address(address))
