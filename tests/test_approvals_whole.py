"""Approvals from outside: a Slack, `moot run`, and answers that are late, replayed and forged."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.doubles.approvals import ALLOWED, answers, until
from tests.doubles.service import service
from tests.doubles.slack import (
    ASH,
    BOT_ID,
    BOT_USER,
    CODEX,
    GENERAL,
    OLIVIA,
    PRIVATE,
    SlackDouble,
)
from tests.doubles.slack_app import user_of
from tests.doubles.slack_wire import Fault

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
rooms = "open"
approvers = ["slack:{olivia}", "slack:{ash}"]
[turns]
marks = "off"
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
EARLY = "Olivia, your answer stands before that question: read it, and answer again."
CLOSED = "Olivia, that question is closed already."
CHANGED = "Olivia, that button is of an earlier form of the question"


def installation(slack: SlackDouble) -> tuple[str, dict[str, str]]:
    config = CONFIG.format(api_url=slack.api_url, olivia=OLIVIA, ash=ASH)
    return config, {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}


def open_questions(slack: SlackDouble) -> list[dict[str, Any]]:
    posts = slack.messages[GENERAL].values()
    return [post for post in posts if len(post.get("blocks") or ()) > 1]


async def asked(slack: SlackDouble) -> dict[str, Any]:
    """Have the agent ask; the one post whose buttons wait."""
    await slack.say(f"<@{BOT_USER}> permission", ASH)
    await until(lambda: open_questions(slack))
    (post,) = open_questions(slack)
    return post


def allowed(slack: SlackDouble) -> int:
    return sum(ALLOWED in text for text in slack.texts())


def whispered(slack: SlackDouble) -> list[str]:
    """What whoever pressed was told, and nobody else."""
    return [text for _, _, text in slack.whispers]


async def test_late_replayed_and_forged_answers_allow_nothing(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config, secrets = installation(slack)
        async with service(tmp_path, config, **secrets):
            await slack.delivery.connected()
            first = await asked(slack)
            buttons = deepcopy(first["blocks"])
            late = await slack.say("!1", times=0)  # it stands there, and no event tells of it
            await slack.press(GENERAL, first["ts"], "Yes", ASH)
            await until(lambda: allowed(slack) == 1)
            second = await asked(slack)
            for _ in range(3):
                slack.tell(GENERAL, slack.messages[GENERAL][late])
            await until(lambda: EARLY in slack.texts())

            first["blocks"] = buttons  # somebody's client still shows them
            await slack.press(GENERAL, first["ts"], "Yes")
            await until(lambda: CLOSED in whispered(slack))
            first["blocks"] = []

            genuine = deepcopy(second["blocks"])
            for button in second["blocks"][1]["elements"]:
                number, _, question = button["value"].split(" ", 2)
                button["value"] = f"{number} {'0' * 16} {question}"
            await slack.press(GENERAL, second["ts"], "Yes")
            await until(lambda: any(text.startswith(CHANGED) for text in whispered(slack)))
            second["blocks"] = genuine
            assert allowed(slack) == 1

            await slack.say("!1")
            await until(lambda: allowed(slack) == 2)
            assert slack.texts().count(EARLY) == 1
            assert answers(tmp_path) == [
                ("answer", f"slack:{ASH}", ""),
                ("deny", f"slack:{OLIVIA}", "early"),
                ("deny", f"slack:{OLIVIA}", "closed"),
                ("deny", f"slack:{OLIVIA}", "changed"),
                ("answer", f"slack:{OLIVIA}", ""),
            ]


async def test_an_answer_from_before_a_restart_is_read_and_allows_nothing(tmp_path: Path) -> None:
    """The question is asked again after it; what was said meanwhile comes from the history."""
    async with SlackDouble.open() as slack:
        slack.delivery.forgetful = True
        config, secrets = installation(slack)
        async with service(tmp_path, config, **secrets) as moot:
            await slack.delivery.connected()
            first = await asked(slack)
            await moot.kill()
            await slack.say("!1")
            await moot.start()
            await slack.delivery.connected()
            refusals = (EARLY, "Nothing is being asked here.")
            await until(lambda: any(text in refusals for text in slack.texts()))
            await until(lambda: any(post is not first for post in open_questions(slack)))
            await until(lambda: not first["blocks"])
            assert allowed(slack) == 0
            await slack.say("!1")
            await until(lambda: allowed(slack) == 1)


async def test_a_kill_before_the_posts_id_is_known_leaves_no_buttons(tmp_path: Path) -> None:
    """Slack has the question, and its answer never came: it is found by its key, and closed."""
    async with SlackDouble.open() as slack:
        config, secrets = installation(slack)
        async with service(tmp_path, config, **secrets) as moot:
            await slack.delivery.connected()
            never = asyncio.Event()
            slack.fail("chat.postMessage", Fault("hang", "after", release=never))
            first = await asked(slack)
            await moot.kill()
            never.set()
            await moot.start()
            await slack.delivery.connected()
            await until(lambda: any(post is not first for post in open_questions(slack)))
            await until(lambda: not first["blocks"])
            await slack.say("!1")
            await until(lambda: allowed(slack) == 1)


async def test_nobody_elses_words_and_no_words_of_elsewhere_answer(tmp_path: Path) -> None:
    """A namesake, a bot, Moot's own echo, an edit, another room and thread, and conditions."""
    async with SlackDouble.open() as slack:
        config, secrets = installation(slack)
        namesake = "U0NAMESAKE"
        slack.users[namesake] = user_of(namesake, "Olivia")
        slack.members[GENERAL].append(namesake)
        async with service(tmp_path, config, **secrets):
            await slack.delivery.connected()
            harmless = await slack.say("nothing to add")
            await asked(slack)
            await slack.say("!1", namesake)
            await until(lambda: any("may not answer that" in text for text in slack.texts()))
            await slack.say("!1", CODEX, subtype="bot_message", bot_id="B0CODEX01")
            await slack.say("!1", BOT_USER, bot_id=BOT_ID)
            await slack.edit(GENERAL, harmless, "!1")
            await slack.say("!1", channel=PRIVATE)
            await until(lambda: "Nothing is being asked here." in slack.texts(PRIVATE))
            await slack.say("!1", thread_ts=harmless)
            await until(lambda: "Nothing is being asked here." in slack.texts())
            for wrong in ("!1 but not in production", "!1 k77", "!1? what would it do"):
                before = len(slack.texts())
                await slack.say(wrong)
                await until(lambda before=before: len(slack.texts()) > before)  # type: ignore[misc]
                assert "say which question you mean" in slack.texts()[-1], wrong
            assert allowed(slack) == 0
            assert answers(tmp_path) == [
                ("deny", f"slack:{namesake}", ""),
                ("deny", f"slack:{OLIVIA}", "code"),
            ]
            await slack.say(f"<@{BOT_USER}> !1")
            await until(lambda: allowed(slack) == 1)
