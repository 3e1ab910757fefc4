"""The whole way: a Rocket.Chat, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from tests.doubles.rocketchat import (
    CLAUDE,
    CODEX,
    DM,
    GENERAL,
    OLIVIA,
    SECRET,
    Fault,
    RocketChatDouble,
)
from tests.doubles.service import service

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
rooms = "open"
dms = "open"
[[bots]]
platform = "rocketchat"
personas = ["demo"]
url = "{url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
SECRETS = {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": CLAUDE}


def answers(rocketchat: RocketChatDouble, user: str = CLAUDE) -> Counter[str]:
    """How often each answer of the demo agent stands anywhere."""
    return Counter(
        message["msg"]
        for message in rocketchat.messages.values()
        if message["u"]["_id"] == user and message["msg"].startswith("word ")
    )


async def answered(rocketchat: RocketChatDouble, words: set[str], user: str = CLAUDE) -> None:
    """Wait until every question has its answer, and nothing more is posted."""
    async with asyncio.timeout(60):
        while not answers(rocketchat, user).keys() >= words:
            await asyncio.sleep(0.05)
    before = -1
    while before != (before := len(rocketchat.called("chat.sendMessage"))):
        await asyncio.sleep(0.7)


async def test_a_mention_a_direct_message_and_a_thread_are_answered_where_they_were_said(
    tmp_path: Path,
) -> None:
    async with RocketChatDouble.open() as rocketchat:
        async with service(tmp_path, CONFIG.format(url=rocketchat.base), **SECRETS):
            await rocketchat.sockets.listening(CLAUDE)
            root = rocketchat.say("a thread", rid=SECRET)
            rocketchat.say("@claude echo word 1")
            rocketchat.say("echo word 2", rid=DM)
            rocketchat.say("@claude echo word 3", rid=SECRET, thread=root)
            await answered(rocketchat, {"word 1", "word 2", "word 3"})
        places = {
            m["msg"]: (m["rid"], m.get("tmid"))
            for m in rocketchat.messages.values()
            if m["u"]["_id"] == CLAUDE
        }
        assert places == {
            "word 1": (GENERAL, None),
            "word 2": (DM, None),
            "word 3": (SECRET, root),
        }


async def test_a_cut_socket_rate_limits_and_failing_posts_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    async with RocketChatDouble.open() as rocketchat:
        async with service(tmp_path, CONFIG.format(url=rocketchat.base), **SECRETS) as moot:
            await rocketchat.sockets.listening(CLAUDE)
            for kind, when in (
                ("429", "before"),
                ("500", "before"),
                ("500", "after"),
                ("cut", "before"),
                ("cut", "after"),
            ):
                rocketchat.fail("chat.sendMessage", Fault(kind, when))  # type: ignore[arg-type]
            for n in range(5):
                rocketchat.say(f"@claude echo word {n}", times=2)
            rocketchat.sockets.refuses = True
            rocketchat.sockets.cut()
            for n in range(5, 15):  # ten that no stream tells
                rocketchat.say(f"@claude echo word {n}", rid=(GENERAL, SECRET)[n % 2])
            rocketchat.sockets.refuses = False
            await answered(rocketchat, {f"word {n}" for n in range(15)})
            assert moot.leaks("word 1") == []
            await moot.kill()
            rocketchat.say("@claude echo word 15")
            await moot.start()
            await answered(rocketchat, {"word 15"})
            assert "Traceback" not in moot.log()
        assert answers(rocketchat) == Counter({f"word {n}": 1 for n in range(16)})


async def test_two_accounts_are_two_personas_each_with_its_own_answers(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / f"{name}.md").write_text("---\nagent: demo\n---\nAnswers.\n", encoding="utf-8")
    async with RocketChatDouble.open() as rocketchat:
        second = f'[[bots]]\nplatform = "rocketchat"\nname = "two"\nurl = "{rocketchat.base}"\n'
        first = CONFIG.format(url=rocketchat.base).replace('["demo"]', '["claude"]')
        config = first + second + 'personas = ["codex"]\n'
        keys = {"ROCKETCHAT_TOKEN_TWO": "token-codex", "ROCKETCHAT_USER_ID_TWO": CODEX}
        async with service(tmp_path, config, **SECRETS, **keys) as moot:
            await rocketchat.sockets.listening(CLAUDE)
            await rocketchat.sockets.listening(CODEX, 2)
            rocketchat.say("@claude echo word 1")
            await answered(rocketchat, {"word 1"})
            rocketchat.say("@codex echo word 2", OLIVIA)
            await answered(rocketchat, {"word 2"}, CODEX)
            assert "Traceback" not in moot.log()
        assert rocketchat.texts(user=CLAUDE) == ["word 1"]
        assert rocketchat.texts(user=CODEX) == ["word 2"]
