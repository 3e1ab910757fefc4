"""Files of people are kept on disk, files of agents are shared, each once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bots.rocketchat.bot import RocketChatBot
from contract.chat import Destination, Room
from contract.errors import PlatformError
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.rocketchat import ASH, CLAUDE, GENERAL, Fault, RocketChatDouble

MakeBot = Callable[..., RocketChatBot]
ROOM = Room(f"rocketchat:{GENERAL}", "general")
HERE = Destination(ROOM)
LONG_AGO = datetime.now(UTC) - timedelta(minutes=10)


@pytest.fixture
async def bot(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> AsyncIterator[RocketChatBot]:
    bot = rocketchat_bot(max_file_bytes=1_000)
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        yield bot


@pytest.mark.usefixtures("bot")
async def test_a_file_is_on_disk_when_its_message_is_told(
    rocketchat: RocketChatDouble, inbox: Inbox
) -> None:
    file = rocketchat.file("né w/ä?#%.txt", b"\x00bytes", "text/plain")
    thumb = rocketchat.file("thumb-x.png", b"small", "image/png")
    rocketchat.say("@claude look", files=(file, thumb))
    await inbox.kept(1)
    (message,) = inbox.messages
    (attachment,) = message.attachments
    assert (attachment.name, attachment.mime) == ("né w/ä?#%.txt", "text/plain")
    assert attachment.size_bytes == 6
    assert Path(attachment.path or "").read_bytes() == b"\x00bytes"
    assert message.content == "@claude look"


@pytest.mark.usefixtures("bot")
async def test_what_was_typed_beside_a_file_may_stand_in_its_description(
    rocketchat: RocketChatDouble, inbox: Inbox
) -> None:
    file = rocketchat.file("a.txt", b"a")
    about = {"_id": file, "name": "a.txt", "type": "text/plain", "size": "1"}
    for text in ("@claude, look", "mail@claude.example", "@claude-two look"):
        rocketchat.say("", file=about, attachments=[{"description": text}])
    await inbox.kept(3)
    assert [(m.content, m.mentioned) for m in inbox.messages] == [
        ("@claude, look", True),
        ("mail@claude.example", False),
        ("@claude-two look", False),
    ]
    assert [a.size_bytes for m in inbox.messages for a in m.attachments] == [1, 1, 1]


@pytest.mark.usefixtures("bot")
async def test_a_file_that_only_a_link_names_is_kept_too(
    rocketchat: RocketChatDouble, inbox: Inbox
) -> None:
    file = rocketchat.file("a b.txt", b"a")
    link = f"https://elsewhere.example/file-upload/{file}/a%20b.txt?download"
    rocketchat.say("", attachments=[{"title": "a b", "title_link": link}])
    rocketchat.say("", attachments=[{"title_link": "https://elsewhere.example/secret"}])
    await inbox.kept(2)
    (attachment,) = inbox.messages[0].attachments
    assert Path(attachment.path or "").read_bytes() == b"a"
    assert attachment.name == "a b.txt"
    assert inbox.messages[1].attachments == ()


@pytest.mark.usefixtures("bot")
async def test_a_file_that_can_t_be_had_is_told_without_a_path(
    rocketchat: RocketChatDouble, inbox: Inbox
) -> None:
    large = rocketchat.file("large.bin", b"x" * 1_001)
    foreign = rocketchat.file("foreign.txt", b"x", rid="elsewhere")
    rocketchat.say("here", files=(large, foreign))
    await inbox.kept(1)
    told = [(a.name, a.size_bytes, a.path) for a in inbox.messages[0].attachments]
    assert told == [("large.bin", 1_001, None), ("foreign.txt", 1, None)]
    assert [c.args["file"] for c in rocketchat.calls if c.route == "file-upload"] == [foreign]


@pytest.mark.parametrize("old_uploads", [False, True])
async def test_a_file_is_shared_in_its_thread_with_a_comment(
    rocketchat: RocketChatDouble, bot: RocketChatBot, old_uploads: bool
) -> None:
    rocketchat.old_uploads = old_uploads
    root = rocketchat.say("root", ASH)
    for key in ("k1", "k2"):
        made = await bot.upload(Destination(ROOM, root), "answer.md", b"# all", "the answer", key)
        message = rocketchat.messages[made]
        assert (message["tmid"], message["msg"]) == (root, "the answer")
        stored = rocketchat.files[message["file"]["_id"]]
        assert (stored.name, stored.data) == ("answer.md", b"# all")
    assert len(rocketchat.called("rooms.media")) == (1 if old_uploads else 2)


@pytest.mark.parametrize(
    ("route", "fault", "outcome", "there"),
    [
        ("rooms.media", Fault("500", "after"), "retry", False),
        ("rooms.media", Fault("429"), "retry", False),
        ("rooms.mediaConfirm", Fault("500"), "unknown", False),
        ("rooms.mediaConfirm", Fault("500", "after"), "unknown", True),
        ("rooms.mediaConfirm", Fault("error", code="error-not-allowed"), "refused", False),
    ],
)
async def test_a_failed_upload_tells_whether_it_may_have_happened_and_find_knows(
    rocketchat: RocketChatDouble,
    rocketchat_bot: MakeBot,
    bot: RocketChatBot,
    route: str,
    fault: Fault,
    outcome: str,
    there: bool,
) -> None:
    await bot.upload(HERE, "answer.md", b"another", "", "another")
    rocketchat.fail(route, fault)
    with pytest.raises(PlatformError) as caught:
        await bot.upload(HERE, "answer.md", b"# all", "", "k")
    assert caught.value.outcome == outcome
    after_restart = rocketchat_bot()
    for one in (bot, after_restart):
        found = await one.find(HERE, "k", LONG_AGO, ())
        assert (found is not None) == there
    await after_restart.close()
    if there:
        assert found is not None
        file = rocketchat.messages[found]["file"]["_id"]
        assert rocketchat.files[file].data == b"# all"
