"""Unknown people's direct messages: a code, an owner's word, and the question answered once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, text

from contract.chat import Deleted, Room, Speaker
from gateway.access.admissions import Admissions
from gateway.access.pairing_rows import ALPHABET, as_code
from gateway.access.pairings import DECLINED, LET_IN, MOST_WAITING
from gateway.core.clock import clock
from gateway.settings.access import AccessTable
from store.gateway_schema import audit, pairings
from store.schema import messages, turns
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until

OWNED = AccessTable(owners=frozenset({"fake:olivia"}))
DM = Room("fake:dm-ash", "Ash", "dm")
OWNERS_DM = Room("fake:dm-olivia", "Olivia", "dm")
OLIVIA = Speaker("fake:olivia", "Olivia")
ANSWER = "Respond to Ash in this direct message."
CODE = re.compile(r"`([0-9A-Z]{8})`")
WHICH = re.compile(r", to the message of \d\d:\d\d(?: \(.*?\))?")


def texts(moot: Opened) -> list[str]:
    """All posts, and no answer says to which message it is one."""
    return [WHICH.sub("", text) for text in moot.texts()]


async def tell(moot: Opened, text: str, **how: object) -> list[str]:
    """Say something in the DM; return what was posted to it."""
    before = len(moot.texts())
    await moot.hear(said(text, **{"room": DM, **how}))  # type: ignore[arg-type]
    await moot.settle()
    return texts(moot)[before:]


async def asked_for_a_code(moot: Opened, text: str = "who are you?", **how: object) -> str:
    [line] = await tell(moot, text, **how)
    found = CODE.search(line)
    assert found is not None
    return found[1]


async def owner(moot: Opened, text: str, room: Room = OWNERS_DM) -> list[str]:
    return await tell(moot, text, by="olivia", room=room)


async def acts(moot: Opened) -> Sequence[tuple[str, str]]:
    columns = select(audit.c.act, audit.c.by_id).order_by(audit.c.seq)

    def work(connection: Connection) -> list[tuple[str, str]]:
        return [(row.act, row.by_id) for row in connection.execute(columns)]

    return await moot.house.memories.store.read(work)


async def age(moot: Opened, by: timedelta) -> None:
    """Let the codes have been made that much earlier."""
    earlier = int(by.total_seconds() * 1_000_000)

    def work(connection: Connection) -> None:
        connection.execute(pairings.update().values(expires_at=pairings.c.expires_at - earlier))

    await moot.house.memories.store.write(work)


async def test_an_unknown_person_is_told_a_code_once_and_no_agent_hears_them(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        assert set(code) <= set(ALPHABET)
        assert await tell(moot, "hello?") == []
        assert await tell(moot, "!help") == []
        assert moot.programs.prompts == []
        assert await acts(moot) == [("refuse", "fake:ash")]


async def test_the_code_is_told_once_over_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await asked_for_a_code(moot)
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await tell(moot, "hello?") == []


async def test_an_owners_code_lets_in_tells_so_and_answers_the_last_question_once(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        await tell(moot, "and what can you do?")
        [listed] = await owner(moot, "!pair")
        assert f"`{code}` Ash (`fake:ash`)" in listed
        posted = await owner(moot, f"!pair {code[:4].lower()}-{code[4:]}")
        assert sorted(posted) == sorted(
            [
                "Ash (`fake:ash`) is a member in direct messages now. "
                "Their question is being answered.",
                LET_IN,
                ANSWER,
            ]
        )
        [prompt] = moot.programs.prompts
        assert "and what can you do?" in prompt
        assert await tell(moot, "thanks") == [ANSWER]
        assert await owner(moot, f"!pair {code}") == [
            "No such code waits: `!pair` lists those that do. A code is good for 24 hours."
        ]
        assert [act for act, by in await acts(moot) if by == OLIVIA.id] == ["pair", "grant"]


async def test_an_approval_that_a_kill_cut_off_is_told_and_answered_once_by_the_next_start(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        house, store = moot.house, moot.house.memories.store
        cut_off = Admissions.over(store, house.ledger, house.access, house.audit, clock)
        await cut_off.pairings.approve(code, OLIVIA)
        assert len(moot.texts()) == 1
    bot = FakeBot()
    async with gateway(tmp_path, access=OWNED, bot=bot) as moot:
        await moot.settle()
        assert sorted(texts(moot)) == sorted([LET_IN, ANSWER])
    async with gateway(tmp_path, access=OWNED, bot=bot) as moot:
        await moot.settle()
        assert len(moot.texts()) == 2
        assert await tell(moot, "thanks") == [ANSWER]


async def test_who_is_refused_is_told_once_and_gets_no_other_code(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        posted = await owner(moot, f"!pair refuse {code}")
        assert sorted(posted) == sorted([DECLINED, "Ash (`fake:ash`) is refused, and was told."])
        assert await tell(moot, "please") == []
        await age(moot, timedelta(days=30))
        assert await tell(moot, "please!") == []
        await owner(moot, "!role fake:ash guest everywhere")
        assert await tell(moot, "thank you") == [ANSWER]


async def test_only_owners_may_try_codes(tmp_path: Path) -> None:
    access = OWNED.model_copy(update={"people": frozenset({"fake:budi"})})
    room = Room("fake:general", "general")
    async with gateway(tmp_path, access=access) as moot:
        code = await asked_for_a_code(moot)
        assert await tell(moot, f"!pair {code}") == []
        assert await tell(moot, f"!pair {code}", by="budi", room=room) == [
            "Budi, `!pair` is for owners."
        ]
        assert await tell(moot, f"!pair {code}", by="olivia", room=room, kind="bot") == []
        assert [one.code for one in await moot.house.admissions.pairings.waiting()] == [code]
        await owner(moot, f"!pair {code}", room=room)
        assert await moot.house.admissions.pairings.waiting() == []


async def test_a_code_ends_after_a_day_and_the_next_message_brings_another(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        await age(moot, timedelta(hours=24))
        assert "No such code" in (await owner(moot, f"!pair {code}"))[0]
        assert await asked_for_a_code(moot, "still there?") != code


async def test_of_too_many_who_wait_the_oldest_goes(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        for number in range(MOST_WAITING + 2):
            room = Room(f"fake:dm-{number}", "x", "dm")
            await asked_for_a_code(moot, "hi", by=f"p{number}", room=room)
        waiting = await moot.house.admissions.pairings.waiting()
        assert [one.person.id for one in waiting] == [
            f"fake:p{number}" for number in range(2, MOST_WAITING + 2)
        ]
        assert len({one.code for one in waiting}) == MOST_WAITING


async def test_a_crowd_that_displaces_each_other_gets_a_line_each_and_no_more(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        codes: dict[str, str] = {}
        for number in [*range(MOST_WAITING + 1), *range(MOST_WAITING + 1)]:
            room = Room(f"fake:dm-{number}", "x", "dm")
            await moot.hear(said("hi", by=f"p{number}", room=room))
            for one in await moot.house.admissions.pairings.waiting():
                assert codes.setdefault(one.person.id, one.code) == one.code
        await moot.settle()
        assert len(moot.texts()) == len(codes) == MOST_WAITING + 1
        assert LET_IN in await owner(moot, f"!pair {codes[f'fake:p{MOST_WAITING}']}")


@pytest.mark.parametrize("command", ["!pair {}", "!pair refuse {}", "!role fake:paul member"])
async def test_what_can_not_be_noted_is_not_done(tmp_path: Path, command: str) -> None:
    full = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END"
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        await moot.house.memories.store.write(lambda connection: connection.execute(text(full)))
        await owner(moot, command.format(code))
        assert await moot.house.admissions.grants.listed() == []
        assert [one.code for one in await moot.house.admissions.pairings.waiting()] == [code]
        assert LET_IN not in moot.texts()


async def test_who_only_said_commands_is_let_in_without_an_answer(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot, "!help")
        posted = await owner(moot, f"!pair {code}")
        assert sorted(posted) == sorted(
            [LET_IN, "Ash (`fake:ash`) is a member in direct messages now."]
        )
        assert moot.programs.prompts == []


async def test_a_question_that_was_deleted_meanwhile_is_not_answered(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot, message_id="m-gone")
        await moot.receive(Deleted(DM, "m-gone"))
        assert LET_IN in await owner(moot, f"!pair {code}")
        assert moot.programs.prompts == []


async def test_closed_direct_messages_say_no_code(tmp_path: Path) -> None:
    closed = OWNED.model_copy(update={"dms": "closed"})
    async with gateway(tmp_path, access=closed) as moot:
        assert await tell(moot, "hello") == [
            "I can't answer you here yet. An owner can let you in with "
            "`!role fake:ash guest everywhere`."
        ]
        assert await tell(moot, "hello?") == []
        assert await moot.house.admissions.pairings.waiting() == []


async def test_where_nobody_is_an_owner_yet_the_line_tells_whoever_runs_it_what_to_type(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path / "paired", access=AccessTable()) as moot:
        [line] = await tell(moot, "hello")
        assert "`moot pair " in line
        assert "!pair" not in line
    async with gateway(tmp_path / "closed", access=AccessTable(dms="closed")) as moot:
        assert await tell(moot, "hello") == [
            "I can't answer you here yet. I have no owner yet. If you run me, type this on my "
            "machine: `moot access grant fake:ash owner`."
        ]


async def test_a_bots_direct_message_gets_no_code(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await tell(moot, "buy this", kind="bot", by="ads") == []
        assert await moot.house.admissions.pairings.waiting() == []


async def test_what_an_unknown_person_says_stands_in_the_transcript_and_is_never_learned(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await tell(moot, "my secret plan\n!pin it")
        columns = select(messages.c.content, messages.c.include_in_memory).order_by(messages.c.seq)
        first, *_ = await moot.house.memories.store.read(
            lambda connection: connection.execute(columns).all()
        )
        assert tuple(first) == ("my secret plan\n!pin it", False)
        assert moot.house.memories.hearing.waiting == {}
        await owner(moot, "hello")
        assert set(moot.house.memories.hearing.waiting) == {"dm:fake:olivia:demo"}


async def test_a_role_given_meanwhile_ends_the_code(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await asked_for_a_code(moot)
        await owner(moot, "!role fake:ash member everywhere")
        assert await moot.house.admissions.pairings.waiting() == []
        assert await tell(moot, "hello") == [ANSWER]


async def test_two_approvals_at_once_are_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
        for _ in range(2):
            await moot.hear(said(f"!pair {code}", by="olivia", room=OWNERS_DM))
        await moot.settle()
        assert texts(moot).count(ANSWER) == 1
        assert moot.texts().count(LET_IN) == 1
        assert len(await moot.house.admissions.grants.listed()) == 1
        columns = select(turns.c.persona).where(turns.c.persona == "demo", turns.c.header != "")
        found = await moot.house.memories.store.read(lambda c: c.execute(columns).all())
        assert len(found) == 1


def test_a_code_is_read_as_people_copy_it() -> None:
    assert as_code(" `k7rm-2qxp` ") == "K7RM2QXP"
    assert as_code("K7RM 2QXP") == "K7RM2QXP"
    assert as_code("É") == ""


async def test_a_message_that_is_told_again_makes_no_code_that_nobody_sees(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await asked_for_a_code(moot, "first", message_id="m-first")
        await tell(moot, "second", message_id="m-second")
    async with gateway(tmp_path, access=OWNED) as moot:
        await tell(moot, "first", message_id="m-first")
        [waiting] = await moot.house.admissions.pairings.waiting()
        assert waiting.question_seq != waiting.message_seq
        await age(moot, timedelta(days=2))
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await tell(moot, "first", message_id="m-first") == []
        assert await moot.house.admissions.pairings.waiting() == []


async def test_an_approval_through_a_bot_that_is_gone_harms_nobody(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        code = await asked_for_a_code(moot)
    other = FakeBot(name="new")
    async with gateway(tmp_path, access=OWNED, bot=other) as moot:
        posted = await owner_said(moot, f"!pair {code}")
        assert posted == [
            "Ash (`fake:ash`) is a member in direct messages now. Their question is being answered."
        ]


async def owner_said(moot: Opened, text: str) -> list[str]:
    """The same where turns of a bot that is gone stay open for ever."""
    before = len(moot.texts())
    await moot.hear(said(text, by="olivia", room=OWNERS_DM))
    await until(lambda: len(moot.texts()) > before)
    return texts(moot)[before:]
