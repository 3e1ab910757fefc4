"""Failures and refusals are told in the language of whoever reads them, wherever they were made."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from adapters.cli_profile import Profile
from adapters.profiles import profiles
from adapters.session.causes import exit_of, not_logged_in, with_its_words
from contract.errors import AgentError, Rejected
from contract.language import LANGUAGES, Language, later, speaking
from gateway.settings.access import AccessTable
from tests.doubles.platform import said
from tests.doubles.running import gateway

FOREIGN = [language for language in LANGUAGES if language != "en"]
WHAT = later("{title} ended ({code})", title="Codex", code=exit_of(3))
FAILED = AgentError("crash", "exit 3", say=with_its_words(WHAT, "no such model"))
"""Made where nobody is being answered, as a program's watcher makes one."""


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "Codex ended (code 3): no such model."),
        ("de", "Codex endete (Code 3): no such model."),
        ("es", "Codex terminó (código 3): no such model."),
        ("ja", "Codex は終了しました（コード 3）：no such model."),
        ("zh", "Codex 已结束（代码 3）：no such model."),
    ],
)
async def test_an_agents_failure_is_in_the_language_of_the_room(
    tmp_path: Path, language: str, told: str
) -> None:
    access = AccessTable(rooms="open", owners=frozenset({"fake:ash"}))
    async with gateway(tmp_path, access=access) as moot:
        moot.programs.failures.append(FAILED)
        for text in (f"!language {language}", "@demo hello"):
            await moot.hear(said(text))
            await moot.settle()
        assert moot.texts()[-1] == f"⚠️ {told}"
        assert str(FAILED) == "exit 3"


@pytest.mark.parametrize("language", FOREIGN)
@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_what_a_profile_says_is_in_every_language(profile: Profile, language: Language) -> None:
    rules = [rule.say for rule in profile.shown.dialogs if rule.say]
    sentences = [
        profile.setup.remedy,
        not_logged_in(profile),
        *(later(say, title=profile.title, seen="No.") for say in rules),
    ]
    for sentence in sentences:
        english = str(sentence)
        with speaking(language):
            assert str(sentence) != english


def test_a_refusal_is_logged_in_english_and_told_in_the_readers_language() -> None:
    with speaking("de"):
        refusal = Rejected("days", later("must be {least} to {most}", least=1, most=30))
        assert str(refusal) == "days: must be 1 to 30"
        assert refusal.say == "days: muss 1 bis 30 sein"
    assert refusal.say == "days: must be 1 to 30"


@pytest.mark.parametrize(
    ("path", "status", "english", "german"),
    [
        (
            "/api/turns/nowhere",
            404,
            "there is no such turn",
            "es gibt keinen solchen Zug",
        ),
        (
            "/api/rooms/web:general/messages?limit=0",
            400,
            "limit: must be 1 to 200",
            "limit: muss 1 bis 200 sein",
        ),
    ],
)
async def test_the_http_api_refuses_in_the_language_that_is_asked_for(
    client: aiohttp.ClientSession, path: str, status: int, english: str, german: str
) -> None:
    for asked, told in (("", english), ("de-CH,en;q=0.5", german), ("fi", english)):
        async with client.get(path, headers={"Accept-Language": asked}) as response:
            assert response.status == status
            assert (await response.json())["error"]["message"] == told
