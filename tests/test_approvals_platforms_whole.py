"""Approvals from outside on every platform: answers that are late, replayed, of other rooms, of
earlier processes, and of nobody who may give them. More of Slack's are in test_approvals_whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.doubles import rocketchat
from tests.doubles.approvals import house, is_on_disk, noted, until
from tests.doubles.approvals_chats import RocketChat
from tests.doubles.approvals_own import PLATFORMS, platform
from tests.doubles.matrix import sampled
from tests.doubles.synapse import Synapse

EARLY = "Olivia, your answer stands before that question: read it, and answer again."
ELSEWHERE = "Olivia, that question stands in another room: answer it there."
NOTHING = "Nothing is being asked here."
CLOSED = "Olivia, that question is closed already."


@pytest.mark.parametrize("name", sampled(PLATFORMS, "slack", "page"))
async def test_late_replayed_and_foreign_answers_allow_nothing(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path):
        harmless = await at.say("nothing to add")
        first = await at.asked()
        late = await at.say_unheard("!1")
        await at.press(first, "ash")
        await until(lambda: at.allowed() == 1)
        second = await at.asked()
        for _ in range(3):
            await at.tell(late)
        if late is not None:
            await at.told(EARLY)
        if at.buttons:
            await at.press(first)
        else:
            await at.say("!1", reply_to=first)
        await at.told(at.closed)
        if at.quotes:
            await at.say("!1", where="there", reply_to=second)
            await at.told(ELSEWHERE, "there")
        await at.say("!1", where="there")
        await at.told(NOTHING, "there")
        await at.edit(harmless, "!1")
        await at.as_bots("!1")
        await at.say("!1 but not in production")
        await at.told("say which question you mean")
        assert at.allowed() == 1
        reasons = ["early"] * (late is not None) + ["closed"] + ["elsewhere"] * at.quotes + ["code"]
        olivia, ash = at.people("olivia", "ash")
        refused = [("deny", olivia, reason) for reason in reasons]
        await noted(tmp_path, [("answer", ash, ""), *refused])
        await at.say("!1")
        await until(lambda: at.allowed() == 2)
        assert at.texts().count(EARLY) == (late is not None)


@pytest.mark.parametrize("name", sampled(PLATFORMS, "slack", "page"))
async def test_two_questions_in_one_place_are_told_apart_by_their_codes(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with (
        platform(name, homeserver) as at,
        house(at, tmp_path, personas=("demo", "deploy")),
    ):
        await at.asked("demo")
        await at.asked("deploy")
        await at.say("!1")
        await at.told("More than one question waits here")
        (line,) = [text for text in at.texts() if "More than one question" in text]
        plain = re.sub(r"[`\\*_]", "", line)
        codes = {who: code for code, who in re.findall(r"!1 (\w\d) answers @(\w+)'s", plain)}
        assert set(codes) == {"demo", "deploy"}, line
        assert at.allowed() == 0
        await at.say(f"!1 {codes['deploy']}")
        await until(lambda: at.allowed() == 1)
        await at.say(f"!1 {codes['deploy']}")  # replayed
        await at.told(CLOSED)
        await at.say("!1")  # it may have been for the other one
        await at.told("say which question you mean")
        assert at.allowed() == 1
        await at.say(f"!1 {codes['demo']}")
        await until(lambda: at.allowed() == 2)


@pytest.mark.parametrize("name", sampled(PLATFORMS, "slack", "page"))
async def test_an_answer_to_a_question_of_before_a_restart_is_none_to_the_one_after_it(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path) as moot:
        first = await at.asked()
        await until(lambda: is_on_disk(tmp_path))
        await moot.kill()
        await moot.start()
        await at.listens()
        second = await at.card({first})
        if at.edits:
            await until(lambda: first not in at.cards())
        if at.replies:
            await at.say("!1", reply_to=first)
            await at.told(CLOSED)
        if at.buttons:
            await at.press(first, "ash")
            await at.told(at.gone)
        assert at.allowed() == 0
        await at.say("!1", reply_to=second if at.replies else "")
        await until(lambda: at.allowed() == 1)
        olivia, ash = at.people("olivia", "ash")
        denied = [("deny", olivia, "unknown")] * at.replies + [("deny", ash, at.stale)] * at.buttons
        await noted(tmp_path, [*denied, ("answer", olivia, "")])


async def test_on_rocketchat_nobody_answers_in_words_or_a_name_that_were_another_persons(
    tmp_path: Path,
) -> None:
    """A moderator may edit what Olivia wrote; and a name that she gave up can be taken."""
    async with rocketchat.RocketChatDouble.open() as double:
        at = RocketChat(double)
        async with house(at, tmp_path):
            first = await at.asked()
            double.sockets.refuses = True
            double.sockets.cut()
            words = double.say("let me read it first", times=0)
            double.edit(words, "!1", rocketchat.ASH)
            double.sockets.refuses = False
            await double.sockets.listening(rocketchat.CLAUDE, 2)
            await at.say("!9")
            await at.told("There is no choice")
            assert at.allowed() == 0
            await at.press(first)
            await until(lambda: at.allowed() == 1)

            second = await at.asked()
            mallory = "malmalmalmalmalma"
            olivia = double.users[rocketchat.OLIVIA]
            double.users[mallory] = {**olivia, "_id": mallory, "name": "Mallory"}
            olivia["username"] = "olivia.b"
            double.react(second, "one", mallory, should=True)
            await at.told(at.forbidden)
            assert at.allowed() == 1
            denied = ("deny", f"rocketchat:{mallory}", "")
            await noted(tmp_path, [("answer", at.people("olivia")[0], ""), denied])
