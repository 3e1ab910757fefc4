"""The same behaviour everywhere: what the gateway counts on, asked of each platform in turn."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bots.bot import Reaction
from bots.kit.directory import HEADING
from bots.kit.reactions import EMOJI, SHORT_NAMES
from contract.agent import Option, Question
from contract.chat import Deleted, Destination, Edited, Pinned
from tests.doubles.grounds import Ground
from tests.doubles.matrix_stage import Stage, until
from tests.doubles.stages import (
    bluebubbles_ground,
    discord_ground,
    matrix_ground,
    mattermost_ground,
    rocketchat_ground,
    slack_ground,
)

GROUNDS: dict[str, Callable[[Path], AbstractAsyncContextManager[Ground]]] = {
    "slack": slack_ground,
    "rocketchat": rocketchat_ground,
    "discord": discord_ground,
    "bluebubbles": bluebubbles_ground,
    "mattermost": mattermost_ground,
}
QUESTION = Question("q", "Run this?", "ls", (Option("Yes"), Option("No", refuses=True)))
SIGNS: tuple[Reaction, ...] = ("waiting", "working", "done")
LINES = 481
LONG = "Here it is:\n\n```python\n{}\n```\n\n| file | lines |\n|---|---|\n| a.py | 481 |\n".format(
    "\n".join(
        f"value_{n:04} = 'the token of number {n} expires <soon> & *late*'" for n in range(LINES)
    )
)


@pytest.fixture
def matrix_stage(request: pytest.FixtureRequest) -> Stage | None:
    """Only where Matrix is asked for: it needs a homeserver."""
    if request.node.callspec.params["ground"] != "matrix":
        return None
    stage = request.getfixturevalue("stage")
    assert isinstance(stage, Stage)
    return stage


@pytest.fixture(params=[*GROUNDS, "matrix"])
async def ground(
    request: pytest.FixtureRequest, matrix_stage: Stage | None, tmp_path: Path
) -> AsyncIterator[Ground]:
    opened = matrix_ground(matrix_stage) if matrix_stage else GROUNDS[request.param](tmp_path)
    async with opened as ready:
        yield ready


async def test_a_mention_has_every_field_of_the_contract(ground: Ground) -> None:
    sent = await ground.say(f"{ground.name} why 15 minutes?")
    message = await ground.heard(sent)
    meta = message.meta
    assert message.mentioned
    assert (message.message_id, message.room, message.thread_id) == (sent, ground.room, None)
    assert abs(message.sent_at - datetime.now(UTC)) < timedelta(minutes=5)
    assert meta.source == ground.bot.platform
    assert meta.sender_id == ground.olivia.id
    assert meta.sender_display_name == ground.olivia.name
    assert meta.sender_type == "human"
    assert meta.channel_external_id == ground.room.external_id
    assert meta.mention_token == ground.olivia.mention
    assert meta.recipient_id == "bot:claude"
    assert meta.message_guid == (sent if meta.source == "bluebubbles" else None)
    assert meta.trigger_rag
    assert (meta.thread_context, meta.passive, meta.is_from_me) == (None, False, False)


async def test_what_was_typed_comes_byte_for_byte(ground: Ground) -> None:
    text = (
        f"{ground.name}  why <15> &amp; *15*?\n\t`a_b` \\* 𝕊 e\u0301 👩‍👩‍👧 שלום\n> ~~no~~ :smile:"
    )
    assert (await ground.heard(await ground.say(text))).content == text


async def test_a_message_to_nobody_is_nobodys(ground: Ground) -> None:
    message = await ground.heard(await ground.say("lunch?"))
    assert (message.mentioned, message.meta.recipient_id) == (False, None)
    assert not message.meta.trigger_rag


async def test_the_platform_tells_which_of_a_question_and_an_answer_came_first(
    ground: Ground,
) -> None:
    before = await ground.heard(await ground.say("!1"))
    asked = await ground.bot.ask(Destination(ground.room), QUESTION, "turn:q")
    after = await ground.heard(await ground.say("!1 "))
    told = [ground.bot.follows(m.message_id, m.sent_at, asked) for m in (before, after)]
    assert told == [False, True]
    assert ground.bot.follows("slash:U1:1.2.abc", before.sent_at, "nobody's") is not True


async def test_everything_in_a_direct_message_is_the_bots(ground: Ground) -> None:
    message = await ground.heard(await ground.say("hello", "dm"))
    assert message.mentioned
    assert message.room == ground.dm
    assert message.meta.recipient_id == "bot:claude"


async def test_a_reply_in_a_thread_comes_with_what_was_said_there(ground: Ground) -> None:
    root = await ground.say("the token expires too soon")
    await ground.heard(root)
    message = await ground.heard(await ground.say(f"{ground.name} what do you think?", thread=root))
    assert message.mentioned
    assert message.room == ground.room
    assert message.thread_id == (root if ground.threads else None)
    tagged = f" ({ground.olivia.mention})" if ground.olivia.mention else ""
    line = f"- {ground.olivia.name}{tagged}: the token expires too soon"
    assert message.meta.thread_context == f"{HEADING}\n{line}"


async def test_what_the_bot_says_never_comes_in(ground: Ground) -> None:
    await ground.bot.post(Destination(ground.room), f"my own words, {ground.name}", "turn/0")
    await ground.heard(await ground.say("and mine"))
    assert {m.content for m in ground.inbox.messages} == {"and mine"}


async def test_a_note_on_an_answer_has_one_post_and_is_nobodys_words(ground: Ground) -> None:
    place, since = Destination(ground.room), datetime.now(UTC) - timedelta(minutes=1)
    await ground.bot.post(place, "The answer.", "turn/0")
    made = await ground.bot.note(place, "4 tools, 2 files changed", "turn/1")
    assert await ground.bot.find(place, "turn/1", since, {"other"}) == made
    await ground.heard(await ground.say("and mine"))
    assert {m.content for m in ground.inbox.messages} == {"and mine"}
    assert (await ground.posts())[0] == "The answer."
    assert await ground.told() == []


async def test_a_note_in_a_thread_is_not_told_as_what_was_said_there(ground: Ground) -> None:
    root = await ground.say("why 15 minutes?")
    await ground.heard(root)
    await ground.heard(await ground.say("yes, why?", thread=root))
    place = Destination(ground.room, root if ground.threads else None)
    await ground.bot.post(place, "Because of the file.", "turn/0")
    await ground.bot.note(place, "4 tools, 2 files changed", "turn/1")
    message = await ground.heard(await ground.say(f"{ground.name} and now?", thread=root))
    context = message.meta.thread_context or ""
    assert "Because of the file." in context or not ground.threads
    assert "4 tools" not in context


async def test_what_is_told_again_is_the_same_message(ground: Ground) -> None:
    sent = await ground.say(f"{ground.name} hello", times=3)
    last = await ground.say("the next one")
    await ground.heard(last)
    first = [m for m in ground.inbox.messages if m.message_id != last]
    assert {(m.room.id, m.message_id, m.content) for m in first} == {
        (ground.room.id, sent, f"{ground.name} hello")
    }


async def test_an_edit_and_a_deletion_are_told(ground: Ground) -> None:
    edited, removed = await ground.say("tomorow"), await ground.say("never mind")
    await ground.heard(edited)
    await ground.heard(removed)
    await ground.edit(edited, "tomorrow")
    edit, *_ = await until(ground.inbox, Edited)
    assert (edit.room.id, edit.message_id, edit.content) == (ground.room.id, edited, "tomorrow")
    await ground.remove(removed)
    deletion, *_ = await until(ground.inbox, Deleted)
    assert (deletion.room.id, deletion.message_id) == (ground.room.id, removed)


async def test_a_key_has_one_post(ground: Ground) -> None:
    """Where a second call would make a second post, the first is found instead."""
    place, since = Destination(ground.room), datetime.now(UTC) - timedelta(minutes=1)
    assert await ground.bot.find(place, "turn/0", since, ()) is None
    made = await ground.bot.post(place, "once", "turn/0")
    assert await ground.bot.find(place, "turn/0", since, ()) == made
    if ground.idempotent:
        assert await ground.bot.post(place, "once", "turn/0") == made
    assert await ground.posts() == ["once"]


async def test_a_post_is_edited_and_taken_back(ground: Ground) -> None:
    place = Destination(ground.dm)
    made = await ground.bot.post(place, "a draft", "turn/0")
    await ground.bot.edit(place, made, "the answer")
    assert await ground.posts("dm") == ["the answer"]
    await ground.bot.delete(place, made)
    await ground.bot.delete(place, made)
    assert await ground.posts("dm") == []


async def test_nobody_is_called_but_whom_an_answer_names(ground: Ground) -> None:
    tag = ground.olivia.mention or ground.olivia.name
    await ground.bot.post(Destination(ground.room), f"Ask {tag}. {ground.everybody}", "turn/0")
    assert await ground.told() == ([tag] if ground.olivia.mention else [])


async def test_thirty_kilobytes_arrive_whole_within_the_limit(ground: Ground) -> None:
    assert len(LONG) > 30_000
    for number, piece in enumerate(ground.bot.split(LONG)):
        await ground.bot.post(Destination(ground.dm), piece, f"turn/{number}")
    posts = await ground.posts("dm")
    if ground.bot.platform != "matrix":
        assert max(map(ground.size, posts)) <= ground.most
    numbers = [int(found) for post in posts for found in re.findall(r"value_(\d{4})", post)]
    assert numbers == list(range(LINES))
    lines = {html_free(line) for post in posts for line in post.splitlines()}
    assert set(LONG.split("```")[1].splitlines()[1:]) <= lines


def html_free(line: str) -> str:
    """Slack's text has three signs escaped."""
    return line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


async def test_signs_never_fail(ground: Ground) -> None:
    place = Destination(ground.room)
    await ground.bot.react(place, "1.000001", "working")
    await ground.bot.react(place, "1.000001", "done")
    await ground.bot.typing(place, "thinks")
    await ground.bot.typing(place, "")
    assert await ground.posts() == []


async def test_a_message_bears_the_sign_of_what_became_of_it_and_of_that_alone(
    ground: Ground,
) -> None:
    if not ground.reactions:
        assert not ground.bot.capabilities.reactions
        return
    sent = await ground.say(f"{ground.name} why?")
    await ground.heard(sent)
    for sign in SIGNS:
        await ground.bot.react(Destination(ground.room), sent, sign)
        assert await ground.marks(sent) <= {EMOJI[sign], SHORT_NAMES[sign]}
        assert len(await ground.marks(sent)) == 1


async def test_a_push_pin_is_told_as_its_persons(ground: Ground) -> None:
    if not ground.reactions:
        return
    sent = await ground.say("the token expires after 15 minutes")
    await ground.heard(sent)
    await ground.push_pin(sent)
    pin, *_ = await until(ground.inbox, Pinned)
    assert (pin.room.id, pin.message_id, pin.by.id) == (ground.room.id, sent, ground.olivia.id)
    assert pin.pinned


async def test_nothing_is_missing_where_all_is_set_up(ground: Ground) -> None:
    assert list(await ground.spare.check()) == []
