"""Single tables of moot.toml, each in one form: to compare them, to keep them, to write them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, ValidationError
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
        table = sorted(table, key=attrgetter("own_name"))
    return to_json(_plain(table)).decode()


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

    Raises ConfigError where it is written so that only a person can change it.
    """
    raw, wanted = tomllib.loads(text or ""), from_json(form)
    before = from_json(form_of(table_in(raw, name)))
    if isinstance(wanted, list):
        wanted = _as_written(wanted, raw.get(name, []))
    for anew in (False, True):
        with suppress(ConfigError, ValidationError):  # the other way may do
            begun = changed(text, {name: None}) if anew else text
            made = changed(begun, {name: wanted if anew else _changes(before, wanted)})
            if form_of(table_in(tomllib.loads(made), name)) == form:
                return made
    raise ConfigError(f"moot.toml: [{name}] can't be changed from here; edit the file itself")


def _as_written(bots: list[Any], raw: list[Any]) -> list[Any]:
    """The bots that the file says already, as it says them, and behind them those that are new or
    other ones."""
    said = [(form_of(table_in({"bots": [one]}, "bots")), one) for one in raw]
    left = {form_of(table_in({"bots": [one]}, "bots")): one for one in bots}
    stay = [one for form, one in said if left.pop(form, None) is not None]
    return [*stay, *left.values()]


def _changes(before: Any, wanted: Any) -> Any:
    """The changes of a table: None for what is there no more."""
    if not (isinstance(before, dict) and isinstance(wanted, dict)):
        return wanted
    return {
        key: _changes(before.get(key), wanted.get(key))
        for key in before | wanted
        if before.get(key) != wanted.get(key)
    }
