"""A turn keeps the persona that it began with; the next one has the new one. Peers hand over."""

import asyncio
import re
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.agent import Option, Question
from contract.chat import Room
from contract.errors import Busy
from gateway.settings.access import AccessTable
from tests.doubles.chat import Chat
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

OWNED = AccessTable(rooms="open", owners=frozenset({"fake:ash"}))
FACE = "---\nagent: scripted\navatar: https://example.org/{0}.png\nmodel: {0}\n---\nYou are {0}.\n"


async def test_a_turn_that_runs_keeps_its_persona_whatever_becomes_of_the_file(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()
    seen: list[str] = []

    async def script(prompt: str, reply: Reply) -> str:
        seen.append(prompt)
        await gate.wait()
        return "done"

    bot = FakeBot()
    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, bot=bot, programs=programs, personas=("ada", "bob")) as moot:
        path = tmp_path / "personas" / "ada.md"
        path.write_text(FACE.format("old"))
        await moot.hear(said("@ada one"))
        await until(lambda: len(seen) == 1)
        for text in (FACE.format("new"), "broken"):
            path.write_text(text)
            moot.house.personas.refresh()
        path.unlink()
        moot.house.personas.refresh()
        assert moot.house.personas.good.get("ada") is None
        gate.set()
        await moot.settle()
        [post] = bot.posted
        assert post.text == "done"
        assert post.place.voice is not None
        assert post.place.voice.name == "ada"
        assert post.place.voice.avatar == "https://example.org/old.png"


async def test_the_next_turn_gets_the_new_body_in_the_same_conversation(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        path = tmp_path / "personas" / "demo.md"
        await moot.hear(said("@demo one"))
        await moot.settle()
        path.write_text(FACE.format("new"))
        await moot.hear(said("@demo two"))
        await moot.settle()
        old, new = moot.programs.launches
        assert (old.persona, new.persona) == ("You are demo.", "You are new.")
        assert (old.session_id, new.session_id) == (None, "s1")
        assert new.model == "new"
        assert moot.programs.agents[0].closed
        assert "demo one" in moot.programs.prompts[1]


async def test_what_only_people_see_begins_no_program_anew(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        path = tmp_path / "personas" / "demo.md"
        await moot.hear(said("@demo one"))
        await moot.settle()
        path.write_text("---\nagent: scripted\ndescription: other\n---\nYou are demo.\n")
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert len(moot.programs.launches) == 1


async def test_a_turn_that_waits_begins_with_the_file_of_its_beginning(tmp_path: Path) -> None:
    gate = asyncio.Event()
    seen: list[str] = []

    async def script(prompt: str, reply: Reply) -> str:
        seen.append(prompt)
        await gate.wait()
        return "done"

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs) as moot:
        await moot.hear(said("@demo one"))
        await until(lambda: len(seen) == 1)
        await moot.hear(said("@demo two"))
        (tmp_path / "personas" / "demo.md").write_text(FACE.format("new"))
        gate.set()
        await moot.settle()
        assert [launch.persona for launch in programs.launches] == ["You are demo.", "You are new."]


async def test_the_record_and_why_say_which_version_it_was(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        (tmp_path / "personas" / "demo.md").write_text(FACE.format("new"))
        accepted = await moot.hear(said("@demo two"))
        await moot.settle()
        record = await moot.house.services.chat.turn(accepted.turns[0].id)
        assert record is not None
        assert record.persona_version == 2
        await moot.hear(said("!why"))
        await moot.settle()
        assert "with version 2 of its persona" in moot.texts()[-1]


# ── !persona ────────────────────────────────────────────────────────────────────────────────


async def say(moot: Opened, text: str, by: str = "ash") -> str:
    await moot.hear(said(text, by=by))
    await moot.settle()
    return moot.texts()[-1]


async def test_the_personas_tell_of_themselves_and_of_their_past(tmp_path: Path) -> None:
    async with gateway(tmp_path, personas=("ada", "bob"), access=OWNED) as moot:
        path = tmp_path / "personas" / "ada.md"
        assert "- @ada: ada (version 1)\n- @bob: bob (version 1)" in await say(moot, "!persona")
        path.write_text(FACE.format("new"))
        told = await say(moot, "!persona ada")
        assert "(version 2) is told:" in told
        assert "You are new." in told
        history = await say(moot, "!persona history ada", by="mia")
        assert re.search(r"- 2: edited outside of Moot, .*\n- 1: as Moot found it, ", history)
        assert "-You are ada.\n+You are new." in await say(moot, "!persona diff ada")
        assert "-You are ada.\n+You are new." in await say(moot, "!persona diff ada 1 2")
        assert await say(moot, "!persona diff ada 2") == "They are the same."


async def test_owners_roll_back_and_nobody_else_does(tmp_path: Path) -> None:
    async with gateway(tmp_path, personas=("ada", "bob"), access=OWNED) as moot:
        path = tmp_path / "personas" / "ada.md"
        before = path.read_text()
        await say(moot, "!persona")
        path.write_text(FACE.format("new"))
        refused = await say(moot, "!persona rollback ada 1", by="mia")
        assert refused.startswith("Mia, `!persona rollback` is for owners.")
        assert path.read_text() == FACE.format("new")
        assert "say which one: `ada`, `bob`" in (await say(moot, "!persona rollback")).lower()
        done = await say(moot, "!persona rollback ada 1")
        assert done == "@ada is as in version 1 again, now version 3: from its next turn on."
        assert path.read_text() == before
        rows = (await Chat(moot.house.memories.store).dump())["audit"]
        acts = [(row[2], row[3], row[5], row[8]) for row in rows if row[2] == "persona"]
        assert acts == [("persona", "fake:ash", "ada", {"how": "rollback", "version": 3})]


async def test_the_owner_of_one_room_takes_no_personas_sandbox_away(tmp_path: Path) -> None:
    grant = {"role": "owner", "people": ["fake:mia"], "rooms": ["fake:general"]}
    access = AccessTable.model_validate({**OWNED.model_dump(), "grants": [grant]})
    async with gateway(tmp_path, personas=("ada", "bob"), access=access) as moot:
        path = tmp_path / "personas" / "ada.md"
        await say(moot, "!persona")
        boxed = "---\nagent: scripted\nsandbox: on\n---\nYou are boxed.\n"
        path.write_text(boxed)
        assert "(version 2)" in await say(moot, "!persona")
        refused = await say(moot, "!persona rollback ada 1", by="mia")
        assert refused == "Mia, `!persona rollback` is for owners of the whole house."
        assert path.read_text() == boxed
        await say(moot, "!persona rollback ada 1")
        assert path.read_text() != boxed
        rows = (await Chat(moot.house.memories.store).dump())["audit"]
        assert [(r[2], r[3]) for r in rows if r[2] in ("refuse", "persona")] == [
            ("refuse", "fake:mia"),
            ("persona", "fake:ash"),
        ]


async def test_a_room_is_not_shown_a_persona_that_is_not_in_it(tmp_path: Path) -> None:
    grant = {"role": "owner", "people": ["fake:mia"], "rooms": ["fake:general"]}
    access = AccessTable.model_validate({**OWNED.model_dump(), "dms": "open", "grants": [grant]})
    elsewhere = FakeBot("other", personas=("bob",))
    async with gateway(tmp_path, siblings=[elsewhere], personas=("ada",), access=access) as moot:
        for by in ("mia", "ash"):
            for words in ("bob", "history bob", "diff bob 1"):
                told = await say(moot, f"!persona {words}", by=by)
                assert told == "There is no persona 'bob' here."
        await moot.hear(said("!persona bob", room=Room("fake:d1", "Ash", "dm")))
        await moot.settle()
        assert "You are bob." in moot.texts()[-1]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("!persona zoe", "There is no persona 'zoe'"),
        ("!persona history ../ada", "There is no persona '../ada' here"),
        ("!persona rollback ../ada", "persona's name is a lower case letter"),
        ("!persona rollback ada 9", "no version 9"),
        ("!persona diff ada 1 2 3", "Say `!persona`"),
        ("!persona ada bob", "Say `!persona`"),
    ],
)
async def test_what_makes_no_sense_gets_one_line(tmp_path: Path, text: str, answer: str) -> None:
    async with gateway(tmp_path, personas=("ada", "bob"), access=OWNED) as moot:
        assert answer in await say(moot, text)


# ── Peers ───────────────────────────────────────────────────────────────────────────────────


async def test_a_persona_knows_who_else_is_there_and_hands_over_within_the_limit(
    tmp_path: Path,
) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        you = re.search(r"You are: @(\w+)", prompt)
        return "@bob please, @bob" if you and you[1] == "ada" else "@ada back to you"

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, personas=("ada", "bob")) as moot:
        await moot.hear(said("@ada do it"))
        await moot.settle()
        first, second, third = programs.prompts
        assert "@bob (bot)" in first.split("\n\n")[0]
        assert "@ada (bot)" not in first.split("\n\n")[0]
        assert "@ada (bot)" in second.split("\n\n")[0]
        assert "Respond to @ada (bot, hop 1 of 2)" in second
        assert "Respond to @bob (bot, hop 2 of 2)" in third
        assert moot.texts() == ["@bob please, @bob", "@ada back to you", "@bob please, @bob"]


async def test_a_hand_over_goes_on_when_the_file_of_who_hands_over_is_gone(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        if "You are: @ada" in prompt:
            (tmp_path / "personas" / "ada.md").unlink()
            return "@bob please"
        return "done"

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, personas=("ada", "bob")) as moot:
        await moot.hear(said("@ada do it"))
        await moot.settle()
        assert moot.texts() == ["@bob please", "done"]


# ── Rehearsals ──────────────────────────────────────────────────────────────────────────────


async def test_a_preview_is_what_the_room_would_give_and_changes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("we use postgres", by="mia"))
        await moot.settle()
        chat = Chat(moot.house.memories.store)
        before = await chat.dump()
        rehearsal = moot.house.services.dry_runs
        persona = moot.house.personas.good["demo"]
        by = said("x").meta.speaker()
        shown = await rehearsal.preview(persona, "fake:general", by, "which database?")
        assert shown.system == "You are demo."
        assert "we use postgres" in shown.header.text
        assert "which database?" in shown.header.text
        assert "Respond to Ash" in shown.header.text
        assert moot.programs.launches == []
        assert await chat.dump() == before


async def test_a_dry_run_asks_an_agent_that_leaves_nothing_behind(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        chosen = await reply.choose(
            Question("q", "Run ls?", "", (Option("Yes"), Option("No", True)))
        )
        return f"chose {chosen}"

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs) as moot:
        await moot.hear(said("hello", by="mia"))
        await moot.settle()
        chat = Chat(moot.house.memories.store)
        before = await chat.dump()
        posts = len(moot.bot.posted)
        desk = moot.house.persona_service
        persona = desk.persona_of("demo", "---\nagent: scripted\nworkspace: /\n---\nNew.\n")
        by = said("x").meta.speaker()
        done = await moot.house.services.dry_runs.dry_run(persona, "fake:general", by, "hi")
        assert (done.answer, done.asked, done.trouble) == ("chose 1", ["Run ls?"], "")
        launch = programs.launches[-1]
        assert launch.persona == "New."
        assert launch.session_id is None
        assert launch.memory is None
        for path in (launch.home, launch.workspace):
            assert path.is_relative_to(tmp_path / "data")
            assert not path.exists()
        assert programs.agents[-1].closed
        assert len(moot.bot.posted) == posts
        assert await chat.dump() == before


async def test_a_dry_run_ends_in_time_and_another_one_waits_for_nobody(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        reply.draft("half")
        await asyncio.Event().wait()
        return ""

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs) as moot:
        rehearsal = moot.house.services.dry_runs
        rehearsal.answer_s = 0.5
        persona = moot.house.personas.good["demo"]
        by = said("x").meta.speaker()
        running = asyncio.create_task(rehearsal.dry_run(persona, "", by, "hi"))
        await until(lambda: bool(programs.prompts))
        with pytest.raises(Busy):
            await rehearsal.dry_run(persona, "", by, "hi")
        done = await running
        assert (done.answer, done.trouble) == ("half", "No end after 0.5 s.")
        assert programs.agents[0].closed
        assert list((tmp_path / "data").glob("dry-run-*")) == []
