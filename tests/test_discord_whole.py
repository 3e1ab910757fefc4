"""The whole way: a Discord, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.doubles.discord import (
    ASH,
    BOT,
    DM,
    GENERAL,
    OLIVIA,
    POST,
    SECRET,
    DiscordDouble,
    Fault,
)
from tests.doubles.service import service

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[[bots]]
platform = "discord"
personas = ["demo"]
api_url = "{api_url}"
[access]
rooms = "open"
dms = "open"
approvers = ["discord:{approver}"]
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "{pace}" }}
"""


def config(discord: DiscordDouble, pace: int = 0) -> str:
    return CONFIG.format(api_url=discord.api_url, approver=OLIVIA, pace=pace)


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.05)


async def settled(discord: DiscordDouble) -> None:
    """Wait until nothing more is posted."""
    before = -1
    while before != (before := sum(len(m) for m in discord.messages.values())):
        await asyncio.sleep(0.7)


def answers(discord: DiscordDouble) -> Counter[str]:
    """How often each message was answered with its own word, by the id of the message."""
    return Counter(
        str((post.get("message_reference") or {}).get("message_id"))
        for messages in discord.messages.values()
        for post in messages.values()
        if post["author"]["id"] == BOT and post["content"].startswith("word ")
    )


async def mention(discord: DiscordDouble, number: int, channel: str = GENERAL) -> str:
    return await discord.say(f"<@{BOT}> echo word {number}", channel=channel)


async def permitted_by_a_button(discord: DiscordDouble) -> None:
    """A permission question is answered by who may, with a button, which then is gone."""
    await discord.say(f"<@{BOT}> permission")
    await until(lambda: any(post["components"] for post in discord.posts()))
    question = next(post for post in discord.posts() if post["components"])
    yes = question["components"][0]["components"][0]["label"]
    await discord.press(GENERAL, question["id"], yes, ASH)
    await discord.press(GENERAL, question["id"], yes, OLIVIA)
    await until(lambda: not question["components"])
    await settled(discord)
    assert all(interaction.answer for interaction in discord.interactions.values())


async def stopped_by_a_slash(discord: DiscordDouble) -> None:
    """`/stop` is `!stop`."""
    before = len(discord.posts())
    assert "stop" in [command["name"] for command in discord.commands]
    await discord.say(f"<@{BOT}> slow")
    await until(lambda: len(discord.posts()) > before)  # its draft is there
    await discord.command("stop")
    await until(lambda: any("⏹" in text for text in discord.texts()))


async def test_people_are_answered_where_they_speak_and_what_they_press_is_done(
    tmp_path: Path,
) -> None:
    async with (
        DiscordDouble.open() as discord,
        service(tmp_path, config(discord, pace=1), DISCORD_TOKEN=discord.token) as moot,
    ):
        await discord.gateway.connected()
        asked = await mention(discord, 1)
        thread = await discord.open_thread(GENERAL, "a thread")
        await mention(discord, 2, thread)
        await discord.say("echo word 3", channel=DM)
        await until(lambda: bool(discord.posts() and discord.posts(thread) and discord.posts(DM)))
        await settled(discord)
        (in_channel,) = discord.posts()
        assert in_channel["message_reference"]["message_id"] == asked
        assert discord.texts() == ["word 1"]
        assert discord.texts(thread) == ["word 2"]
        assert discord.texts(DM) == ["word 3"]
        await permitted_by_a_button(discord)
        await stopped_by_a_slash(discord)
        assert "Traceback" not in moot.log()
        assert moot.leaks("word 1") == []


async def test_refusals_are_for_one_alone_and_a_message_is_asked_about_in_its_menu(
    tmp_path: Path,
) -> None:
    async with DiscordDouble.open() as discord:
        closed = config(discord).replace('rooms = "open"', f'people = ["discord:{OLIVIA}"]')
        async with service(tmp_path, closed, DISCORD_TOKEN=discord.token) as moot:
            await discord.gateway.connected()
            await until(lambda: bool(discord.commands))
            about = await discord.say("echo what this says", ASH)
            await discord.say("something else", ASH)
            asks = [await discord.ask_about("Ask demo", about, by) for by in (OLIVIA, ASH)]
            asks.append(await discord.command("role", by=OLIVIA, who="me owner"))
            asks.append(await discord.command("stop", by=ASH))
            await until(lambda: all(one.whispers for one in asks[1:]) and bool(discord.posts()))
            await settled(discord)
            (answer,) = discord.posts()
            assert answer["message_reference"]["message_id"] == about
            assert "Please answer this message" in answer["content"]  # the demo agent's own way
            assert asks[0].whispers == []
            assert "is for owners" in asks[2].whispers[0]
            for refused in (asks[1], asks[3]):
                assert "can't answer you here yet" in refused.whispers[0]
            await discord.say(f"<@{BOT}> permission")
            await until(lambda: any(post["components"] for post in discord.posts()))
            question = next(post for post in discord.posts() if post["components"])
            press = await discord.press(GENERAL, question["id"], "Yes", ASH)
            await until(lambda: bool(press.whispers))
            assert len(discord.posts()) == 2
            assert "Traceback" not in moot.log()


async def test_who_writes_a_command_is_offered_whom_they_may_name(tmp_path: Path) -> None:
    async with DiscordDouble.open() as discord:
        closed = config(discord).replace('rooms = "open"', f'people = ["discord:{OLIVIA}"]')
        closed = closed.replace('personas = ["demo"]', 'personas = ["demo", "ada"]')
        (tmp_path / "personas").mkdir()
        for name, model in (("demo", "tiny"), ("ada", "small")):
            text = f"---\nagent: demo\nmodel: {model}\n---\nYou work.\n"
            (tmp_path / "personas" / f"{name}.md").write_text(text)
        async with service(tmp_path, closed, DISCORD_TOKEN=discord.token) as moot:
            await discord.gateway.connected()
            await until(lambda: bool(discord.commands))
            assert await discord.write("persona", "persona", "A") == ["ada"]
            assert await discord.write("model", "model", "") == ["tiny", "small", "default"]
            assert await discord.write("persona", "persona", "", ASH) == []
            assert await discord.write("model", "model", "", ASH) == []
            assert discord.posts() == []
            assert "Traceback" not in moot.log()


async def test_a_question_is_answered_in_a_thread_of_its_own_which_goes_on(tmp_path: Path) -> None:
    async with DiscordDouble.open() as discord:
        own = config(discord).replace("[access]", "threads = true\n[access]")
        async with service(tmp_path, own, DISCORD_TOKEN=discord.token) as moot:
            await discord.gateway.connected()
            asked = await mention(discord, 1)
            await until(lambda: discord.texts(asked) == ["word 1"])
            await discord.say("echo and on", channel=asked)
            await discord.say(f"<@{BOT}> !status", channel=GENERAL)
            await until(lambda: len(discord.texts(asked)) == 2 and bool(discord.posts()))
            await moot.kill()
            await discord.say("echo after all", channel=asked)
            await moot.start()
            await until(lambda: len(discord.texts(asked)) == 3)
            await settled(discord)
            assert discord.texts(asked) == ["word 1", "and on", "after all"]
            assert len(discord.posts()) == 1
            assert discord.thread_members == {asked: {OLIVIA}}
            assert "Traceback" not in moot.log()


async def test_ten_messages_missed_and_failing_posts_are_answered_once_each(
    tmp_path: Path,
) -> None:
    async with (
        DiscordDouble.open() as discord,
        service(tmp_path, config(discord), DISCORD_TOKEN=discord.token) as moot,
    ):
        await discord.gateway.connected()
        asked = [await mention(discord, 0)]
        await until(lambda: sum(answers(discord).values()) == 1)
        faults = [("429", "before"), ("500", "after"), ("cut", "before"), ("cut", "after")]
        for kind, when in faults:
            discord.fail(POST, Fault(kind, when))  # type: ignore[arg-type]
        await discord.gateway.cut(forget=True)
        asked += [await mention(discord, n) for n in range(1, 8)]
        asked += [await mention(discord, n, SECRET) for n in range(8, 11)]
        await until(lambda: answers(discord).keys() >= set(asked))
        await settled(discord)
        assert answers(discord) == Counter(asked)
        await moot.kill()
        asked += [await mention(discord, n) for n in range(11, 21)]
        await moot.start()
        await until(lambda: answers(discord).keys() >= set(asked))
        await settled(discord)
        assert answers(discord) == Counter(asked)
        assert "Traceback" not in moot.log()
