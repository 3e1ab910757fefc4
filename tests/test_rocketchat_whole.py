"""The whole way: a Rocket.Chat, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from tests.doubles.inbox import until
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


async def test_what_was_deleted_or_edited_while_it_waited_is_asked_for_before_its_turn(
    tmp_path: Path,
) -> None:
    """No stream tells of it: deletions are subscribed to a room at a time."""
    async with RocketChatDouble.open() as rocketchat:
        config = CONFIG.format(url=rocketchat.base)
        config = config.replace("[access]", f'[access]\napprovers = ["rocketchat:{OLIVIA}"]')
        async with service(tmp_path, config, **SECRETS) as moot:
            await rocketchat.sockets.listening(CLAUDE)
            asked = rocketchat.say("@claude permission")
            gone, hidden, _, edited = (rocketchat.say(f"@claude echo word {n}") for n in range(4))
            await until(lambda: moot.log().count("turn.queued") == 5)
            await until(lambda: rocketchat.buttons(asked) is not None)
            rocketchat.sockets.silent = True
            rocketchat.remove(gone)
            rocketchat.change(hidden, t="rm", msg="")
            rocketchat.edit(edited, "@claude echo word 5")
            rocketchat.sockets.silent = False
            question = next(m for m in rocketchat.messages.values() if "Run this" in m["msg"])
            rocketchat.react(question["_id"], "one")
            await answered(rocketchat, {"word 2", "word 5"})
            assert "Traceback" not in moot.log()
        assert answers(rocketchat) == Counter({"word 2": 1, "word 5": 1})


async def test_an_answer_whose_draft_can_not_be_edited_any_more_is_a_new_post(
    tmp_path: Path,
) -> None:
    async with RocketChatDouble.open() as rocketchat:
        rocketchat.settings["Message_AllowEditing_BlockEditInMinutes"] = 5
        rocketchat.permissions["bypass-time-limit-edit-and-delete"] = ["admin"]
        config = CONFIG.format(url=rocketchat.base).replace('PACE = "0"', 'PACE = "0.6"')
        async with service(tmp_path, config, **SECRETS) as moot:
            await rocketchat.sockets.listening(CLAUDE)
            rocketchat.say("@claude slow")
            await until(lambda: any("I take my time" in text for text in rocketchat.texts()))
            rocketchat.age()
            await until(lambda: "turn.posted" in moot.log())
        told = [text for text in rocketchat.texts() if "I take my time" in text]
        assert len(told) == 1
        assert told[0].endswith("This is line 10 of ten; half a second each.")


async def test_who_mentions_it_in_an_encrypted_room_is_told_once_that_it_can_not_read(
    tmp_path: Path,
) -> None:
    async with RocketChatDouble.open() as rocketchat:
        rocketchat.rooms[DM]["encrypted"] = True

        def ciphertext(rid: str, *mentioned: str) -> None:
            named = [{"_id": user, "username": "x"} for user in mentioned]
            rocketchat.say("", rid=rid, t="e2e", e2e="pending", mentions=named)

        async with service(tmp_path, CONFIG.format(url=rocketchat.base), **SECRETS) as moot:
            await rocketchat.sockets.listening(CLAUDE)
            ciphertext(SECRET)
            for _ in range(2):
                ciphertext(SECRET, CLAUDE)
                ciphertext(DM)
            await until(lambda: "encryption.not_told" in moot.log())
            await moot.kill()
            await moot.start()
            await rocketchat.sockets.listening(CLAUDE, 2)
            ciphertext(SECRET, CLAUDE)
            rocketchat.say("@claude echo word 1")
            await answered(rocketchat, {"word 1"})
        (told,) = rocketchat.texts(SECRET)
        assert told.startswith("What is said here is end-to-end encrypted")
        assert rocketchat.texts(DM) == []


async def test_who_sends_a_file_that_is_too_large_is_told_and_a_smaller_one_is_read(
    tmp_path: Path,
) -> None:
    async with RocketChatDouble.open() as rocketchat:
        config = CONFIG.format(url=rocketchat.base).replace(
            "[agents.demo]", "file_mb = 1\n[agents.demo]"
        )
        async with service(tmp_path, config, **SECRETS):
            await rocketchat.sockets.listening(CLAUDE)
            large, small = (
                rocketchat.file(name, bytes(size), "application/zip")
                for name, size in (("big_one.zip", 1_500_000), ("small.zip", 900_000))
            )
            rocketchat.say("@claude echo word 1", files=(large, small))
            await until(lambda: len(rocketchat.texts()) == 2)
        notice, answer = rocketchat.texts()
        assert notice.startswith("📎 big")
        assert "did not reach me: " in notice
        assert answer.startswith("word 1")
        assert [path.name for path in (tmp_path / "data" / "files").rglob("*.zip")] == ["small.zip"]
