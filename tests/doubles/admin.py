"""An administrator's view without a gateway: shows what a test put there, records what was asked.

Empty at first, as in a house that was just opened; `fill` furnishes it for people who look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from contract.chat import Room, Speaker
from gateway.core.views import OpenQuestion, RoomView, SessionView
from gateway.web.admin.values import (
    Acted,
    AlertView,
    BotView,
    Day,
    Disk,
    Embedder,
    PersonaUsage,
    Problem,
    RoomLine,
    SessionAct,
    SessionLine,
    Summary,
    Today,
    TurnLine,
    TurnPage,
    WantedTurns,
)

ANA, BUDI = Speaker("slack:U1", "Ana Lima"), Speaker("slack:U2", "Budi")
AUTH = Room("slack:C1", "auth-team", "room", "saga-ai")


class FakeAdmin:
    """Stands for each of AdminServices."""

    def __init__(
        self, now: Callable[[], datetime], questions: Callable[[], Sequence[OpenQuestion]]
    ) -> None:
        self.acts: list[tuple[str, SessionAct, Speaker]] = []
        self.wanted: list[WantedTurns] = []
        self.acted: Acted = "done"
        self.raises: Exception | None = None
        self.problems: list[Problem] = []
        self.alerts: list[AlertView] = []
        self.alerts_told = True
        self.bot_cards: list[BotView] = [
            BotView("web", "web", ("demo",), "up", now(), None, "", None, 0)
        ]
        self.lines: list[TurnLine] = []
        self.room_lines: list[RoomLine] = []
        self.session_lines: list[SessionLine] = []
        self.day_cards: list[Day] = []
        self.model = Embedder("absent", 84, 24, 3, 0, "", "")
        self._now = now
        self._questions = questions

    async def state(self) -> Embedder:
        return self.model

    def install(self) -> bool:
        begins = self.model.state != "fetching"
        self.model = replace(self.model, state="fetching", fault="")
        return begins

    async def summary(self) -> Summary:
        if self.raises:
            raise self.raises
        failed = [line for line in self.lines if line.state == "failed"]
        return Summary(
            at=self._now(),
            bots=self.bots(),
            problems=self.problems,
            alerts=self.alerts,
            alerts_told=self.alerts_told,
            questions=self._questions(),
            failed=failed,
            today=Today(len(self.lines), len(failed), 8400 if self.lines else None, 1),
            sessions=len(self.session_lines),
            asleep=3,
            most_sessions=8,
            disk=Disk(41 << 30, 256 << 30, 18 << 20),
        )

    def bots(self) -> Sequence[BotView]:
        return self.bot_cards

    async def rooms(self) -> Sequence[RoomLine]:
        return self.room_lines

    async def all(self) -> Sequence[SessionLine]:
        return self.session_lines

    async def act(self, session_id: str, act: SessionAct, by: Speaker) -> Acted:
        self.acts.append((session_id, act, by))
        known = any(line.session.id == session_id for line in self.session_lines)
        return self.acted if known else "unknown"

    async def turns(self, wanted: WantedTurns, *, before: int, limit: int) -> TurnPage:
        self.wanted.append(wanted)
        found = [line for line in self.lines if line.seq < before and _wanted(line, wanted)]
        more = len(found) > limit
        return TurnPage(found[:limit], found[limit - 1].seq if more else None)

    async def days(self, count: int) -> Sequence[Day]:
        return self.day_cards[-count:]

    # ── What a test tells ───────────────────────────────────────────────────────────────

    def fill(self) -> None:
        """A busy house with a few troubles."""
        now = self._now()
        hours = timedelta(hours=1)
        self.bot_cards = [
            BotView(
                "web", "web", ("demo", "claude"), "up", now - 50 * hours, now - hours, "", None, 0
            ),
            BotView(
                "slack", "slack", ("claude",), "up", now - 2 * hours, now - hours / 60,
                "the socket was closed by Slack", now - 2 * hours, 3,
            ),
            BotView(
                "matrix", "matrix", ("codex",), "down", None, now - 5 * hours,
                "https://matrix.example answers 502", now - hours / 30, 17,
            ),
        ]  # fmt: skip
        self.problems = [
            Problem(
                "bot", "matrix", "matrix is down: https://matrix.example answers 502",
                "It is tried again by itself; moot check asks the platform what is missing.",
            ),
            Problem(
                "agent", "codex", "@codex can't answer: Codex CLI is not there.",
                "npm install -g @openai/codex", grave=False,
            ),
        ]  # fmt: skip
        self.lines = [_line(seq, now - hours * (120 - seq) / 7) for seq in range(119, 0, -1)]
        self.room_lines = [
            RoomLine(
                RoomView(AUTH, now), "slack", (ANA, BUDI), 3, ("claude", "codex"), 412, 7, True,
                {"claude": "opus"},
            ),
            RoomLine(
                RoomView(Room("web:general", "general"), now - 3 * hours), "web", (ANA,), 0,
                ("demo",), 12, 7, False, {},
            ),
            RoomLine(
                RoomView(Room("matrix:!r:example.org", "release", "gdm"), None), "matrix", (), 0,
                (), 0, 7, True, {},
            ),
        ]  # fmt: skip
        self.session_lines = [
            SessionLine(
                SessionView(
                    "claude@room:slack:C1", "claude", AUTH.id, "working", 4711, now - hours
                ),
                "auth-team", "room", "Claude Code", now, 412 << 20, 81.4, 48_200,
                0.41,
            ),
            SessionLine(
                SessionView(
                    "demo@room:web:general", "demo", "web:general", "idle", None, now - 3 * hours,
                    worker="w1",
                ),
                "general", "room", "Scripted demo", now - hours, None, None,
                None, None,
            ),
        ]  # fmt: skip
        self.day_cards = [_day(now, back) for back in range(29, -1, -1)]


def _wanted(line: TurnLine, wanted: WantedTurns) -> bool:
    return (
        wanted.room_id in (None, line.room_id)
        and wanted.persona in (None, line.persona)
        and wanted.person_id in (None, line.person_id)
        and wanted.state in (None, line.state)
        and (wanted.slow_ms is None or (line.total_ms or 0) > wanted.slow_ms)
    )


def _line(seq: int, at: datetime) -> TurnLine:
    failed = seq % 23 == 4 and seq < 119
    running = seq == 119
    agent_ms = None if running else 900 + (seq * 7919) % 24_000
    return TurnLine(
        seq=seq,
        id=f"t{seq}",
        at=at,
        state="running" if running else "failed" if failed else "posted",
        persona="codex" if seq % 5 == 0 else "claude",
        room_id=AUTH.id if seq % 3 else "web:general",
        room_name=AUTH.name if seq % 3 else "general",
        room_kind="room",
        person_id=ANA.id if seq % 2 else BUDI.id,
        person_name=ANA.name if seq % 2 else BUDI.name,
        total_ms=None if agent_ms is None else agent_ms + 1_250,
        queued_ms=None if running else 100 + (seq % 7) * 300,
        ready_ms=None if running else 12,
        brief_ms=None if running else 41,
        compose_ms=None if running else 3,
        agent_ms=agent_ms,
        post_ms=None if running or failed else 240,
        error="Claude Code is not logged in. Run `claude /login` where Moot runs."
        if failed
        else "",
        tokens=None if running else 3_000 + seq * 37,
        cost_usd=None if running else 0.021,
    )


def _day(now: datetime, back: int) -> Day:
    turns = {"posted": 20 + (back * 13) % 31, "failed": back % 5, "stopped": back % 3}
    spent = (
        PersonaUsage("claude", 40_000 + back * 900, 9_000, 12_000, 0.4 + back / 50),
        PersonaUsage("codex", 12_000 + (back * 7919) % 9_000, 3_000, 0, None),
    )
    return Day(
        day=(now - timedelta(days=back)).date(),
        turns=turns,
        p50_ms=4_000 + (back * 317) % 3_000,
        p95_ms=16_000 + (back * 911) % 12_000,
        spent=spent,
        facts=600 - back * 14,
    )
