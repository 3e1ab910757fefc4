"""The whole way: a Mattermost, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.doubles.approvals import ALLOWED, until
from tests.doubles.mattermost import (
    ASH,
    CLAUDE,
    DM,
    GENERAL,
    OLIVIA,
    SECRET,
    Fault,
    MattermostDouble,
    settled,
)
from tests.doubles.ports import free_port
from tests.doubles.service import HOUSE, service

CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
data_dir = "data"
[access]
rooms = "open"
dms = "open"
approvers = ["mattermost:{olivia}"]
[[bots]]
platform = "mattermost"
personas = ["demo"]
url = "{url}"
webhook_url = "http://127.0.0.1:{port}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
PATH_SECRET = "a-secret-of-the-path"
SECRETS = {
    "MATTERMOST_TOKEN": "token-claude",
    "MATTERMOST_SECRET": PATH_SECRET,
    "MATTERMOST_COMMAND_TOKEN": "token-of-the-command",
}


def config(double: MattermostDouble) -> str:
    port = free_port()
    double.command_url = f"http://127.0.0.1:{port}/mattermost/mattermost/{PATH_SECRET}"
    return CONFIG.format(port=port, url=double.base, olivia=OLIVIA)


def answers(double: MattermostDouble) -> Counter[str]:
    """How often each answer of the demo agent stands anywhere."""
    own = [p for p in double.posts.values() if p["user_id"] == CLAUDE and not p["delete_at"]]
    return Counter(p["message"] for p in own if p["message"].startswith("word "))


async def answered(double: MattermostDouble, words: set[str]) -> None:
    """Wait until every question has its answer, and nothing more is posted."""
    await until(lambda: answers(double).keys() >= words)
    await settled(double)


async def test_mentions_direct_messages_and_threads_are_answered_where_they_were_said(
    tmp_path: Path,
) -> None:
    async with MattermostDouble.open() as double:
        async with service(tmp_path, config(double), **SECRETS) as moot:
            await double.sockets.listening(CLAUDE)
            root = double.say("a thread", channel=SECRET)
            first = double.say("@claude echo word 1")
            double.say("echo word 2", channel=DM)
            double.say("@claude echo word 3", channel=SECRET, thread=root)
            double.say("@all echo word 4, and `@claude echo word 5`", ASH)
            await answered(double, {"word 1", "word 2", "word 3"})
            assert moot.leaks("word 1") == []
            assert "Traceback" not in moot.log()
        own = [p for p in double.posts.values() if p["user_id"] == CLAUDE and p["message"]]
        places = {p["message"]: (p["channel_id"], p["root_id"]) for p in own}
        assert places["word 1"] == (GENERAL, first)
        assert places["word 2"] == (DM, "")
        assert places["word 3"] == (SECRET, root)
        assert answers(double).keys() == {"word 1", "word 2", "word 3"}
        marks = {one["emoji_name"] for one in double.reactions if one["post_id"] == first}
        assert marks == {"white_check_mark"}


async def test_a_cut_socket_lost_events_rate_limits_and_failing_posts_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    async with MattermostDouble.open() as double:
        async with service(tmp_path, config(double), **SECRETS) as moot:
            await double.sockets.listening(CLAUDE)
            for kind, when in (
                ("429", "before"),
                ("500", "before"),
                ("500", "after"),
                ("cut", "before"),
                ("cut", "after"),
            ):
                double.fail("POST posts", Fault(kind, when))  # type: ignore[arg-type]
            for n in range(5):
                double.say(f"@claude echo word {n}", times=2)
            double.sockets.refuses = True
            double.sockets.cut()
            for n in range(5, 10):  # five that no websocket tells
                double.say(f"@claude echo word {n}", channel=(GENERAL, SECRET)[n % 2])
            gone = double.say("@claude echo word 99")
            double.remove(gone)
            double.sockets.refuses = False
            await answered(double, {f"word {n}" for n in range(10)})
            double.say("@claude echo word 10", times=0)
            double.sockets.lose()
            double.say("@claude echo word 11")
            await answered(double, {"word 10", "word 11"})
            await moot.kill()
            double.say("@claude echo word 12")
            await moot.start()
            await answered(double, {"word 12"})
            assert "Traceback" not in moot.log()
        assert answers(double) == Counter({f"word {n}": 1 for n in range(13)})


def actions(card: dict[str, Any]) -> list[dict[str, Any]]:
    """A question's buttons."""
    (shown,) = card["props"]["attachments"]
    found: list[dict[str, Any]] = shown["actions"]
    return found


async def test_what_is_taken_back_or_edited_while_it_waits_is_answered_as_it_is_then(
    tmp_path: Path,
) -> None:
    async with MattermostDouble.open() as double:
        async with service(tmp_path, config(double), **SECRETS):
            await double.sockets.listening(CLAUDE)
            root = double.say("@claude permission")
            await until(lambda: any("!1" in text for text in double.texts()))
            gone = double.say("@claude echo word 1", thread=root)
            edited = double.say("@claude echo word 2", thread=root)
            for waits in (gone, edited):
                await until(lambda: any(one["post_id"] == waits for one in double.reactions))  # noqa: B023
            double.remove(gone)
            double.edit(edited, "@claude echo word 3")
            await settled(double)
            (card,) = [p for p in double.own() if "!1" in p["message"]]
            assert await double.act(card["id"], actions(card)[1], OLIVIA) == 200
            await answered(double, {"word 3"})
        assert answers(double) == Counter({"word 3": 1})


async def test_files_go_both_ways(tmp_path: Path) -> None:
    async with MattermostDouble.open() as double:
        double.config["MaxPostSize"] = "500"  # a long answer is a file
        async with service(tmp_path, config(double), **SECRETS) as moot:
            await double.sockets.listening(CLAUDE)
            file = double.file("notes.txt", b"the token expires after 15 minutes")
            double.say("@claude echo word 1", files=(file,))
            await until(lambda: any("[attachment: notes.txt" in text for text in double.texts()))
            double.say("@claude long")
            await until(lambda: any(p["file_ids"] for p in double.own()))
            assert "Traceback" not in moot.log()
        kept = [path for path in tmp_path.rglob("notes.txt") if path.is_file()]
        assert [path.read_bytes() for path in kept] == [double.files[file].data]


async def test_a_question_is_answered_by_a_button_and_by_those_who_may_alone(
    tmp_path: Path,
) -> None:
    async with (
        MattermostDouble.open() as double,
        service(tmp_path, config(double), **SECRETS) as moot,
    ):
        await double.sockets.listening(CLAUDE)
        double.say("@claude permission", ASH)
        await until(lambda: any("!1" in text for text in double.texts()))
        (asked,) = [p for p in double.own() if "!1" in p["message"]]
        card, allow = asked["id"], actions(asked)[0]
        assert await double.act(card, allow, ASH) == 200
        await until(lambda: any("you may not answer that" in text for text in double.texts()))
        forged = {**allow, "integration": {**allow["integration"]}}
        forged["integration"]["url"] = forged["integration"]["url"][:-3] + "xyz"
        assert await double.act(card, forged, OLIVIA) == 404
        assert not any(ALLOWED in text for text in double.texts())
        assert await double.act(card, allow, OLIVIA) == 200
        await until(lambda: any(ALLOWED in text for text in double.texts()))
        assert "attachments" not in double.posts[card]["props"]
        assert moot.leaks() == []


async def test_a_slash_command_is_answered_to_who_gave_it_and_needs_its_token(
    tmp_path: Path,
) -> None:
    async with (
        MattermostDouble.open() as double,
        service(tmp_path, config(double), **SECRETS) as moot,
    ):
        await double.sockets.listening(CLAUDE)
        assert await double.command("/moot help", OLIVIA) == 200
        await until(lambda: double.ephemeral)
        (told,) = double.ephemeral
        assert told[:2] == (OLIVIA, GENERAL)
        assert double.texts() == []
        double.command_token = "somebody else's"
        assert await double.command("/moot status", OLIVIA) == 400
        await until(lambda: "token is not MATTERMOST_COMMAND_TOKEN" in moot.log())


async def test_check_says_plainly_that_a_token_is_refused_and_what_is_missing(
    tmp_path: Path,
) -> None:
    async with MattermostDouble.open() as double:
        (tmp_path / "moot.toml").write_text(config(double))
        assert "the token is refused" in await checked(tmp_path, MATTERMOST_TOKEN="wrong")
        double.config |= {"EnableFileAttachments": "false", "PostEditTimeLimit": "300"}
        told = await checked(tmp_path, MATTERMOST_TOKEN="token-claude")
        assert "files are refused" in told
        assert "can be edited for 300 seconds only" in told


async def checked(folder: Path, **environment: str) -> str:
    """What `moot check` says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from gateway.main import main; main()",
        "check",
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            "PYTHONPATH": str(HOUSE),
        }
        | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told = (await process.communicate())[0].decode()
    assert "Traceback" not in told
    return " ".join(told.split())
