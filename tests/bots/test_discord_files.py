"""Files beside people's messages in Discord, on disk and within bounds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bots.discord.api import DiscordApi
from bots.discord.bot import DiscordBot
from contract.errors import PlatformError
from tests.doubles import discord_objects as objects
from tests.doubles.discord import GENERAL, OLIVIA, DiscordDouble
from tests.doubles.inbox import Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]


async def test_a_file_is_kept_on_disk_and_its_message_unchanged(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say(
            "look", files=(("../no tes.txt", b"caf\xc3\xa9"), ("b.png", b"\x89"))
        )
        await discord_double.say("", files=(("only.txt", b"x"),))
        await inbox.kept(2)
    (notes, picture), (only,) = (m.attachments for m in inbox.messages)
    assert (notes.name, notes.mime, notes.size_bytes) == ("../no tes.txt", "text/plain", 5)
    assert notes.path is not None
    assert Path(notes.path).read_bytes() == b"caf\xc3\xa9"
    assert Path(notes.path).name == "_no tes.txt"
    assert (picture.mime, only.size_bytes) == ("image/png", 1)
    assert [m.content for m in inbox.messages] == ["look", ""]


async def test_a_file_that_is_too_large_or_gone_or_elsewhere_is_told_without_its_bytes(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(max_file_bytes=10), inbox):
        await discord_double.gateway.connected()
        gone = discord_double.file("gone.txt", b"x")
        del discord_double.files[gone["id"]]
        elsewhere = {**discord_double.file("e.txt", b"x"), "url": "http://169.254.169.254/latest"}
        larger = {**discord_double.file("lies.txt", b"x" * 11), "size": 3}
        large = discord_double.file("large.txt", b"x" * 11)
        for file in (gone, elsewhere, larger, large):
            by = discord_double.users[OLIVIA]
            await discord_double.publish(objects.message(GENERAL, by, "", attachments=[file]))
        await inbox.kept(4)
    assert [m.attachments[0].path for m in inbox.messages] == [None] * 4
    assert [m.attachments[0].name for m in inbox.messages] == [
        "gone.txt",
        "e.txt",
        "lies.txt",
        "large.txt",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://cdn.discordapp.com/a",
        "https://cdn.discordapp.com.example.org/a",
        "https://example.org/cdn.discordapp.com",
        "file:///etc/passwd",
        "https://[bad",
        "",
    ],
)
async def test_a_file_is_read_from_discord_and_from_nowhere_else(url: str) -> None:
    api = DiscordApi("token")
    with pytest.raises(PlatformError, match="not a file of Discord's"):
        await api.read(url, 10, 1.0)
    await api.close()
