"""Ports of the loopback for servers that are told theirs."""

from __future__ import annotations

import socket


def free_port() -> int:
    """One on which nobody listens now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
