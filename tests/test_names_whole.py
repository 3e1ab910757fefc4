"""Whose word it is, from outside: a program with an owner's token speaks as other people."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.approvals import until
from tests.doubles.credentials import program_at
from tests.doubles.service import service
from tests.doubles.slack import ASH, GENERAL, OLIVIA, SlackDouble
from tests.test_approvals_whole import allowed, asked, installation

PROGRAM = ("moot:shell", "the command line")


async def send(client: aiohttp.ClientSession, path: str, body: Any) -> tuple[int, Any]:
    async with client.post(path, json=body) as response:
        return response.status, await response.json()


async def say_as(client: aiohttp.ClientSession, person: str, number: int, text: str) -> None:
    """Say it in the channel in the name of somebody at Slack, and wait until it was read."""
    body = {
        "content": text,
        "metadata": {
            "source": "slack",
            "sender_id": f"slack:{person}",
            "sender_display_name": person,
            "sender_type": "human",
            "through": {"id": f"slack:{person}", "name": "nobody else"},
        },
        "room": f"slack:{GENERAL}",
        "message_id": f"9999999999.00000{number}",  # after the question, by the platform's order
        "wait": 30,
    }
    status, told = await send(client, "/api/submit", body)
    assert status == 200, told


def audit(folder: Path, *acts: str) -> list[tuple[str, str, str, dict[str, Any]]]:
    """The rows of these acts: by whose id and name, and the detail."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        rows = database.execute("SELECT act, by_id, by_name, detail FROM audit ORDER BY seq")
        return [(a, i, n, json.loads(d)) for a, i, n, d in rows.fetchall() if a in acts]


async def test_a_program_is_neither_of_two_people_and_is_on_record_itself(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config, secrets = installation(slack)
        config = config.replace("[turns]", 'second_person = "always"\n[turns]')
        async with service(tmp_path, config, **secrets) as moot, program_at(moot.url) as client:
            await slack.delivery.connected()
            post = await asked(slack)
            [question] = await waiting(client)
            path = f"/api/questions/{question}"
            for person in (OLIVIA, ASH):
                status, told = await send(client, path, {"option": 0, "by": f"slack:{person}"})
                assert (status, "a token is nobody" in told["error"]["message"]) == (403, True)
            await say_as(client, OLIVIA, 1, "!1")
            await slack.press(GENERAL, post["ts"], "Yes", ASH)
            await until(lambda: audit(tmp_path, "agree"))
            await say_as(client, OLIVIA, 2, "!1")
            assert [question] == await waiting(client)
            assert allowed(slack) == 0
            assert [by for _, by, _, _ in audit(tmp_path, "agree")] == [f"slack:{ASH}"]
            denied = audit(tmp_path, "deny")
            assert {row[1:3] for row in denied} == {PROGRAM}
            assert {row[3]["in_name_of"] for row in denied} == {f"slack:{OLIVIA}", f"slack:{ASH}"}
            assert {row[3]["reason"] for row in denied} == {"token"}

            assert (await send(client, path, {"option": 2, "by": f"slack:{OLIVIA}"}))[0] == 200
            await until(lambda: audit(tmp_path, "answer"))
            [(_, by, name, detail)] = audit(tmp_path, "answer")
            assert ((by, name), detail["in_name_of"]) == (PROGRAM, f"slack:{OLIVIA}")
            assert (detail["via"], detail["allowed"]) == ("api", False)
            await until(lambda: any("(the command line)" in text for text in slack.texts()))
            assert not any("(Olivia)" in text for text in slack.texts())


async def waiting(client: aiohttp.ClientSession) -> list[str]:
    """The ids of open questions."""
    async with client.get("/api/admin/overview") as response:
        return [one["id"] for one in (await response.json())["questions"]]


async def test_what_a_program_asks_and_decides_in_anothers_name_shows_it(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config, secrets = installation(slack)
        config = config.replace("[turns]", f'owners = ["slack:{OLIVIA}"]\n[turns]')
        async with service(tmp_path, config, **secrets) as moot, program_at(moot.url) as client:
            await slack.delivery.connected()
            await say_as(client, OLIVIA, 1, "@demo hello")
            await say_as(client, OLIVIA, 2, f"!role slack:{ASH} owner")
            grant = {"person_id": "slack:U0EVE", "role": "member", "by": f"slack:{OLIVIA}"}
            assert (await send(client, "/api/access/grants", grant))[0] == 201
            rows = audit(tmp_path, "invoke", "grant")
            assert [(row[0], row[1:3]) for row in rows] == [
                ("invoke", PROGRAM),
                ("grant", PROGRAM),
                ("grant", PROGRAM),
            ]
            assert {row[3]["in_name_of"] for row in rows} == {f"slack:{OLIVIA}"}
            async with client.get("/api/access") as response:
                given = (await response.json())["grants"]
            assert {one["by_name"] for one in given} == {"the command line"}
