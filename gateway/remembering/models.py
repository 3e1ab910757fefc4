"""The model behind the memory, made from the configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from contract.errors import ConfigError
from gateway.settings.config import Config
from gateway.settings.env_file import passed_on
from gateway.settings.tables import AgentTable, AnthropicTable
from llm.client import API
from memory.anthropic_model import AnthropicModel, Prices
from memory.model import Model

if TYPE_CHECKING:
    from adapters.headless.model import HeadlessModel

OFF, ANTHROPIC = "off", "anthropic"
CACHE_READ, CACHE_WRITE = 0.1, 1.25  # of the input's price; platform.claude.com, read 2026-11


@asynccontextmanager
async def open_model(config: Config, environment: Mapping[str, str]) -> AsyncIterator[Model | None]:
    """The configured model, closed when left; None when it is off. Raises ConfigError."""
    if config.memory.model == OFF:
        yield None
    elif config.memory.model == ANTHROPIC:
        async with _anthropic(config.memory.anthropic, environment) as model:
            yield model
    else:
        yield _headless(config, environment)


def describe_model(config: Config, environment: Mapping[str, str]) -> str:
    """One line on who works behind the memory, for `moot check`. Raises ConfigError."""
    chosen = config.memory.model
    if chosen == OFF:
        return (
            "memory works in its plain form, without a model: [memory] model names one that writes "
            "summaries and extracts facts"
        )
    if chosen == ANTHROPIC:
        return f"memory works with {_anthropic(config.memory.anthropic, environment).name}"
    return f"memory works with {_headless(config, environment).name}, run by the agent {chosen!r}"


def _anthropic(table: AnthropicTable, environment: Mapping[str, str]) -> AnthropicModel:
    key = environment.get("ANTHROPIC_API_KEY")
    if not key:
        raise ConfigError(
            'memory.model: "anthropic" needs a key; set ANTHROPIC_API_KEY in the environment'
        )
    return AnthropicModel(
        table.model,
        api_key=key,
        base_url=table.base_url or environment.get("ANTHROPIC_BASE_URL") or API,
        timeout_s=table.timeout_s,
        effort=table.effort,
        prices=_prices(table),
    )


def _prices(table: AnthropicTable) -> Prices | None:
    given = table.input_price, table.output_price
    if given == (None, None):
        return None
    if table.input_price is None or table.output_price is None:
        raise ConfigError("memory.anthropic: give both input_price and output_price, or neither")
    read, write = table.cache_read_price, table.cache_write_price
    return Prices(
        input=table.input_price,
        output=table.output_price,
        cache_read=CACHE_READ * table.input_price if read is None else read,
        cache_write=CACHE_WRITE * table.input_price if write is None else write,
    )


def _headless(config: Config, environment: Mapping[str, str]) -> HeadlessModel:
    from adapters.headless.model import HeadlessModel  # few have one, and it has many values
    from adapters.headless.programs import PROGRAMS

    name = config.memory.model
    table = config.agents.get(name, AgentTable(profile=name))
    program = PROGRAMS.get(table.profile)
    if program is None:
        raise ConfigError(
            f"memory.model: no agent {name!r} can be run without a terminal; known: {OFF}, "
            f"{ANTHROPIC}, {', '.join(PROGRAMS)} (or an [agents.NAME] with such a profile)"
        )
    path = which((table.command or program.begin)[0], path=environment.get("PATH", ""))
    if path is None:
        raise ConfigError(f"memory.model: {program.title} is not found. {program.missing}")
    return HeadlessModel(
        program,
        command=(str(Path(path).absolute()), *table.command[1:]),
        home=config.gateway.data_dir.absolute() / "model" / program.name,
        env=passed_on(environment, *program.passes) | table.env,
        model=config.memory.headless.model,
        timeout_s=config.memory.headless.timeout_s,
    )
