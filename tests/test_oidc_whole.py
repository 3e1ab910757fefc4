"""Signing in at a provider of OpenID Connect: at a certified one, and at one that lies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import async_playwright, expect

from tests.doubles.browser import CHROMIUM_ARGS, chromium
from tests.doubles.credentials import program_at
from tests.doubles.oidc_provider import CLIENT, SECRET, LyingProvider, Visitor, certified
from tests.doubles.ports import free_port
from tests.doubles.service import HOUSE, Service, service

ASH: dict[str, Any] = {
    "name": "Ash Lee", "email": "ash@example.org", "email_verified": True, "groups": ["chat"],
}  # fmt: skip
BUDI = {**ASH, "name": "Budi", "email": "budi@example.org"}


def config(port: int, issuer: str, rules: str) -> str:
    return f"""\
[gateway]
listen = "127.0.0.1:{port}"
[oidc]
issuer = "{issuer}"
client_id = "{CLIENT}"
label = "Example"
{rules}
[agents.demo]
profile = "demo"
"""


@asynccontextmanager
async def moot_at(
    folder: Path, issuer: str, rules: str = 'domains = ["*"]', port: int = 0, **more: str
) -> AsyncIterator[Service]:
    text = config(port or free_port(), issuer, rules)
    async with service(folder, text, MOOT_OIDC_SECRET=SECRET, **more) as at:
        yield at


@asynccontextmanager
async def visitors(at: Service, count: int) -> AsyncIterator[list[Visitor]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Visitor.at(at.url)) for _ in range(count)]


async def asked(at: Service, path: str, body: Any = None, method: str = "") -> Any:
    """What the API answers an owner's program."""
    method = method or ("GET" if body is None else "POST")
    async with (
        program_at(at.url) as program,
        program.request(method, path, json=body) as response,
    ):
        assert response.status < 300, await response.text()
        return await response.json()


async def refusals(at: Service) -> list[dict[str, Any]]:
    """What the audit log says of them, the newest first."""
    return [row["detail"] for row in (await asked(at, "/api/audit?act=sign_in_refused"))["items"]]


async def link_of(at: Service, name: str, **more: str) -> str:
    made = await asked(at, "/api/page/invitations", {"name": name, **more})
    return str(made["url"]).rpartition("#")[2]


# ── A certified provider ────────────────────────────────────────────────────────────────


async def test_people_sign_in_at_a_certified_provider(tmp_path: Path) -> None:
    port = free_port()
    back = f"http://127.0.0.1:{port}/sign-in/oidc"
    rules = 'scopes = ["openid", "profile", "email", "groups"]\nclaims = { groups = "chat" }'
    rules += '\nowners = ["ash@example.org"]\ndomains = ["example.org"]'
    accounts = {"1": ASH, "2": BUDI, "3": {**BUDI, "name": "Eve", "groups": []}}
    async with (
        certified(accounts, back) as issuer,
        moot_at(tmp_path, issuer, rules, port) as at,
        visitors(at, 3) as (ash, budi, eve),
    ):
        assert await ash.sign_in("1", next="#admin/people") == (303, "/#admin/people")
        me = await ash.me()
        assert (me["id"], me["role"], me["owner"]) == ("web:ash_lee", "owner", True)
        first = await budi.authorized(await budi.begin(), "2")
        assert (await eve.back(first))[0] == 401  # another browser's
        assert await budi.back(first) == (303, "/")
        assert (await budi.me())["role"] == "member"
        status, said = await budi.back(first)  # again
        assert (status, "sign in again" in said) == (401, True)
        assert (await budi.me())["id"] == "web:budi"  # still signed in
        assert await eve.sign_in("3") == (
            403, "your account there may not come here: ask an owner to invite you.",
        )  # fmt: skip
        assert await eve.me() == {}
        mine = await eve.authorized(await eve.begin(), "2")
        theirs = await budi.authorized(await budi.begin(), "2")
        stolen = theirs.partition("code=")[2].partition("&")[0]
        own = mine.partition("code=")[2].partition("&")[0]
        status, said = await eve.back(mine.replace(own, stolen))  # the code of another's sign-in
        assert (status, "Example did not sign you in: invalid_grant" in said) == (401, True)
        assert await eve.me() == {}
        sessions = (await asked(at, "/api/page/sessions"))["sessions"]
        assert {one["person_id"] for one in sessions} == {"web:ash_lee", "web:budi"}
        [own_session] = [one["id"] for one in sessions if one["person_id"] == "web:budi"]
        await asked(at, f"/api/page/sessions/{own_session}", method="DELETE")
        assert await budi.me() == {}
        rows = (await asked(at, "/api/audit?act=sign_in"))["items"]
        assert {(row["by"]["id"], row["detail"]["how"]) for row in rows} == {
            ("web:ash_lee", "oidc"), ("web:budi", "oidc")
        }  # fmt: skip
        [outsider] = [row for row in await refusals(at) if row["subject"]]
        assert (outsider["subject"], outsider["issuer"]) == ("3", issuer)
        assert at.leaks(stolen, own) == []


async def test_the_form_leads_to_the_provider_and_back(tmp_path: Path) -> None:
    port = free_port()
    back = f"http://127.0.0.1:{port}/sign-in/oidc"
    async with (
        certified({"1": ASH, "2": {**ASH, "name": "demo"}}, back) as issuer,
        moot_at(tmp_path, issuer, port=port) as at,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        page = await (await browser.new_context()).new_page()
        faults: list[str] = []
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        await page.goto(at.url)
        await page.get_by_role("button", name="Sign in with Example").click()
        await page.locator("[name=login]").fill("2")
        await page.locator("[name=password]").fill("any")
        await page.locator("button[type=submit]").click()
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("alert")).to_contain_text("demo is somebody's name here")
        assert page.url == f"{at.url}sign-in"  # neither code nor state stay in the address
        await page.context.clear_cookies()
        link = await link_of(at, "Ash")
        await page.goto("about:blank")
        await page.goto(f"{at.url}sign-in#{link}")
        await expect(page.get_by_role("heading")).to_have_text("Welcome")
        await page.get_by_role("button", name="Sign in with Example").click()
        await page.locator("[name=login]").fill("1")
        await page.locator("[name=password]").fill("any")
        await page.locator("button[type=submit]").click()
        await page.get_by_role("button", name="Continue").click()
        await expect(page.locator("#me")).to_contain_text("Ash")
        await page.reload()
        await expect(page.locator("#me")).to_contain_text("Ash")
        assert faults == []
        await browser.close()


# ── One that lies ───────────────────────────────────────────────────────────────────────

OLD = 1_700_000_000
LIES: dict[str, dict[str, Any]] = {
    "of another sign-in": {"lies": {"nonce": "another"}},
    "without a nonce": {"lies": {"nonce": None}},
    "for another": {"lies": {"aud": "another"}},
    "for others, too, by another": {"lies": {"aud": [CLIENT, "another"], "azp": "another"}},
    "for nobody": {"lies": {"aud": None}},
    "expired": {"lies": {"iat": OLD, "exp": OLD + 300}},
    "without an end": {"lies": {"exp": None}},
    "of tomorrow": {"lies": {"iat": 4_000_000_000, "exp": 4_000_000_300}},
    "of another issuer": {"lies": {"iss": "https://evil.example"}},
    "of nobody": {"lies": {"sub": None}},
    "of no name": {"lies": {"sub": ""}},
    "of a number": {"lies": {"sub": 7}},
    "of another than its userinfo": {"lies": {"sub": "2"}},
    "unsigned": {"how": "none"},
    "signed by what all know": {"how": "shared"},
    "signed by another": {"how": "stranger"},
    "from another issuer": {"how": "mixed"},
    "that refuses": {"how": "refuses"},
}


async def test_what_is_no_proof_signs_nobody_in(tmp_path: Path) -> None:
    async with (
        LyingProvider().listening() as provider,
        moot_at(tmp_path, provider.issuer) as at,
        visitors(at, 1) as [eve],
    ):
        truth = {"sub": "1", **ASH}
        for told, lie in LIES.items():
            provider.claims, provider.lies, provider.how = truth, {}, ""
            vars(provider).update(lie)
            status, said = await eve.sign_in()
            assert (status, said[:29]) == (401, "Example did not sign you in: "), (told, said)
            assert await eve.me() == {}, told
        assert len(await refusals(at)) == len(LIES)
        assert not (await asked(at, "/api/page/users"))["users"]
        provider.lies, provider.how = {}, ""
        assert await eve.sign_in() == (303, "/")
        assert all("code_challenge_method=S256" in query for query in provider.asked)
        assert all("state=" in query and "nonce=" in query for query in provider.asked)


async def test_only_who_began_comes_back_and_to_the_page_alone(tmp_path: Path) -> None:
    async with (
        LyingProvider(claims={"sub": "1", **ASH}).listening() as provider,
        moot_at(tmp_path, provider.issuer) as at,
        visitors(at, 2) as (ash, eve),
    ):
        for path in ("https://evil.example", "//evil.example", "/\\evil", "#a\r\nX: y", "#a b"):
            body = {"next": path}
            async with ash.client.post(f"{at.url}api/sign-in/oidc", json=body) as response:
                assert response.status == 400, path
        cross = {"Origin": "https://evil.example"}
        async with ash.client.post(f"{at.url}api/sign-in/oidc", json={}, headers=cross) as response:
            assert response.status == 403
        hers = await eve.authorized(await eve.begin())  # a victim is sent to Eve's own sign-in
        assert (await ash.back(hers))[0] == 401
        assert await ash.me() == {}
        for query in ("", "?code=a", "?state=a&code=a", "?error=%3Cb%3E&state=a"):
            status, said = await ash.back(f"{at.url}sign-in/oidc{query}")
            assert (status, "<b>" in said) == (401, False)
        assert await eve.back(hers) == (303, "/")
        mine = await ash.authorized(await ash.begin())
        first = mine.replace("code=", "codex=")
        assert "sent no code" in (await ash.back(first))[1]
        assert (await ash.back(mine))[0] == 401  # the sign-in is over


# ── Who is whom ─────────────────────────────────────────────────────────────────────────


async def test_a_subject_is_one_person_whatever_it_is_called(tmp_path: Path) -> None:
    async with (
        LyingProvider(claims={"sub": "1", **ASH}).listening() as provider,
        moot_at(tmp_path, provider.issuer) as at,
        visitors(at, 6) as (ash, again, other, budi, thief, old),
    ):
        assert (await ash.sign_in())[0] == 303
        provider.claims = {"sub": "1", **BUDI}  # a new name, and a new address
        assert (await again.sign_in())[0] == 303
        assert (await again.me())["id"] == "web:ash_lee"
        await asked(at, "/api/submit", {  # a name that is used without an account
            "content": "hello", "room": "web:general",
            "metadata": {"sender_id": "web:citra", "sender_display_name": "Citra",
                         "sender_type": "human", "source": "web"},
        })  # fmt: skip
        waiting = await link_of(at, "Dewi", role="guest")
        for name in ("Ash Lee", "ash  LEE", "Аsh Lee", "Citra", "Dewi", "demo", "Moot", "everyone"):
            provider.claims = {"sub": "2", **ASH, "name": name}
            status, said = await other.sign_in()
            assert (status, "is somebody's name here already" in said) == (403, True), name
        for no_name in ("", "!!", "x" * 200, None, 7):
            provider.claims = {"sub": "2", **ASH, "name": no_name}
            assert (await other.sign_in())[0] == 403, no_name
        provider.claims = {"sub": "2", **ASH}
        invited = await link_of(at, "Ash Lee")
        assert (await thief.sign_in(code=invited))[0] == 303  # an owner said so
        assert (await thief.me())["id"] == "web:ash_lee"
        provider.claims = {"sub": "1", **ASH}
        assert (await old.sign_in())[0] == 403  # of two subjects the invited one is this person
        provider.claims = {"sub": "2", **ASH}
        status, said = await budi.sign_in(code=waiting)
        assert (status, "signs in web:ash_lee here" in said) == (403, True)
        provider.claims = {"sub": "3", **BUDI}
        assert (await budi.sign_in(code=waiting))[0] == 303
        assert (await budi.me())["name"] == "Dewi"
        async with budi.client.post(
            f"{at.url}api/sign-in/oidc", json={"code": waiting}
        ) as response:
            assert response.status == 401  # it works once
        await asked(at, "/api/page/users/web:dewi", method="DELETE")
        status, said = await budi.sign_in()
        assert (status, "your account was closed" in said) == (403, True)
        await at.stop()
        await at.start()
        provider.claims = {"sub": "2", **BUDI}
        assert (await again.sign_in())[0] == 303
        assert (await again.me())["id"] == "web:ash_lee"


RULES = """\
domains = ["example.org"]
claims = { groups = ["chat", "staff"], tenant = "ours" }
owners = ["9"]
role = "guest"
"""
GOOD = {**BUDI, "tenant": "ours"}


async def test_only_those_come_whom_the_rules_let_in(tmp_path: Path) -> None:
    access = '[access]\nowners = ["web:olga"]\n'
    async with (
        LyingProvider().listening() as provider,
        moot_at(tmp_path, provider.issuer, f"{RULES}{access}") as at,
        visitors(at, 4) as (budi, eve, citra, owner),
    ):
        for change in (
            {"email": "eve@evil.example"},
            {"email": "eve@sub.example.org"},
            {"email": "example.org"},
            {"email_verified": False},
            {"email_verified": None},
            {"groups": ["others"]},
            {"groups": "chatter"},
            {"tenant": ["theirs"]},
            {"tenant": None},
            {"name": "Olga"},  # an owner by moot.toml
        ):
            provider.claims = {"sub": "1", **GOOD, **change}
            status, said = await eve.sign_in()
            assert (status, "invite you" in said) == (403, True), change
        provider.claims = {"sub": "1"}
        provider.userinfo = {**GOOD}
        assert (await budi.sign_in())[0] == 303
        assert (await budi.me())["role"] == "guest"
        provider.userinfo = {**GOOD, "groups": []}  # who left the group is out
        assert (await budi.sign_in())[0] == 403
        provider.claims, provider.userinfo = {"sub": "5"}, {}
        for _ in range(2):  # who was invited stays so
            code = (
                {"code": await link_of(at, "Citra", role="member")} if not await citra.me() else {}
            )
            assert (await citra.sign_in(**code))[0] == 303
        provider.claims = {"sub": "9", "name": "Ash"}
        assert (await owner.sign_in())[0] == 303
        assert (await owner.me())["owner"] is True


async def test_a_provider_that_is_away_or_slow_keeps_nobody_out(tmp_path: Path) -> None:
    async with (
        LyingProvider(claims={"sub": "1", **ASH}, how="slow").listening() as provider,
        moot_at(tmp_path, provider.issuer, 'timeout_s = 1\ndomains = ["*"]') as at,
        visitors(at, 1) as [ash],
    ):

        async def begins() -> tuple[int, str]:
            async with ash.client.post(f"{at.url}api/sign-in/oidc", json={}) as response:
                return response.status, await response.text()

        status, said = await begins()
        assert status == 503
        assert "Example does not answer as it should: try again, or use a link" in said
        provider.how, provider.named = "", "https://evil.example"
        assert (await begins())[0] == 503  # a name that is not the configured one
        provider.named = ""
        url = await ash.authorized(await ash.begin())
        provider.how = "slow"
        assert (await ash.back(url))[0] == 503
        assert [row["how"] for row in await refusals(at)] == ["oidc"] * 3
        body = {"code": at.link.rpartition("#")[2], "name": "Olivia"}
        async with ash.client.post(f"{at.url}api/sign-in", json=body) as response:
            assert response.status == 200
        assert at.leaks(SECRET) == []


async def test_without_a_provider_there_is_no_such_way_in(tmp_path: Path) -> None:
    async with (
        service(tmp_path, '[gateway]\nlisten = "127.0.0.1:0"\n') as at,
        aiohttp.ClientSession(at.url) as client,
    ):
        async with client.get("/api/sign-in") as response:
            assert await response.json() == {"oidc": None}
        async with client.post("/api/sign-in/oidc", json={}) as response:
            assert response.status == 404
        async with client.get("/sign-in/oidc") as response:
            assert response.status == 404
    code = "import gateway.main, gateway.app.app, sys; print('authlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HOUSE, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('issuer = "http://id.example.org"\nclient_id = "moot"', "not an address with https"),
        ('issuer = "https://id.example.org"', "client_id"),
        ('issuer = "https://i.example"\nclient_id = "m"\nscopes = "email"', "openid"),
        ('issuer = "https://i.example"\nclient_id = "m"\nrole = "owner"', "role"),
    ],
)
async def test_a_mistake_in_the_table_is_one_line(tmp_path: Path, wrong: str, said: str) -> None:
    (tmp_path / "moot.toml").write_text(f"[oidc]\n{wrong}\n")
    done = subprocess.run(
        [sys.executable, "-c", "from gateway.main import main; main()", "check"],
        cwd=tmp_path, capture_output=True, text=True,
        env={
            "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MOOT_HOME": str(tmp_path),
            "PYTHONPATH": str(HOUSE),
        },
    )  # fmt: skip
    assert done.returncode != 0
    [line] = [line for line in f"{done.stdout}{done.stderr}".splitlines() if "oidc" in line]
    assert said in line
