"""The time that composing one header takes: `python -m bench.compose`. Prints medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from composer.header import compose
from contract.briefing import Briefing, Fact, Landmark, Note, Observation, TranscriptLine
from contract.chat import Room, Speaker

ROUNDS = 500
START = datetime(2026, 4, 21, 7, 2, tzinfo=UTC)
PEOPLE = [Speaker(f"slack:U{i}", name, mention=f"<@U{i}>") for i, name in enumerate("ABCDE")]
PLAIN = "why is the token expiry only 15 minutes? users complained about it again today."
MIXED = "👩‍💻 schau mal [hier]: die Prüfung läuft 1️⃣ 时间太短了\n```\nif x[0] > 3:\n    return\n```"
LONG = "Zeile für Zeile, 一行一行 [14:02 | A] " * 300


def briefing(texts: list[str]) -> Briefing:
    lines = [
        TranscriptLine(str(i), PEOPLE[i % 5], text, START + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return Briefing(
        room=Room("slack:C1", "auth-team", project="saga-ai"),
        you=Speaker("bot:claude", "claude", "bot"),
        agent="Claude Code CLI agent",
        triggered_by=PEOPLE[0],
        at=START,
        timezone="Asia/Jakarta",
        participants=tuple(PEOPLE),
        recall=tuple(Fact(PLAIN, date="2026-04-15", score=i / 10) for i in range(10)),
        pins=(Note(PLAIN, 0.5),) * 3,
        recommendations=(Note(PLAIN, 0.4),) * 3,
        landmarks=tuple(Landmark(PLAIN, f"2026-04-{i:02d}", "B") for i in range(10, 20)),
        summary=f"{PLAIN}\n" * 10,
        observations=(Observation("Rotated the refresh tokens", "2026-04-20", "feature"),) * 10,
        transcript=tuple(lines),
        trigger_ids=("35",),
    )


def median_us(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    spent = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent) * 1e6


def main() -> None:
    for name, texts in (
        ("40 plain messages", [PLAIN] * 40),
        ("20 plain and 20 with emoji, code and brackets", [PLAIN, MIXED] * 20),
        ("40 messages of 10,000 characters", [LONG] * 40),
    ):
        given = briefing(texts)
        print(f"{name}: {median_us(partial(compose, given)):.0f} µs")


if __name__ == "__main__":
    main()
