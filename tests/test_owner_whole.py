"""A platform without an owner: `moot run` on a terminal asks whether whoever mentions the agent
first is the person who sits there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.doubles.approvals import until
from tests.doubles.approvals_own import platform
from tests.doubles.terminal import Terminal


def granted(folder: Path) -> list[tuple[str, str]]:
    """Who has which role, beside what moot.toml says."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        return database.execute("SELECT person_id, role FROM grants").fetchall()


@pytest.mark.parametrize("name", ["rocketchat", "discord"])
async def test_the_first_who_mentions_it_is_its_owner_once_that_is_confirmed(
    name: str, tmp_path: Path
) -> None:
    async with platform(name) as at:
        (tmp_path / "moot.toml").write_text(at.config(""))
        moot = Terminal(tmp_path, "run", **at.secrets)
        try:
            await moot.sees("to sign in, once")
            await at.listens()
            await at.say(f"{at.mention}hello", by="ash")
            olivia, ash = at.people("olivia", "ash")
            await moot.sees(f"({ash}) mentioned @demo: is that you?")
            moot.types("n\n")
            await at.say(f"{at.mention}hello", by="olivia")
            await moot.sees(f"({olivia}) mentioned @demo: is that you?")
            assert granted(tmp_path) == []
            moot.types("y\n")
            await moot.sees("is the owner now")
            await until(lambda: granted(tmp_path) == [(olivia, "owner")])
        finally:
            moot.process.terminate()
            await moot.ends()
