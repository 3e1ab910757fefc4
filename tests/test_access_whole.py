"""Letting somebody in, from outside: a Slack, `moot run`, `moot pair` and `moot access`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from tests.doubles.service import HOUSE, Service, service
from tests.doubles.slack import ASH, BOT_USER, DM, OLIVIA, SlackDouble

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
owners = ["slack:{owner}"]
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
CODE = re.compile(r"[2-9A-Z]{8}(?=`)")


async def moot(at: Service, *words: str, **more: str) -> tuple[int, str]:
    """Run a command in the installation; its exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from gateway.main import main; main()", *words,
        cwd=at.folder,
        env={
            "PATH": os.environ["PATH"], "HOME": str(at.folder), "MOOT_HOME": str(at.folder),
            "PYTHONPATH": str(HOUSE), **more,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode()


async def has(slack: SlackDouble, count: int, channel: str = DM) -> list[str]:
    """Wait until the bot has posted so much there."""
    async with asyncio.timeout(30):
        while len(found := posted(slack, channel)) < count:
            await asyncio.sleep(0.05)
    return found


def posted(slack: SlackDouble, channel: str) -> list[str]:
    said = slack.messages[channel].values()
    return [message["text"] for message in said if message.get("user") == BOT_USER]


def code_in(text: str) -> str:
    found = CODE.search(text)
    assert found is not None, text
    return found[0]


async def settled(slack: SlackDouble) -> None:
    before = -1
    while before != (before := sum(len(m) for m in slack.messages.values())):
        await asyncio.sleep(0.7)


async def test_a_stranger_is_let_in_while_it_runs_and_while_it_does_not(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(owner=ASH, api_url=slack.api_url)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets) as at:
            await slack.delivery.connected()
            await slack.say("echo word one", channel=DM)
            [line] = await has(slack, 1)
            code, printed = await moot(at, "pair", code_in(line))
            assert (code, f"(slack:{OLIVIA}) is a member" in printed) == (0, True), printed
            await has(slack, 3)
            await settled(slack)
            assert sorted(posted(slack, DM)[1:]) == [
                "You are let in: you can talk with me here now.",
                "word one",
            ]
            revoke = ("access", "revoke", f"slack:{OLIVIA}")
            assert (await moot(at, *revoke))[0] == 0
            await slack.say("echo word two", channel=DM)
            line = (await has(slack, 4))[-1]

            await at.kill()
            code, printed = await moot(at, "pair")
            assert (code, printed.startswith(f"{code_in(line)}  Olivia")) == (0, True), printed
            assert (await moot(at, "pair", code_in(line)))[0] == 0
            assert (await moot(at, "pair", code_in(line)))[0] == 1
            assert len(posted(slack, DM)) == 4
            await at.start()
            await has(slack, 6)
            await at.kill()
            await at.start()
            await settled(slack)
            assert sorted(posted(slack, DM)[4:]) == [
                "You are let in: you can talk with me here now.",
                "word two",
            ]
            assert at.leaks("word one", "word two", code_in(line)) == []


async def test_a_closed_channel_opens_to_whom_its_owner_names(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(owner=ASH, api_url=slack.api_url)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets) as at:
            await slack.delivery.connected()
            for _ in range(2):
                await slack.say(f"<@{BOT_USER}> echo word one")
            async with asyncio.timeout(30):
                while len(slack.whispers) < 2:
                    await asyncio.sleep(0.05)
            for channel, told, line in slack.whispers:
                assert (channel, told) == ("C0GENERAL", OLIVIA)
                assert f"!role slack:{OLIVIA} guest" in line
            assert all(not args.get("thread_ts") for args in slack.called("chat.postEphemeral"))
            await slack.say(f"<@{BOT_USER}> !role <@{OLIVIA}> guest", user=ASH)
            assert "is a guest here now" in (await has(slack, 1, "C0GENERAL"))[0]
            await slack.say(f"<@{BOT_USER}> echo word two")
            assert (await has(slack, 2, "C0GENERAL"))[1] == "word two"
            await settled(slack)
            assert len(posted(slack, "C0GENERAL")) == 2
            code, printed = await moot(at, "access", "list")
            assert code == 0
            assert f"guest   slack:{OLIVIA}" in printed, printed


async def test_an_owner_of_one_room_sees_and_decides_nothing_beyond_it(tmp_path: Path) -> None:
    """What they tried is in the audit log under them."""
    grants = """
[[access.grants]]
role = "owner"
people = ["slack:{here}"]
rooms = ["slack:C0GENERAL", "slack:C0ELSEWHERE"]
[[access.grants]]
role = "guest"
people = ["slack:U0HIDDEN01"]
rooms = ["slack:G0PRIVATE"]
"""
    async with SlackDouble.open() as slack:
        config = CONFIG.format(owner=ASH, api_url=slack.api_url)
        head, bots, rest = config.partition("[[bots]]")
        config = head + grants.format(here=OLIVIA) + bots + rest
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets) as at:
            await slack.delivery.connected()
            await slack.say(f"<@{BOT_USER}> !role")
            [listed] = await has(slack, 1, "C0GENERAL")
            assert f"slack:{OLIVIA}: an owner in slack:C0GENERAL (moot.toml)" in listed
            assert "HIDDEN" not in listed
            assert "PRIVATE" not in listed
            for text in ("!pair", "!role slack:U0HIDDEN01 none everywhere"):
                await slack.say(f"<@{BOT_USER}> {text}")
            only = "That is for owners of the whole house, not of one room or persona."
            assert (await has(slack, 3, "C0GENERAL"))[1:] == [only, only]
            code, printed = await moot(at, "audit", "show")
            assert code == 0
            assert [printed.count(one) for one in ("pair", "role everywhere")] == [1, 1], printed
            await slack.say(f"<@{BOT_USER}> !role", user=ASH)
            assert (
                "slack:U0HIDDEN01: a guest in slack:G0PRIVATE"
                in (await has(slack, 4, "C0GENERAL"))[3]
            )
