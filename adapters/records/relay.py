"""Posts what a command-line agent's hook is told on stdin, and prints the response.

For programs whose hooks run commands. Run as `python -I -S relay.py FILE`: the file holds the URL,
which nobody may see in an argv. Nothing but sockets is imported: a program waits for each hook.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

CONNECT_S = 5.0


def post(url: str, body: bytes) -> bytes:
    """The response's body; an hour may pass until it comes. Raises OSError."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    head = f"POST /{path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((name, int(port)), CONNECT_S) as connection:
        connection.settimeout(None)
        connection.sendall(head.encode() + body)
        with connection.makefile("rb") as response:
            status, _, said = response.read().partition(b"\r\n\r\n")
    return said if status.split(b" ")[1:2] == [b"200"] else b"{}"


def main() -> None:
    """Never fails: a hook that does would stop the program's turn."""
    given = sys.stdin.buffer.read()
    try:
        said = post(Path(sys.argv[1]).read_text(encoding="utf-8").strip(), given)
    except (OSError, ValueError):
        said = b"{}"
    sys.stdout.buffer.write(said)


if __name__ == "__main__":
    main()
