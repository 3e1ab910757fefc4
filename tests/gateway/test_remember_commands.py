"""What people say to their own memory: only theirs, and only as far as it may be seen here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, select

from contract.chat import Inbound, Room, Speaker
from gateway.settings.access import AccessTable
from gateway.settings.tables import MemoryTable
from memory.layers import AnsweredTurn, EndedSession
from memory.recall.facts import NewFact, StoredFact, add_facts
from store.schema import episodes, facts, insights, observations, staging
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway

ASKED_ONLY = MemoryTable(remember="off")  # only what a test plants is known
OPEN = AccessTable(rooms="open", dms="open", owners=frozenset({"fake:boss"}))
DM = Room("fake:d1", "Andi", "dm")
SAGA = Room("fake:general", "general", project="saga")
SAID_AT = datetime(2026, 4, 15, 12, tzinfo=UTC)
SCOPE = {"dm": "dm:fake:andi:demo", "room": "room:fake:general"}


async def tell(moot: Opened, *sent: Inbound) -> list[str]:
    """Deliver messages one after the other; return what was posted to them."""
    before = len(moot.texts())
    for message in sent:
        await moot.hear(message)
        await moot.settle()
    return moot.texts()[before:]


def in_dm(text: str, by: str = "andi", **more: str) -> Inbound:
    return said(text, by=by, room=DM, **more)


async def know(moot: Opened, text: str, scope: str = SCOPE["dm"], **more: object) -> StoredFact:
    """Let something be known, as a layer that extracts would."""
    values = {
        "scope": scope,
        "kind": "preference",
        "text": text,
        "said_at": SAID_AT,
        "source": "s1",
        "person": "fake:andi",
        "person_name": "Andi",
        "origin": "DM" if scope.startswith("dm:") else "#general",
        "first_seq": 1,
        "last_seq": 1,
        "speakers": ("fake:andi",),
        **more,
    }
    new = NewFact(**values)  # type: ignore[arg-type]
    store = moot.house.memories.store
    [fact] = await store.write(lambda c: add_facts(c, [new], SAID_AT))
    recall = moot.house.memories.recall
    assert recall is not None
    await recall.index_pending()
    return fact


async def left(moot: Opened) -> Sequence[str]:
    """The texts of all facts that are on disk."""
    columns = select(facts.c.text).order_by(facts.c.seq)
    return await moot.house.memories.store.read(lambda c: list(c.execute(columns).scalars()))


def recalled(moot: Opened) -> list[str]:
    """The recall section of the newest header."""
    _, heading, rest = moot.programs.prompts[-1].partition("[RECALL — from long-term memory]\n")
    return rest.partition("\n\n")[0].splitlines() if heading else []


async def test_a_fact_of_a_dm_is_unseen_in_rooms_until_its_owner_shares_it(tmp_path: Path) -> None:
    index = WordIndex()
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=index) as moot:
        fact = await know(moot, "Andi prefers 30 min JWT expiry")
        question = "@demo which JWT expiry?"
        await tell(moot, said("hi", by="andi"), said(question, by="budi"))
        assert recalled(moot) == []
        index.hostile = True
        await tell(moot, said(question, by="andi"))
        assert recalled(moot) == []
        index.hostile = False
        assert "I know nothing of you here." in (await tell(moot, said("!memory", by="andi")))[0]

        [line] = await tell(moot, in_dm(f"!share {fact.seq}"))
        assert line.startswith("Shared as 2 with your rooms: Andi prefers 30 min JWT expiry")
        await tell(moot, said(question, by="budi"))
        assert recalled(moot) == ["- Andi prefers 30 min JWT expiry (preference, 2026-04-15, DM)"]
        elsewhere = Room("fake:other", "other")
        await tell(moot, said(question, by="budi", room=elsewhere))
        assert recalled(moot) == []

        assert await tell(moot, in_dm(f"!share {fact.seq}")) == [line]
        assert "Taken back." in (await tell(moot, in_dm("!unshare 2")))[0]
        await tell(moot, said(question, by="budi"))
        assert recalled(moot) == []
        assert await left(moot) == ["Andi prefers 30 min JWT expiry"]


async def test_what_is_shared_keeps_its_kind_and_names_its_person(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        await know(moot, "tea at four, please", kind="message")
        await know(moot, "Chose Postgres over tea", kind="decision")
        await tell(moot, in_dm("!share 1"), in_dm("!share 2"), said("hi", by="andi"))
        await tell(moot, said("@demo who takes tea over coffee?", by="budi"))
        assert sorted(recalled(moot)) == [
            "- Andi: Chose Postgres over tea (decision, 2026-04-15, DM)",
            "- Andi: tea at four, please (fact, 2026-04-15, DM)",
        ]


async def test_forgotten_is_gone_from_header_table_and_index(tmp_path: Path) -> None:
    index = WordIndex()
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=index) as moot:
        fact = await know(moot, "Andi prefers 30 min JWT expiry")
        await tell(moot, in_dm(f"!share {fact.seq}"))
        assert len(index.entries) == 2
        [line] = await tell(moot, in_dm(f"!forget {fact.seq}"))
        assert line == (
            "Forgotten: 1, 2. The message stays in the transcript, and won't be learned from again."
        )
        assert await left(moot) == []
        assert index.entries == {}
        await tell(moot, in_dm("which JWT expiry?"))
        assert recalled(moot) == []
        [line] = await tell(moot, in_dm(f"!forget {fact.seq}"))
        assert line == "I know no fact 1 of you here; `!memory` lists them."


@dataclass
class BrokenIndex(WordIndex):
    """Can't forget until it is fixed."""

    broken: bool = True

    async def remove(self, ids: Sequence[str]) -> None:
        if self.broken:
            raise OSError("disk")
        await super().remove(ids)


async def test_forgetting_works_when_the_index_fails_and_a_sweep_ends_it(tmp_path: Path) -> None:
    index = BrokenIndex()
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=index) as moot:
        fact = await know(moot, "Andi prefers 30 min JWT expiry")
        [line] = await tell(moot, in_dm(f"!forget {fact.seq}"))
        assert line.startswith("Forgotten: 1")
        assert await left(moot) == []
        await tell(moot, in_dm("which JWT expiry?"))
        assert recalled(moot) == []
        assert len(index.entries) == 1
        index.broken = False
        kept = await know(moot, "Andi likes tea")
        assert moot.house.memories.recall is not None
        await moot.house.memories.recall.begin()
        assert set(index.entries) == {kept.id}


async def test_a_fact_about_somebody_else_is_theirs(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        about = {"person": "fake:budi", "person_name": "Budi", "speakers": ("fake:andi",)}
        await know(moot, "Budi is slow", SCOPE["room"], **about)
        both = {"person": None, "speakers": ("fake:andi", "fake:budi")}
        await know(moot, "The team uses Postgres", SCOPE["room"], **both)
        await know(moot, "Andi likes tea")
        for command in ("!share", "!forget", "!unshare"):
            for seq in (1, 2):
                [line] = await tell(moot, said(f"{command} {seq}", by="andi"))
                assert line == f"{seq} is not about you: only who it is about may do that."
            [line] = await tell(moot, said(f"{command} 3", by="budi"))
            assert line == "I know no fact 3 of you here; `!memory` lists them."
        await tell(moot, said("!forget 1", by="budi"))
        assert await left(moot) == ["The team uses Postgres", "Andi likes tea"]


async def test_in_a_dm_one_sees_and_forgets_all_that_was_made_of_it(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        about = {"person": "fake:budi", "person_name": "Budi"}
        await know(moot, "Budi is on leave", **about)
        assert "- 1: Budi is on leave" in (await tell(moot, in_dm("!memory")))[0]
        assert (await tell(moot, in_dm("!share 1")))[0].startswith("1 is not about you")
        await tell(moot, in_dm("!forget 1"))
        assert await left(moot) == []


async def test_a_look_alike_id_a_taken_name_and_a_namesake_get_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        await know(moot, "Andi likes tea", "profile:fake:andi", first_seq=None, last_seq=None)
        await know(moot, "Andi fears cats", SCOPE["room"])
        for impostor in ("Andi", "andi2", "and", "andi:demo", "аndi"):
            named = said("!memory", by=impostor, sender_display_name="Andi")
            assert (await tell(moot, named))[0].startswith("I know nothing of you here.")
            for command in ("!forget 1", "!forget 2", "!forget all", "!share 2"):
                await tell(moot, said(command, by=impostor, sender_display_name="Andi"))
        assert await left(moot) == ["Andi likes tea", "Andi fears cats"]

        renamed = said("!memory", by="andi", sender_display_name="Andreas")
        [told] = await tell(moot, renamed)
        assert "- 1: Andi likes tea (preference, 2026-04-15, #general, shared)" in told
        assert "- 2: Andi fears cats (preference, 2026-04-15, #general)" in told


async def test_a_profile_is_seen_where_its_owner_has_spoken_and_nowhere_else(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        await know(moot, "Andi likes tea", "profile:fake:andi", first_seq=None, last_seq=None)
        await tell(moot, said("tea?", by="andi2"), said("tea?", by="andi", kind="bot"))
        await tell(moot, said("@demo who likes tea", by="budi"))
        assert recalled(moot) == []
        await tell(moot, said("long ago", by="andi"))
        await tell(moot, *(said(f"line {n}", by="budi") for n in range(50)))
        await tell(moot, said("@demo who likes tea", by="budi"))
        assert recalled(moot) == ["- Andi likes tea (preference, 2026-04-15, #general)"]


class Telling(FakeBot):
    """A platform that tells who is in a room."""

    async def members(self, room: Room) -> Sequence[Speaker]:
        return [Speaker("fake:budi", "Budi"), Speaker("fake:andi2", "Andi")]


async def test_who_left_a_room_is_no_member_once_its_roster_is_known(tmp_path: Path) -> None:
    async with gateway(tmp_path, bot=Telling(), index=WordIndex()) as moot:
        await know(moot, "Andi likes tea", "profile:fake:andi", first_seq=None, last_seq=None)
        await tell(moot, said("bye", by="andi"), said("@demo hi", by="budi"))
        await tell(moot, said("@demo who likes tea", by="budi"))
        assert recalled(moot) == []


async def test_two_personas_of_one_bot_keep_their_dms_apart(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, access=OPEN, index=WordIndex(), personas=("demo", "demo2")
    ) as moot:
        await know(moot, "Andi likes tea")
        await know(moot, "Andi likes ale", "dm:fake:andi:demo2")
        [told] = await tell(moot, in_dm("!memory"))
        assert "tea" in told
        assert "ale" not in told
        [told] = await tell(moot, in_dm("@demo2 !memory"))
        assert "ale" in told
        assert "tea" not in told
        await tell(moot, in_dm("@demo2 !forget all"))
        assert await left(moot) == ["Andi likes tea"]


async def test_own_words_are_shared_as_a_text_or_by_a_reply(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        await tell(moot, in_dm("I drink tea at four", message_id="mine"))
        await tell(moot, replace(in_dm("!share"), reply_to="mine"))
        await tell(moot, said("!share Andi is away\non Friday", by="andi"))
        assert await left(moot) == ["Andi: I drink tea at four", "Andi is away on Friday"]
        await tell(moot, said("@demo who likes tea and who is away", by="budi"))
        today = datetime.now(UTC).date().isoformat()
        assert sorted(recalled(moot)) == [
            f"- Andi is away on Friday (fact, {today}, #general)",
            f"- Andi: I drink tea at four (fact, {today}, DM)",
        ]


async def test_what_is_private_or_another_persons_is_not_shared(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        await tell(
            moot,
            said("I like tea", by="budi", message_id="budis"),
            said("<private>x</private> tea", by="andi", message_id="private"),
            said("tea", by="andi", message_id="out", include_in_memory=False),
            in_dm("tea", message_id="dm"),
        )
        for message_id in ("budis", "private", "out", "dm", "nowhere"):
            share = replace(said("!share", by="andi"), reply_to=message_id)
            assert "Shared" not in (await tell(moot, share))[0]
        await tell(moot, said("!share <private>tea</private> at four", by="andi"))
        await tell(moot, said("!share", by="andi"))
        await tell(moot, said("!share tea", by="andi", include_in_memory=False))
        await tell(moot, said("@demo !share I am a bot", by="ad", kind="bot"))
        assert await left(moot) == []


async def test_a_project_is_told_where_the_room_is_bound_to_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        assert await tell(moot, said("!share project we use NestJS", by="andi")) == [
            "No project is bound to this room."
        ]
        await tell(moot, said("!share project we use NestJS", by="andi", room=SAGA))
        other = Room("fake:other", "other", project="saga")
        await tell(moot, said("@demo do we use NestJS?", by="budi", room=other))
        assert recalled(moot) == ["- Andi: we use NestJS (project memory)"]
        await tell(moot, said("@demo do we use NestJS?", by="budi", room=Room("fake:no", "no")))
        assert recalled(moot) == []
        [line] = await tell(moot, said("!unshare 1", by="budi", room=other))
        assert line.startswith("1 is not about you")
        await tell(moot, said("!unshare 1", by="andi", room=other))
        assert await left(moot) == []


async def fill(moot: Opened, scope: str) -> None:
    """A row in every layer that has no command of its own."""
    none = {"first_seq": 1, "last_seq": 1, "at": 0}
    note = {"scope": scope, "kind": "pin", "text": "likes tea", "question": "", "used_at": 0}
    seen = {
        "id": scope, "scope": scope, "persona": "demo", "session_id": "s", "kind": "feature",
        "title": "tea", "subtitle": "", "facts": [], "narrative": "", "concepts": [], "files": [],
        "notes": [], "at": 0,
    }  # fmt: skip

    def work(connection: Connection) -> None:
        connection.execute(insert(episodes), {"scope": scope, "text": "tea", "plain": True, **none})
        connection.execute(
            insert(staging), {"scope": scope, "session_id": "s", "found": {}, **none}
        )
        for sender in ("fake:andi", "fake:budi"):
            connection.execute(insert(insights), {**note, "sender_id": sender})
        connection.execute(insert(observations), seen)

    await moot.house.memories.store.write(work)


async def rows(moot: Opened, scope: str) -> dict[str, int]:
    def work(connection: Connection) -> dict[str, int]:
        return {
            table.name: len(connection.execute(table.select().where(table.c.scope == scope)).all())
            for table in (episodes, staging, insights, observations)
        }

    return await moot.house.memories.store.read(work)


async def test_forget_all_in_a_dm_takes_everything_that_was_made_of_it(tmp_path: Path) -> None:
    index = WordIndex()
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=index) as moot:
        await know(moot, "Andi likes tea")
        await know(moot, "The house is old", person=None, speakers=("fake:andi", "bot:demo"))
        await know(moot, "Andi fears cats", SCOPE["room"])
        await tell(moot, in_dm("!pin tea"), in_dm("!share 1"), in_dm("hi"))
        await fill(moot, SCOPE["dm"])
        await fill(moot, SCOPE["room"])
        [line] = await tell(moot, in_dm("!forget all"))
        assert line.startswith("Forgotten: 3 facts, and every note")
        assert await left(moot) == ["Andi fears cats"]
        assert len(index.entries) == 1
        assert set((await rows(moot, SCOPE["dm"])).values()) == {0}
        assert set((await rows(moot, SCOPE["room"])).values()) == {1, 2}
        await tell(moot, in_dm("tea?"))
        assert recalled(moot) == []
        assert "LANDMARKS" not in moot.programs.prompts[-1]
        assert len(moot.programs.launches) == 2
        assert moot.programs.launches[-1].session_id is None
        remembered = await moot.house.memories.slices.after(SCOPE["dm"], 0)
        assert remembered is not None
        assert remembered.spoken[0].text == "tea?"


async def test_forget_all_in_a_room_takes_only_what_is_about_its_sender(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        budis = {"person": "fake:budi", "speakers": ("fake:budi",)}
        both = {"person": None, "speakers": ("fake:andi", "fake:budi")}
        await know(moot, "Andi likes tea")
        await know(moot, "Andi fears cats", SCOPE["room"])
        await know(moot, "said alone", SCOPE["room"], person=None)
        await know(moot, "Budi likes ale", SCOPE["room"], **budis)
        await know(moot, "Postgres it is", SCOPE["room"], **both)
        await tell(moot, said("mine", by="andi"), said("his", by="budi"))
        await fill(moot, SCOPE["room"])
        [line] = await tell(moot, said("!forget all", by="andi"))
        assert line.startswith("Forgotten: 2 facts about you")
        assert await left(moot) == ["Andi likes tea", "Budi likes ale", "Postgres it is"]
        assert await rows(moot, SCOPE["room"]) == {
            "episodes": 1, "staging": 1, "insights": 1, "observations": 1,
        }  # fmt: skip
        remembered = await moot.house.memories.slices.after(SCOPE["room"], 0)
        assert remembered is not None
        assert "mine" not in [item.text for item in remembered.spoken]
        assert "his" in [item.text for item in remembered.spoken]


async def test_forget_all_waits_for_what_is_being_learned_just_now(tmp_path: Path) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    class Slow:
        name = "slow"
        reads_chat = False

        def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
            return True

        async def learn(self, interaction: AnsweredTurn) -> None:
            begun.set()
            await gate.wait()
            await know(moot, f"Andi said {interaction.text}")

        async def end(self, session: EndedSession) -> None:
            return None

    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        moot.house.memories.layers._learners = (Slow(),)
        await tell(moot, in_dm("I like tea"))
        await begun.wait()
        await moot.hear(in_dm("!forget all"))
        await asyncio.sleep(0.05)
        gate.set()
        await moot.settle()
        assert moot.texts()[-1].startswith("Forgotten: 1 fact,")
        assert await left(moot) == []


async def test_memory_tells_what_is_known_here_and_what_stands_behind_it(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        [told] = await tell(moot, in_dm("!memory"))
        assert told.startswith("I know nothing of you here.")
        assert "No model works behind my memory" in told
        await know(moot, "Andi likes tea\n[14:02 | Ana] and @codex")
        await fill(moot, SCOPE["dm"])
        [told] = await tell(moot, in_dm("!memory"))
        assert "- 1: Andi likes tea [14:02 | Ana] and @\u2060codex (preference" in told
        assert "- likes tea" in told
        [told] = await tell(moot, said("!memory", by="andi"))
        assert "tea" not in told
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, model=ScriptedModel()) as moot:
        assert "No model" not in (await tell(moot, in_dm("!memory")))[0]


async def test_memory_can_be_switched_off_and_on_by_those_who_may(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=ASKED_ONLY, access=OPEN, index=WordIndex()) as moot:
        [line] = await tell(moot, said("!memory off", by="andi"))
        assert line == "Andi, only an owner (`[access] owners`) may say that here."
        [line] = await tell(moot, said("!memory off", by="boss"))
        assert line.startswith("From now on nothing that is said here reaches my memory.")
        [told] = await tell(moot, said("!memory", by="andi"))
        assert told.startswith("This conversation is kept out of my memory")
        await tell(moot, said("said meanwhile", by="andi"))
        assert "out of memory" in (await tell(moot, said("!pin x", by="andi")))[0]
        assert "out of memory" in (await tell(moot, said("!share tea", by="andi")))[0]
        [line] = await tell(moot, said("!memory on", by="boss"))
        assert line.startswith("From now on I remember again")
        await tell(moot, said("said after", by="andi"))
        part = await moot.house.memories.slices.after(SCOPE["room"], 0)
        assert part is not None
        assert [item.text for item in part.spoken] == ["said after"]

        assert (await tell(moot, in_dm("!memory off")))[0].startswith("From now on nothing")
        assert (await tell(moot, said("!memory", by="andi")))[0].startswith("I know nothing")


async def test_a_room_that_the_configuration_excludes_stays_out(tmp_path: Path) -> None:
    memory = MemoryTable(excluded_rooms=frozenset({ROOM.id}))
    async with gateway(tmp_path, access=OPEN, memory=memory) as moot:
        assert (await tell(moot, said("!memory")))[0].startswith("This conversation is kept out")
        [line] = await tell(moot, said("!memory on", by="boss"))
        assert (
            line == "This room stays out of my memory: `excluded_rooms` under `[memory]` lists it."
        )


async def test_a_command_is_done_once_however_many_personas_it_names(tmp_path: Path) -> None:
    async with gateway(tmp_path, index=WordIndex(), personas=("ada", "bob")) as moot:
        assert len(await tell(moot, said("@ada @bob !share tea", by="andi"))) == 1
        assert await left(moot) == ["Andi: tea"]


async def test_usage_is_told_and_help_names_the_commands(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        assert (await tell(moot, said("!forget")))[0].startswith("Say which: `!forget 12`")
        assert (await tell(moot, said("!unshare x")))[0].startswith("Say which: `!unshare 12`")
        assert (await tell(moot, said("@demo !forgit 3")))[0].endswith("`!forget`?")
        [line] = await tell(moot, said("!help all"))
        for name in ("pin", "unpin", "landmarks", "memory", "share", "unshare", "forget"):
            assert f"`!{name}`" in line


async def test_dates_are_those_of_the_configured_zone(tmp_path: Path) -> None:
    zone = "America/New_York"
    async with gateway(tmp_path, memory=ASKED_ONLY, index=WordIndex(), timezone=zone) as moot:
        late = datetime(2026, 4, 15, 2, tzinfo=UTC)
        fact = await know(moot, "Andi likes tea", SCOPE["room"], said_at=late)
        for command in ("!memory", "!recall tea", f"!recall #{fact.seq}"):
            [told] = await tell(moot, said(f"@demo {command}", by="andi"))
            assert "2026-04-14" in told


# ── A sentence that is forgotten goes wherever it was learned ───────────────────────────


async def learned(moot: Opened) -> str:
    """All that the memory holds, as one text."""

    def work(connection: Connection) -> str:
        tables = (facts, episodes, staging, insights, observations)
        return "\n".join(str(connection.execute(table.select()).all()) for table in tables)

    return await moot.house.memories.store.read(work)


async def test_a_forgotten_sentence_is_in_no_summary_and_is_never_learned_again(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OPEN, index=WordIndex()) as moot:
        memories = moot.house.memories
        await tell(moot, said("we agreed the safe opens with kestrel4711", by="andi"))
        await tell(moot, said("@demo hi", by="budi"), said("budi likes the garden", by="budi"))
        await memories.messages.run(SCOPE["room"])
        session = EndedSession(SCOPE["room"], "demo", ROOM, "s1")
        await memories.episodes.end(session)
        assert "kestrel4711" in await learned(moot)
        known = await left(moot)
        [line] = await tell(moot, said("@demo !forget 1", by="andi"))
        assert line.startswith("Forgotten: 1, and its words in 1 row of summaries")
        assert line.endswith("The agent's own session may still know it; `!new` begins another.")
        assert "kestrel4711" not in await learned(moot)
        assert await left(moot) == [text for text in known if "kestrel" not in text] != []
        await tell(moot, said("@demo hi again", by="budi"))
        await memories.messages.run(SCOPE["room"])
        await memories.episodes.end(session)
        assert "kestrel4711" not in await learned(moot)


async def test_a_summary_that_a_model_wrote_is_made_again_without_it(tmp_path: Path) -> None:
    model = ScriptedModel(rest="They know how to get in.")
    async with gateway(tmp_path, access=OPEN, index=WordIndex(), model=model) as moot:
        memories = moot.house.memories
        await tell(moot, said("the safe opens with kestrel4711", by="andi"))
        await tell(moot, said("@demo hi", by="budi"))
        fact = await know(moot, "the safe opens with kestrel4711", SCOPE["room"])
        session = EndedSession(SCOPE["room"], "demo", ROOM, "s1")
        await memories.episodes.end(session)
        assert "how to get in" in await learned(moot)
        [line] = await tell(moot, said(f"!forget {fact.seq}", by="andi"))
        assert "its words in 1 row of summaries" in line
        assert "how to get in" not in await learned(moot)
        model.rest, before = "They said hello.", len(model.asked)
        await memories.episodes.end(session)
        assert "They said hello." in await learned(moot)
        assert "kestrel4711" not in str(model.asked[before:])


async def test_a_copy_takes_its_original_along_and_the_other_way_round(tmp_path: Path) -> None:
    for number in (1, 2):
        async with gateway(tmp_path / str(number), access=OPEN, index=WordIndex()) as moot:
            await know(moot, "Andi likes tea at four")
            await tell(moot, in_dm("!share 1"))
            await tell(moot, in_dm(f"!forget {number}"))
            assert await left(moot) == []


async def test_a_message_that_was_shared_by_a_reply_goes_with_its_fact(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OPEN, index=WordIndex()) as moot:
        await tell(moot, in_dm("I like tea at four", message_id="tea"))
        await moot.house.memories.messages.run(SCOPE["dm"])
        await tell(moot, replace(in_dm("!share"), reply_to="tea"))
        assert len(await left(moot)) == 2
        await tell(moot, in_dm("!forget 2"))
        assert await left(moot) == []


async def test_a_pin_that_says_it_stays_and_is_named(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OPEN, index=WordIndex()) as moot:
        await know(moot, "Andi likes tea at four")
        await tell(moot, in_dm("!pin Andi likes tea at four"))
        [line] = await tell(moot, in_dm("!forget 1"))
        assert "so does what is pinned (`!unpin` 1)" in line
