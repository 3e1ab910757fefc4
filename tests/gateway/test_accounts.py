"""Several accounts of ours on one platform, in one room: one conversation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.chat import Edited, Inbound, Room, Speaker
from contract.errors import PlatformError
from gateway.settings.access import AccessTable
from gateway.settings.tables import TurnsTable
from tests.doubles.platform import ROOM, FakeBot, Posted, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

CLAUDE = "fake:U01"
CODEX = "fake:U09"
GROUP = Room("fake:g1", "", "gdm")


def accounts() -> tuple[FakeBot, FakeBot]:
    claude = FakeBot(name="claude", prefix="c", own_ids=frozenset({CLAUDE}))
    codex = FakeBot(
        name="codex", prefix="x", personas=("codex",), own_ids=frozenset({CODEX, "fake:B09"})
    )
    return claude, codex


class Platform:
    """Tells each account what stands in a room, the posts of the other one among it."""

    def __init__(self, moot: Opened, *bots: FakeBot) -> None:
        self.moot = moot
        self.bots = bots
        for bot in bots:
            bot.tell = self._teller(bot)

    def _teller(self, bot: FakeBot):  # type: ignore[no-untyped-def]
        async def tell(post: Posted) -> None:
            own = said(post.text, message_id=post.id, by=min(bot.own_ids)[5:], kind="bot")
            own = replace(own, room=post.place.room, thread_id=post.place.thread_id)
            await self.moot.receive(own, *(other for other in self.bots if other is not bot))

        return tell

    async def say(self, text: str, to: FakeBot | None = None, **more: object) -> None:
        """A person's message, heard by every account; `to` is the one that it mentions."""
        message = said(text, **more)  # type: ignore[arg-type]
        for bot in self.bots:
            await self.moot.receive(_for(message, bot, mentioned=bot is to), bot)
        await self.moot.settle()


def _for(message: Inbound, bot: FakeBot, *, mentioned: bool) -> Inbound:
    recipient = f"bot:{bot.personas[0]}" if mentioned and len(bot.personas) == 1 else None
    meta = message.meta.model_copy(update={"recipient_id": recipient})
    return replace(message, meta=meta, mentioned=mentioned)


@asynccontextmanager
async def two(
    tmp_path: Path, programs: ScriptedPrograms | None = None, **more: object
) -> AsyncIterator[tuple[Platform, FakeBot, FakeBot]]:
    claude, codex = accounts()
    async with gateway(
        tmp_path,
        bot=claude,
        siblings=(codex,),
        personas=("claude",),
        programs=programs,
        **more,  # type: ignore[arg-type]
    ) as moot:
        yield Platform(moot, claude, codex), claude, codex


def texts(bot: FakeBot) -> list[str]:
    return [post.text for post in bot.posted]


def handing_over(token: str) -> ScriptedPrograms:
    async def script(prompt: str, reply: Reply) -> str:
        return f"over to {token}" if "You are: @claude" in prompt else "codex was here"

    return ScriptedPrograms(script)


@pytest.mark.parametrize(
    "token", ["@codex", "<@U09>", "<@!U09>", "<@U09|codex-bot>", "@Codex-Bot,", "@codex."]
)
async def test_a_peer_with_an_account_of_its_own_is_handed_over_to_once(
    tmp_path: Path, token: str
) -> None:
    programs = handing_over(token)
    async with two(tmp_path, programs) as (platform, claude, codex):
        claude.roster = (Speaker(CODEX, "codex-bot", "bot"), Speaker("fake:ash", "Ash"))
        await platform.say("good morning")
        await platform.say("@claude begin")
        assert (texts(claude), texts(codex)) == ([f"over to {token}"], ["codex was here"])
        assert "Respond to @claude (bot, hop 1 of 2) in room #general." in programs.prompts[-1]


async def test_each_account_is_told_of_the_other_one(tmp_path: Path) -> None:
    programs = ScriptedPrograms()
    async with two(tmp_path, programs) as (platform, claude, codex):
        ash = Speaker("fake:ash", "Ash")
        claude.roster = (Speaker(CODEX, "codex-bot", "bot"), ash)
        codex.roster = (Speaker(CLAUDE, "claude-bot", "bot"), ash)
        for _ in range(2):  # a roster is asked for in the background: it is there next time
            await platform.say("@claude look", to=claude)
            await platform.say("@codex look", to=codex)
    told = [next(x for x in p.split("\n") if x.startswith("Part")) for p in programs.prompts[-2:]]
    assert told == ["Participants: @codex (bot), Ash", "Participants: @claude (bot), Ash"]


async def test_what_an_account_is_called_is_waited_for(tmp_path: Path) -> None:
    class Slow(FakeBot):
        async def members(self, room: Room) -> list[Speaker]:
            await gate.wait()
            return [Speaker(CODEX, "codex-bot", "bot")]

    gate = asyncio.Event()
    _, codex = accounts()
    claude = Slow(name="claude", prefix="c", own_ids=frozenset({CLAUDE}))
    async with gateway(
        tmp_path,
        bot=claude,
        siblings=(codex,),
        personas=("claude",),
        programs=handing_over("@codex-bot"),
    ) as moot:
        await moot.receive(said("@claude begin"), claude, codex)
        await until(lambda: bool(claude.posted))
        assert codex.posted == []
        gate.set()
        await moot.settle()
        assert texts(codex) == ["codex was here"]


async def test_a_peer_whose_account_is_not_in_the_room_is_not_handed_over_to(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, handing_over("@codex <@U09>")) as (platform, claude, codex):
        claude.tell = None
        await platform.moot.receive(said("hello", room=Room("fake:other", "other")), codex)
        await platform.moot.receive(said("@claude begin"), claude)
        await platform.moot.settle()
        assert (len(claude.posted), codex.posted) == (1, [])


async def test_an_account_that_may_not_post_any_more_is_handed_over_to_no_more(
    tmp_path: Path,
) -> None:
    programs = handing_over("@codex")
    async with two(tmp_path, programs) as (platform, claude, codex):
        codex.faults.append(PlatformError("not in the room", outcome="refused"))
        await platform.say("@claude begin")
        assert len(programs.prompts) == 2
        claude.tell = None
        await platform.moot.receive(said("@claude again"), claude)
        await platform.moot.settle()
        assert (len(programs.prompts), codex.posted) == (3, [])


@pytest.mark.parametrize("mentioned", [0, 1])
async def test_only_the_account_that_a_person_mentions_answers(
    tmp_path: Path, mentioned: int
) -> None:
    async with two(tmp_path) as (platform, *bots):
        await platform.say(f"<@U0{1 + 8 * mentioned}> hello", to=bots[mentioned])
        assert [len(bot.posted) for bot in bots] == [1 - mentioned, mentioned]
        [person] = await platform.moot.house.transcript.people()
        assert person.id == "fake:ash"


async def test_both_answer_a_message_that_names_both_and_it_is_stored_once(tmp_path: Path) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("@claude @codex hello")
        assert [len(claude.posted), len(codex.posted)] == [1, 1]
        page = await platform.moot.house.transcript.page(ROOM.id, None, 9)
        assert [message.persona for message in page if not message.persona] == [None]


async def test_a_reply_to_one_that_mentions_only_the_other_is_for_the_other(tmp_path: Path) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("hello")
        for text in ("@codex and you?", "<@U09> and you?"):
            message = replace(said(text), reply_to="c1", thread_id="m1")
            await platform.moot.receive(_for(message, claude, mentioned=True), claude)
            await platform.moot.receive(_for(message, codex, mentioned=True), codex)
            await platform.moot.settle()
        assert (claude.posted, len(codex.posted)) == ([], 2)


@pytest.mark.parametrize("text", ["!help", "!recall tokens", "!stop", "!pin tea at four"])
@pytest.mark.parametrize("room", [ROOM, GROUP])
async def test_a_command_that_names_nobody_is_carried_out_once(
    tmp_path: Path, text: str, room: Room
) -> None:
    access = AccessTable(rooms="open", dms="open")
    async with two(tmp_path, access=access) as (platform, claude, codex):
        await platform.say(text, room=room)
        assert len(claude.posted) + len(codex.posted) == 1


async def test_stop_stops_the_personas_of_every_account(tmp_path: Path) -> None:
    begun = asyncio.Semaphore(0)

    async def script(prompt: str, reply: Reply) -> str:
        begun.release()
        await asyncio.Event().wait()
        return ""

    async with two(tmp_path, ScriptedPrograms(script)) as (platform, claude, codex):
        message = said("@claude @codex hello")
        await platform.moot.receive(message, claude, codex)
        for _ in range(2):
            await begun.acquire()
        await platform.say("!stop")
        assert (texts(claude), texts(codex)) == (["⏹️ Stopped."], ["⏹️ Stopped."])


async def test_our_own_posts_are_no_messages_whoever_hears_them(tmp_path: Path) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("@claude hello")
        for own in ("U01", "U09", "B09"):
            echo = said("@claude @codex hello", by=own, kind="bot", message_id=f"e{own}")
            await platform.moot.receive(echo, claude, codex)
        await platform.moot.settle()
        page = await platform.moot.house.transcript.page(ROOM.id, None, 9)
        assert [message.by.id for message in page] == ["fake:ash", "bot:claude"]


@pytest.mark.parametrize("named", [{"content": "@codex hi"}, {"recipient_id": "bot:codex"}])
async def test_what_comes_by_the_api_is_answered_by_the_account_of_whom_it_addresses(
    tmp_path: Path, named: dict[str, str]
) -> None:
    meta = {
        "source": "fake",
        "sender_id": "fake:ash",
        "sender_display_name": "Ash",
        "sender_type": "human",
    }
    body = {"content": "hi", "metadata": meta, "room": {"id": ROOM.id, "name": "general"}}
    meta |= {key: value for key, value in named.items() if key == "recipient_id"}
    body |= {key: value for key, value in named.items() if key == "content"}
    async with two(tmp_path) as (platform, claude, codex):
        receipt = await platform.moot.house.services.inbox.submit(body, wait_s=10)
        assert receipt.replies is not None
        assert [reply.persona for reply in receipt.replies] == ["codex"]
        assert (claude.posted, len(codex.posted)) == ([], 1)


async def test_an_alias_of_a_source_is_the_same_account(tmp_path: Path) -> None:
    bot = FakeBot(name="imessage", own_ids=frozenset({"bluebubbles:me@example.org"}))
    async with gateway(tmp_path, bot=bot) as moot:
        for sender, by_hand in (("bb:me@example.org", False), ("bb:me@example.org", True)):
            message = said("@demo hi", source="bluebubbles", sender_id=sender, is_from_me=by_hand)
            await moot.receive(message, bot)
            await moot.settle()
            assert len(bot.posted) == by_hand


async def test_what_another_account_hears_of_a_draft_changes_no_answer(tmp_path: Path) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("@claude hello")
        draft = Edited(ROOM, claude.posted[0].id, "_Respond_ to", datetime.now(UTC))
        await platform.moot.receive(draft, codex)
        stored = await platform.moot.house.transcript.find(ROOM.id, claude.posted[0].id)
        assert stored is not None
        assert (stored.content, stored.original) == ("Respond to Ash in room #general.", None)


async def test_a_header_names_our_other_accounts_by_their_personas(tmp_path: Path) -> None:
    programs = ScriptedPrograms()
    async with two(tmp_path, programs) as (platform, claude, _):
        claude.roster = (
            Speaker("fake:ash", "Ash", role="lead"),
            Speaker(CODEX, "Codex App", "bot"),
            Speaker("fake:B77", "other", "bot"),
            Speaker(CLAUDE, "Claude App", "bot"),
        )
        await platform.say("@claude hello")
        await platform.say("@claude again")
        line = "Participants: Ash (lead), @codex (bot), @other (bot)\n"
        assert line in programs.prompts[-1]


async def test_two_accounts_that_mention_one_another_stop(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "what says @codex?" if "You are: @claude" in prompt else "what says @claude?"

    programs = ScriptedPrograms(script)
    turns = TurnsTable(max_hops=3)
    async with two(tmp_path, programs, turns=turns) as (platform, claude, codex):
        await platform.say("@claude begin")
        assert (len(claude.posted), len(codex.posted)) == (2, 2)


@pytest.mark.parametrize("thread", [None, "t1"])
async def test_a_foreign_bot_that_answers_everything_stops(
    tmp_path: Path, thread: str | None
) -> None:
    """The platform takes each of its answers for one to ours; people talk in between, elsewhere."""
    async with two(tmp_path) as (platform, claude, _):
        await platform.say("@claude begin", thread_id=thread, message_id="t1x")
        for number in range(6):
            if thread:
                await platform.say(f"people talk {number}")
            echo = said(f"echo {number}", by="echo", kind="bot", thread_id=thread)
            for bot in platform.bots:
                await platform.moot.receive(_for(echo, bot, mentioned=bot is claude), bot)
            await platform.moot.settle()
        assert len(claude.posted) == 2


async def test_a_restart_between_answer_and_post_hands_over_once(tmp_path: Path) -> None:
    programs = handing_over("@codex")
    claude, codex = accounts()
    claude.faults = [PlatformError("down", outcome="retry", retry_after_s=3600.0)]
    open_again = {"siblings": (codex,), "personas": ("claude",), "programs": programs}
    async with gateway(tmp_path, bot=claude, **open_again) as moot:  # type: ignore[arg-type]
        await moot.receive(said("@claude begin"), claude, codex)
        async with asyncio.timeout(20):
            while [t.state for t in await moot.house.ledger.open_turns()] != ["answered"]:
                await asyncio.sleep(0.005)
            await until(lambda: not claude.faults)  # it can be read a little before it is posted
    for bot in (claude, codex):
        bot.own_ids = frozenset()  # they have not connected yet
    for _ in range(2):
        async with gateway(tmp_path, bot=claude, **open_again) as moot:  # type: ignore[arg-type]
            await moot.settle()
            echo = said("over to @codex", message_id=claude.posted[0].id, by="U01", kind="bot")
            await moot.receive(echo, codex)
            await moot.settle()
            assert (texts(claude), texts(codex)) == (["over to @codex"], ["codex was here"])
    assert len(programs.prompts) == 2


async def test_a_restart_before_the_peer_has_answered_lets_it_answer_once(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        if "You are: @claude" in prompt:
            return "over to <@U09>"
        await never.wait()
        return "codex was here"

    programs = ScriptedPrograms(script)
    claude, codex = accounts()
    async with gateway(
        tmp_path, bot=claude, siblings=(codex,), personas=("claude",), programs=programs
    ) as moot:
        await moot.receive(said("@claude begin"), claude, codex)
        await until(lambda: len(programs.prompts) == 2)
    never.set()
    async with gateway(
        tmp_path, bot=claude, siblings=(codex,), personas=("claude",), programs=programs
    ) as moot:
        await moot.settle()
        assert (texts(claude), texts(codex)) == (["over to <@U09>"], ["codex was here"])
        assert "Respond to @claude (bot, hop 1 of 2)" in programs.prompts[-1]
        assert codex.marks == []


async def test_a_reply_is_for_the_persona_that_it_answers_where_one_account_serves_several(
    tmp_path: Path,
) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "claude" if "You are: @claude" in prompt else "codex\n\n" * 10

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, personas=("claude", "codex")) as moot:
        moot.bot.limit = 30
        await moot.hear(said("@codex hello"))
        await moot.settle()
        pieces = [post.id for post in moot.bot.posted]
        assert len(pieces) > 1
        for text, reply_to, by in (
            ("why?", pieces[0], "codex"),
            ("why?", pieces[-1], "codex"),
            ("why?", "somebody's", "claude"),
            ("@claude why?", pieces[0], "claude"),
        ):
            moot.bot.posted.clear()
            await moot.hear(replace(said(text), reply_to=reply_to, mentioned=True))
            await moot.settle()
            assert "".join(moot.texts()).startswith(by)


@pytest.mark.parametrize("text", ["@codex !status", "<@U09> !status", "@codex-bot: !status"])
async def test_a_command_to_one_account_is_answered_by_that_one_alone(
    tmp_path: Path, text: str
) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("good morning")
        await platform.say(text, to=codex)
        assert texts(claude) == []
        (status,) = texts(codex)
        assert status.startswith("@codex: nothing to do")


async def test_what_names_another_accounts_persona_is_scheduled_and_pinned_once(
    tmp_path: Path,
) -> None:
    async with two(tmp_path) as (platform, claude, codex):
        await platform.say("good morning")
        await platform.say("!every weekday 9:00 @codex look for news", to=codex)
        await platform.say("!pin @codex releases", to=codex)
        rows = await platform.moot.house.schedules.rows.of_room(ROOM.id)
        assert [one.persona for one in rows] == ["codex"]
        assert len(texts(claude) + texts(codex)) == 2
        await platform.say("!status")
        assert len(texts(claude) + texts(codex)) == 3
