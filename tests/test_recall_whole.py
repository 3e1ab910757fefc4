"""`moot run` and a living session: what it was not shown is recalled, and nothing comes twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.doubles.credentials import program_at
from tests.doubles.service import service
from tests.test_api_whole import get, say

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n[agents.demo]\nprofile = "demo"\n'
PACE = 'env = { MOOT_DEMO_PACE = "0" }\n'
ROOM = "web:general"
FACT = "the staging database listens on port 5433"
ASKED = "@demo which port has the staging database?"


async def talk(url: str, *texts: str, **more: str) -> None:
    """Said among people: nobody is asked anything."""
    meta = {
        "source": "web",
        "sender_id": "web:budi",
        "sender_display_name": "Budi",
        "sender_type": "human",
        "passive": True,
    }
    async with program_at(url) as client:
        for text in texts:
            body = {"content": text, "metadata": meta, "room": ROOM, **more}
            async with client.post("/api/passive", json=body) as response:
                assert response.status in (200, 202), await response.text()


async def known(url: str, text: str) -> None:
    """Wait until a message is remembered and found."""
    path = f"/api/rooms/{quote(ROOM, safe='')}/memory/search?q={quote(text)}"
    async with asyncio.timeout(30):
        while text not in str(await get(url, path)):
            await asyncio.sleep(0.2)


async def recalled(url: str, number: int, text: str) -> str:
    """The recalled lines of the header that a question got."""
    answer: dict[str, Any] = (await say(url, number, text))["replies"][0]
    header = (await get(url, f"/api/turns/{answer['turn_id']}"))["header"]
    section = header.partition("[RECALL")[2].partition("\n\n")[0]
    return str(section.partition("\n")[2])


async def test_a_living_session_recalls_what_was_said_without_it_and_that_once(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, CONFIG + PACE) as moot:
        await recalled(moot.url, 1, "@demo hello")
        await talk(moot.url, FACT, *(f"the train was late again, {n} minutes" for n in range(45)))
        await recalled(moot.url, 2, "@demo anything new?")  # shows the newest 40 of those
        await known(moot.url, FACT)
        assert FACT in await recalled(moot.url, 3, ASKED)
        assert FACT not in await recalled(moot.url, 4, ASKED)
        assert "minutes" not in await recalled(moot.url, 5, "@demo was the train late, 44 minutes?")


async def test_a_compacted_session_recalls_again_what_it_was_given(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG + PACE) as moot:
        await recalled(moot.url, 1, "@demo hello")
        await talk(moot.url, FACT, *(f"the train was late again, {n} minutes" for n in range(45)))
        await recalled(moot.url, 2, "@demo anything new?")
        await known(moot.url, FACT)
        assert FACT in await recalled(moot.url, 3, ASKED)
        assert FACT not in await recalled(moot.url, 4, ASKED)
        assert "@demo has compacted its conversation" in str(await say(moot.url, 5, "!compact"))
        assert FACT in await recalled(moot.url, 6, ASKED)


async def test_scripts_without_blanks_are_remembered_and_recalled(tmp_path: Path) -> None:
    said = {
        "我们的测试数据库用的是5433端口": "测试数据库的端口是多少？",
        "ステージングのデータベースは5433番です": "ステージングのデータベースは何番ですか？",
        "ฐานข้อมูลทดสอบใช้พอร์ต 5433": "ฐานข้อมูลทดสอบใช้พอร์ตอะไร",
        "스테이징 포트는 5433입니다": "스테이징 포트는 뭐예요?",
    }
    filler = (f"the train was late again, {n} minutes" for n in range(45))
    async with service(tmp_path, CONFIG + PACE) as moot:
        await talk(moot.url, *said, *filler)
        await known(moot.url, "the train was late again, 44 minutes")
        lines = ""  # what came with one question doesn't come again
        for number, (fact, question) in enumerate(said.items()):
            lines += await recalled(moot.url, number, f"@demo {question}")
            assert fact in lines


async def test_a_line_bears_on_the_question_itself_and_small_talk_brings_none(
    tmp_path: Path,
) -> None:
    beside = ("the lift on the third floor is stuck", "Carol runs ten miles before breakfast")
    async with service(tmp_path, CONFIG + PACE) as moot:
        filler = (f"the train was late again, {n} minutes" for n in range(45))
        await talk(moot.url, beside[0], FACT, beside[1], "good morning everybody", *filler)
        await known(moot.url, "the train was late again, 44 minutes")
        idle = [
            "good morning!",
            "looks good, merge it",
            "run the tests again",
            "gracias",
            "再试一次",
        ]
        for number, prompt in enumerate(idle):
            assert await recalled(moot.url, number, f"@demo {prompt}") == ""
        [line] = (await recalled(moot.url, len(idle), ASKED)).splitlines()
        assert FACT in line


async def test_the_newest_statement_stands_above_the_one_that_it_replaced(tmp_path: Path) -> None:
    said = {
        "which message broker do we use?": (
            "our message broker is RabbitMQ",
            "we moved from RabbitMQ to Kafka",
        ),
        "auf welchem Port läuft der Rechnungsdienst?": (
            "der Rechnungsdienst läuft auf Port 8017",
            "der Rechnungsdienst läuft nicht mehr auf Port 8017, sondern auf 9444",
        ),
        "谁负责支付模块？": ("支付模块由小雨负责", "支付模块由志强从小雨那里接手"),
        "how long is the retention of invoices?": (
            "the retention of invoices is 7 years",
            "the retention of invoices is 10 years",
        ),
    }
    async with service(tmp_path, CONFIG + PACE) as moot:
        await talk(moot.url, *(old for old, _ in said.values()), sent_at="2026-04-15T09:00:00Z")
        await talk(moot.url, *(new for _, new in said.values()), sent_at="2026-05-02T09:00:00Z")
        await talk(moot.url, *(f"the train was late again, {n} minutes" for n in range(45)))
        await known(moot.url, "the train was late again, 44 minutes")
        for number, (question, (old, new)) in enumerate(said.items()):
            assert await recalled(moot.url, number, f"@demo {question}") == (
                f"- Budi: {new} (message, 2026-05-02, #general)\n"
                f"- Budi: {old} (message, 2026-04-15, #general, replaced 2026-05-02)"
            )
