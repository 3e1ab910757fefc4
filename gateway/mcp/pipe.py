"""`moot mcp` in an agent's session: a pipe from its stdin and stdout to the gateway.

It starts with every session, and a program asks its servers once, soon after its own start: so it
imports the standard library alone (50 ms and 15 MB; with the protocol's library it were 0.8 s and
67 MB, and Claude Code 2.1.330 had given it up on a busy machine). The protocol is spoken by the
gateway, behind the session's own address.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import sys
from typing import Any, TextIO
from urllib.parse import urlsplit

URL = "MOOT_MEMORY_URL"
WAIT_S = 60.0
NOT_THERE = "Moot does not answer: its memory is not there for this session"


def main() -> None:
    """Pipe until stdin ends."""
    pipe(os.environ.get(URL, ""), sys.stdin, sys.stdout)


def pipe(url: str, incoming: TextIO, outgoing: TextIO) -> None:
    """Carry one JSON-RPC message a line to the address, and what it answers back.

    Each goes with the one that began the conversation: whoever leads by then may not know it.
    """
    name, began = secrets.token_hex(8), None
    for line in incoming:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("method") == "initialize":
            began = message
        try:
            said = {"pipe": name, "message": message, "began": began}
            answer = _post(url, said).get("message")
        except (OSError, http.client.HTTPException, ValueError):
            answer = _error(message)
        if answer is not None:
            outgoing.write(json.dumps(answer) + "\n")
            outgoing.flush()


def _error(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": NOT_THERE}}


def _post(url: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Past any proxy: the address is on this machine."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(
        address.hostname or "127.0.0.1", address.port, timeout=WAIT_S
    )
    try:
        body = json.dumps(payload)
        connection.request("POST", address.path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise ValueError(f"HTTP {response.status}")
        answer: dict[str, Any] = json.loads(data)
        return answer
    finally:
        connection.close()
