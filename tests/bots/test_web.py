"""The page as a platform: what is posted needs no sending, and the same key is one message."""

from datetime import UTC, datetime

from bots.bot import Bot
from bots.web import WebBot
from contract.agent import Option, Question
from contract.chat import Destination, Room

PLACE = Destination(Room("web:general", "general"))


async def test_a_posts_id_is_its_key_so_that_posting_again_is_the_same_message() -> None:
    bot: Bot = WebBot(["demo"])
    assert await bot.post(PLACE, "hello", "turn:0") == "turn:0"
    assert await bot.find(PLACE, "turn:0", datetime.now(UTC), ()) is None
    question = Question("q", "Run?", "ls", (Option("Yes"), Option("No", refuses=True)))
    assert await bot.ask(PLACE, question, "turn:q") == "turn:q"
    assert await bot.upload(PLACE, "a.md", b"", "", "turn:1") == "turn:1"


async def test_an_answer_is_one_piece_whatever_its_length() -> None:
    bot = WebBot(["demo"])
    assert bot.split("x" * 1_000_000) == ["x" * 1_000_000]
    assert bot.split("") == []
    assert await bot.members(PLACE.room) == ()
