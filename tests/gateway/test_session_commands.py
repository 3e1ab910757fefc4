"""`!sessions` and `!resume`: earlier conversations are listed, and gone on with."""

from pathlib import Path

from sqlalchemy import Connection

from contract.chat import Deleted, Room
from gateway.settings.access import AccessTable, GrantTable
from memory.erasure.person import erase_person, plan_erasure
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

OTHER = Room("fake:other", "other")


async def say(moot: Opened, *texts: str, by: str = "ash", room: Room | None = None) -> str:
    for text in texts:
        await moot.hear(said(text, by=by, room=room) if room else said(text, by=by))
        await moot.settle()
    return moot.texts()[-1]


async def test_what_new_ended_is_listed_and_can_be_gone_on_with(tmp_path: Path) -> None:
    programs = ScriptedPrograms(numbered=True)
    async with gateway(tmp_path, programs=programs) as moot:
        listed = await say(
            moot, "@demo why is it red?", "@demo and now?", "!new", "@demo b", "!sessions"
        )
        heading, second, first = listed.split("\n")
        assert heading == "@demo's sessions here:"
        assert second.endswith(', 1 turn, "b", the one of now')
        assert first.startswith("- 1: 20")
        assert first.endswith(', 2 turns, "why is it red?"')
        told = await say(moot, "!resume 1")
        assert told == "The next turn of @demo goes on with session 1."
        assert 'red?", the one of now' in await say(moot, "!sessions")
        await say(moot, "@demo go on")
        assert [one.session_id for one in programs.launches] == [None, None, "s1"]
        assert '3 turns, "why is it red?", the one of now' in await say(moot, "!sessions demo")
        assert await say(moot, "!resume 1") == "@demo is in session 1 now."
    async with gateway(tmp_path, programs=programs) as moot:
        await say(moot, "@demo after a restart")
        assert programs.launches[-1].session_id == "s1"


async def test_another_rooms_sessions_are_neither_listed_nor_resumed(tmp_path: Path) -> None:
    programs = ScriptedPrograms(numbered=True)
    async with gateway(tmp_path, programs=programs) as moot:
        await say(moot, "@demo a secret plan", "!new")
        none = await say(moot, "!sessions", room=OTHER)
        assert none == "@demo has no session here that could be told apart."
        refused = await say(moot, "!resume 1", room=OTHER)
        assert refused == "There is no session '1' here; `!sessions` lists them."


async def test_a_guest_may_list_and_not_resume_and_no_program_resumes_what_it_cannot(
    tmp_path: Path,
) -> None:
    programs = ScriptedPrograms(numbered=True, resumes=False)
    member = GrantTable(role="member", people=frozenset({"fake:ash"}))
    guest = GrantTable(role="guest", people=frozenset({"fake:budi"}))
    access = AccessTable(grants=(member, guest))
    async with gateway(tmp_path, programs=programs, access=access) as moot:
        await say(moot, "@demo a", "!new")
        assert '1 turn, "a"' in await say(moot, "!sessions", by="budi")
        assert "is for members" in await say(moot, "!resume 1", by="budi")
        told = await say(moot, "!resume 1")
        assert told == "@demo: Scripted can't go back to an earlier session."


async def test_a_deleted_message_shows_no_words(tmp_path: Path) -> None:
    programs = ScriptedPrograms(numbered=True)
    async with gateway(tmp_path, programs=programs) as moot:
        message = said("@demo my password is hunter2")
        await moot.hear(message)
        await moot.settle()
        await moot.receive(Deleted(message.room, message.message_id))
        assert "a message that is gone" in await say(moot, "!sessions")


async def test_a_session_that_heard_somebody_who_was_deleted_is_gone(tmp_path: Path) -> None:
    programs = ScriptedPrograms(numbered=True)
    async with gateway(tmp_path, programs=programs) as moot:
        await say(moot, "@demo a", "!new")
        await say(moot, "@demo I am Budi", by="budi")
        await say(moot, "@demo b")
        assert (await say(moot, "!sessions")).count("\n") == 2

        def erase(connection: Connection) -> None:
            erase_person(connection, plan_erasure(connection, "fake:budi"))

        await moot.house.context.store.write(erase)
        none = "@demo has no session here that could be told apart."
        assert await say(moot, "!sessions") == none
        assert (
            await say(moot, "!resume 1") == "There is no session '1' here; `!sessions` lists them."
        )
