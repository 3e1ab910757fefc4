"""The form of the page's code: what no tool of its own checks."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

from tests.page import api_types

WEB = Path(__file__).parents[2] / "gateway" / "web"
STATIC = WEB / "static"
SCRIPTS = sorted(STATIC.rglob("*.js"))
COLUMNS = 120
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*? from "(\.[^"?]+)";', re.MULTILINE)


def imports(script: Path) -> set[Path]:
    """The scripts that one imports."""
    found = _IMPORT.findall(script.read_text(encoding="utf-8"))
    return {(script.parent / name).resolve() for name in found}


def test_no_line_is_wider_than_a_screen() -> None:
    files = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html")]
    files += WEB.glob("*.ts")
    assert len(files) > 60
    wide = [
        f"{path.relative_to(WEB)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > COLUMNS
    ]
    assert wide == []


def test_every_script_is_checked_by_types() -> None:
    unchecked = [path.name for path in SCRIPTS if not path.read_text().startswith("// @ts-check\n")]
    assert unchecked == []


def test_no_script_imports_itself_by_others() -> None:
    """Raises CycleError, which names the way round."""
    graph = {script.resolve(): imports(script) for script in SCRIPTS}
    assert sum(map(len, graph.values())) > 100
    assert all(script.is_file() for below in graph.values() for script in below)
    TopologicalSorter(graph).prepare()


def test_what_all_views_share_knows_none_of_them() -> None:
    library = (STATIC / "lib").resolve()
    up = {path for script in library.glob("*.js") for path in imports(script)}
    assert [path for path in up if path.parent != library] == []


def test_the_types_of_the_api_are_those_of_the_server() -> None:
    assert api_types.WRITTEN.read_text(encoding="utf-8") == api_types.declarations(), (
        "write them again: python -m tests.page.api_types"
    )
