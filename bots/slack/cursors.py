"""Up to where each room of Slack's was read, kept over a restart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bots.kit.json_state import JsonState
from bots.slack.wire import Ts

START = "0"
"""A room's cursor when there was nothing in it at the first look."""

_THREADS = 100  # the last ones that somebody spoke in; each may cost a call after a cut


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    began: Ts = START
    settled: bool = False
    rooms: dict[str, Ts] = {}
    threads: list[tuple[str, Ts]] = []


class Cursors:
    """For each room the ts up to which all was taken, and the threads last spoken in.

    began: when the bot was started for the first time. settled: every room of that time has its
    cursor; a new one is a room that it came into later.
    """

    def __init__(self, path: Path) -> None:
        self._kept = JsonState(path, _State)
        self.began, self.settled = START, False
        self._rooms: dict[str, str] = {}
        self._threads: OrderedDict[tuple[str, str], None] = OrderedDict()

    def load(self) -> None:
        """What an earlier process wrote. Blocks its thread."""
        state = self._kept.load(otherwise="what was missed until now isn't looked for")
        if state is None:
            return
        self.began, self.settled = state.began, state.settled
        self._rooms = dict(state.rooms)
        self._threads = OrderedDict.fromkeys(state.threads)

    async def save(self) -> None:
        """Keep all this over a restart. Raises OSError."""
        threads = list(self._threads)
        await self._kept.save(
            _State(began=self.began, settled=self.settled, rooms=self._rooms, threads=threads)
        )

    def of(self, room: str) -> str | None:
        """The room's cursor; for a room that it came into later that of the last one that spoke;
        None at the very first start.
        """
        latest = max(self._rooms.values(), key=float, default=START) if self.settled else START
        return self._rooms.get(room) or (None if latest == START else latest)

    def advance(self, room: str, ts: str) -> None:
        """All up to `ts` was taken."""
        if float(ts) >= float(self._rooms.get(room, START)):
            self._rooms[room] = ts

    def forget(self, room: str) -> None:
        """The bot is no longer in the room."""
        self._rooms.pop(room, None)

    def rooms(self) -> Sequence[str]:
        """All known ones; the one that spoke last comes first."""
        return sorted(self._rooms, key=lambda room: float(self._rooms[room]), reverse=True)

    def spoke(self, room: str, thread: str) -> None:
        """Somebody said something in a thread."""
        self._threads[room, thread] = None
        self._threads.move_to_end((room, thread))
        if len(self._threads) > _THREADS:
            self._threads.popitem(last=False)

    def threads(self, room: str) -> Sequence[str]:
        """The room's threads in which somebody spoke lately."""
        return [thread for where, thread in self._threads if where == room]
