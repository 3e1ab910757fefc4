"""Single tables of moot.toml, each in one form: to compare them, to keep them, to write them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from bots.kit.platform_spec import BotTable
from contract.errors import ConfigError
from gateway.settings.config import Config
from gateway.settings.editing.merging import changed


def table_in(values: Mapping[str, Any], name: str) -> Any:
    """A table of moot.toml's values, checked; its default where there is none. Raises
    ValidationError."""
    return getattr(Config.model_validate({name: values[name]} if name in values else {}), name)


def form_of(table: Any) -> str:
    """A table as JSON, without what is as by default, whatever the order in which its keys, its
    people and the bots stand."""
    if isinstance(table, tuple) and all(isinstance(one, BotTable) for one in table):
        table = sorted(table, key=name_of)
    return to_json(_plain(table)).decode()


def name_of(bot: BotTable) -> str:
    """The name of a bot; each has its own."""
    return bot.name or bot.platform


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in sorted(value.items())}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def with_table(text: str | None, name: str, form: str) -> str:
    """moot.toml with a table as that form says. text: None: there is no file yet.

    Raises ConfigError where it is written so that only a person can change it, and ValueError.
    """
    raw, wanted = tomllib.loads(text or ""), from_json(form)
    before = from_json(form_of(table_in(raw, name)))
    if isinstance(wanted, list):
        wanted = _as_written(wanted, raw.get(name, []))
    for begun, values in ((text, _changes(before, wanted)), (_without(text, name), wanted)):
        made = changed(begun, {name: values})
        if form_of(table_in(tomllib.loads(made), name)) == form:
            return made
    raise ConfigError(f"moot.toml: [{name}] can't be changed from here; edit the file itself")


def _as_written(bots: list[Any], raw: list[Any]) -> list[Any]:
    """Each bot as the file says it, where that means the same."""
    said = {form_of(table_in({"bots": [one]}, "bots")): one for one in raw}
    return [said.get(form_of(table_in({"bots": [one]}, "bots")), one) for one in bots]


def _without(text: str | None, name: str) -> str:
    return changed(text, {name: None})


def _changes(before: Any, wanted: Any) -> Any:
    """The changes of a table: None for what is there no more."""
    if not (isinstance(before, dict) and isinstance(wanted, dict)):
        return wanted
    return {
        key: _changes(before.get(key), wanted.get(key))
        for key in before | wanted
        if before.get(key) != wanted.get(key)
    }
