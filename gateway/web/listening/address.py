"""The address that a listener takes: why it can't be had, and what to do."""

from __future__ import annotations

import errno

PAGE = "gateway.listen"


def listening_fault(fault: OSError, key: str, host: str, port: int) -> str:
    """The reason why nobody can listen there, with the remedy. key: of moot.toml."""
    if fault.errno == errno.EADDRINUSE:
        option = f"`moot run --port {port % 65535 + 1}`, or " if key == PAGE else ""
        return (
            f"{key}: another program listens on {host}:{port}, perhaps an older Moot: end it, or "
            f"choose another port: {option}`{key}` in moot.toml"
        )
    if fault.errno in (errno.EACCES, errno.EPERM):
        return (
            f"{key}: this account may not listen on port {port}; choose one above 1023, e.g. 8377"
        )
    reason = f"can't listen on {host}:{port}: {fault.strerror}"
    return f"{key}: {reason}; choose an address of this machine, e.g. 127.0.0.1:{port}"
