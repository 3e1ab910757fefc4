"""Roles in rooms: who is refused and how, `!role`, and every way in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.chat import Chosen, Edited, Inbound, Pinned, Room, Speaker
from gateway.commands.roles import RoleRequest, parse_wish
from gateway.core.reading import parse_command
from gateway.settings.access import AccessTable, GrantTable, PersonaAccessTable
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

OWNED = AccessTable(owners=frozenset({"fake:olivia"}))
OTHER = Room("fake:other", "other")
REFUSED = "I can't answer you here yet. An owner can let you in with `!role fake:ash guest`."
ANSWER = "Respond to Ash in room #general."


async def tell(moot: Opened, *given: Inbound) -> list[str]:
    before = len(moot.texts())
    for inbound in given:
        await moot.hear(inbound)
        await moot.settle()
    return moot.texts()[before:]


async def owner(moot: Opened, text: str, room: Room = ROOM) -> list[str]:
    return await tell(moot, said(text, by="olivia", room=room))


# ── Who has no role ─────────────────────────────────────────────────────────────────────


async def test_in_a_closed_room_a_stranger_hears_one_line_once_over_a_restart(
    tmp_path: Path,
) -> None:
    for expected in ([REFUSED], []):
        async with gateway(tmp_path, access=OWNED) as moot:
            assert await tell(moot, said("@demo hi"), said("@demo hello?")) == expected
            assert moot.programs.prompts == []


@pytest.mark.parametrize(
    "way",
    [
        said("@demo do it"),
        said("do it", mentioned=True),
        said("!stop"),
        said("@demo !new"),
        said("!pin this"),
        said("fine\n!decision that"),
        said("!role fake:ash owner"),
        said("!1"),
        replace(said("do it"), mentioned=True, reply_to="p1"),
        said("@demo do it", thread_id="t1"),
        said("do it", recipient_id="bot:demo"),
    ],
)
async def test_every_way_in_is_closed_to_a_stranger(tmp_path: Path, way: Inbound) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await owner(moot, "@demo hello")
        way = way if way.meta.model_extra == {} else replace(way, mentioned=True)
        assert await tell(moot, way) == [REFUSED]
        assert len(moot.programs.prompts) == 1
        assert await moot.house.memories.landmarks.listed("room:fake:general") == []
        assert moot.house.access.kept == ()


async def test_what_a_stranger_says_unasked_is_answered_by_nobody(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        room = said("just talking")
        assert await tell(moot, room) == []
        edited = Edited(ROOM, room.message_id, "@demo do it", datetime.now(UTC))
        await moot.receive(edited)
        pinned = Pinned(ROOM, room.message_id, room.meta.speaker(), pinned=True)
        await moot.receive(pinned)
        await moot.settle()
        assert moot.texts() == []
        assert await moot.house.memories.landmarks.listed("room:fake:general") == []


async def test_a_guest_pins_nothing_by_the_platforms_own_means_either(tmp_path: Path) -> None:
    access = OWNED.model_copy(
        update={"grants": (GrantTable(role="guest", people=frozenset({"fake:ash"})),)}
    )
    async with gateway(tmp_path, access=access) as moot:
        message = said("we rotate")
        await tell(moot, message)
        for by, expected in ((message.meta.speaker(), 0), (Speaker("fake:olivia", "Olivia"), 1)):
            await moot.receive(Pinned(ROOM, message.message_id, by, pinned=True))
            assert len(await moot.house.memories.landmarks.listed("room:fake:general")) == expected


async def test_a_strange_bot_is_told_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await tell(moot, said("@demo buy", kind="bot", by="ads")) == []
        assert moot.programs.prompts == []


async def test_a_guest_asks_and_looks_and_changes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await owner(moot, "!role fake:ash guest")
        assert await tell(moot, said("@demo hi")) == [ANSWER]
        assert (await tell(moot, said("!landmarks")))[0].startswith("Nothing is pinned here.")
        refused = "`!role fake:ash member`."
        for text in ("!new", "!pin x", "!compact", "!unpin 1", "@demo !new"):
            [line] = await tell(moot, said(text))
            assert line.endswith(f"is for members; an owner can say {refused}")
        assert await tell(moot, said("!role fake:ash owner")) == ["Ash, `!role` is for owners."]
        [line] = await tell(moot, said("!memory off"))
        assert "only an owner" in line


async def test_a_persona_for_members_says_so_to_a_guest_once(tmp_path: Path) -> None:
    access = OWNED.model_copy(update={"personas": {"deploy": PersonaAccessTable(invoke="member")}})
    async with gateway(tmp_path, access=access, personas=("demo", "deploy")) as moot:
        await owner(moot, "!role fake:ash guest")
        line = "I answer only members here. An owner can let you in with `!role fake:ash member`."
        assert await tell(moot, said("@deploy go"), said("@deploy go!")) == [line]
        assert sorted(await tell(moot, said("@demo @deploy hi"))) == [ANSWER]
        await owner(moot, "!role fake:ash member with @deploy")
        assert await tell(moot, said("@deploy go")) == [ANSWER]


async def test_a_stranger_presses_no_button(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await moot.receive(Chosen("q1", 0, Speaker("fake:ash", "Ash"), ""))
        assert moot.texts() == []


# ── A persona hands over ────────────────────────────────────────────────────────────────


async def _hands_over(prompt: str, reply: Reply) -> str:
    return "over to you, @deploy" if "You are: @demo" in prompt else "deployed"


async def test_a_persona_hands_over_only_to_whom_the_person_may_ask(tmp_path: Path) -> None:
    access = AccessTable(
        rooms="open",
        owners=frozenset({"fake:olivia"}),
        personas={"deploy": PersonaAccessTable(invoke="owner")},
    )
    async with gateway(
        tmp_path,
        access=access,
        personas=("demo", "deploy"),
        programs=ScriptedPrograms(_hands_over),
    ) as moot:
        asked = await tell(moot, said("@demo deploy it"), said("@demo deploy it!"))
        assert asked[0] == asked[2] == "over to you, @deploy"
        assert asked[1].endswith(
            "needs to be its owner here (`!role fake:ash owner`, says an owner)."
        )
        assert len(asked) == 3
        assert "deployed" in await owner(moot, "@demo deploy it")


# ── !role ───────────────────────────────────────────────────────────────────────────────


async def test_a_role_holds_at_once_in_its_room_and_over_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await tell(moot, said("@demo hi"))
        assert await owner(moot, "!role @Ash member") == ["Ash (`fake:ash`) is a member here now."]
        assert await tell(moot, said("@demo hi")) == [ANSWER]
        assert len(await tell(moot, said("@demo hi", room=OTHER))) == 1
        assert len(moot.programs.prompts) == 1
    async with gateway(tmp_path, access=OWNED) as moot:
        assert await tell(moot, said("@demo hi")) == [ANSWER]
        assert await owner(moot, "!role fake:ash none") == [
            "Ash (`fake:ash`) has no kept role here any more."
        ]
        assert await tell(moot, said("@demo hi")) == [REFUSED]  # it is told again


async def test_a_new_role_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await owner(moot, "!role fake:ash owner")
        await owner(moot, "!role fake:ash guest")
        [held] = await moot.house.admissions.grants.listed()
        assert (held.role, held.span.room_id) == ("guest", ROOM.id)
        assert "is for members" in (await tell(moot, said("!new")))[0]


async def test_what_moot_toml_gives_is_not_taken_back_in_the_chat(tmp_path: Path) -> None:
    access = OWNED.model_copy(update={"people": frozenset({"fake:ash"})})
    async with gateway(tmp_path, access=access) as moot:
        assert await owner(moot, "!role fake:ash none") == [
            "ash (`fake:ash`) has no kept role here. "
            "moot.toml makes them a member here, and only there can that be changed."
        ]
        assert await tell(moot, said("@demo hi")) == [ANSWER]


async def test_a_role_that_holds_everywhere_is_told_when_one_room_takes_it(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await tell(moot, said("hi"))
        await owner(moot, "!role Ash member everywhere")
        [line] = await owner(moot, "!role Ash none")
        assert line.endswith("`!role fake:ash none everywhere` takes it back.")
        assert await tell(moot, said("@demo hi", room=OTHER)) == ["Respond to Ash in room #other."]
        await owner(moot, "!role Ash none everywhere")
        assert await tell(moot, said("@demo hi")) == [REFUSED]


async def test_an_owner_of_one_room_decides_there_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await owner(moot, "!role fake:ash owner")
        posted = await tell(moot, said("!role fake:budi member everywhere"), said("!pair"))
        assert posted == ["That is for owners of the whole house, not of one room or persona."] * 2
        [line] = await tell(moot, said("!role fake:budi member"))
        assert "is a member here now" in line
        [line] = await tell(moot, said("!role fake:budi member", room=OTHER))
        assert line == REFUSED


async def test_a_name_that_two_people_have_is_asked_back(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        for by in ("ash", "ash2"):
            await tell(moot, said("hi", by=by, sender_display_name="Ash"))
        assert await owner(moot, "!role @ash member") == [
            "2 people are called @\u2060ash: say which, `fake:ash2`, `fake:ash`."
        ]
        assert "I don't know nobody here" in (await owner(moot, "!role nobody member"))[0]
        assert moot.house.access.kept == ()


async def test_a_person_is_meant_by_their_mention(tmp_path: Path) -> None:
    bot = FakeBot(roster=[Speaker("fake:U9", "Zoe Ann", mention="<@U9>")])
    async with gateway(tmp_path, access=OWNED, bot=bot) as moot:
        for who in ("<@U9>", "<@U9|zoe>", "zoe ann", "@Zoe Ann"):
            assert await owner(moot, f"!role {who} guest") == [
                "Zoe Ann (`fake:U9`) is a guest here now.\n\n<@U9> you are a guest now: "
                "you can ask an agent by mentioning it; `!help` tells more."
            ]


async def test_nobody_is_told_of_a_role_below_their_own(tmp_path: Path) -> None:
    access = OWNED.model_copy(update={"rooms": "open"})
    bot = FakeBot(roster=[Speaker("fake:U9", "Zoe Ann", mention="<@U9>")])
    async with gateway(tmp_path, access=access, bot=bot) as moot:
        [line] = await owner(moot, "!role zoe ann guest")
        assert "<@U9>" not in line
        assert "moot.toml makes them a member here" in line


async def test_in_a_direct_message_a_role_needs_its_place(tmp_path: Path) -> None:
    dm = Room("fake:dm-olivia", "Olivia", "dm")
    async with gateway(tmp_path, access=OWNED) as moot:
        [line] = await owner(moot, "!role fake:ash member", room=dm)
        assert line.startswith("Roles are for rooms")
        [line] = await owner(moot, "!role fake:ash member everywhere", room=dm)
        assert "is a member everywhere now" in line


async def test_a_bot_is_never_made_an_owner(tmp_path: Path) -> None:
    bot = FakeBot(roster=[Speaker("fake:B1", "Ads", "bot")])
    async with gateway(tmp_path, access=OWNED, bot=bot) as moot:
        assert await owner(moot, "!role Ads owner") == ["role: a bot is never an owner"]
        assert moot.house.access.kept == ()


async def test_the_roles_are_listed(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        await tell(moot, said("hi"))
        await owner(moot, "!role Ash guest")
        assert await owner(moot, "!role") == [
            "Who may do what here:\n- fake:olivia: an owner (moot.toml)\n"
            "- Ash (`fake:ash`): a guest in general (by Olivia)"
        ]


async def test_nobody_mistypes_a_role_into_effect(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=OWNED) as moot:
        for text in ("!role fake:ash", "!role fake:ash king", "!role owner", "!role * owner"):
            await owner(moot, text)
        assert moot.house.access.kept == ()
        [line] = await owner(moot, "!role fake:ash member with @nobody")
        assert line == "There is no persona `nobody` here."


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("@Ash member", RoleRequest("@Ash", "member", False, None)),
        ("Ash K. Ray owner everywhere", RoleRequest("Ash K. Ray", "owner", True, None)),
        ("<@U1> NONE here", RoleRequest("<@U1>", None, False, None)),
        ("a guest with @Claude", RoleRequest("a", "guest", False, "claude")),
        ("member", None),
        ("Ash everywhere", None),
        ("", None),
    ],
)
def test_a_wish_is_read(text: str, wish: RoleRequest | None) -> None:
    assert parse_wish(text) == wish


def test_role_and_pair_are_commands_that_need_no_address() -> None:
    for text in ("!role", "!pair K7RM2QXP", "!role @Ash member"):
        assert parse_command(text, addressed=False) is not None
