"""Several personas behind one app, and several apps in one workspace."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bots.slack.bot import SlackBot
from contract.agent import Option, Question
from contract.chat import Destination, PersonaIdentity, Room
from contract.errors import PlatformError
from tests.doubles.inbox import Inbox, running
from tests.doubles.slack import BOT_ID, BOT_USER, DM, GENERAL, OLIVIA, App, Fault, SlackDouble

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")
REVIEWER = PersonaIdentity("reviewer", "https://example.org/r.png")
AS_REVIEWER = Destination(ROOM, voice=REVIEWER)
QUESTION = Question("q", "Run?", "", (Option("Yes"), Option("No", refuses=True)))


@pytest.mark.parametrize("room", [ROOM, Room(f"slack:{DM}", "Olivia", "dm")])
async def test_a_persona_posts_asks_and_uploads_under_its_name(
    slack: SlackDouble, slack_bot: MakeSlackBot, room: Room
) -> None:
    bot, place = slack_bot(), Destination(room, voice=REVIEWER)
    posted = await bot.post(place, "looks **fine**", "k1")
    await bot.edit(place, posted, "looks good")
    await bot.ask(place, QUESTION, "k2")
    await bot.upload(place, "a.md", b"x", "see", "k3")
    await bot.close()
    messages = list(slack.messages[room.external_id].values())
    assert [m["text"].split("\n")[0] for m in messages] == ["looks good", "*Run?*", "see"]
    for message in messages:
        assert (message["username"], message["bot_id"]) == ("reviewer", BOT_ID)
        assert message["icons"] == {"image_url": "https://example.org/r.png"}


async def test_the_account_itself_speaks_without_a_persona(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    await bot.post(Destination(ROOM), "hello", "k")
    await bot.post(Destination(ROOM, voice=PersonaIdentity(" ")), "hello", "k")
    await bot.close()
    assert all("username" not in args for args in slack.called("chat.postMessage"))


async def test_without_the_scope_it_speaks_under_the_apps_name_and_asks_once(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    slack.scopes.discard("chat:write.customize")
    bot = slack_bot()
    for n in range(3):
        await bot.post(AS_REVIEWER, f"answer {n}", f"k{n}")
    await bot.close()
    assert slack.texts() == ["answer 0", "answer 1", "answer 2"]
    named = [args.get("username") for args in slack.called("chat.postMessage")]
    assert named == ["reviewer", None, None, None]


async def test_a_name_is_not_tried_where_slack_tells_that_the_scope_is_missing(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.scopes.discard("chat:write.customize")
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        await bot.post(AS_REVIEWER, "an answer", "k")
    assert [args.get("username") for args in slack.called("chat.postMessage")] == [None]


async def test_another_refusal_is_none_of_the_name(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    slack.fail("chat.postMessage", Fault("error", code="channel_not_found"))
    with pytest.raises(PlatformError, match="channel_not_found"):
        await bot.post(AS_REVIEWER, "x", "k")
    await bot.post(AS_REVIEWER, "x", "k")
    await bot.close()
    assert [args["username"] for args in slack.called("chat.postMessage")] == ["reviewer"] * 2


async def test_what_a_persona_said_comes_back_as_the_bots_own(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        posted = await bot.post(AS_REVIEWER, f"<@{BOT_USER}> fine", "k")
        await bot.edit(AS_REVIEWER, posted, "edited")
        root = await slack.say("thanks", thread_ts=posted)
        await slack.say(f"<@{BOT_USER}> sure?", thread_ts=posted)
        await inbox.kept(2)
    assert [m.content for m in inbox.messages if m.message_id == root] == ["thanks"]
    assert {m.meta.sender_id for m in inbox.messages} == {f"slack:{OLIVIA}"}
    context = inbox.messages[-1].meta.thread_context
    assert context is not None
    assert "- reviewer: edited" in context


async def test_a_post_of_a_persona_in_doubt_is_found(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    since = datetime.now(UTC)
    posted = await bot.post(AS_REVIEWER, "x", "key")
    assert await bot.find(AS_REVIEWER, "key", since, []) == posted
    await bot.close()


# ── Several apps ────────────────────────────────────────────────────────────────────────────


def second(slack: SlackDouble, slack_bot: MakeSlackBot, own_dir: Path) -> tuple[App, SlackBot]:
    app = slack.install("codex")
    return app, slack_bot(
        name="codex",
        personas=["codex"],
        token=app.bot_token,
        app_token=app.app_token,
        own_dir=own_dir,
    )


async def test_the_ids_of_an_app_are_its_user_and_its_bot(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path
) -> None:
    app, bot = second(slack, slack_bot, tmp_path)
    assert bot.own_ids == frozenset()
    async with running(bot, inbox):
        await app.delivery.connected()
        assert bot.own_ids == {f"slack:{app.user}", f"slack:{app.bot}"}


async def test_each_app_hears_the_other_as_a_bot_and_never_itself(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path
) -> None:
    claude, heard = slack_bot(), Inbox()
    app, codex = second(slack, slack_bot, tmp_path)
    async with running(claude, inbox), running(codex, heard):
        await slack.delivery.connected()
        await app.delivery.connected()
        await claude.post(Destination(ROOM), f"<@{app.user}> your turn", "k1")
        await heard.kept(1)  # as a message, or as a mention
        await codex.post(Destination(ROOM, voice=PersonaIdentity("codex the second")), "done", "k2")
        await inbox.kept(1)
    first = heard.messages[0]
    assert (first.meta.sender_type, first.meta.sender_id) == ("bot", f"slack:{BOT_USER}")
    assert (first.mentioned, first.meta.recipient_id) == (True, "bot:codex")
    (answer,) = inbox.messages
    assert (answer.content, answer.meta.sender_id) == ("done", f"slack:{app.bot}")
    assert answer.meta.sender_display_name == "codex the second"
    assert {m.content for m in heard.messages} == {f"<@{app.user}> your turn"}
