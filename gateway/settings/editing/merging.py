"""Changes of single keys of moot.toml; everything beside them stays as it was, byte for byte."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, Table, Whitespace

from contract.errors import ConfigError
from gateway.settings.editing.files import document

Values = Mapping[str, Any]
"""New values by key: None takes the key away, a mapping changes single keys of a table, and a list
of mappings stands for a list of tables."""


def changed(text: str | None, values: Values) -> str:
    """moot.toml with other values. text: as it is now; None: there is no file yet.

    Raises ConfigError where it is written so that only a person can change it.
    """
    made = document(text)
    wanted = tomllib.loads(text or "")
    for name, value in values.items():
        wanted = {**wanted, name: _expected(wanted.get(name), value)}
    try:
        _merge(made, values)
        new = tomlkit.dumps(made)
        right = _without_empty(tomllib.loads(new)) == _without_empty(wanted)
    except (TOMLKitError, tomllib.TOMLDecodeError, ValueError, TypeError):
        right = False
    if not right:
        names = ", ".join(f"[{name}]" for name in values)
        raise ConfigError(f"moot.toml: {names} can't be changed from here; edit the file itself")
    return new


def _expected(now: Any, value: Any) -> Any:
    """The plain value that a key has after a change."""
    if not isinstance(value, Mapping):
        return value
    kept = dict(now) if isinstance(now, Mapping) else {}
    return kept | {key: _expected(kept.get(key), one) for key, one in value.items()}


def _without_empty(value: Any) -> Any:
    """A value without keys that hold nothing: such a table means the same as none."""
    if not isinstance(value, Mapping):
        return value
    inner = {key: _without_empty(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one not in (None, {}, [])}


def _merge(table: MutableMapping[str, Any], values: Values) -> None:
    for key, value in values.items():
        if value is None or value == []:
            table.pop(key, None)
        elif isinstance(value, Mapping):
            _merge_table(table, key, value)
        elif isinstance(value, Sequence) and any(isinstance(one, Mapping) for one in value):
            _merge_tables(table, key, value)
        elif key not in table:
            _add(table, key, tomlkit.item(value))
        elif isinstance(table[key], Array) and isinstance(value, Sequence):
            _merge_list(table, key, value)
        elif table[key] != value:
            table[key] = value


def _add(table: MutableMapping[str, Any], key: str, value: Any) -> None:
    """Put a new key behind the last one that stands in the table itself: comments that follow are
    mostly about the next table."""
    container = table.value if isinstance(table, Table) else table
    if not isinstance(container, Container):  # an inline table
        table[key] = value
        return
    plain = [k for k, v in container.body if k is not None and not isinstance(v, Table | AoT)]
    if not plain or container.body[-1][0] is plain[-1]:
        table[key] = value
        return
    container._insert_after(plain[-1], key, value)  # tomlkit has no public name for it


def _merge_table(table: MutableMapping[str, Any], key: str, value: Values) -> None:
    """Change keys of an inner table, which is made when it is needed and goes when its last key
    does. Without any key to change it is there, be it empty."""
    if value and all(one in (None, []) for one in value.values()) and key not in table:
        return
    if key not in table:
        table[key] = tomlkit.table()
    inner = table[key]
    _merge(inner, value)
    if value and not inner and key in table:
        del table[key]


def _merge_tables(table: MutableMapping[str, Any], key: str, value: Sequence[Values]) -> None:
    """Tables of a list that are wanted as they are stay where they are, with their comments."""
    left = [dict(one) for one in value]
    now = table.get(key)
    if not isinstance(now, AoT):
        table[key] = now = tomlkit.aot()
    behind: list[Comment | Whitespace] = []  # what stands after the last key of a table that goes
    for number, one in reversed([*enumerate(now)]):
        if (plain := one.unwrap()) in left:
            left.remove(plain)
        else:
            behind = [*_end(one), *behind]
            del now[number]
    for one in left:
        made = tomlkit.table()
        made.update(one)
        now.append(made)
    for item in behind:
        now[-1].add(item)


def _end(table: Table) -> list[Comment | Whitespace]:
    """Comments and blank lines after a table's last key: they are mostly about what follows."""
    body = table.value.body
    last = max((n for n, (key, _) in enumerate(body) if key is not None), default=-1)
    return [item for _, item in body[last + 1 :] if isinstance(item, Comment | Whitespace)]


def _merge_list(table: MutableMapping[str, Any], key: str, value: Sequence[Any]) -> None:
    """Entries that stay keep their place and their comment."""
    array: Array = table[key]
    for one in [one for one in array.unwrap() if one not in value]:
        array.remove(one)
    for one in value:
        if one not in array.unwrap():
            array.append(one)
    if sorted(map(str, array.unwrap())) != sorted(map(str, value)):
        table[key] = list(value)
