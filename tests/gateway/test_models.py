"""Which model works behind the memory, and what is said when it can't."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.headless.model import HeadlessModel
from contract.errors import ConfigError
from gateway.app.run import run
from gateway.cli.diagnosis.configuration import check
from gateway.remembering.models import open_model
from gateway.settings.config import Config, load_config
from gateway.settings.tables import GatewayTable
from memory.anthropic_model import HAIKU, AnthropicModel

KEY = {"ANTHROPIC_API_KEY": "k"}


def config(tmp_path: Path, *, agents: Any = None, **memory: Any) -> Config:
    return Config.model_validate(
        {
            "gateway": GatewayTable(data_dir=tmp_path / "data", personas_dir=tmp_path),
            "agents": agents or {},
            "memory": memory,
        }
    )


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


async def test_by_default_there_is_none(tmp_path: Path) -> None:
    async with open_model(config(tmp_path), KEY) as model:
        assert model is None


async def test_the_api_with_a_key_from_the_environment(tmp_path: Path) -> None:
    async with open_model(config(tmp_path, model="anthropic"), KEY) as model:
        assert isinstance(model, AnthropicModel)
        assert model.name == HAIKU


def test_the_default_of_the_table_is_the_models_own(tmp_path: Path) -> None:
    assert config(tmp_path).memory.anthropic.model == HAIKU


@pytest.mark.parametrize(
    ("memory", "environment", "sentence"),
    [
        ({"model": "anthropic"}, {}, "set ANTHROPIC_API_KEY in the environment"),
        ({"model": "anthropic"}, {"ANTHROPIC_API_KEY": ""}, "set ANTHROPIC_API_KEY"),
        (
            {"model": "anthropic", "anthropic": {"input_price": 1.0}},
            KEY,
            "give both input_price and output_price, or neither",
        ),
        ({"model": "gpt"}, KEY, "no agent 'gpt' can be run without a terminal"),
        ({"model": "demo"}, KEY, "known: off, anthropic, claude-code, codex"),
        (
            {"model": "claude-code"},
            {"PATH": "/nowhere"},
            "Claude Code is not found. Install it:",
        ),
    ],
)
async def test_what_is_missing_is_one_sentence_at_check_and_at_start(
    tmp_path: Path, memory: dict[str, Any], environment: dict[str, str], sentence: str
) -> None:
    wrong = config(tmp_path, **memory)
    [finding] = [f for f in check(wrong, environment) if f.mistake]
    assert sentence in finding.text
    with pytest.raises(ConfigError) as caught:
        await run(wrong, environment, started=lambda *_: None, stop=asyncio.Event())
    assert sentence in caught.value.say
    assert not (tmp_path / "data" / "moot.db").exists()


def test_check_says_that_memory_works_without_a_model(tmp_path: Path) -> None:
    texts = [finding.text for finding in check(config(tmp_path), {})]
    assert any("memory works in its plain form" in text for text in texts)


def test_check_says_which_model_it_is(tmp_path: Path) -> None:
    texts = [finding.text for finding in check(config(tmp_path, model="anthropic"), KEY)]
    assert f"memory works with {HAIKU}" in texts


async def test_an_agent_is_run_by_its_path_in_a_home_and_an_environment_of_its_own(
    tmp_path: Path,
) -> None:
    path = program(tmp_path, "my-claude")
    agents = {
        "ash": {
            "profile": "claude-code",
            "command": [str(path), "--verbose"],
            "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
        }
    }
    chosen = config(tmp_path, agents=agents, model="ash", headless={"model": "haiku"})
    environment = {"PATH": "/bin", "ANTHROPIC_API_KEY": "k", "SLACK_BOT_TOKEN": "xoxb"}
    async with open_model(chosen, environment) as model:
        assert isinstance(model, HeadlessModel)
        assert model.name == "haiku"
        assert vars(model)["_env"] == {
            "PATH": "/bin",
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        }
        assert vars(model)["_command"] == (str(path), "--verbose")
        assert vars(model)["_home"] == tmp_path / "data" / "model" / "claude-code"


async def test_an_agent_is_found_by_its_profiles_name_on_the_path(tmp_path: Path) -> None:
    program(tmp_path, "codex")
    async with open_model(config(tmp_path, model="codex"), {"PATH": str(tmp_path)}) as model:
        assert model is not None
        assert model.name == "codex"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[memory.anthropic]\nmodle = 'x'\n", "did you mean model?"),
        ("[memory.headless]\ntimeout = 3\n", "did you mean timeout_s?"),
        ("[memory]\nremember = 'all'\n", "memory.remember"),
        ("[memory]\nextract_tokens = 1\n", "memory.extract_tokens"),
    ],
)
def test_a_mistake_in_these_tables_names_the_key(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "moot.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        load_config(file, base=tmp_path)
