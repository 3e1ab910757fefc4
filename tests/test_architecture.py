"""docs/architecture.md leads somewhere: every path on it exists, and every name in its file."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_floors import PACKAGES, ROOMS

HOUSE = Path(__file__).parents[1]
PAGE = (HOUSE / "docs" / "architecture.md").read_text("utf-8")
_PATH = re.compile(r"`([\w./-]+(?:/|\.(?:py|toml|md|example)))`")
_IN_FILE = re.compile(r"`([\w/]+\.py)`(?: \(|: )`(\w+)`|`(\w+)` in `([\w/]+\.py)`")


def paths() -> list[str]:
    return [path for path in _PATH.findall(PAGE) if "/" in path or path.endswith(".example")]


def test_every_path_exists() -> None:
    assert len(paths()) > 50
    assert [path for path in paths() if not (HOUSE / path).exists()] == []


def test_every_name_stands_in_the_file_that_it_is_said_to_be_in() -> None:
    named = [(a or d, b or c) for a, b, c, d in _IN_FILE.findall(PAGE)]
    assert len(named) > 5
    missing = [
        f"{path}: {name}"
        for path, name in named
        if not re.search(
            rf"^ *(?:(?:async )?def {name}\(|{name}\b.* = )",
            (HOUSE / path).read_text("utf-8"),
            re.M,
        )
    ]
    assert missing == []


def test_every_room_and_every_package_of_the_gateway_is_on_the_page() -> None:
    rooms = [room for floor in ROOMS for room in floor]
    packages = [
        f"gateway/{name}" for floor in PACKAGES["gateway"] for name in floor if name != "main"
    ]
    assert [name for name in [*rooms, *packages] if f"`{name}/`" not in PAGE] == []
