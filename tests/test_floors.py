"""The house stands on floors, and an import may only point down.

Rooms and the packages in them stand on the floors listed here, from the ground up. Imports within
functions count as well, for they tie two files just as much; those under TYPE_CHECKING are gone
when the program runs and don't.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest

from bots import PLATFORMS

HOUSE = Path(__file__).parent.parent

ROOMS = (
    {"contract"},
    {"store", "llm"},
    {"bots", "adapters", "composer", "memory"},
    {"gateway"},
)
"""A room may import those below its own floor; rooms on one floor don't know one another."""

PACKAGES: Mapping[str, Sequence[set[str]]] = {
    "bots": (
        {"bot"},
        {"markdown"},
        {"kit"},
        {*PLATFORMS, "web"},
        {"platforms"},
    ),
    "adapters": (
        {"agent", "images", "own_files", "turn_events", "screen", "screen_profile", "demo"},
        {"turn_signs"},
        {"cli_profile", "pty"},
        {"reading", "records", "sandbox"},
        {"profiles"},
        {"catalog", "headless", "replay"},
        {"session"},
        {"cli", "acp", "api"},
        {"describing"},
    ),
    "memory": (
        {"spans"},
        {
            "scopes",
            "given",
            "private",
            "text",
            "model",
            "cursors",
            "members",
            "pace",
            "strict",
            "server_calls",
            "withdrawn",
        },
        {"anthropic_model"},
        {"layers"},
        {"readable", "landmarks", "recall", "observations", "insights"},
        {"summaries", "consolidation", "erasure", "transfer"},
        {"extraction", "browse", "owner"},
    ),
    "gateway": (
        {"settings"},
        {"core", "mcp"},
        {"observability"},
        {"audit", "files"},
        {"access", "sessions"},
        {"limits", "questions", "remembering", "backup", "workers"},
        {"turns"},
        {"schedules", "personas", "alerts"},
        {"setup"},
        {"commands", "web"},
        {"app"},
        {"cli"},
        {"main"},
    ),
}
"""The packages of a room, and the modules beside them, from the ground up."""

MOST_MODULES = 20  # in a folder
GROUND = {
    "contract": {"pydantic", "pydantic_core", "regex"},
    "store": {"pydantic", "sqlalchemy", "alembic", "aiosqlite", "structlog"},
    "llm": {"aiohttp", "pydantic", "pydantic_core", "yarl"},
}
"""What the ground may import beside the standard library and the floor below it."""


def house() -> dict[str, Path]:
    """Every file of the product that has code, by the name of its module."""
    return {
        ".".join(path.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__"): path
        for room in chain.from_iterable(ROOMS)
        for path in (HOUSE / room).rglob("*.py")
        if "versions" not in path.parts
    }


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Module and name of each import that runs; the name is "" where the module itself is meant."""
    tree = ast.parse(source)
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import is written in full"
            yield from ((node.module or "", alias.name) for alias in node.names)


def edges(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """What each module of the house imports of it."""
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        given = imports(path.read_text(encoding="utf-8"))
        targets = (full if (full := f"{m}.{n}") in modules else m for m, n in given)
        found[name] = {target for target in targets if target in modules} - {name}
    return found


def knots(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach one another."""
    reach = {node: set(targets) for node, targets in graph.items()}
    for middle in reach:
        for node in reach:
            if middle in reach[node]:
                reach[node] |= reach[middle]
    tied = {node: frozenset(n for n in reach[node] if node in reach.get(n, ())) for node in reach}
    return sorted(sorted(group) for group in {group for group in tied.values() if len(group) > 1})


def package(module: str) -> str:
    """The package that a module belongs to; a module beside the packages stands for itself."""
    return ".".join(module.split(".")[:2])


def between_packages(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        mine = found.setdefault(package(module), set())
        mine |= {package(target) for target in targets} - {package(module)}
    return found


def crossings(graph: Mapping[str, set[str]], floors: Mapping[str, int]) -> list[str]:
    """Imports that point up or sideways."""
    return sorted(
        f"{node} imports {target}"
        for node, targets in graph.items()
        for target in targets
        if node in floors and target in floors and floors[target] >= floors[node]
    )


EVERY_ROOM = sorted(chain.from_iterable(ROOMS))
MODULES = house()
GRAPH = edges(MODULES)


def test_no_import_between_rooms_points_up_or_sideways() -> None:
    floor = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}
    rooms: dict[str, set[str]] = {}
    for module, targets in GRAPH.items():
        mine = module.partition(".")[0]
        rooms.setdefault(mine, set()).update({t.partition(".")[0] for t in targets} - {mine})
    assert crossings(rooms, floor) == []


def floors_of(room: str) -> dict[str, int]:
    return {f"{room}.{name}": n for n, floor in enumerate(PACKAGES[room]) for name in floor}


@pytest.mark.parametrize("room", sorted(PACKAGES))
def test_no_import_between_packages_of_a_room_points_up_or_sideways(room: str) -> None:
    assert crossings(between_packages(GRAPH), floors_of(room)) == []


@pytest.mark.parametrize("room", sorted(PACKAGES))
def test_every_package_of_a_room_stands_on_a_floor(room: str) -> None:
    there = {package(module) for module in MODULES if module.startswith(f"{room}.")}
    assert there == set(floors_of(room))


def test_no_files_import_one_another_in_a_circle() -> None:
    assert knots(GRAPH) == []


@pytest.mark.parametrize("room", EVERY_ROOM)
def test_no_packages_of_a_room_import_one_another_in_a_circle(room: str) -> None:
    inside = {
        name: {target for target in targets if target.startswith(f"{room}.")}
        for name, targets in between_packages(GRAPH).items()
        if name.startswith(f"{room}.")
    }
    assert knots(inside) == []


@pytest.mark.parametrize("room", EVERY_ROOM)
def test_no_folder_has_too_many_modules(room: str) -> None:
    count = Counter(
        str(path.parent.relative_to(HOUSE))
        for module, path in MODULES.items()
        if module.partition(".")[0] == room and path.name != "__init__.py"
    )
    assert {folder: number for folder, number in count.items() if number > MOST_MODULES} == {}


@pytest.mark.parametrize("room", sorted(GROUND))
def test_the_ground_stands_on_little(room: str) -> None:
    allowed = {*sys.stdlib_module_names, *GROUND[room], "contract", room}
    taken = {
        target.partition(".")[0]
        for module, path in MODULES.items()
        if module.partition(".")[0] == room
        for target, _ in imports(path.read_text(encoding="utf-8"))
    }
    assert taken <= allowed


# ── The finders themselves ──────────────────────────────────────────────────────────────────


def test_an_import_within_a_function_counts_and_one_for_types_does_not() -> None:
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from store import schema
else:
    import json
def work():
    from memory.recall import mem0
"""
    assert set(imports(source)) == {
        ("typing", "TYPE_CHECKING"),
        ("json", ""),
        ("memory.recall", "mem0"),
    }


def test_circles_are_found_whatever_their_length() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str](), "e": {"f"}, "f": {"e"}}
    assert knots(graph) == [["a", "b", "c"], ["e", "f"]]


def test_what_points_up_or_sideways_is_named() -> None:
    graph = {"low": {"high"}, "high": {"low", "beside"}, "beside": set[str]()}
    floors = {"low": 0, "high": 1, "beside": 1}
    assert crossings(graph, floors) == ["high imports beside", "low imports high"]
