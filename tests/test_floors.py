"""The house has three floors, and an import may only point down."""

import ast
import sys
from pathlib import Path

HOUSE = Path(__file__).parent.parent
ROOMS = {"bots", "adapters", "composer", "memory"}
FLOOR = {"contract": 0, "store": 0.5, **dict.fromkeys(ROOMS, 1), "gateway": 2}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} & FLOOR.keys()


def crossings() -> list[str]:
    files = [f for r in FLOOR for f in (HOUSE / r).rglob("*.py")]
    return [
        f"{path.relative_to(HOUSE)} imports {target}"
        for path in files
        for room in [path.relative_to(HOUSE).parts[0]]
        for target in imports(path)
        if target != room and FLOOR[target] >= FLOOR[room]
    ]


def test_no_import_points_up_or_sideways() -> None:
    assert crossings() == []


def test_the_contract_stands_on_the_standard_library_and_pydantic_alone() -> None:
    trees = [ast.parse(f.read_text(encoding="utf-8")) for f in (HOUSE / "contract").glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
    names |= {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    known = {*sys.stdlib_module_names, "pydantic", "contract"}
    assert {n.partition(".")[0] for n in names} <= known
