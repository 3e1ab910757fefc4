"""Moot's App for Rocket.Chat: packed, run on the published Apps-Engine's classes, and what it posts
answered by `moot run`."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.core.command_table import TABLE
from tests.doubles.inbox import until
from tests.doubles.rocketchat import CLAUDE, GENERAL, OLIVIA, RocketChatDouble
from tests.doubles.rocketchat_app import SOURCE, AppBridge, app_bridge, packed
from tests.doubles.service import service
from tests.test_rocketchat_whole import CONFIG, SECRETS, answered, answers


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppBridge]:
    async with app_bridge(tmp_path / "app") as bridge:
        yield bridge


def test_the_zip_has_what_a_server_looks_for(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as zipped:
        names = set(zipped.namelist())
        info = json.loads(zipped.read("app.json"))
        words = json.loads(zipped.read("i18n/en.json"))
        assert zipped.read(info["iconFile"]).startswith(b"\x89PNG")
    assert info["classFile"].replace(".ts", ".js") in names
    assert re.fullmatch(r"[0-9a-f-]{36}", info["id"])
    assert not [name for name in names if name.endswith(".ts")]
    sources = "".join(path.read_text("utf-8") for path in SOURCE.glob("*.ts"))
    used = re.findall(r'(?:i18n\w+|labelI18n)\s*[:=]\s*"(\w+)"', sources)
    assert set(used) == words.keys()


def test_it_names_the_commands_that_moot_has() -> None:
    told = (SOURCE / "commands.ts").read_text("utf-8")
    listed = dict(re.findall(r'^  (\w+): "(.*)",$', told, re.MULTILINE))
    assert listed == {entry.name: entry.says for entry in TABLE if entry.name.isalpha()}


async def test_the_command_asks_in_the_name_of_who_typed_it(app: AppBridge) -> None:
    made = (await app.act("made"))["result"]
    assert (made["commands"], made["settings"]) == (["moot"], ["accounts"])
    post = {"by": "olivia", "room": "GENERAL", "thread": None}
    for words, text in {
        "why is it red?": "@claude why is it red?",
        "why": "@claude !why",
        "stop": "@claude !stop",
        "constructor": "@claude constructor",
        "@codex status": "@codex !status",
        "@ash why?": "@claude @ash why?",
    }.items():
        every = await app.said("command", by="olivia", room="general", words=words)
        assert every == [{**post, "text": text}], words
    (said,) = await app.said("command", by="olivia", room="general", words="why?", thread="t1")
    assert said["thread"] == "t1"
    (said,) = await app.said("command", by="olivia", room="dm", words="why?")
    assert said["text"] == "why?"


async def test_without_words_or_an_account_it_tells_what_to_do_to_nobody_else(
    app: AppBridge,
) -> None:
    hints = await app.act("command", by="olivia", room="general", words="")
    assert hints["said"] == []
    (told,) = hints["told"]
    assert told["to"] == "olivia"
    assert "`/moot stop` interrupt what the agent is doing here" in told["text"]
    await app.act("set", value="")
    (told,) = (await app.act("command", by="olivia", room="general", words="why?"))["told"]
    assert told["text"].startswith("An administrator has to name Moot's accounts")


async def test_nobody_speaks_in_a_room_where_they_are_not(app: AppBridge) -> None:
    assert await app.said("command", by="ash", room="general", words="why?") == []
    actions = [{"type": "button", "text": "Yes", "msg": "!1 k7"}]
    await app.act("send", id="q", by="claude", room="general", attachments=[{"actions": actions}])
    assert await app.said("press", by="ash", id="q", value="!1 k7") == []
    await app.act("send", id="m", by="olivia", room="general", text="look")
    await app.act("about", by="ash", id="m")
    refused = await app.act("submit", by="ash", words="what is it?")
    assert (refused["said"], refused["result"]["errors"]) == (
        [],
        {"words": "You are not in that room."},
    )


async def test_a_questions_buttons_are_blocks_and_a_press_says_the_choice(app: AppBridge) -> None:
    actions = [
        {"type": "button", "text": label, "msg": f"!{number} k7"}
        for number, label in enumerate(("Yes", "No"), 1)
    ]
    given = {"room": "general", "attachments": [{"actions": actions}]}
    shown = (await app.act("send", id="q", by="claude", **given))["result"]
    assert shown["attachments"] == []
    (block,) = shown["blocks"]
    told = [(one["text"]["text"], one["value"]) for one in block["elements"]]
    assert told == [("Yes", "!1 k7"), ("No", "!2 k7")]
    (said,) = await app.said("press", by="olivia", id="q", value="!2 k7")
    assert (said["by"], said["text"]) == ("olivia", "!2 k7")
    for value in ("rm -rf /", "!1 k7 @all", ""):
        assert await app.said("press", by="olivia", id="q", value=value) == []
    other = (await app.act("send", id="o", by="ash", **given))["result"]
    assert "blocks" not in other
    assert await app.said("press", by="olivia", id="o", value="!1 k7") == []
    links = [{"actions": [{"type": "button", "text": "Open", "url": "https://x.example"}]}]
    post = (await app.act("send", id="l", by="claude", room="general", attachments=links))["result"]
    assert "blocks" not in post


async def test_a_question_about_a_message_quotes_it(app: AppBridge) -> None:
    await app.act("send", id="m1", by="olivia", room="general", text="E = mc^2", thread="t1")
    opened = (await app.act("about", by="olivia", id="m1"))["result"]
    assert opened["type"] == "modal.open"
    (said,) = await app.said("submit", by="olivia", words=" what is this? ")
    quoted = "[ ](https://chat.example.org/channel/general?msg=m1)"
    assert (said["text"], said["thread"]) == (f"{quoted} @claude what is this?", "t1")
    assert await app.said("submit", by="olivia", words="again?") == []  # one question a dialog
    await app.act("about", by="olivia", id="m1")
    for words in (" ", "x" * 5_000):
        refused = await app.act("submit", by="olivia", words=words)
        assert (refused["said"], list(refused["result"]["errors"])) == ([], ["words"])


async def test_moot_answers_what_the_app_posts(app: AppBridge, tmp_path: Path) -> None:
    async with RocketChatDouble.open() as rocketchat:
        config = CONFIG.format(url=rocketchat.base)
        config = config.replace("[access]", f'[access]\napprovers = ["rocketchat:{OLIVIA}"]')
        home = tmp_path / "home"
        home.mkdir()
        async with service(home, config, **SECRETS):
            await rocketchat.sockets.listening(CLAUDE)
            (said,) = await app.said("command", by="olivia", room="general", words="echo word 1")
            rocketchat.say(said["text"])
            await app.act("send", id="m1", by="olivia", room="general", text="E = mc^2")
            await app.act("about", by="olivia", id="m1")
            (said,) = await app.said("submit", by="olivia", words="what is this?")
            rocketchat.say(said["text"])
            await answered(rocketchat, {"word 1"})
            await until(lambda: any("what is this" in text for text in rocketchat.texts()))

            asked = rocketchat.say("@claude permission")
            await until(lambda: rocketchat.buttons(asked) is not None)
            post = rocketchat.buttons(asked)
            assert post is not None
            given = {"by": "claude", "room": "general", "attachments": post["attachments"]}
            shown = (await app.act("send", id=post["_id"], **given))["result"]
            value = shown["blocks"][0]["elements"][0]["value"]
            (said,) = await app.said("press", by="olivia", id=post["_id"], value=value)
            rocketchat.say(said["text"], OLIVIA, GENERAL)
            await until(lambda: any("You allowed it" in text for text in rocketchat.texts()))
        assert answers(rocketchat) == Counter({"word 1": 1})
