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
    compare = partial(_write_others, made, [name for name in late if name != "__init__"])
    for name in late:
        write = partial(_write_init, made, frozen=frozen) if name == "__init__" else compare
        setattr(made, name, _until_called(made, name, write))
    return made


def _until_called(made: type, name: str, write: Callable[[], None]) -> Callable[..., Any]:
    """Stands for a method until it is called. Threads may write one at once."""

    def method(self: object, *given: Any, **named: Any) -> Any:
        write()
        return getattr(made, name)(self, *given, **named)

    return method


def _write_init(made: Any, *, frozen: bool) -> None:
    """By itself: most of what is made is never compared nor shown."""
    fields = sorted(dataclasses.fields(made), key=lambda one: bool(one.kw_only))
    known: dict[str, Any] = {"_set": object.__setattr__, "_NOT_GIVEN": dataclasses.MISSING}
    takes, lines = ["self"], ["pass"]
    for one in fields:
        default, value = _default_of(one, known)
        if one.init:
            takes += ["*"] if one.kw_only and "*" not in takes else []
            takes.append(one.name + default)
        if value:
            set_ = f"_set(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}"
            lines.append(set_)
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines)
    exec(f"def __init__({', '.join(takes)}):\n    {body}", known)  # noqa: S102 - as dataclasses do
    known["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    made.__init__ = known["__init__"]


def _default_of(one: dataclasses.Field[Any], known: dict[str, Any]) -> tuple[str, str]:
    """The words behind a parameter's name, and those that its field is set to; "": none."""
    name, of = one.name, f"_of_{one.name}"
    if one.default is not dataclasses.MISSING:
        known[of] = one.default
        return f"={of}", name if one.init else of
    if one.default_factory is not dataclasses.MISSING:
        known[of] = one.default_factory
        made = f"{of}()"
        return "=_NOT_GIVEN", f"{made} if {name} is _NOT_GIVEN else {name}" if one.init else made
    return "", name if one.init else ""


def _write_others(made: Any, names: Sequence[str]) -> None:
    """Take them of another class with the same fields."""
    fields = [(one.name, one.type, one) for one in dataclasses.fields(made)]
    hashes = "__hash__" in names
    twin = dataclasses.make_dataclass(
        made.__name__, fields, namespace={"__doc__": "-"}, init=False, unsafe_hash=hashes
    )
    for name in names:
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
