"""Approvals from outside: a role that was taken back, and two people who are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doubles.approvals import Platform, answers, house, noted, until
from tests.doubles.approvals_own import PLATFORMS, Page, platform
from tests.doubles.credentials import program_at
from tests.doubles.matrix import sampled
from tests.doubles.service import Service
from tests.doubles.synapse import Synapse


async def said(at: Platform, text: str, by: str = "ash") -> None:
    """Say it, and wait for what Moot says to it."""
    before = len(at.posts())
    await at.say(text, by)
    await until(lambda: len(at.posts()) > before)


async def given(moot: Service, person: str) -> str:
    """Give a role of the whole house on the page; the path by which it is taken back."""
    async with program_at(moot.url) as client:
        body = {"person_id": person, "role": "owner"}
        async with client.post("/api/access/grants", json=body) as response:
            assert response.status == 201, await response.text()
            return f"/api/access/grants/{(await response.json())['seq']}"


async def taken(moot: Service, path: str) -> None:
    async with program_at(moot.url) as client, client.delete(path) as response:
        assert response.status == 200, await response.text()


async def restarted(moot: Service, at: Platform, access: str) -> None:
    """Start it again with these lines below [access]."""
    await moot.stop()
    (moot.folder / "moot.toml").write_text(at.config(access))
    await moot.start()
    await at.listens()


async def refused(at: Platform, question: str, count: int) -> None:
    """Olivia presses, and is told that she may not."""
    await at.press(question)
    await at.told(at.forbidden, count=count)
    assert at.allowed() == count - 1
    await at.say("!1", "ash")
    await until(lambda: at.allowed() == count)


@pytest.mark.parametrize("name", sampled(PLATFORMS, "slack", "page"))
async def test_whoever_lost_the_role_while_the_question_waited_answers_nothing(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    """In the room, on the page, and in moot.toml, which is read at a start."""
    async with platform(name, homeserver) as at:
        olivia, ash = at.people("olivia", "ash")
        owner = f'owners = ["{ash}"]'
        async with house(at, tmp_path, owner) as moot:
            await said(at, f"!role {olivia} owner")
            question = await at.asked()
            await said(at, f"!role {olivia} none")
            await refused(at, question, 1)

            path = await given(moot, olivia)
            question = await at.asked()
            await taken(moot, path)
            await refused(at, question, 2)

            await restarted(moot, at, f'{owner}\napprovers = ["{olivia}"]')
            await at.asked()
            before = set(at.cards())
            await restarted(moot, at, owner)
            question = await at.card(before)  # its turn begins again
            await refused(at, question, 3)
            every = [("deny", olivia, ""), ("answer", ash, "")] * 3
            await noted(tmp_path, every)


async def waiting(moot: Service) -> str:
    """The id of the one question that waits."""
    async with program_at(moot.url) as client:
        async with client.get("/api/admin/overview") as response:
            (question,) = (await response.json())["questions"]
        return str(question["id"])


async def as_program(moot: Service, question: str, person: str, want: int) -> str:
    """What a program with the owner's token is told when it answers in somebody's name."""
    body = {"option": 0, "by": {"id": person, "name": "Olivia"}}
    async with (
        program_at(moot.url) as client,
        client.post(f"/api/questions/{question}", json=body) as response,
    ):
        assert response.status == want, await response.text()
        told = await response.json()
        return str(told["error"]["message"] if "error" in told else told["choice"])


async def test_a_question_that_nobody_may_answer_yet_waits_and_tells_what_to_do(
    homeserver: Synapse, tmp_path: Path
) -> None:
    """The page's owner answers it, or gives the role that it names."""
    async with platform("slack", homeserver) as at:
        olivia, ash = at.people("olivia", "ash")
        async with house(at, tmp_path, 'second_person = "never"') as moot:
            await at.asked()
            assert any(f"moot access grant {ash} owner" in post for post in at.texts())
            async with program_at(moot.url) as client:
                path = f"/api/questions/{await waiting(moot)}"
                body = {"option": 0, "by": {"id": "web:owner", "name": "Olivia"}}
                async with client.post(path, json=body) as response:
                    assert response.status == 200, await response.text()
            await until(lambda: at.allowed() == 1)

            question = await at.asked()
            await given(moot, olivia)
            await at.press(question)
            await until(lambda: at.allowed() == 2)


@pytest.mark.parametrize("name", sampled(PLATFORMS, "slack", "page"))
async def test_one_person_with_a_token_a_session_and_an_account_is_not_two(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    """Whoever asked is one of the two; nothing that may be the same person again is the other."""
    async with platform(name, homeserver) as at:
        olivia, ash = at.people("olivia", "ash")
        approvers = f'approvers = ["{olivia}", "{ash}", "web:ash"]\nsecond_person = "always"'
        async with house(at, tmp_path, approvers) as moot:
            first = await at.asked()
            await at.press(first, "ash")
            question = await waiting(moot)
            await until(lambda: "agreed, one more person must" in " ".join(at.texts()))
            await at.say("!1", "ash")
            await at.told(", you agreed; one more person must choose the same.")
            for person in (olivia, ash, "web:ash", "web:olivia"):
                told = await as_program(moot, question, person, 403)
                assert "a token is nobody" in told, person
            page = Page()
            page.moot = moot
            try:
                session = await page.signed_in("Ash", "owner")
                body = {"option": 0, "by": "web:ash"}
                told = await page.call("POST", f"/api/questions/{question}", body, session)
                assert told["choice"] == "agreed", told
            finally:
                await page.close()
            assert at.allowed() == 0
            await at.say("!1")
            await until(lambda: at.allowed() == 1)
            rows = answers(tmp_path)
            assert [row for row in rows if row[0] == "answer"] == [("answer", olivia, "")]
            assert {reason for act, _, reason in rows if act == "deny"} == {"token"}
