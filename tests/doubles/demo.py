"""See the page without the gateway: `python -m tests.doubles.demo [port]`.

A fake house whose @demo persona answers from a script, with a terminal that moves.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contract.chat import Attachment, Room, Speaker
from gateway.core.views import SessionView, TurnRecord
from gateway.web.page import PageSettings, open_page
from gateway.web.stream import Picture
from tests.doubles.house import FakeHouse

ANA = Speaker("web:ana", "Ana Lima")
BUDI = Speaker("web:budi", "Budi", role="frontend")
DEMO = Speaker("bot:demo", "demo", "bot")
AUTH = Room("web:auth-team", "auth-team", "room", "saga-ai")

KNOWS = """\
This is **#{room}**. From the header I was given:

- The people here are Ana, Budi and you.
- Ana prefers a token expiry of *30 minutes* (said in a DM, shared on 15 April).
- The team decided on refresh-token rotation.

Open **Why this answer** below to see it word for word.
"""
TABLE = """\
Two ways to store sessions, measured on the staging data:

| Store | p50 | p95 | Survives a restart |
|:------|----:|----:|:------------------:|
| Redis | 0.4 ms | 1.1 ms | yes |
| PostgreSQL | 1.8 ms | 6.2 ms | yes |
| in memory | 0.02 ms | 0.05 ms | no |

I would take Redis. The change is small:

```python
def expiry(minutes: int = 30) -> timedelta:
    return timedelta(minutes=minutes)
```

1. Rotate the refresh token on each use.
2. Keep the old one valid for 10 s, so that two tabs do not race.
"""
SLOW = (
    "Let me look at the middleware first. "
    "The race is between two tabs that refresh at once: the second one presents a token that "
    "the first has just rotated, and is logged out. "
    "A grace period of ten seconds for the *previous* token closes it without weakening rotation."
)


async def answer(house: FakeHouse, record: TurnRecord, pace_s: float) -> None:
    """Play one turn."""
    turn_id = record.turn.id
    said = str(record.raw["content"])
    await asyncio.sleep(pace_s)
    house.move(turn_id, "running")
    house.working(turn_id, "Reading the room")
    await asyncio.sleep(pace_s * 4)
    if "permission" in said:
        await _permission(house, record)
        return
    room = house.room_cards[record.turn.room_id].room.name
    text = TABLE if "table" in said else SLOW if "slow" in said else KNOWS.format(room=room)
    house.working(turn_id, "")
    words = text.split(" ")
    for end in range(1, len(words)):
        if house.records[turn_id].turn.state == "stopped":
            return
        house.draft(turn_id, " ".join(words[:end]))
        await asyncio.sleep(pace_s if "slow" in said else pace_s / 4)
    house.finish(turn_id, text)


async def _permission(house: FakeHouse, record: TurnRecord) -> None:
    question = house.ask(
        record.turn.id, "Run a command in the workspace?", "rm -rf build/ && npm run build",
        "Yes", "Yes, and don't ask again for npm", "No, tell me what to do instead",
        expires_at=datetime.now(UTC) + timedelta(minutes=5),
    )  # fmt: skip
    option = await house.choice(question)
    done = "Built in 4.2 s; `build/` holds 12 files." if option < 2 else "I left it as it was."
    house.finish(record.turn.id, done)


def furnish(house: FakeHouse) -> None:
    """Rooms with something in them."""
    start = datetime.now(UTC) - timedelta(hours=26)
    talk = [
        (0, ANA, "@demo why is the token expiry only 15 minutes?"),
        (1, BUDI, "I'd suggest 30 minutes"),
        (2, ANA, "yes, users complained: see https://example.org/tickets?id=42 for the numbers"),
    ]
    for minutes, by, text in talk:
        house.say(AUTH, by, text, at=start + timedelta(minutes=minutes))
    asked = house.said[AUTH.id][0]
    record = house.queue(asked, "demo", {"content": asked.text, "metadata": {"source": "web"}})
    posted = house.finish(record.turn.id, KNOWS.format(room="auth-team"))
    house.reword(posted, at=start + timedelta(minutes=3))
    late = datetime.now(UTC) - timedelta(minutes=12)
    notes = Attachment("race-condition.log", "text/plain", 48_211)
    house.say(
        AUTH, BUDI, "Here is the log of the race.", at=late, reply_to=asked.id, attachments=(notes,)
    )
    house.say(Room("slack:C06RY3YBSLE", "design", "room"), BUDI, "New icons are up.", at=late)
    house.open_room(Room("web:general", "general"))


def terminal(tick: int) -> Picture:
    """A terminal in which something moves."""
    spin = "✻✽✶✳"[tick % 4]
    return [
        [("╭─ demo ", "dim"), ("─" * 41 + "╮", "dim")],
        [("│ ", "dim"), ("> ", "b"), ("@demo slow", ""), (" " * 35 + "│", "dim")],
        [("╰" + "─" * 48 + "╯", "dim")],
        [],
        [
            (" rev ", "rev"),
            (" ", ""),
            (" on green ", "b fg-0 bg-2"),
            (" ", ""),
            ("link", "u fg-12"),
        ],
        [("● ", "fg-2"), ("Read", "b"), ("(src/middleware/auth.ts)", "")],
        [("  ⎿  ", "dim"), ("Read 148 lines", "fg-8")],
        [
            (f"{spin} ", "fg-xd7875f"),
            (f"Thinking… ({tick // 8} s)", "fg-xd7875f"),
            (" esc to interrupt", "dim"),
        ],
    ]


async def main(port: int, pace_s: float = 0.12) -> None:
    house = FakeHouse()
    furnish(house)
    house.session_cards = [SessionView("s-demo", "demo", AUTH.id, "working", 4242)]
    async with asyncio.TaskGroup() as tasks:

        def play(record: TurnRecord) -> None:
            tasks.create_task(answer(house, record, pace_s), name=f"turn {record.turn.id}")
            room_id = record.turn.room_id
            house.session_cards = [replace(house.session_cards[0], room_id=room_id)]

        house.script = play
        tasks.create_task(_move(house), name="terminal")
        with tempfile.TemporaryDirectory() as files:
            async with open_page(house.services, PageSettings(Path(files), port=port)) as url:
                print(f"The page is at {url}", flush=True)
                await asyncio.Event().wait()


async def _move(house: FakeHouse) -> None:
    tick = 0
    while True:
        house.pictures["s-demo"] = terminal(tick)
        tick += 1
        await asyncio.sleep(0.25)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8765))
