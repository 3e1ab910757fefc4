"""Answers that grow in Slack while they are made, and the ways in which a stream ends."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from bots.slack.bot import SlackBot
from contract.chat import Destination, Room
from contract.errors import PlatformError
from contract.work import Draft, Todo, ToolStep, Work
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import DM, GENERAL, OLIVIA, Fault, SlackDouble, shown

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")


def draft(words: str, work: Work | None = None) -> Draft:
    return Draft(f"(work) {words}"[:9_000], words, work)


class Grown:
    """A draft in the thread of a question, and what Slack shows of it."""

    def __init__(self, slack: SlackDouble, bot: SlackBot, place: Destination) -> None:
        self.slack, self.bot, self.place = slack, bot, place
        self.id = ""

    async def show(self, words: str, work: Work | None = None) -> str:
        if self.id:
            await self.bot.redraft(self.place, self.id, draft(words, work))
        else:
            self.id = await self.bot.draft(self.place, draft(words, work), "turn:0")
        return self.text

    async def end(self, text: str) -> str:
        await self.bot.edit(self.place, self.id, text)
        return self.text

    @property
    def text(self) -> str:
        return shown(self.slack.messages[GENERAL][self.id])

    @property
    def is_streamed(self) -> bool:
        state = self.slack.messages[GENERAL][self.id].get("streaming_state")
        return state == "in_progress"

    def calls(self, *methods: str) -> list[int]:
        return [len(self.slack.called(f"chat.{method}")) for method in methods]


@pytest.fixture
async def grown(slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot) -> AsyncIterator[Grown]:
    bot = slack_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected()
        asked = await slack.say("<@U0BOT0001> why?")
        await inbox.kept(1)
        yield Grown(slack, bot, Destination(ROOM, asked))


async def test_an_answer_grows_and_ends_as_it_was_said(grown: Grown) -> None:
    assert await grown.show("**Be") == "**Be"
    assert await grown.show("**Because** `a") == "**Because** `a"
    assert grown.is_streamed
    assert await grown.end("**Because** `a < b`.\n\n| x |\n| - |\n") == (
        "**Because** `a < b`.\n\n| x |\n| - |"
    )
    assert not grown.is_streamed
    message = grown.slack.messages[GENERAL][grown.id]
    assert message["metadata"]["event_payload"] == {"key": "turn:0"}
    assert message["thread_ts"] == grown.place.thread_id
    (started,) = grown.slack.called("chat.startStream")
    assert (started["recipient_user_id"], started["recipient_team_id"]) == (OLIVIA, "T0TEAM001")
    assert grown.calls("postMessage", "update") == [0, 0]


async def test_what_the_agent_does_stands_above_as_tasks(grown: Grown) -> None:
    reads = ToolStep("Read", "app.py", "done")
    await grown.show("", Work((ToolStep("Read", "app.py"),), (Todo("Run the tests", "doing"),)))
    await grown.show("So", Work((reads, ToolStep("Bash", "make", "failed", "exit 1"))))
    assert await grown.end("So it is.") == "So it is."
    cards = [b for b in grown.slack.messages[GENERAL][grown.id]["blocks"] if "task_id" in b]
    assert [(card["title"], card["status"], card["output"]) for card in cards] == [
        ("Read app.py", "complete", ""),
        ("Run the tests", "complete", ""),
        ("Bash make", "error", "exit 1"),
    ]


async def test_words_that_change_are_edited_from_then_on(grown: Grown) -> None:
    await grown.show("Let me see.")
    assert await grown.show("I have it") == "(work) I have it"
    assert await grown.show("I have it now") == "(work) I have it now"
    assert await grown.end("I have it now.") == "I have it now."
    assert grown.calls("startStream", "stopStream", "appendStream") == [1, 1, 0]


async def test_an_answer_that_ends_otherwise_than_it_was_shown_is_edited(grown: Grown) -> None:
    await grown.show("Half of it")
    assert await grown.end("⚠️ No.") == "⚠️ No."
    assert not grown.is_streamed


@pytest.mark.parametrize("state", ["completed", "stopped_by_user"])
async def test_a_stream_that_slack_ends_goes_on_as_an_edited_post(grown: Grown, state: str) -> None:
    await grown.show("One")
    grown.slack.messages[GENERAL][grown.id]["streaming_state"] = state
    assert await grown.show("One two") == "(work) One two"
    assert await grown.end("One two three") == "One two three"
    assert len(grown.slack.texts()) == 1


async def test_one_that_slack_ended_before_the_last_word_is_edited(grown: Grown) -> None:
    await grown.show("One")
    grown.slack.messages[GENERAL][grown.id]["streaming_state"] = "completed"
    assert await grown.end("One two three") == "One two three"


@pytest.mark.parametrize("kind", ["500", "cut"])
async def test_what_may_have_arrived_is_not_appended_twice(grown: Grown, kind: str) -> None:
    await grown.show("One")
    grown.slack.fail("chat.appendStream", Fault(kind, "after"))  # type: ignore[arg-type]
    with pytest.raises(PlatformError):
        await grown.show("One two")
    assert await grown.show("One two three") == "(work) One two three"
    assert await grown.end("One two three.") == "One two three."


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_end_that_may_have_arrived_is_made_again(grown: Grown, when: str) -> None:
    await grown.show("One")
    grown.slack.fail("chat.stopStream", Fault("500", when))  # type: ignore[arg-type]
    with pytest.raises(PlatformError) as error:
        await grown.end("One two")
    assert error.value.outcome == "unknown"
    assert await grown.end("One two") == "One two"
    assert not grown.is_streamed


async def test_what_slack_puts_off_comes_later(grown: Grown) -> None:
    await grown.show("One")
    grown.slack.fail("chat.appendStream", Fault("429", retry_after_s=0))
    with pytest.raises(PlatformError):
        await grown.show("One two")
    grown.slack.fail("chat.stopStream", Fault("429", retry_after_s=0))
    with pytest.raises(PlatformError):
        await grown.end("One two three")
    assert grown.is_streamed
    assert await grown.end("One two three") == "One two three"
    assert grown.calls("update") == [0]


async def test_no_stream_begins_where_slack_puts_it_off(grown: Grown) -> None:
    grown.slack.fail("chat.startStream", Fault("429"))
    assert await grown.show("One") == "(work) One"
    assert await grown.end("One two") == "One two"


@pytest.mark.parametrize(
    ("code", "elsewhere"),
    [("channel_type_not_supported", 1), ("unknown_method", 0), ("missing_scope", 0)],
)
async def test_a_refusal_is_remembered(
    slack: SlackDouble, inbox: Inbox, grown: Grown, code: str, elsewhere: int
) -> None:
    slack.fail("chat.startStream", Fault("error", code=code))
    assert await grown.show("One") == "(work) One"
    grown.id = ""
    await grown.show("Two")
    assert grown.calls("startStream") == [1]
    asked = await slack.say("why?", channel=DM)
    await slack.say("and?", channel=DM, thread_ts=asked)
    await inbox.kept(3)
    place = Destination(Room(f"slack:{DM}", "Olivia", "dm"), asked)
    await grown.bot.draft(place, draft("Three"), "other:0")
    assert grown.calls("startStream") == [1 + elsewhere]


async def test_what_an_earlier_process_streamed_is_ended_and_removed(
    slack: SlackDouble, slack_bot: MakeSlackBot, grown: Grown
) -> None:
    await grown.show("One")
    later = slack_bot()
    await later.edit(grown.place, grown.id, "Another answer.")
    assert (grown.text, grown.is_streamed) == ("Another answer.", False)
    gone, grown.id = grown.id, ""
    await grown.show("Two")
    await later.delete(grown.place, gone)
    await later.delete(grown.place, grown.id)
    await later.close()
    assert slack.texts() == []


async def test_a_direct_message_outside_of_threads_is_edited(
    slack: SlackDouble, inbox: Inbox, grown: Grown
) -> None:
    await slack.say("why?", channel=DM)
    await inbox.kept(2)
    await grown.bot.draft(Destination(Room(f"slack:{DM}", "Olivia", "dm")), draft("One"), "k")
    assert slack.texts(DM) == ["(work) One"]
    assert grown.calls("startStream") == [1]  # refused


async def test_words_of_any_length_are_shown_up_to_what_slack_takes(grown: Grown) -> None:
    await grown.show("word " * 2_000)
    assert grown.is_streamed
    await grown.show("word " * 3_000)
    assert await grown.end("word " * 2_300) == "word " * 2_300


async def test_in_a_direct_message_an_answer_streams_in_its_thread_and_where_slack_allows(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot, here = slack_bot(), Room(f"slack:{DM}", "Olivia", "dm")
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected()
        root = await slack.say("why?", channel=DM)
        drafted = [await bot.draft(Destination(here), draft("Be"), f"t:{n}") for n in range(2)]
        assert len(slack.called("chat.startStream")) == 1  # it is asked once
        in_thread = await bot.draft(Destination(here, root), draft("Be"), "t:2")
        said = slack.messages[DM]
        assert [said[ts].get("streaming_state") for ts in drafted] == [None, None]
        assert said[in_thread]["streaming_state"] == "in_progress"

        slack.session_channels.add("D0SESSION")
        slack.channels["D0SESSION"] = {**slack.channels[DM], "id": "D0SESSION"}
        slack.members["D0SESSION"] = slack.members[DM]
        place = Destination(Room("slack:D0SESSION", "Olivia", "dm"))
        grown = await bot.draft(place, draft("Be"), "t:3")
        await bot.redraft(place, grown, draft("Because"))
        assert "thread_ts" not in slack.messages["D0SESSION"][grown]
        await bot.edit(place, grown, "Because.")
        assert shown(slack.messages["D0SESSION"][grown]) == "Because."
        assert slack.called("chat.update") == []
