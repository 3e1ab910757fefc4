"""Agents that are called by API, as moot.toml and the environment have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Launch
from adapters.cli.hooks import HookListener
from contract.errors import AgentError, ConfigError
from gateway.cli.diagnosis.configuration import check
from gateway.sessions.api_programs import anthropic_program
from gateway.sessions.programs import Programs
from gateway.settings.config import load_config
from gateway.settings.tables import AgentTable
from gateway.web.listening.listener import serving_hooks
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.replies import Replies

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test"}


def table(**keys: Any) -> AgentTable:
    return AgentTable.model_validate({"profile": "anthropic", **keys})


def test_a_key_in_the_environment_is_all_it_needs() -> None:
    program = anthropic_program("anthropic", table(), KEY)
    assert program.available
    assert (program.title, program.agent) == ("Anthropic API", "Anthropic API agent")
    assert program.context_tokens == 200_000
    assert not program.typed


def test_a_key_in_the_table_is_one_too() -> None:
    assert anthropic_program("a", table(env=KEY), {}).available


async def test_without_a_key_it_is_not_available_and_says_how_to_get_it(tmp_path: Path) -> None:
    program = anthropic_program("anthropic", table(), {})
    assert not program.available
    assert (
        str(program.hint) == "Set ANTHROPIC_API_KEY in the environment that Moot is started with."
    )
    with pytest.raises(AgentError) as caught:
        await program.open(Launch(tmp_path, tmp_path))
    assert (caught.value.kind, "ANTHROPIC_API_KEY" in caught.value.say) == ("login", True)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"command": "claude"}, "agents.a.command: the profile 'anthropic' runs no program"),
        ({"driver": "acp"}, "agents.a.driver: the profile 'anthropic' runs no program"),
        ({"login": "/home/x"}, "agents.a.login: the profile 'anthropic' runs no program"),
        ({"settings": {"thinking": "on"}}, 'agents.a.settings.thinking: "off", "adaptive"'),
        ({"settings": {"max_tokens": 0}}, "agents.a.settings.max_tokens: must be"),
        ({"settings": {"model": "x"}}, "agents.a.settings.model: .* known here: max_tokens"),
        (
            {"settings": {"thinking": 9000, "max_tokens": 8000}},
            "agents.a.settings: thinking takes its budget out of max_tokens",
        ),
    ],
)
def test_a_mistake_in_its_table_is_one_sentence(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        anthropic_program("a", table(**keys), KEY)


async def test_any_table_may_have_the_profile_and_a_mistake_makes_it_unavailable() -> None:
    tables = {"fast": table(), "broken": table(command="x")}
    async with HookListener.open(serving_hooks()) as hooks:
        programs = Programs(tables, KEY, hooks)
        assert [programs(name).available for name in ("anthropic", "fast", "broken")] == [
            True, True, False,
        ]  # fmt: skip
        assert "runs no program" in str(programs("broken").hint)
        assert "anthropic" in str(programs("nonsense").hint)


NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize("by", ["environment", "env", "base_url"])
async def test_the_base_url_is_the_settings_then_the_tables_then_the_environments(
    tmp_path: Path, by: str
) -> None:
    async with MessagesAPI.open() as api:
        url = {"ANTHROPIC_BASE_URL": api.url}
        elsewhere = {"ANTHROPIC_BASE_URL": NOWHERE}
        chosen, environment = {
            "environment": (table(), url),
            "env": (table(env=url), elsewhere),
            "base_url": (table(settings={"base_url": api.url}), elsewhere),
        }[by]
        program = anthropic_program("a", chosen, {**KEY, **environment})
        agent = await program.open(Launch(tmp_path / "home", tmp_path))
        await agent.ask("hi", Replies())
        await agent.close()
        assert [request.path for request in api.requests] == ["/v1/messages"]


def test_moot_check_tells_of_it(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "claude.md").write_text("---\nagent: anthropic\n---\nYou help.\n")
    config = load_config(None, base=tmp_path)
    texts = [finding.text for finding in check(config, KEY)]
    assert "@claude answers with Anthropic API (by API)" in texts
    texts = [finding.text for finding in check(config, {})]
    assert any("@claude can't answer yet: Set ANTHROPIC_API_KEY" in text for text in texts)


def test_moot_check_names_what_does_not_apply(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "claude.md").write_text(
        "---\nagent: anthropic\ndriver: acp\n---\nYou help.\n"
    )
    (tmp_path / "moot.toml").write_text(
        '[agents.anthropic]\nprofile = "anthropic"\nsettings = { effort = "huge" }\n'
    )
    findings = check(load_config(None, base=tmp_path), KEY)
    assert [f.mistake for f in findings if "agents.anthropic.settings.effort" in f.text] == [True]
    (tmp_path / "moot.toml").unlink()
    findings = check(load_config(None, base=tmp_path), KEY)
    assert any("leave out `driver` and `login`" in finding.text for finding in findings)
