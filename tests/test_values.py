"""Dataclasses whose methods are written late are dataclasses in all else."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest
from pydantic import TypeAdapter

from contract.values import dataclass

METHODS = ("__init__", "__repr__", "__eq__", "__hash__")


def plain() -> type[Any]:
    class Point:
        """A place."""

        x: int
        y: int = 2
        seen: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="", repr=False, kw_only=True)

    return Point


OURS: Any = dataclass(frozen=True, slots=True)(plain())
THEIRS: Any = dataclasses.dataclass(frozen=True, slots=True)(plain())


@dataclass(frozen=True, slots=True)
class Place:
    """One that pickle finds by its name."""

    name: str
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "given",
    [((1,), {}), ((1, 3), {}), ((), {"x": 1}), ((1, 2, ["a"]), {"secret": "s"})],
    ids=str,
)
def test_it_takes_says_and_compares_what_the_standard_librarys_does(
    given: tuple[tuple[Any, ...], dict[str, Any]],
) -> None:
    positional, named = given
    ours, theirs = OURS(*positional, **named), THEIRS(*positional, **named)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs)
    assert hash(ours) == hash(theirs)
    assert ours == OURS(*positional, **named)
    assert ours != theirs
    assert ours != OURS(7)


@pytest.mark.parametrize("given", [((), {}), ((1, 2, [], "s"), {}), ((1,), {"z": 1})], ids=str)
def test_it_refuses_what_the_standard_librarys_refuses(
    given: tuple[tuple[Any, ...], dict[str, Any]],
) -> None:
    positional, named = given
    for kind in (OURS, THEIRS):
        with pytest.raises(TypeError):
            kind(*positional, **named)


def test_nothing_is_written_before_it_is_called() -> None:
    made: Any = dataclass(frozen=True, slots=True)(plain())
    before = {name: vars(made)[name] for name in METHODS}
    assert {one.__module__ for one in before.values()} == {"contract.values"}
    first = made(1)
    written = {name for name in METHODS if vars(made)[name] is not before[name]}
    assert written == {"__init__"}
    assert first == made(1)
    assert hash(first) == hash(made(1))
    assert all(vars(made)[name] is not before[name] for name in METHODS)


def test_a_frozen_one_stays_as_it_is() -> None:
    one = OURS(1)
    with pytest.raises(FrozenInstanceError):
        one.x = 2
    with pytest.raises(FrozenInstanceError):
        del one.x
    assert one.x == 1


def test_one_that_changes_has_no_hash() -> None:
    made: Any = dataclass(slots=True)(plain())
    one = made(1)
    one.x = 5
    assert one == made(5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_field_that_is_not_given_has_its_default() -> None:
    @dataclass(slots=True)
    class Kept:
        """One that is filled in later."""

        name: str
        packed: bytes = field(default=b"", init=False)
        parts: list[str] = field(default_factory=list, init=False)

    assert (Kept("a").packed, Kept("a").parts) == (b"", [])


def test_an_identity_stays_one() -> None:
    made: Any = dataclass(slots=True, eq=False)(plain())
    one = made(1)
    assert one == one
    assert one != made(1)
    assert {one: 1}[one] == 1


def test_what_a_class_has_of_its_own_stays() -> None:
    @dataclass(frozen=True, slots=True)
    class Name:
        """Compared without case."""

        text: str
        length: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.text))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Name) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

        def __repr__(self) -> str:
            return f"<{self.text}>"

    assert {Name("Ada")} == {Name("ADA")}
    assert (repr(Name("Ada")), Name("Ada").length) == ("<Ada>", 3)


def test_a_subclass_has_its_own_and_its_parents_fields() -> None:
    @dataclass(frozen=True, slots=True)
    class Parent:
        """With one."""

        x: int

    @dataclass(frozen=True, slots=True)
    class Child(Parent):
        """With two."""

        y: int = 0

    @dataclass(frozen=True, slots=True)
    class Other(Parent):
        """With none of its own."""

    assert repr(Child(1)) == f"{Child.__qualname__}(x=1, y=0)"
    assert Child(1) == Child(1, 0) != Child(1, 1)
    assert Child(1) != Parent(1) != Other(1)
    with pytest.raises(FrozenInstanceError):
        Child(1).x = 2  # type: ignore[misc]


def test_it_is_matched_replaced_copied_and_pickled() -> None:
    one = Place("here", ("a",))
    match one:
        case Place(name, tags):
            assert (name, tags) == ("here", ("a",))
    assert dataclasses.replace(one, name="there") == Place("there", ("a",))
    assert one == copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one))
    assert dataclasses.is_dataclass(Place)


def test_pydantic_reads_it() -> None:
    made = TypeAdapter(Place).validate_python({"name": "here", "tags": ["a", "b"]})
    assert made == Place("here", ("a", "b"))
