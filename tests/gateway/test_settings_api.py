"""moot.toml over HTTP: read, previewed, written whole or not at all, and by owners alone."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.audit.audit import AuditFilter
from gateway.core.redaction import Redactor
from gateway.settings.config import load_config
from gateway.web.page import PageSettings, open_page
from gateway.web.signin.names import SHELL
from gateway.web.signin.secret import derived, read_secret
from tests.doubles.credentials import bearer, cookie_header, cookie_of
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.settings import settings_of
from tests.doubles.slack import SlackDouble

TOML = """\
# Ours
[gateway]
data_dir = "data"

[access] # who may ask
rooms = "closed" # until June
owners = [
  "fake:olivia", # Olivia
]

# ---- what follows
[turns]
max_hops = 1
"""
AT = "/api/settings"


class Desk:
    """The settings of a running gateway, through HTTP."""

    def __init__(
        self, moot: Opened, url: str, client: aiohttp.ClientSession, file: Path, redactor: Redactor
    ) -> None:
        self.moot, self.url, self.client, self.file = moot, url, client, file
        self.redactor = redactor

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        async with self.client.request(method, path, json=body, headers=headers) as response:
            assert response.status == status, await response.text()
            return await response.json()

    async def body(self, **change: object) -> dict[str, Any]:
        return {"change": change, "base": (await self.ask("GET", AT))["base"]}

    def written(self) -> list[str]:
        """The files of the configuration."""
        names = (path.name for path in self.file.parent.iterdir() if path.is_file())
        return sorted(name for name in names if not name.startswith("moot.db"))

    async def save(self, status: int = 200, **change: object) -> Any:
        return await self.ask("PUT", AT, await self.body(**change), status)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    file = tmp_path / "moot.toml"
    file.write_text(TOML)
    file.chmod(0o640)
    config, redactor = load_config(file, base=tmp_path), Redactor()
    async with gateway(
        tmp_path, personas=("ada", "bob"), access=config.access, redactor=redactor
    ) as moot:
        services = replace(moot.house.services, settings=settings_of(moot, file))
        async with (
            open_page(services, PageSettings(tmp_path / "files", redactor=redactor)) as url,
            aiohttp.ClientSession(url, headers=bearer(tmp_path)) as client,
        ):
            yield Desk(moot, url, client, file, redactor)


async def test_it_says_what_moot_toml_says(desk: Desk) -> None:
    told = await desk.ask("GET", AT)
    assert (told["file"], told["exists"], told["writable"], told["fault"]) == (
        str(desk.file), True, True, "",
    )  # fmt: skip
    assert told["access"]["rooms"] == "closed"
    assert told["access"]["owners"] == ["fake:olivia"]
    assert told["bots"] == []
    slack = next(one for one in told["platforms"] if one["name"] == "slack")
    assert [field["key"] for field in slack["logins"][0]["fields"]] == [
        "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN",
    ]  # fmt: skip


async def test_a_preview_says_who_may_then_do_what_and_writes_nothing(desk: Desk) -> None:
    await desk.moot.hear(said("hello"))
    change = {"access": {"rooms": "open", "people": ["fake:budi"], "owners": ["fake:olivia"]}}
    told = await desk.ask("POST", f"{AT}/preview", await desk.body(**change))
    assert told["effects"] == [
        {
            "act": "ask", "gains": True, "people": ["*"], "rooms": ["rooms"], "personas": [],
        },
        {"act": "ask", "gains": True, "people": ["fake:budi"], "rooms": [], "personas": []},
    ]  # fmt: skip
    assert (told["others"], told["at_once"], told["restart"]) == (1, ["access"], [])
    assert '-rooms = "closed" # until June\n+rooms = "open" # until June' in told["diff"]
    assert desk.file.read_text() == TOML
    assert desk.moot.house.access.table.rooms == "closed"


async def test_a_saved_access_holds_at_once_and_keeps_what_stands_beside_it(desk: Desk) -> None:
    await desk.moot.hear(said("@ada hi"))
    await until(lambda: any("I can't answer you here yet" in one for one in desk.moot.texts()))
    told = await desk.save(access={"rooms": "open", "dms": "open"})
    assert told["access"]["rooms"] == "open"
    assert desk.file.read_text() == TOML.replace(
        'rooms = "closed"', 'rooms = "open"'
    ).replace("]\n\n# ----", ']\ndms = "open"\n\n# ----')  # fmt: skip
    assert (desk.file.parent / "moot.toml.bak").read_text() == TOML
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o640
    await desk.moot.hear(said("@ada hi"))
    await desk.moot.settle()
    assert desk.moot.texts()[1:] == ["Respond to Ash in room #general."]
    assert told["restart"] == []


async def test_saved_limits_hold_at_once(desk: Desk) -> None:
    change: dict[str, Any] = {"limits": {"person": {"questions_a_day": 1}}}
    preview = await desk.ask("POST", f"{AT}/preview", await desk.body(**change))
    assert (preview["at_once"], preview["restart"], preview["effects"]) == (["limits"], [], [])
    told = await desk.save(**change)
    assert (told["restart"], told["limits"]["person"]) == ([], {"questions_a_day": 1})
    await desk.save(access={"rooms": "open"})
    for _ in range(2):
        await desk.moot.hear(said("@ada hi"))
        await desk.moot.settle()
    assert "limit of 1 questions a day is reached" in desk.moot.texts()[-1]
    await desk.save(access={"rooms": None}, limits={"person": {"questions_a_day": None}})
    assert (
        desk.file.read_text().rstrip()
        == TOML.replace('rooms = "closed" # until June\n', "").rstrip()
    )


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"access": {"rooms": "ajar"}}, "access.rooms", "'open' or 'closed'"),
        ({"access": {"owners": ["budi"]}}, "access.owners", "'budi' is nobody's id"),
        ({"access": {"dangerous": []}}, "access.dangerous", "edit moot.toml itself"),
        ({"access": {"grants": [{"role": "king", "people": ["fake:x"]}]}}, "access.grants.0.role",
         "'guest', 'member' or 'owner'"),
        ({"limits": {"person": {"questions_a_day": -1}}}, "limits.person.questions_a_day",
         "must be 0 or more"),
        ({"limits": {"person": {"apples": 1}}}, "limits.person.apples", "not a key"),
        ({"bots": {"slack": {"personas": ["ada"]}}}, "bots.slack", "no such bot"),
        ({"new_bot": {"platform": "icq"}}, "new_bot.platform", "no platform 'icq'"),
        ({"new_bot": {"platform": "slack", "personas": ["ada"], "secrets": {
            "SLACK_BOT_TOKEN": "nonsense", "SLACK_APP_TOKEN": "xapp-1-abc"}}},
         "new_bot.secrets.SLACK_BOT_TOKEN", "looks wrong"),
    ],
)  # fmt: skip
async def test_a_wrong_value_is_told_beside_its_field_and_nothing_is_written(
    desk: Desk, change: dict[str, Any], field: str, words: str
) -> None:
    for method, path in (("POST", f"{AT}/preview"), ("PUT", AT)):
        told = await desk.ask(method, path, await desk.body(**change), 422)
        assert told["error"]["field"] == field
        assert words in told["faults"][field]
    assert desk.file.read_text() == TOML
    assert desk.written() == ["moot.toml"]


async def test_what_moot_check_calls_a_mistake_is_not_written(desk: Desk) -> None:
    bot = {
        "platform": "slack", "personas": ["nobody-here"],
        "secrets": {"SLACK_BOT_TOKEN": "xoxb-1-abcdefgh", "SLACK_APP_TOKEN": "xapp-1-abcdefgh"},
    }  # fmt: skip
    told = await desk.save(422, new_bot=bot)
    assert "there is no nobody-here.md" in told["error"]["message"]
    assert desk.written() == ["moot.toml"]


async def test_a_file_that_was_changed_meanwhile_is_left_as_it_is(desk: Desk) -> None:
    body = await desk.body(access={"rooms": "open"})
    desk.file.write_text(theirs := TOML.replace("max_hops = 1", "max_hops = 0"))
    told = await desk.ask("PUT", AT, body, 409)
    assert "changed since you began" in told["error"]["message"]
    assert desk.file.read_text() == theirs
    assert desk.moot.house.access.table.rooms == "closed"


async def test_a_file_that_can_not_be_read_is_told_and_not_written(desk: Desk) -> None:
    desk.file.write_text(broken := "[access\n")
    told = await desk.ask("GET", AT)
    assert "can't be read as TOML" in told["fault"]
    await desk.save(400, access={"rooms": "open"})
    assert desk.file.read_text() == broken


async def test_only_owners_read_or_change_it(desk: Desk) -> None:
    house, body = desk.moot.house, await desk.body(access={"rooms": "open"})
    member = cookie_header(desk.url, await cookie_of(house.visitors, "Budi", "member"))
    made = await house.visitors.tokens.get("figures", "metrics", SHELL)
    secret = read_secret(desk.file.parent / "data") or ""
    lesser = {"Authorization": f"Bearer {derived(secret, made.salt, made.reads)}"}
    for headers in (member, lesser):
        async with aiohttp.ClientSession(desk.url, headers=headers) as client:
            for method, path in (
                ("GET", AT), ("PUT", AT), ("POST", f"{AT}/preview"), ("POST", f"{AT}/bot"),
            ):  # fmt: skip
                async with client.request(method, path, json=body) as response:
                    assert response.status == 403
    assert desk.file.read_text() == TOML


async def test_faults_are_told_in_the_language_of_who_asks(desk: Desk) -> None:
    wanted = {"access": {"rooms": "opne"}, "limits": {"person": {"questions_a_day": "x"}}}
    body = await desk.body(**wanted)
    told = await desk.ask("PUT", AT, body, 422, {"Accept-Language": "es"})
    assert told["faults"]["access.rooms"].endswith("; ¿querías decir 'open'?")
    assert told["faults"]["limits.person.questions_a_day"].startswith("debe ser un número")
    body = await desk.body(access={"nothing": 1})
    told = await desk.ask("PUT", AT, body, 422, {"Accept-Language": "ja"})
    assert "moot.toml を直接編集" in told["faults"]["access.nothing"]


async def test_nobody_takes_their_own_role_away(desk: Desk) -> None:
    await desk.save(access={"owners": ["fake:olivia", "web:citra"]})
    people = desk.moot.house.visitors.people
    cookie = await cookie_of(desk.moot.house.visitors, "Citra", "member")
    headers = cookie_header(desk.url, cookie)
    assert people.is_owner("web:citra")
    async with aiohttp.ClientSession(desk.url, headers=headers) as client:
        body = await desk.body(access={"owners": ["fake:olivia"]})
        async with client.put(AT, json=body) as response:
            assert response.status == 422
            assert "no owner any more" in (await response.json())["faults"]["access.owners"]
    assert people.is_owner("web:citra")


async def test_a_bot_is_added_with_its_secrets_in_a_file_of_their_own(desk: Desk) -> None:
    token = "xoxb-1-the-token-of-the-bot"
    bot = {
        "platform": "slack", "name": "team", "personas": ["ada"], "require_mention": False,
        "secrets": {"SLACK_BOT_TOKEN": token, "SLACK_APP_TOKEN": "xapp-1-the-other-token"},
    }  # fmt: skip
    preview = await desk.ask("POST", f"{AT}/preview", await desk.body(new_bot=bot))
    assert preview["secrets"] == ["SLACK_APP_TOKEN_TEAM", "SLACK_BOT_TOKEN_TEAM"]
    assert preview["restart"] == ["bots"]
    assert token not in str(preview)
    told = await desk.save(new_bot=bot)
    assert told["bots"] == [
        {"name": "team", "platform": "slack", "personas": ["ada"], "require_mention": False}
    ]
    assert (told["restart"], token in str(told)) == (["bots"], False)
    secrets = desk.file.with_name("moot.env")
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert f"SLACK_BOT_TOKEN_TEAM={token}\n" in secrets.read_text()
    assert token not in desk.file.read_text()
    assert desk.redactor(f"it is {token}") == "it is [secret removed]"
    rows = await desk.moot.house.audit.page(AuditFilter(act="settings"), before=None, limit=9)
    assert [row.detail["keys"] for row in rows] == ["bots.team (new)"]
    assert token not in str(rows)
    again = await desk.save(422, new_bot=bot)
    assert "is taken" in again["faults"]["new_bot.name"]
    changed = await desk.save(bots={"team": {"personas": ["bob", "ada"], "require_mention": True}})
    assert changed["bots"][0]["personas"] == ["bob", "ada"]


async def test_a_bot_is_tried_on_its_platform(desk: Desk) -> None:
    async with SlackDouble.open() as slack:
        bot = {
            "platform": "slack", "url": slack.base, "personas": ["ada"],
            "secrets": {"SLACK_BOT_TOKEN": "xoxb-wrong-token", "SLACK_APP_TOKEN": "xapp-1-wrong"},
        }  # fmt: skip
        [wrong] = (await desk.ask("POST", f"{AT}/bot", {"bot": bot}))["said"]
        assert wrong["mark"] == "✗"
        assert "xoxb-wrong-token" not in wrong["text"]
    assert desk.written() == ["moot.toml"]


async def test_who_did_it_is_on_record_without_the_values(desk: Desk) -> None:
    by = {"by": {"id": "web:ana", "name": "Ana"}}
    body = await desk.body(access={"rooms": "open"})
    await desk.ask("PUT", AT, {**body, **by})
    [row] = await desk.moot.house.audit.page(AuditFilter(act="settings"), before=None, limit=9)
    assert row.by == SHELL
    assert row.detail["keys"] == "access.rooms"
    assert row.detail["in_name_of"] == "web:ana"
