"""Memory and processor time of the living sessions' programs, read at a scrape only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from contract.values import dataclass

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # "max" or bytes; Linux, cgroup v2


@dataclass(frozen=True, slots=True)
class Taken:
    """By a program and all that it started.

    memory_bytes: resident, what processes share counted with each of them. cpu_s: of user and
    system, with that of processes that ended and were waited for.
    """

    memory_bytes: int
    cpu_s: float


def measure(pids: Iterable[int]) -> dict[int, Taken]:
    """Measure each of these processes with its descendants; those that are gone are left out.

    Reads the whole process table once (4.7 ms with 83 processes): off the loop.
    """
    children = _children()
    found = {pid: _tree(pid, children) for pid in pids}
    return {pid: taken for pid, taken in found.items() if taken is not None}


def _children() -> Mapping[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for process in psutil.process_iter(["ppid"]):
        children[process.info["ppid"]].append(process.pid)
    return children


def _tree(root: int, children: Mapping[int, list[int]]) -> Taken | None:
    first = _one(root)
    if first is None:
        return None
    memory_bytes, cpu_s = first.memory_bytes, first.cpu_s
    unseen, seen = list(children.get(root, ())), {root}
    while unseen:
        pid = unseen.pop()
        if pid in seen:  # an id was used again while the table was read
            continue
        seen.add(pid)
        unseen += children.get(pid, ())
        if taken := _one(pid):
            memory_bytes += taken.memory_bytes
            cpu_s += taken.cpu_s
    return Taken(memory_bytes, cpu_s)


def _one(pid: int) -> Taken | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            times = process.cpu_times()
            memory = process.memory_info().rss
    except psutil.Error:  # it ended meanwhile, or is somebody else's
        return None
    waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return Taken(memory, times.user + times.system + waited)


def memory_bytes() -> int:
    """The machine's memory, or what a container may use of it."""
    total: int = psutil.virtual_memory().total
    try:
        limit = _CGROUP_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdecimal() else total
