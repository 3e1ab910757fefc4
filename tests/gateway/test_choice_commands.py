"""`!workspace` and `!mode`: what an administrator listed may be chosen, by its name alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.chat import MOOT, Room, Speaker
from gateway.access.grants import GrantSpan
from gateway.sessions.sessions import AgentProgram
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.tables import AgentTable, RoomsTable
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

OTHER = Room("fake:other", "other")
ROLES = AccessTable(
    rooms="closed",
    grants=(
        GrantTable(role="owner", people=frozenset({"fake:olivia"})),
        GrantTable(role="member", people=frozenset({"fake:ash"})),
        GrantTable(role="guest", people=frozenset({"fake:budi"})),
    ),
)


def modal() -> tuple[ScriptedPrograms, Callable[[str], AgentProgram]]:
    """Programs that have every mode, and whose sessions have ids of their own."""
    scripted = ScriptedPrograms(numbered=True)

    def programs(name: str) -> AgentProgram:
        return replace(scripted(name), modes=frozenset({"plan", "ask", "auto"}))

    return scripted, programs


def options(**agent: Any) -> dict[str, Any]:
    return {"agents": {"scripted": AgentTable(**agent)}}


async def say(moot: Opened, *texts: str, by: str = "ash", **more: Any) -> str:
    for text in texts:
        await moot.hear(said(text, by=by, **more))
        await moot.settle()
    return moot.texts()[-1]


async def acts(moot: Opened, *wanted: str) -> list[tuple[str, Any]]:
    rows = [row async for some in moot.house.audit.rows() for row in some]
    return [(row["act"], row["detail"]) for row in rows if row["act"] in wanted]


async def test_a_folder_is_chosen_by_its_name_and_a_new_session_begins_there(
    tmp_path: Path,
) -> None:
    saga = tmp_path / "saga"
    saga.mkdir()
    scripted, programs = modal()
    given = options(workspaces={"saga": saga, "gone": tmp_path / "gone"})
    async with gateway(tmp_path, programs=programs, access=ROLES, options=given) as moot:
        await say(moot, "@demo a")
        assert await say(moot, "!workspace") == (
            "@demo may work in: `gone`, `saga`, `default` (its own, as now)."
        )
        assert "is for members" in await say(moot, "!workspace saga", by="budi")
        for refused in ("/etc", "../saga", "~/src", "saga/../gone", "nosuch"):
            assert await say(moot, f"!workspace {refused}") == (
                f"There is no folder {refused!r}. "
                "@demo may work in: `gone`, `saga`, `default` (its own, as now)."
            )
        assert await say(moot, "!workspace Saga") == (
            "@demo works in `saga` here: its next turn begins a new session there."
        )
        assert "`saga` (chosen here)" in await say(moot, "!workspace demo")
        await say(moot, "@demo b")
        await say(moot, "@demo elsewhere", room=OTHER)
        assert [one.workspace == saga for one in scripted.launches] == [False, True, False]
        assert [one.session_id for one in scripted.launches] == [None, None, None]
        assert "in saga" in await say(moot, "!status")
        assert "sessions here (in saga):" in await say(moot, "!sessions")
        assert await acts(moot, "workspace") == [("workspace", {"workspace": "saga"})]
    async with gateway(tmp_path, programs=programs, access=ROLES, options=given) as moot:
        await say(moot, "@demo after a restart")
        assert scripted.launches[-1].workspace == saga
        assert scripted.launches[-1].session_id == "s2"
        await say(moot, "!workspace default", "@demo c")
        assert scripted.launches[-1].workspace == scripted.launches[0].workspace
        await say(moot, "!workspace gone")
        assert "is not there" in await say(moot, "@demo d")
    async with gateway(tmp_path, programs=programs, access=ROLES, options=options()) as moot:
        await say(moot, "@demo what isn't listed any more is not chosen")
        assert scripted.launches[-1].workspace == scripted.launches[0].workspace
        assert await say(moot, "!workspace saga") == "@demo has no folders to choose from."


async def test_a_thread_with_a_session_of_its_own_has_its_own_folder_and_mode(
    tmp_path: Path,
) -> None:
    saga, docs = tmp_path / "saga", tmp_path / "docs"
    for folder in (saga, docs):
        folder.mkdir()
    scripted, programs = modal()
    given = options(workspaces={"saga": saga, "docs": docs})
    given["rooms"] = RoomsTable(sessions="thread")
    async with gateway(tmp_path, programs=programs, access=ROLES, options=given) as moot:
        await say(moot, "@demo a", "!workspace saga", "!mode plan", thread_id="t1")
        await say(moot, "@demo b", thread_id="t2")
        await say(moot, "@demo a", thread_id="t1")
        assert (scripted.launches[-1].workspace, scripted.launches[-1].mode) == (saga, "plan")
        await say(moot, "!workspace docs")
        await say(moot, "@demo b", thread_id="t2")
        assert (scripted.launches[-1].workspace, scripted.launches[-1].mode) == (docs, "")
        assert scripted.launches[-1].session_id is None, "a new one begins in the room's folder"
        count = len(scripted.launches)
        await say(moot, "@demo a", thread_id="t1")
        assert len(scripted.launches) == count, "the thread that chose goes on"


async def test_a_mode_is_chosen_within_what_is_allowed_and_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    scripted, programs = modal()
    async with gateway(tmp_path, programs=programs, access=ROLES) as moot:
        await say(moot, "@demo a")
        assert await say(moot, "!mode") == (
            "@demo may be in the modes: `plan`, `ask`, `default` (as it begins, as now)."
        )
        assert "is for members" in await say(moot, "!mode plan", by="budi")
        assert (
            await say(moot, "!mode plan") == "From its next turn on @demo is in mode `plan` here."
        )
        await say(moot, "@demo b")
        assert [(one.mode, one.session_id) for one in scripted.launches] == [
            ("", None),
            ("plan", "s1"),
        ]
        assert "mode plan" in await say(moot, "!status")
        assert (await say(moot, "!mode auto", by="olivia")).startswith(
            "The mode 'auto' is not one of them."
        ), "no administrator listed it"
        assert await acts(moot, "mode") == [("mode", {"mode": "plan"})]
        assert await say(moot, "!mode default") == (
            "@demo begins a new session here with its next turn, in no mode chosen."
        )
        await say(moot, "@demo c")
        assert (scripted.launches[-1].mode, scripted.launches[-1].session_id) == ("", None)


@pytest.mark.parametrize("where", ["agent", "persona"])
async def test_auto_is_an_owners_where_an_administrator_listed_it(
    tmp_path: Path, where: str
) -> None:
    scripted, programs = modal()
    given = options(modes=["ask", "auto"]) if where == "agent" else {}
    async with gateway(tmp_path, programs=programs, access=ROLES, options=given) as moot:
        if where == "persona":
            file = tmp_path / "personas" / "demo.md"
            file.write_text("---\nagent: scripted\nmodes: [ask, auto]\n---\nYou are demo.\n")
        await say(moot, "@demo a")
        assert await say(moot, "!mode auto") == "Ash, `!mode auto` is for owners."
        assert await say(moot, "!mode demo auto") == "Ash, `!mode auto` is for owners."
        assert "not one of them" in await say(moot, "!mode plan", by="olivia")
        await say(moot, "!mode auto", by="olivia")
        await say(moot, "@demo b")
        assert scripted.launches[-1].mode == "auto"
        told = await acts(moot, "mode", "refuse")
        assert [act for act, _ in told] == ["refuse", "refuse", "mode"]
        assert await say(moot, "!mode ask") == "From its next turn on @demo is in mode `ask` here."


async def test_auto_becomes_ask_when_the_one_who_chose_it_is_no_owner_any_more(
    tmp_path: Path,
) -> None:
    scripted, programs = modal()
    given = options(modes=["ask", "auto"])
    async with gateway(tmp_path, programs=programs, access=ROLES, options=given) as moot:
        grants = moot.house.admissions.grants
        rita = Speaker("fake:rita", "Rita")
        await grants.grant(rita, "owner", GrantSpan(), MOOT)
        await say(moot, "!mode auto", by="rita")
        await say(moot, "!model demo default")  # what somebody else chooses changes nothing of it
        await say(moot, "@demo a")
        assert scripted.launches[-1].mode == "auto"
        await grants.revoke(MOOT, lambda held: held.person.id == rita.id)
        assert "mode ask" in await say(moot, "!status")
        await say(moot, "@demo b")
        assert (scripted.launches[-1].mode, scripted.launches[-1].session_id) == ("ask", "s1")
        assert "`ask` (chosen here)" in await say(moot, "!mode")


async def test_a_program_without_modes_says_so(tmp_path: Path) -> None:
    async with gateway(tmp_path, access=ROLES) as moot:
        assert await say(moot, "!mode plan") == "@demo has no modes to choose from."
