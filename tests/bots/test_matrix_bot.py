"""The bot on a real Synapse: what people do there, and what the gateway gets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from bots.kit.cursor import FileSecrets
from bots.kit.directory import HEADING
from bots.matrix.api import MatrixApi
from bots.matrix.check import Credentials, CredentialStore
from bots.matrix.invites import Welcome
from contract.agent import Option, Question
from contract.chat import Chosen, Deleted, Destination, Edited, Inbound, PersonaIdentity, Pinned
from contract.errors import ConfigError, PlatformError
from tests.doubles.bot_setup import FileStates
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.matrix_stage import Stage, said, until


async def test_a_mention_comes_with_all_that_the_contract_asks_for(
    stage: Stage, inbox: Inbox
) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room()
        text = f"{stage.bot_id} why  <15> *minutes*?\n> no quote\n"
        mentions = {"user_ids": [stage.bot_id]}
        event_id = await stage.andi.say(room, text, **{"m.mentions": mentions})
        await stage.budi.say(room, "lunch?")
        await inbox.kept(2)
    message, other = inbox.messages
    assert message.content == text
    assert message.mentioned
    assert message.message_id == event_id
    assert (message.room.id, message.room.name, message.room.kind) == (
        f"matrix:{room}",
        "general",
        "room",
    )
    assert message.meta.model_dump(exclude_defaults=True) == {
        "source": "matrix",
        "sender_id": f"matrix:{stage.andi.user_id}",
        "sender_display_name": stage.andi.name.title(),
        "sender_type": "human",
        "channel_external_id": room,
        "mention_token": stage.andi.user_id,
        "recipient_id": "bot:claude",
    }
    assert not other.mentioned
    assert not other.meta.trigger_rag
    assert other.meta.recipient_id is None


async def test_everything_in_a_direct_message_is_for_the_bot(stage: Stage, inbox: Inbox) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.andi.room(
            stage.bot_id, is_direct=True, preset="trusted_private_chat", name="a name all the same"
        )
        await stage.andi.say(room, "hello")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert message.mentioned
    assert message.room.kind == "dm"
    assert message.room.name == stage.andi.name.title()


async def test_an_unnamed_room_of_three_is_a_group_message(stage: Stage, inbox: Inbox) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room(name="")
        await stage.andi.say(room, "hello")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.room.kind, message.mentioned) == ("gdm", False)


async def test_a_thread_is_told_with_what_was_said_in_it(stage: Stage, inbox: Inbox) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room()
        root = await stage.andi.say(room, "the token expires too soon")
        thread = {"rel_type": "m.thread", "event_id": root}
        await stage.budi.say(room, "30 minutes?", **{"m.relates_to": thread})
        await stage.andi.say(room, f"{stage.name}: what do you think?", **{"m.relates_to": thread})
        await stage.budi.say(room, "later", **{"m.relates_to": thread})
        await inbox.kept(4)
    *earlier, message, later = inbox.messages
    andi, budi = stage.andi, stage.budi
    assert (message.thread_id, message.mentioned) == (root, True)
    assert message.meta.thread_context == (
        f"{HEADING}\n"
        f"- {andi.name.title()} ({andi.user_id}): the token expires too soon\n"
        f"- {budi.name.title()} ({budi.user_id}): 30 minutes?"
    )
    assert [m.meta.thread_context for m in (*earlier, later)] == [None] * 3


async def test_an_answer_stands_in_the_thread_and_mentions_whom_it_names(
    stage: Stage, inbox: Inbox
) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        asked = await stage.andi.say(room, f"{stage.bot_id}: hi")
        (message, *_) = await until(inbox, Inbound)
        place = Destination(message.room, asked, PersonaIdentity("claude"))
        text = f"{stage.andi.user_id}: see @room"
        first = await bot.post(place, text, "turn/0")
        again = await bot.post(place, text, "turn/0")
        await bot.edit(place, first, f"{stage.andi.user_id}, and {stage.budi.user_id}")
    assert again == first
    made, edit = [e["content"] for e in await stage.andi.events(room) if e["sender"] == stage.bot_id
                  and e["type"] == "m.room.message"]  # fmt: skip
    assert made["m.mentions"] == {"user_ids": [stage.andi.user_id]}
    assert "@room" not in made["body"]
    assert f'<a href="https://matrix.to/#/{stage.andi.user_id}">' in made["formatted_body"]
    assert made["m.relates_to"] == {
        "rel_type": "m.thread",
        "event_id": asked,
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": asked},
    }
    assert edit["m.relates_to"] == {"rel_type": "m.replace", "event_id": first}
    assert edit["m.mentions"] == {"user_ids": [stage.budi.user_id]}  # who wasn't told yet
    assert edit["m.new_content"]["body"].endswith(stage.budi.user_id)


async def test_edits_deletions_and_pins_are_told(stage: Stage, inbox: Inbox) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room()
        said = await stage.andi.say(room, "helo")
        for person, text in ((stage.budi, "forged"), (stage.andi, "hello")):
            await person.say(
                room,
                f"* {text}",
                **{
                    "m.new_content": {"msgtype": "m.text", "body": text},
                    "m.relates_to": {"rel_type": "m.replace", "event_id": said},
                },
            )
        relation = {"rel_type": "m.annotation", "event_id": said, "key": "📌"}
        pin = await stage.budi.send(room, {"m.relates_to": relation}, "m.reaction")
        await until(inbox, Pinned)
        await stage.budi.redact(room, pin)
        pinned = f"/rooms/{room}/state/m.room.pinned_events/"
        await stage.andi.call("PUT", pinned, {"pinned": [said]})
        await stage.andi.call("PUT", pinned, {"pinned": []})
        await stage.andi.redact(room, said)
        await until(inbox, Deleted)
    told = [event for event in inbox.events if not isinstance(event, Inbound)]
    edited, *pins, deleted = told
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content) == (said, "hello")
    assert [(p.message_id, p.pinned, p.by.id) for p in pins if isinstance(p, Pinned)] == [
        (said, True, f"matrix:{stage.budi.user_id}"),
        (said, False, f"matrix:{stage.budi.user_id}"),
        (said, True, f"matrix:{stage.andi.user_id}"),
        (said, False, f"matrix:{stage.andi.user_id}"),
    ]
    assert isinstance(deleted, Deleted)
    assert deleted.message_id == said


async def test_a_reply_to_the_bot_says_to_what_and_comes_without_the_quotation(
    stage: Stage, inbox: Inbox
) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        post = await bot.post(Destination(message.room), "what?", "k")
        relation = {"m.in_reply_to": {"event_id": post}}
        fallback = f"> <{stage.bot_id}> what?\n\nthe build"
        await stage.andi.say(room, fallback, **{"m.relates_to": relation})
        await until(inbox, Inbound, 2)
    reply = inbox.messages[1]
    assert (reply.content, reply.mentioned, reply.reply_to) == ("the build", False, post)


async def test_a_keycap_under_a_question_chooses(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    question = Question("q1", "Run it?", "rm -r *", (Option("Yes"), Option("No", refuses=True)))
    async with running(bot, inbox):
        room = await stage.room()
        await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        asked = await bot.ask(Destination(message.room), question, "k")
        relation = {"rel_type": "m.annotation", "event_id": asked, "key": "2️⃣"}
        await stage.budi.send(room, {"m.relates_to": relation}, "m.reaction")
        (chosen,) = await until(inbox, Chosen)
        async with asyncio.timeout(PATIENCE_S):
            while (
                len(
                    offered := [
                        e
                        for e in await stage.andi.events(room)
                        if e["type"] == "m.reaction" and e["sender"] == stage.bot_id
                    ]
                )
                < 2
            ):
                await asyncio.sleep(0.05)  # fmt: skip
    assert (chosen.question_id, chosen.option) == ("q1", 1)
    assert chosen.by.id == f"matrix:{stage.budi.user_id}"
    assert [e["content"]["m.relates_to"]["key"] for e in offered] == ["1️⃣", "2️⃣"]


async def test_files_come_in_and_go_out(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        media = f"{stage.homeserver.url}/_matrix/media/v3/upload"
        async with aiohttp.ClientSession() as http:
            headers = {"Authorization": f"Bearer {stage.andi.token}"}
            async with http.post(media, data=b"a,b\n", headers=headers) as answer:
                url = (await answer.json())["content_uri"]
        content = {"msgtype": "m.file", "body": "t.csv", "url": url, "info": {"size": 4}}
        await stage.andi.send(room, content)
        captioned = {**content, "filename": "t.csv", "body": "look at this"}
        await stage.andi.send(room, captioned)
        await inbox.kept(2)
        place = Destination(inbox.messages[0].room)
        posted = await bot.upload(place, "answer.md", b"# long", "the rest", "k")
        assert await bot.upload(place, "answer.md", b"# long", "the rest", "k") == posted
    plain, with_caption = inbox.messages
    assert (plain.content, with_caption.content) == ("", "look at this")
    (attachment,) = plain.attachments
    assert attachment.path is not None
    assert (attachment.name, Path(attachment.path).read_bytes()) == ("t.csv", b"a,b\n")
    *_, file = await stage.andi.events(room)
    assert (file["event_id"], file["content"]["filename"]) == (posted, "answer.md")
    assert file["content"]["body"] == "the rest"


async def test_ten_messages_missed_while_it_was_off_come_in_order(
    stage: Stage, inbox: Inbox
) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room()
        await stage.andi.say(room, "before")
        await inbox.kept(1)
    device = (stage.folder / "own" / "account.json").read_bytes()
    for number in range(55):  # more than one sync brings of a room
        await stage.andi.say(room, f"missed {number}")
    later = Inbox()
    async with running(stage.bot(), later):
        await said(later, "missed 54")
        await stage.andi.say(room, "after")
        await said(later, "after")
    texts = [message.content for message in later.messages]
    fresh = [text for text in texts if text != "before"]  # that sync may not have been noted
    assert fresh == [*(f"missed {number}" for number in range(55)), "after"]
    assert (stage.folder / "own" / "account.json").read_bytes() == device
    assert (stage.folder / "own" / "account.json").stat().st_mode & 0o777 == 0o600


async def test_another_machine_goes_on_where_the_first_was_and_says_that_keys_are_missing(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    states = FileStates(stage.folder / "database")
    async with running(stage.bot(states=states), inbox):
        room = await stage.room()
        await stage.andi.say(room, "before")
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            while room not in (await states.read("cursor") or ""):
                await asyncio.sleep(0.05)
    assert "bot.without_keys" not in caplog.text
    await stage.andi.say(room, "missed")
    later = Inbox()
    async with running(stage.bot(states=states, own_dir=stage.folder / "other"), later):
        await said(later, "missed")
    assert "bot.without_keys" in caplog.text


async def test_what_the_gateway_could_not_keep_is_delivered_again(
    stage: Stage, inbox: Inbox
) -> None:
    inbox.failures.append(PlatformError("the disk is full", outcome="retry"))
    async with running(stage.bot(), inbox):
        room = await stage.room()
        await stage.andi.say(room, "hello")
        await inbox.kept(1)
    assert [message.content for message in inbox.messages] == ["hello"]


async def test_what_was_said_since_the_invitation_is_heard_and_nothing_before(
    stage: Stage, inbox: Inbox
) -> None:
    room = await stage.andi.room(stage.budi.user_id, name="general")
    for number in range(5):
        await stage.andi.say(room, f"history {number}")
    await stage.andi.call("POST", f"/rooms/{room}/invite", {"user_id": stage.bot_id})
    for number in range(52):  # more than one sync brings of a room
        await stage.andi.say(room, f"since {number}")
    async with running(stage.bot(), inbox):
        await inbox.kept(52)
    texts = [message.content for message in inbox.messages]
    assert texts == [f"since {number}" for number in range(52)]


async def test_only_those_who_may_invite_are_followed(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    listed = f"matrix:{stage.andi.user_id}"
    async with running(stage.bot(invites=Welcome(lambda sender: sender == listed)), inbox):
        refused = await stage.budi.room(stage.bot_id, name="elsewhere")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                member = f"/rooms/{refused}/state/m.room.member/{stage.bot_id}"
                found = await stage.budi.call("GET", member)
                if found["membership"] == "leave":
                    break
                await asyncio.sleep(0.05)
        followed = await stage.room()
        await stage.comes(followed)
    assert "administrator" in found["reason"]
    assert len([r for r in caplog.records if "declines the invitation" in r.message]) == 1


async def test_a_notice_is_a_bots_and_own_words_are_nobodys(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        await stage.budi.send(room, {"msgtype": "m.notice", "body": "build passed"})
        (notice,) = await until(inbox, Inbound)
        await bot.post(Destination(notice.room), "own", "k")
        await stage.andi.say(room, "last")
        await until(inbox, Inbound, 2)
    assert (notice.meta.sender_type, notice.meta.mention_token) == ("bot", None)
    assert [message.content for message in inbox.messages] == ["build passed", "last"]


async def test_a_reply_of_30_kb_arrives_whole(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    rows = "\n".join(f"| {n} | `code` & <tag> |" for n in range(200))
    code = "\n".join(f'    print("line {n}", flush=True)' for n in range(600))
    text = f"# Title\n\n| n | what |\n|---|---|\n{rows}\n\n```python\n{code}\n```\n"
    assert len(text) > 25_000
    async with running(bot, inbox):
        room = await stage.room()
        await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        pieces = bot.split(text)
        for number, piece in enumerate(pieces):
            event_id = await bot.post(Destination(message.room), piece, f"k/{number}")
            await bot.edit(Destination(message.room), event_id, piece)
    bodies = [e["content"]["body"] for e in await stage.andi.events(room)
              if e["sender"] == stage.bot_id and e["type"] == "m.room.message"
              and "m.new_content" not in e["content"]]  # fmt: skip
    assert bodies == pieces
    assert all(f'print("line {n}", flush=True)' in "".join(bodies) for n in range(600))


async def test_a_lost_answer_is_found_by_its_key(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        place = Destination(message.room)
        event_id = await bot.post(place, "answer", "turn/0")
        await stage.andi.say(room, "more")
        assert await bot.find(place, "turn/0", message.sent_at, ()) == event_id
        assert await bot.find(place, "turn/1", message.sent_at, ()) is None
        await bot.delete(place, event_id)
        await bot.delete(place, event_id)
        assert await bot.find(place, "turn/0", message.sent_at, ()) is None


async def test_the_last_mark_is_the_only_one_that_stands(stage: Stage, inbox: Inbox) -> None:
    first, second = stage.bot(), stage.bot()
    async with running(first, inbox):
        room = await stage.room()
        said = await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        await first.react(Destination(message.room), said, "waiting")
        await first.react(Destination(message.room), said, "working")
    async with running(second, Inbox()):
        await stage.andi.say(room, "again")
        async with asyncio.timeout(PATIENCE_S):
            while not second.own_ids:
                await asyncio.sleep(0.01)
        await second.react(Destination(message.room), said, "done")
    marks = [e["content"]["m.relates_to"]["key"] for e in await stage.andi.events(room)
             if e["type"] == "m.reaction" and e["content"]]  # fmt: skip
    assert marks == ["✅"]


async def test_a_stored_token_that_is_refused_is_replaced_and_the_device_stays(
    stage: Stage, inbox: Inbox
) -> None:
    async with running(stage.bot(), inbox):
        room = await stage.room()
        await stage.andi.say(room, "one")
        await inbox.kept(1)
    account = stage.folder / "own" / "account.json"
    before = account.read_text()
    kept = await CredentialStore(FileSecrets(stage.folder / "own")).load()
    assert kept is not None
    api = MatrixApi(stage.homeserver.url, kept.token)
    await api.post("/_matrix/client/v3/logout", {})
    await api.close()
    async with running(stage.bot(), inbox):
        await stage.andi.say(room, "two")
        await said(inbox, "two")
    after = await CredentialStore(FileSecrets(stage.folder / "own")).load()
    assert after is not None
    assert account.read_text() != before
    assert after.device_id == kept.device_id


async def test_a_wrong_password_is_one_clear_sentence(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot(credentials=Credentials(user=stage.name, password="wrong"))
    with pytest.raises(ConfigError, match="MATRIX_USER and MATRIX_PASSWORD"):
        async with running(bot, inbox) as task:
            await asyncio.wait({task})
    token = stage.bot(credentials=Credentials(token="nobody's"))
    with pytest.raises(ConfigError, match="access token is refused"):
        await token.check()


async def test_check_tells_what_is_missing(stage: Stage, inbox: Inbox) -> None:
    (lonely,) = await stage.bot().check()
    assert "is in no room yet" in lonely
    async with running(stage.bot(), inbox):
        room = await stage.room()
        await stage.comes(room)
    assert await stage.bot().check() == []
    closed = {"algorithm": "m.megolm.v1.aes-sha2"}
    await stage.andi.call("PUT", f"/rooms/{room}/state/m.room.encryption/", closed)
    (deaf,) = await stage.bot(encryption=False).check()
    assert "encryption = true" in deaf


async def test_members_have_roles(stage: Stage, inbox: Inbox) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        levels = {"users": {stage.andi.user_id: 100, stage.budi.user_id: 50}}
        room = await stage.room(room_version="10", power_level_content_override=levels)
        await stage.comes(room)
        await stage.andi.say(room, "hi")
        (message, *_) = await until(inbox, Inbound)
        members = await bot.members(message.room)
    assert {(m.mention, m.role) for m in members} == {
        (stage.andi.user_id, "admin"),
        (stage.budi.user_id, "moderator"),
    }


async def test_a_rate_limit_is_told_with_its_time_and_marks_give_way(
    stage: Stage, inbox: Inbox
) -> None:
    bot = stage.bot()
    async with running(bot, inbox):
        room = await stage.room()
        event_id = await stage.andi.say(room, "hi")
        place = Destination((await said(inbox, "hi")).room)
        stage.homeserver.limit(stage.bot_id, per_second=1, burst=1)
        many = [bot.post(place, "more", f"m{number}") for number in range(8)]
        outcomes = await asyncio.gather(*many, return_exceptions=True)
        await bot.react(place, event_id, "done")
        stage.homeserver.limit(stage.bot_id, per_second=1000, burst=1000)
        await bot.react(place, event_id, "done")
    limited = [one for one in outcomes if isinstance(one, PlatformError)]
    assert limited
    assert {one.outcome for one in limited} == {"retry"}
    assert all(0 < one.retry_after_s < 20 for one in limited)
    events = await stage.andi.events(room)
    assert not [e for e in events if e["type"] == "m.reaction"]
