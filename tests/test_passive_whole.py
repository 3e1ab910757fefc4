"""`moot run` and a direct message that nobody is to answer: it stays with whom it was said to."""

from __future__ import annotations

from pathlib import Path

from tests.doubles.credentials import program_at
from tests.doubles.service import service
from tests.test_api_whole import get

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n[agents.demo]\nprofile = "demo"\n'
PACE = 'env = { MOOT_DEMO_PACE = "0" }\n'
ROOM = {"id": "web:both", "name": "Andi", "kind": "dm"}
NOTE = "the staging database listens on port 5433"


async def send(url: str, route: str, text: str, recipient: str | None) -> str:
    """What a person says in the direct messages; the header of the answer, if there is one."""
    meta = {
        "source": "web",
        "sender_id": "web:andi",
        "sender_display_name": "Andi",
        "sender_type": "human",
        "recipient_id": recipient,
    }
    body = {"content": text, "metadata": meta, "room": ROOM, "wait": 60}
    async with (
        program_at(url) as client,
        client.post(f"/api/{route}", json=body) as response,
    ):
        assert response.status in (200, 202), await response.text()
        replies = (await response.json()).get("replies") or []
    turns = [await get(url, f"/api/turns/{reply['turn_id']}") for reply in replies]
    return "".join(turn["header"] for turn in turns)


async def test_it_reaches_the_persona_that_it_was_said_to_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    for name in ("adam", "berta"):
        (tmp_path / "personas" / f"{name}.md").write_text("---\nagent: demo\n---\n", "utf-8")
    async with service(tmp_path, CONFIG + PACE) as moot:
        await send(moot.url, "passive", NOTE, "bot:berta")
        await send(moot.url, "passive", f"@berta {NOTE}, as I said", None)
        assert NOTE not in await send(moot.url, "submit", "which port is it?", "bot:adam")
        header = await send(moot.url, "submit", "which port is it?", "bot:berta")
        assert header.count(NOTE) == 2
