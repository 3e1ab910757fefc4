"""What the HTTP API answers, byte for byte: programs that read it were written against this."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contract.chat import Attachment, Room, Speaker
from gateway.access.access import Grant
from gateway.access.admissions import AccessOverview
from gateway.access.grants import GrantSpan, KeptGrant
from gateway.access.pairing_rows import Pairing
from gateway.audit.audit import AuditEntry
from gateway.core.events import (
    AccessChanged,
    BotsChanged,
    MemoryChanged,
    PersonasChanged,
    Stopping,
)
from gateway.core.views import SessionView
from gateway.limits.usage import Report, Sum
from gateway.web.memory.room_memory import Overview
from gateway.web.page import PageSettings, open_page
from memory.browse.view_rows import (
    AgentSessionRow,
    EpisodeRow,
    FactRow,
    InsightRow,
    LandmarkRow,
    ObservationContext,
    Page,
    TitleRow,
)
from memory.observations.rows import StoredObservation
from tests.doubles.credentials import BEARER
from tests.doubles.house import FakeHouse

GOLDEN = Path(__file__).parent / "golden" / "api.txt"
NOW = datetime(2026, 4, 21, 14, 2, 3, 450_000, tzinfo=UTC)
ANA, BUDI = Speaker("slack:U1", "Ana Lima", "human", "<@U1>", "lead"), Speaker("web:budi", "Budi")
AUTH = Room("slack:C1", "auth-team", "room", "saga-ai")
SCOPE = "room:slack:C1"
PATHS = (
    "/api/rooms",
    "/api/rooms/slack:C1/messages",
    "/api/rooms/slack:C1/messages?limit=2&before=m3",
    "/api/turns/t4",
    "/api/turns/t7",
    "/api/personas",
    "/api/people",
    "/api/sessions",
    "/api/rooms/slack:C1/memory",
    "/api/rooms/slack:C1/memory/facts?replaced=true",
    "/api/rooms/slack:C1/memory/observations",
    "/api/rooms/slack:C1/memory/observations/o1",
    "/api/rooms/slack:C1/memory/search?q=tokens",
    "/api/access",
    "/api/audit",
    "/api/audit/verify",
    "/api/usage",
    "/api/schedules",
    "/api/commands",
    "/api/schema",
    "/healthz",
    "/api/admin/overview",
    "/api/admin/bots",
    "/api/admin/rooms",
    "/api/admin/sessions",
    "/api/admin/turns?limit=30",
    "/api/admin/statistics?days=3",
    "/api/admin/embedder",
    "/api/rooms/none/messages",
    "/api/admin/turns?state=odd",
)


def furnish(house: FakeHouse) -> None:
    """A room in which everything that a route can show happened once."""
    file = Attachment("plan.md", "text/markdown", 120, "/nowhere/plan.md")
    house.say(AUTH, ANA, "a file", attachments=(file,), thread_id="m0")
    house.say(AUTH, BUDI, "Grüße <b>", reply_to="m1", at=NOW - timedelta(hours=7, minutes=1))
    asked = house.say(AUTH, ANA, "@claude deploy", edited_at=NOW)
    turn = house.queue(asked, "claude", {"content": "@claude deploy", "metadata": {"a": 1}})
    house.move(turn.turn.id, "running", status="waits", ahead=2)
    house.draft(turn.turn.id, "so far")
    house.ask(turn.turn.id, "Run?", "git push", "Yes", "No", may_answer=(ANA,), expires_at=NOW)
    house.working(turn.turn.id, "Thinking…")
    other = house.say(AUTH, BUDI, "@demo hello")
    done = house.queue(other, "demo", {"content": "@demo hello"})
    house.finish(done.turn.id, "Hello, Budi.")
    changed = house.say(Room("web:general", "general"), BUDI, "first")
    house.reword(changed, text="second", edited_at=NOW)
    house.unsay(changed)
    house.session_cards = [
        SessionView("claude@room:slack:C1", "claude", AUTH.id, "working", 4711, NOW),
        SessionView("demo@room:web:general", "demo", "web:general", "idle", terminal=False),
    ]
    for event in (AccessChanged(), BotsChanged(), PersonasChanged(), MemoryChanged(AUTH.id)):
        house.publish(event)
    house.publish(Stopping())


def remember(house: FakeHouse) -> None:
    """A row of each section of a room's memory, and one search."""
    at = NOW - timedelta(days=3)
    fact = FactRow(7, SCOPE, "fact", "a", "slack:U1", "Ana", "#auth", True, at)
    gone = FactRow(8, SCOPE, "decision", "b", None, None, None, False, at, 7)
    title = TitleRow(3, SCOPE, "o1", "discovery", "Found it", "demo", at)
    record: dict[str, str | list[str]] = {"request": "why?", "next_steps": ["a", "b"]}
    house.memory.rooms[AUTH.id] = Overview(
        scopes=(SCOPE,),
        landmarks=(LandmarkRow(1, SCOPE, "pin", "keep", "Ana", "m1", at),),
        episodes=(EpisodeRow(2, SCOPE, "so", record, "demo", False, at, None, at),),
        facts=Page((fact, gone), 7),
        observations=Page((title,)),
        insights=(
            InsightRow(4, SCOPE, "slack:U1", "Ana", "pin", "short", at),
            InsightRow(5, SCOPE, "slack:U1", "Ana", "recommendation", "calm", at),
        ),
        sessions=(AgentSessionRow(SCOPE, "s1", "demo", "t", "s", "o", at, None),),
    )
    whole = StoredObservation(
        "discovery", "Found it", "sub", ("x",), "told", ("c",), ("f.py",), seq=3, id="o1",
        scope=SCOPE, persona="demo", session_id="s1", turn_id=None, at=at,
    )  # fmt: skip
    house.memory.records["o1"] = ObservationContext(whole, (title,), (title,))


def allow(house: FakeHouse) -> None:
    """Roles, somebody who waits, the audit log, the usage, a schedule."""
    kept = KeptGrant(
        1, "member", ANA, GrantSpan("slack:C1", "demo", "rooms"), "auth-team", BUDI, NOW
    )
    until = NOW + timedelta(hours=24)
    waits = Pairing(1, "K7RM2QXP", ANA, "slack:D1", "demo", "slack", 1, None, NOW, until)
    grant = Grant("owner", frozenset({"slack:U2", "slack:U1"}), frozenset({"slack:C1"}))
    house.roles.now = AccessOverview("open", "pairing", (grant,), (kept,), (waits,))
    detail: dict[str, str | int | bool | None] = {
        "how": "page",
        "version": 2,
        "ok": True,
        "none": None,
    }
    for seq in (1, 2):
        by = ANA if seq == 1 else None
        row = AuditEntry(seq, NOW, "persona", by, "demo", "slack:C1", None, detail, "ab" * 32)
        house.audit.entries.append(row)
    one = Sum("demo", "demo", 3, 12.5, 100, None, 7, 0.25)
    house.usage.told = Report(
        (one,), (one, one), (), (Sum("x", "y", 0, 0.0, None, None, None, None),)
    )


async def _scheduled(client: aiohttp.ClientSession) -> str:
    body = {"room_id": AUTH.id, "persona": "demo", "when": "day 9:00", "text": "hello"}
    async with client.post("/api/schedules", json=body | {"by": "slack:U1"}) as answer:
        return await answer.text()


async def _events(client: aiohttp.ClientSession, house: FakeHouse) -> str:
    """The frames of all that `furnish` does; without ids, which are of one process."""
    async with client.get("/api/events") as stream:
        await stream.content.readuntil(b"\n\n")  # hello
        furnish(house)
        frames: list[str] = []
        async with asyncio.timeout(10):
            while not frames or "event: stopping" not in frames[-1]:
                frame = (await stream.content.readuntil(b"\n\n")).decode()
                frames.append("\n".join(x for x in frame.split("\n") if not x.startswith("id: ")))
    return "".join(frames)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, FakeHouse]]:
    house: Any = FakeHouse(now=lambda: NOW)
    async with (
        open_page(house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, headers=BEARER) as session,
    ):
        yield session, house


async def test_every_answer_is_the_same_to_the_byte(
    client: tuple[aiohttp.ClientSession, FakeHouse],
) -> None:
    session, house = client
    told = [f"EVENTS\n{await _events(session, house)}", f"POST\n{await _scheduled(session)}"]
    remember(house)
    allow(house)
    house.admin.fill()
    for path in PATHS:
        async with session.get(path) as answer:
            told.append(f"GET {path} {answer.status}\n{await answer.text()}")
    body = {"content": "@demo x", "message_id": "m9", "source": "web", "sender_id": "web:budi"}
    body |= {"sender_display_name": "Budi", "sender_type": "human", "room": "web:general"}
    async with session.post("/api/submit", json=body | {"wait": 0.01}) as answer:
        told.append(f"POST /api/submit {answer.status}\n{await answer.text()}")
    text = "\n\n".join(told) + "\n"
    if os.environ.get("WRITE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()
