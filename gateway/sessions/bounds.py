"""The limits of one session: what its programs may take of the machine, and whom they reach."""

from __future__ import annotations

import platform
import re
import resource
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.agent import Sandbox
from contract.values import dataclass
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona
from gateway.settings.sandbox import GB

if TYPE_CHECKING:
    from adapters.sandbox.relay import Relay

THREADS = 16  # for each process that a session may have
MOST_BYTES = 8 * GB  # of memory, where nobody said


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most of each; 0: no limit. disk_bytes: of the session's own folders, and of what it
    adds to a workspace that it shares. hosts: reached from a sandbox without a network, beside
    those of its program."""

    memory_bytes: int = 0
    processes: int = 0
    disk_bytes: int = 0
    hosts: tuple[str, ...] = ()

    def of_kernel(self, *, enclosed: bool, root: bool) -> dict[int, int]:
        """The limits that the kernel itself can hold for each process, by their numbers on Linux.

        It counts an account's threads, those of a sandbox apart (since Linux 5.14), and never
        root's.
        """
        limits = {resource.RLIMIT_FSIZE: self.disk_bytes}
        if enclosed and not root and _release() >= (5, 14):
            limits[resource.RLIMIT_NPROC] = self.processes * THREADS
        return {number: most for number, most in limits.items() if most}

    def around(self, sandbox: Sandbox | None, relay: Relay | None) -> Sandbox | None:
        """The sandbox with folders of memory that hold no more than this, and with its way out."""
        if sandbox is None:
            return None
        sandbox = replace(sandbox, scratch_bytes=self.memory_bytes // 2)
        return replace(sandbox, relay=relay.socket, ports=relay.ports) if relay else sandbox


def _release() -> tuple[int, ...]:
    """The kernel's version, as far as two numbers tell it."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return tuple(map(int, found.groups())) if found else ()


def bounds_of(
    config: Config, persona: Persona, machine_bytes: int, own_hosts: tuple[str, ...] = ()
) -> Bounds:
    """The persona's own settings, else its agent's, else those of [sandbox]; hosts add up.

    own_hosts: Moot's.
    """
    agent = config.agents.get(persona.front.agent)
    tables = (persona.front.sandbox, agent.sandbox if agent else None, config.sandbox)
    given = [table for table in tables if table]
    memory = next((table.memory_gb for table in given if table.memory_gb is not None), None)
    processes = next((table.processes for table in given if table.processes is not None), 0)
    disk = next((table.disk_gb for table in given if table.disk_gb is not None), 0.0)
    return Bounds(
        min(machine_bytes // 2, MOST_BYTES) if memory is None else int(memory * GB),
        processes,
        int(disk * GB),
        (*own_hosts, *(host for table in given for host in table.hosts)),
    )


def amount(size_bytes: int) -> str:
    """A size for people, e.g. `4 GB`."""
    if size_bytes < GB:
        return f"{size_bytes / (GB / 1000):.0f} MB"
    return f"{size_bytes / GB:.3g} GB"
