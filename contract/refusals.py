"""Words for what the operating system refuses, each with its remedy."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping

SAYS: Mapping[int, str] = {
    errno.ENOENT: "there is no such file or folder; see whether the name is right",
    errno.EEXIST: "something of that name is there already; move it away, or name another one",
    errno.ENOTDIR: "a part of this path is a file, not a folder; move it away, or name another one",
    errno.EISDIR: "this is a folder, not a file; name the file",
    errno.EACCES: "this account may not read or write it; let the file belong to it, or run this "
    "as its owner",
    errno.EPERM: "this account may not do that; run this as the owner of the file",
    errno.ENOSPC: "the disk is full; make room, then try again",
    errno.EDQUOT: "the disk's quota is used up; make room, then try again",
    errno.EROFS: "the disk is read-only; name a place on another one",
    errno.EIO: "the disk can't be read or written; look at the disk",
    errno.EMFILE: "too many files are open; raise the limit: ulimit -n 65536",
    errno.ENFILE: "the machine has too many files open; end other programs",
    errno.ENOMEM: "there is no memory left; end other programs",
    errno.ENAMETOOLONG: "the name is too long; take a shorter one",
    errno.ELOOP: "the link leads to itself; put the file in its place",
    errno.ETXTBSY: "it is being written to; try again in a moment",
    errno.EADDRINUSE: "another program listens there; end it, or name another address",
    errno.EADDRNOTAVAIL: "this machine has no such address; name one of its own",
    errno.ECONNREFUSED: "nothing listens there; start what you want to reach, or correct the "
    "address",
    socket.EAI_NONAME: "there is no machine of that name; correct the address, or see whether this "
    "machine is on the network",
    errno.ETIMEDOUT: "it doesn't answer; see whether it runs and can be reached",
    errno.EHOSTUNREACH: "no way leads there; see whether this machine is on the network",
    errno.ENETUNREACH: "no way leads there; see whether this machine is on the network",
}


def why(error: OSError) -> str:
    """The second half of a sentence that begins with the file or the address."""
    return SAYS.get(error.errno or 0) or error.strerror or str(error) or "it doesn't answer"
