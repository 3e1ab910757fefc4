"""A Moot whose one persona is an agent that runs every command it is told, reached by its API."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.cells import SETTINGS, SHELL
from tests.doubles.credentials import headers_of, program_at

TYPES = (
    "{python} -c 'import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
    'terminal = os.open("/dev/tty", os.O_RDWR); '
    'libc.ioctl(terminal, ctypes.c_ulong({request}), b"1"); print(ctypes.get_errno())\''
)
"""A command that types into the agent's own terminal, by this request of ioctl, and says how."""
PERSONA = "---\nagent: obedient\nsandbox: {sandbox}\n---\nYou obey.\n"


def furnish(folder: Path, sandbox: str = "off", *words: str) -> str:
    """Write the persona; the text of moot.toml. words: of its command."""
    (folder / "personas").mkdir(parents=True, exist_ok=True)
    (folder / "personas" / "ash.md").write_text(PERSONA.format(sandbox=sandbox))
    command = json.dumps([sys.executable, "-u", str(SHELL), *words])
    settings = "\n".join(f"{key} = {json.dumps(value)}" for key, value in SETTINGS.items())
    return (
        '[gateway]\nlisten = "127.0.0.1:0"\n'
        f'[agents.obedient]\nprofile = "generic"\ncommand = {command}\n'
        f"[agents.obedient.settings]\n{settings}\n"
        '[access]\ndms = "open"\nrooms = "open"\n'
    )


async def say(
    url: str,
    who: str,
    text: str,
    *,
    wait: float | None = 60,
    token: str = "",
    attachments: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A direct message to the persona; what the API answers."""
    body: dict[str, Any] = {
        "content": text,
        "metadata": {
            "source": "web",
            "sender_id": f"web:{who}",
            "sender_display_name": who.title(),
            "sender_type": "human",
        },
        "room": {"id": f"web:dm-{who}", "name": f"dm-{who}", "kind": "dm"},
        "persona": "ash",
        "attachments": attachments,
    }
    if wait is not None:
        body["wait"] = wait
    headers = {"Authorization": f"Bearer {token}"} if token else headers_of(url)
    async with (
        aiohttp.ClientSession(url, headers=headers) as client,
        client.post("/api/submit", json=body) as response,
    ):
        told: dict[str, Any] = await response.json()
    return told


async def messages(url: str, who: str) -> list[str]:
    """What stands in a person's direct messages, oldest first."""
    async with (
        program_at(url) as client,
        client.get(f"/api/rooms/web:dm-{who}/messages") as response,
    ):
        return [message["text"] for message in (await response.json())["messages"]]
