"""Calls of the kernel that an agent's program may not make, and nothing that it starts.

Filters (seccomp) refuse them, which all that it starts inherits. Numbers of machines are those of
<linux/audit.h>; what a filter reads is struct seccomp_data.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable

Line = tuple[int, int, int, int]
"""An instruction of a filter: its code, how many lines it skips if true, and if not, its value."""

IOCTL = {
    "x86_64": ((0xC000003E, 16), (0xC000003E, 0x4000_0000 + 514), (0x40000003, 54)),
    "aarch64": ((0xC00000B7, 29), (0x40000028, 54)),
}
"""By machine, for its own programs, x32's and those of 32 bits: their number, and that of the call
ioctl."""
CALLS = {
    "x86_64": (0xC000003E, 56, 272),
    "aarch64": (0xC00000B7, 220, 97),
}
"""By machine: its number, and of the calls clone and unshare."""
_CLONE3 = 435  # everywhere
_X32 = 0x4000_0000  # numbers from here on are x32's, with other meanings
_NEW_USER = 0x1000_0000  # CLONE_NEWUSER
_TYPE, _PASTE = 0x5412, 0x541C  # TIOCSTI, TIOCLINUX
_LOAD, _EQUAL, _FROM, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of <linux/bpf_common.h>
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # the lower halves of the call's arguments
_ALLOW, _ERROR, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000


def refused_typing() -> bytes:
    """The filter, as this machine's kernel reads it, against typing into one's own terminal (by
    TIOCSTI or TIOCLINUX); b"": nobody wrote one for this machine.

    A permission question is answered there. What an agent has started shares its terminal, and
    would answer the agent's next question itself.
    """
    lines: list[Line] = []
    for machine, call in IOCTL.get(os.uname().machine, ()):
        lines += [
            (_LOAD, 0, 0, _MACHINE),
            (_EQUAL, 0, 6, machine),
            (_LOAD, 0, 0, _NUMBER),
            (_EQUAL, 0, 4, call),
            (_LOAD, 0, 0, _SECOND),
            (_EQUAL, 1, 0, _TYPE),
            (_EQUAL, 0, 1, _PASTE),
            (_RETURN, 0, 0, _ERROR | errno.EPERM),
        ]
    return _packed([*lines, (_RETURN, 0, 0, _ALLOW)]) if lines else b""


def refused_namespaces() -> bytes:
    """The filter, as this machine's kernel reads it, against user namespaces; b"": nobody wrote one
    for this machine.

    In one of its own a program under another account would be root, and could mount folders of
    memory that nobody else sees or counts. What clone3 is asked stands in memory, which no filter
    sees: it seems not to be there, and libraries take clone then. A program of another machine's
    calls (32 bits) is killed.
    """
    if (known := CALLS.get(os.uname().machine)) is None:
        return b""
    machine, clone, unshare = known
    return _packed(
        (
            (_LOAD, 0, 0, _MACHINE),
            (_EQUAL, 1, 0, machine),
            (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _NUMBER),
            (_FROM, 7, 0, _X32),
            (_EQUAL, 6, 0, _CLONE3),
            (_EQUAL, 1, 0, clone),
            (_EQUAL, 0, 2, unshare),
            (_LOAD, 0, 0, _FIRST),
            (_BITS, 1, 0, _NEW_USER),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _ERROR | errno.EPERM),
            (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
        )
    )


def _packed(lines: Iterable[Line]) -> bytes:
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
