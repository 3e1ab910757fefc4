"""Dataclasses whose methods are written when one of them is first called.

The standard library writes and compiles up to seven methods for each class while its module is
imported, which takes 0.2 to 0.5 ms (CPython 3.11). A start imports hundreds of classes, most of
which nobody makes anything of for a long time. In all else they are dataclasses: `fields`,
`replace`, `asdict`, Pydantic and type checkers take them for what they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any


def _dataclass(
    plain: type | None = None, /, *, eq: bool = True, frozen: bool = False, **options: bool
) -> Any:
    """options: `kw_only`, `slots` and `weakref_slot`."""
    if plain is None:
        return partial(_dataclass, eq=eq, frozen=frozen, **options)
    own = vars(plain)  # what a class has of its own stays
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(plain)
    late = [name for name in ("__init__", "__repr__") if name not in own]
    if eq and "__eq__" not in own:
        late.append("__eq__")
    if eq and own.get("__hash__") is None:  # an __eq__ of its own made that None
        if frozen:
            late.append("__hash__")
        else:
            made.__hash__ = None
    if frozen:
        _freeze(made)
    write = partial(_write, made, late, eq=eq, frozen=frozen)
    for name in late:
        setattr(made, name, _until_called(made, name, write))
    return made


def _until_called(made: type, name: str, write: Callable[[], None]) -> Callable[..., Any]:
    """What stands for a method until it is called."""

    def method(self: object, *given: Any, **named: Any) -> Any:
        write()
        return getattr(made, name)(self, *given, **named)

    return method


def _write(made: type, late: Sequence[str], *, eq: bool, frozen: bool) -> None:
    """Take the methods of another class with the same fields. Threads may do that at once."""
    fields = [(one.name, one.type, one) for one in dataclasses.fields(made)]
    ends = {"__post_init__": None} if hasattr(made, "__post_init__") else {}
    slots = "__slots__" in vars(made)  # then it is `__init__` that sets all defaults
    twin = dataclasses.make_dataclass(
        made.__name__, fields, namespace=ends, eq=eq, frozen=frozen, slots=slots
    )
    for name in late:
        setattr(made, name, vars(twin)[name])


def _freeze(made: Any) -> None:
    names = frozenset(one.name for one in dataclasses.fields(made))

    def refuse(self: object, name: str, act: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot {act} field {name!r}")

    def assign(self: object, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        super(made, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        refuse(self, name, "delete")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = assign, delete
    made.__getstate__, made.__setstate__ = _state, _take_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _take_state(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
